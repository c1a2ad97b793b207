#include "autograd/gradcheck.hpp"

#include <algorithm>
#include <limits>

#include "detail/message.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/random.hpp"

namespace xgrad {

namespace {

using Values = std::vector<double>;
using Tensors = std::vector<Tensor>;
using detail::Analytic;
using detail::Record;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double first_step = 0.0937;  // not round: kinks and bounds like to be a round step away
constexpr int levels = 10;             // five decades of steps
constexpr double ratio = 3.3;  // of each to the next; no power of 2, which rounding is made of
constexpr double probe_step = 1e-6;
constexpr double doubt = 10;  // an estimated error may be so many times too small

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Random, and nowhere near 0: a zero upstream gradient hides what is below it.
double away_from_zero(Generator& generator) {
  const double v = generator.uniform<double>() + 0.5;
  return generator.uniform<double>() < 0.5 ? -v : v;
}

/// The weights of the outputs in what is differentiated: one output alone, or a random mixture.
struct Seed {
  std::int64_t output = -1;
  Values weights{};
  double operator()(const Values& x) const {
    if (output >= 0) return x[index(output)];
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] == 0 ? 0 : weights[k] * x[k];
    return sum;
  }
  double magnitude(const Values& x) const {
    if (output >= 0) return x[index(output)];
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::abs(weights[k]) * x[k];
    return sum;
  }
};

/// Elements of an input that move together, each up or down.
struct Line {
  std::size_t input;
  std::int64_t first, count;
  Values signs;
};

struct Slope {
  double value = std::nan("");
  double error = infinity;
};

class Check {
 public:
  Check(const CheckedFunction& f, const Tensors& originals, const GradcheckOptions& options,
        int order)
      : f_(f), found_{options, {}, {}, {}, {}, {}, 0, 0, order}, generator_(options.seed) {
    found_.tolerance = order == 1 ? options.tolerance : options.second_tolerance;
    for (const Tensor& x : originals) {
      const std::size_t i = found_.inputs.size();
      if (x.requires_grad() && x.dtype() != float64) {
        throw DTypeError(
            "gradcheck: " + found_.input_name(i) + " of shape " + x.shape().str() + " is " +
            name(x.dtype()) +
            ", whose rounding is as great as the differences to be measured. Convert "
            "it with to(xg::float64); a module is converted by gradcheck(module, ...).");
      }
      found_.inputs.push_back(x.detach().clone().requires_grad_(x.requires_grad()));
      if (x.requires_grad()) found_.wanted.push_back(i);
    }
    if (found_.wanted.empty()) throw Error("gradcheck: no input requires a gradient");
  }

  GradcheckReport run() {
    const detail::Scoped keep(default_generator(), Generator(default_generator()));
    base_ = outputs();
    const Values again = outputs();
    if (again.size() != base_.size()) {
      return ended(Verdict::not_deterministic, "called twice, f returned results of other sizes.");
    }
    for (std::size_t k = 0; k < base_.size(); ++k) {
      const std::string where = "output " + std::to_string(k);
      if (again[k] != base_[k] && !(std::isnan(again[k]) && std::isnan(base_[k]))) {
        return ended(Verdict::not_deterministic,
                     "called twice with the same inputs, f returned " + std::to_string(base_[k]) +
                         " and " + std::to_string(again[k]) + " as " + where +
                         ". Seed its randomness inside f, or switch dropout off with eval().");
      }
      if (std::isnan(base_[k])) {
        return ended(Verdict::not_finite, where +
                                              " of f is nan at these inputs. Look for 0 / 0, "
                                              "inf - inf or the log of a negative number.");
      }
    }
    measure_noise();
    choose_seeds();
    try {
      go_backward();
    } catch (const GraphError& error) {
      const std::string what = error.what();
      if (what.find("the rule returned") == std::string::npos) throw;
      return ended(what.find("returned no gradient") == std::string::npos ? Verdict::wrong_shape
                                                                          : Verdict::missing,
                   what + ". Correct what this rule returns for that input.");
    }
    if (!repeats()) {
      return ended(Verdict::not_deterministic,
                   "backward, gone twice through the same graph, gave two results. Look for "
                   "randomness, or for something the first pass has changed, in a rule.");
    }
    for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
      const std::int64_t n = found_.inputs[found_.wanted[w]].numel();
      const std::size_t before = found_.records.size();
      if (n <= found_.options.each_element) {
        for (std::int64_t e = 0; e < n; ++e) examine(line(w, e, 1), w);
      } else {
        halve(w, 0, n);
      }
      judge(before);
    }
    return detail::report_of(found_);
  }

 private:
  GradcheckReport ended(Verdict verdict, const std::string& what) const {
    return detail::report_of(verdict, what, found_.order);
  }

  // ---- the function ----------------------------------------------------------------------------

  /// What f returns and can be differentiated; indices and masks are passed over.
  Tensors results(const Tensors& inputs) const {
    Tensors out;
    for (const Tensor& y : f_(inputs)) {
      if (y.dtype() == float64) out.push_back(y);
      if (y.dtype() == float32) {
        throw DTypeError("gradcheck: f returned float32 of shape " + y.shape().str() +
                         "; only float64 results can be checked, so convert what f uses besides "
                         "its inputs with to(xg::float64)");
      }
    }
    if (out.empty()) throw DTypeError("gradcheck: f returned no floating point tensor");
    return out;
  }
  Values outputs() const {
    const NoGrad no_grad;
    Values row;
    for (const Tensor& y : results(found_.inputs)) {
      const std::span<const double> values = y.data<double>();
      row.insert(row.end(), values.begin(), values.end());
    }
    return row;
  }
  /// Empty where f refuses.
  Values outputs_at(const Line& line, double step) {
    const NoGrad no_grad;
    const std::span<double> x =
        found_.inputs[line.input].mut<double>().subspan(index(line.first), index(line.count));
    const Values before(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += line.signs[i] * step;
    Values row;
    try {
      row = outputs();
    } catch (const Error&) {
      row.clear();
    }
    std::copy(before.begin(), before.end(), x.begin());
    return row;
  }

  /// How far the outputs move when the inputs do in their last digit: below that no difference
  /// means anything.
  void measure_noise() {
    const NoGrad no_grad;
    noise_.resize(base_.size());
    for (std::size_t k = 0; k < base_.size(); ++k) {
      noise_[k] = std::isfinite(base_[k]) ? epsilon * std::abs(base_[k]) : 0;
    }
    const Tensors originals = found_.inputs;
    for (int draw = 0; draw < 6; ++draw) {
      for (std::size_t i : found_.wanted) {
        found_.inputs[i] = originals[i].detach().clone().requires_grad_();
        for (double& v : found_.inputs[i].mut<double>())
          v *= 1 + epsilon * away_from_zero(generator_);
      }
      Values moved;
      try {
        moved = outputs();
      } catch (const Error&) {
      }
      for (std::size_t k = 0; k < moved.size() && moved.size() == base_.size(); ++k) {
        const double by = std::abs(moved[k] - base_[k]);
        if (std::isfinite(by)) noise_[k] = std::max(noise_[k], by);
      }
    }
    found_.inputs = originals;
    for (double n : noise_) found_.noise = std::max(found_.noise, n);
  }

  // ---- numeric ----------------------------------------------------------------------------------

  Line line(std::size_t wanted, std::int64_t first, std::int64_t count) {
    Line out{found_.wanted[wanted], first, count, Values(index(count), 1.0)};
    for (std::size_t i = 0; count > 1 && i < out.signs.size(); ++i) {
      if (generator_.uniform<double>() < 0.5) out.signs[i] = -1;
    }
    return out;
  }

  /// The difference quotient of each seed; empty where f refuses.
  Values differences(const Line& line, double up_step, double down_step) {
    Values up = outputs_at(line, up_step), down = outputs_at(line, down_step);
    if (up.size() != base_.size() || down.size() != base_.size()) return {};
    double width = up_step - down_step;
    if (line.count == 1) {  // as far as the rounded ends are apart
      const double x = found_.inputs[line.input].data<double>()[index(line.first)];
      const volatile double top = x + up_step, bottom = x + down_step;
      width = top - bottom;
    }
    for (std::size_t k = 0; k < up.size(); ++k) {
      up[k] = up[k] == down[k] ? 0 : (up[k] - down[k]) / width;
    }
    Values out;
    for (const Seed& seed : seeds_) out.push_back(seed(up));
    return out;
  }

  /// Ridders' method: central differences over smaller and smaller steps, extrapolated to step 0
  /// with even powers; of all extrapolations the one whose neighbours and rounding say it is best.
  void search(const Line& line, double h, const Values& scales, std::vector<Slope>& best) {
    std::vector<Values> rows(seeds_.size());
    for (int level = 0; level < levels; ++level, h /= ratio) {
      const Values d = differences(line, h, -h);
      bool done = level >= 2;
      for (std::size_t s = 0; s < seeds_.size(); ++s) {
        if (d.empty() || !std::isfinite(d[s])) {  // the step left the function's domain
          rows[s].clear();
          done = false;
          continue;
        }
        const double noise = seed_noise_[s] / h;
        Values next = {d[s]};
        double power = 1;
        for (std::size_t m = 0; m < rows[s].size() && m < 6; ++m) {
          power *= ratio * ratio;
          next.push_back(next[m] + (next[m] - rows[s][m]) / (power - 1));
          const double error =
              noise + std::max(std::abs(next[m + 1] - next[m]), std::abs(next[m + 1] - rows[s][m]));
          if (error < best[s].error) best[s] = {next[m + 1], error};
        }
        rows[s] = std::move(next);
        const double enough =
            0.01 * found_.tolerance * std::max(std::abs(best[s].value), scales[s]);
        done = done && best[s].error <= std::max(2 * noise, enough);
      }
      if (done) return;
    }
  }

  std::vector<Slope> slopes(const Line& line, std::size_t wanted) {
    const Values& scales = scales_[wanted];
    std::vector<Slope> best(seeds_.size());
    search(line, first_step, scales, best);
    double x = 0;  // large numbers may bear large steps
    const std::span<const double> values = found_.inputs[line.input].data<double>();
    for (std::int64_t i = line.first; i < line.first + line.count; ++i) {
      x = std::max(x, std::abs(values[index(i)]));
    }
    bool poor = false;
    for (std::size_t s = 0; s < seeds_.size(); ++s) {
      poor = poor || best[s].error > 0.1 * found_.tolerance * scales[s];
    }
    if (!poor || x < 1) return best;
    std::vector<Slope> wide(seeds_.size());
    search(line, x / 7, scales, wide);
    for (std::size_t s = 0; s < seeds_.size(); ++s) {  // far away f may be another one
      if (wide[s].error < best[s].error &&
          !(std::abs(wide[s].value - best[s].value) > best[s].error)) {
        best[s] = wide[s];
      }
    }
    return best;
  }

  // ---- analytic ---------------------------------------------------------------------------------

  void choose_seeds() {
    const std::int64_t n = static_cast<std::int64_t>(base_.size());
    const bool each = n <= (found_.order == 1 ? found_.options.full_jacobian : 0) && n > 1;
    for (int i = 0; i < (each || n == 1 ? 1 : 3); ++i) {
      Seed seed;
      for (std::int64_t k = 0; k < n; ++k) seed.weights.push_back(away_from_zero(generator_));
      seeds_.push_back(std::move(seed));
      found_.seeds.push_back("random upstream");
    }
    mixtures_ = seeds_.size();
    if (each) {
      const NoGrad no_grad;
      std::int64_t first = 0;
      const Tensors ys = results(found_.inputs);
      for (std::size_t y = 0; y < ys.size(); first += ys[y++].numel()) {
        for (std::int64_t k = 0; k < ys[y].numel(); ++k) {
          seeds_.push_back({first + k, {}});
          found_.seeds.push_back(message("output ", ys.size() > 1 ? message(y, " at ") : "",
                                         detail::index_of(ys[y].shape(), k)));
        }
      }
    }
    for (const Seed& seed : seeds_) seed_noise_.push_back(seed.magnitude(noise_));
  }

  /// Gradients by the inputs in the mask, which alone require one.
  void go_backward(std::uint64_t mask, std::size_t seeds) {
    const EnableGrad recording;
    Tensors leaves = found_.inputs, asked;
    for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
      Tensor& x = leaves[found_.wanted[w]];
      if ((mask >> w & 1U) == 0) {
        x = x.detach();
      } else {
        asked.push_back(x);
      }
    }
    const Tensors all = results(leaves);
    for (std::size_t s = 0; s < seeds; ++s) {
      Tensors ys, weights;
      std::size_t next = 0;
      for (const Tensor& y : all) {
        Tensor weight = zeros(y.shape(), {.dtype = float64});
        for (double& v : weight.mut<double>()) {
          v = seeds_[s].output < 0 ? seeds_[s].weights[next] : index(seeds_[s].output) == next;
          ++next;
        }
        if (!y.requires_grad()) continue;
        ys.push_back(y);
        weights.push_back(weight);
      }
      for (bool create_graph : {false, true}) {
        if (create_graph && s >= mixtures_) continue;  // linear in the seed, as the other way is
        Tensors found(asked.size());
        if (!ys.empty()) {
          found = grad(ys, asked, weights,
                       {.create_graph = create_graph, .retain_graph = true, .allow_unused = true});
        }
        Analytic way{s, create_graph, mask, Tensors(found_.wanted.size())};
        std::size_t at = 0;
        for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
          if ((mask >> w & 1U) == 0) continue;
          if (found[at].defined()) way.gradients[w] = found[at].detach();
          ++at;
        }
        found_.ways.push_back(std::move(way));
      }
    }
  }

  void go_backward() {
    const std::size_t n = std::min<std::size_t>(found_.wanted.size(), 63);
    const std::uint64_t everything = found_.wanted.size() > 63 ? ~0ULL : (1ULL << n) - 1;
    go_backward(everything, seeds_.size());
    if (n > 3) {
      for (std::size_t w = 0; w < n; ++w) go_backward(1ULL << w, 1);
    } else {
      for (std::uint64_t mask = 1; mask < everything; ++mask) go_backward(mask, 1);
    }
    // What the largest derivatives seem to be: how accurate the search has to be. Not a judge.
    for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
      Values scales(seeds_.size(), floor(w));
      for (const Analytic& way : found_.ways) {
        if (!way.gradients[w].defined()) continue;
        for (double v : way.gradients[w].data<double>()) {
          if (std::isfinite(v)) scales[way.seed] = std::max(scales[way.seed], std::abs(v));
        }
      }
      scales_.push_back(std::move(scales));
    }
  }

  bool repeats() {
    const Analytic first = found_.ways.front();
    const std::size_t n = found_.ways.size();
    go_backward(first.asked, 1);
    const Analytic again = found_.ways[n];
    found_.ways.resize(n);
    for (std::size_t w = 0; w < first.gradients.size(); ++w) {
      const Tensor &a = first.gradients[w], &b = again.gradients[w];
      if (a.defined() != b.defined()) return false;
      if (a.defined() && !allclose(a, b, 0, 0, /*equal_nan=*/true)) return false;
    }
    return true;
  }

  // ---- comparing --------------------------------------------------------------------------------

  /// Derivatives below this are as good as 0: a ten-thousandth of the outputs per unit of the
  /// inputs.
  double floor(std::size_t wanted) const {
    double y = 1, x = 1;
    for (double v : base_) {
      if (std::isfinite(v)) y = std::max(y, std::abs(v));
    }
    for (double v : found_.inputs[found_.wanted[wanted]].data<double>()) {
      if (std::isfinite(v)) x = std::max(x, std::abs(v));
    }
    return 1e-4 * y / x;
  }

  /// Records what both say; true where they agree at first sight.
  bool examine(const Line& line, std::size_t wanted) {
    const std::vector<Slope> numeric = slopes(line, wanted);
    bool agree = true;
    for (std::size_t way = 0; way < found_.ways.size(); ++way) {
      const Analytic& a = found_.ways[way];
      if ((a.asked >> std::min<std::size_t>(wanted, 63) & 1U) == 0) continue;
      Record r{way, line.input, wanted, line.first, line.count};
      r.missing = !a.gradients[wanted].defined();
      for (std::size_t i = 0; !r.missing && i < line.signs.size(); ++i) {
        r.analytic += line.signs[i] * a.gradients[wanted].data<double>()[index(line.first) + i];
      }
      r.numeric = numeric[a.seed].value;
      r.numeric_error = numeric[a.seed].error;
      const double share = std::sqrt(static_cast<double>(line.count));
      agree = agree &&
              r.error() <= found_.tolerance * std::max(std::abs(r.numeric), share * floor(wanted));
      found_.records.push_back(r);
    }
    return agree;
  }

  void halve(std::size_t wanted, std::int64_t first, std::int64_t count) {
    const std::size_t before = found_.records.size();
    if (examine(line(wanted, first, count), wanted) || count == 1) return;
    if (singles_ >= found_.options.worst) return;
    found_.records.resize(before);
    if (count == 2) ++singles_;
    halve(wanted, first, count / 2);
    halve(wanted, first + count / 2, count - count / 2);
  }

  /// The verdicts on the records of one input.
  void judge(std::size_t begin) {
    if (begin == found_.records.size()) return;
    const std::size_t wanted = found_.records[begin].wanted;
    Values scales(seeds_.size(), floor(wanted));
    for (std::size_t i = begin; i < found_.records.size(); ++i) {
      const Record& r = found_.records[i];
      double& scale = scales[found_.ways[r.way].seed];
      const double size = std::abs(r.numeric) / std::sqrt(static_cast<double>(r.count));
      if (std::isfinite(size)) scale = std::max(scale, size);
    }
    bool null = true;
    for (std::size_t i = begin; i < found_.records.size(); ++i) {
      Record& r = found_.records[i];
      r.scale = scales[found_.ways[r.way].seed] * std::sqrt(static_cast<double>(r.count));
      const double size = std::max(std::abs(r.analytic), std::abs(r.numeric));
      const double zero = std::max(doubt * r.numeric_error, 1e-5 * floor(wanted));
      null = null && r.numeric_error < infinity && size <= zero;
      if (!std::isfinite(r.analytic)) {
        r.verdict = Verdict::not_finite;
      } else if (!(r.relative() <= found_.tolerance)) {
        r.verdict = on_closer_look(r);
      }
    }
    for (std::size_t i = begin; null && i < found_.records.size(); ++i) {
      Record& r = found_.records[i];
      r.verdict = on_closer_look(r) == Verdict::kink ? Verdict::kink : Verdict::null_direction;
    }
  }

  /// What a small step says, whatever the search found.
  Verdict on_closer_look(Record& r) {
    const Verdict wrong = r.missing ? Verdict::missing : Verdict::wrong;
    const bool noisy = !(r.error() > doubt * r.numeric_error);
    if (r.count > 1) return noisy ? Verdict::too_noisy : wrong;
    const std::size_t s = found_.ways[r.way].seed;
    const Line here{r.input, r.first, 1, {1.0}};
    const auto slope = [&](double up, double down) {
      const Values d = differences(here, up, down);
      return d.empty() ? std::nan("") : d[s];
    };
    const double h = probe_step, left = slope(0, -h), right = slope(h, 0);
    const double far_left = slope(0, -4 * h), far_right = slope(4 * h, 0);
    const double noise = doubt * seed_noise_[s] / h, middle = (left + right) / 2;
    const double gap = std::abs(right - left), size = std::max(gap, r.scale);
    const double slack = 0.01 * gap + found_.tolerance * size;
    if (gap > 1e-3 * size && gap > noise &&
        gap > 0.5 * std::abs(far_right - far_left) &&  // of a smooth f it shrinks with the step
        r.analytic > std::min(left, right) - slack && r.analytic < std::max(left, right) + slack) {
      r.left = left;
      r.right = right;
      r.numeric = middle;
      return Verdict::kink;
    }
    // Wide steps can agree with each other and miss what is narrow; narrow ones can all be below
    // the last digit of a number inside f.
    const double unsure = noise + std::abs((far_left + far_right) / 2 - middle);
    const double wide = slope(first_step, -first_step);
    const bool misled =
        (std::abs(r.numeric - middle) > unsure && std::abs(r.analytic - middle) <= unsure) ||
        std::abs(r.numeric - wide) > 100 * std::abs(r.analytic - wide);
    return noisy || misled ? Verdict::too_noisy : wrong;
  }

  const CheckedFunction& f_;
  detail::Findings found_;
  Generator generator_;
  Values base_, noise_;  // of all outputs in one row
  std::vector<Seed> seeds_;
  std::size_t mixtures_ = 0;  // the first seeds; after them single outputs
  Values seed_noise_;
  std::vector<Values> scales_;  // by wanted input and seed
  std::size_t singles_ = 0;
};

/// What two inputs share would move with both of them.
std::optional<GradcheckReport> shared_memory(const Tensors& inputs, int order) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = i + 1; j < inputs.size(); ++j) {
      const Tensor &a = inputs[i], &b = inputs[j];
      const auto &x = a.impl(), &y = b.impl();
      if (!a.requires_grad() && !b.requires_grad()) continue;
      if (x.storage != y.storage || x.offset + a.numel() <= y.offset ||
          y.offset + b.numel() <= x.offset) {
        continue;
      }
      return detail::report_of(Verdict::shared_memory,
                               "inputs " + std::to_string(i) + " and " + std::to_string(j) +
                                   " share memory, so a change of one is a change of the other. "
                                   "Pass a clone(), or one input that f uses twice.",
                               order);
    }
  }
  return std::nullopt;
}

}  // namespace

void detail::throw_arity(std::size_t takes, std::size_t given) {
  throw Error("gradcheck: f takes " + std::to_string(takes) + " tensors, but " +
              std::to_string(given) + " inputs are given");
}

GradcheckReport gradcheck(const CheckedFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
  Check check(f, inputs, options, 1);
  if (const auto shared = shared_memory(inputs, 1)) return *shared;
  return check.run();
}

GradcheckReport gradgradcheck(const CheckedFunction& f, const Tensors& originals,
                              const GradcheckOptions& options) {
  const Check first(f, originals, options, 1);  // for its errors
  if (const auto shared = shared_memory(originals, 2)) return *shared;
  const detail::Scoped keep(default_generator(), Generator(default_generator()));
  Generator generator(options.seed + 1);
  GradcheckOptions named = options;
  const std::size_t n = originals.size();
  for (std::size_t i = named.names.size(); i < n; ++i) {
    named.names.push_back("input " + std::to_string(i));
  }
  std::vector<std::size_t> wanted;
  Tensors inputs = originals;
  for (std::size_t i = 0; i < n; ++i) {
    if (originals[i].requires_grad()) wanted.push_back(i);
  }
  {
    const NoGrad no_grad;
    for (const Tensor& y : f(originals)) {
      if (y.dtype() != float64) continue;
      Tensor upstream = empty(y.shape(), {.dtype = float64});
      for (double& v : upstream.mut<double>()) v = away_from_zero(generator);
      inputs.push_back(upstream.requires_grad_());
      named.names.push_back("upstream gradient " + std::to_string(inputs.size() - n - 1));
    }
  }
  // f's gradients by all its wanted inputs, as a function of the inputs and upstream gradients. An
  // input that the outer check holds still gets a leaf of its own here.
  const auto gradients = [&](const Tensors& all) {
    const bool recorded = is_grad_enabled();
    const EnableGrad recording;
    Tensors xs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)), asked, ys, upstream;
    for (std::size_t i : wanted) {
      if (!recorded || !xs[i].requires_grad()) xs[i] = xs[i].detach().requires_grad_();
      asked.push_back(xs[i]);
    }
    std::size_t at = n;
    for (const Tensor& y : f(xs)) {
      if (y.dtype() != float64) continue;
      if (y.requires_grad()) {
        ys.push_back(y);
        upstream.push_back(all.at(at));
      }
      ++at;
    }
    Tensors found(asked.size());
    if (!ys.empty()) {
      found = grad(ys, asked, upstream, {.create_graph = recorded, .allow_unused = true});
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) found[i] = zeros_like(asked[i].detach());
      if (!recorded) found[i] = found[i].detach();
    }
    return found;
  };
  return Check(CheckedFunction(gradients), inputs, named, 2).run();
}

}  // namespace xgrad
