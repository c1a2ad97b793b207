#include "autograd/gradcheck.hpp"

#include <algorithm>

#include "autograd/differences.hpp"
#include "xgrad/ops.hpp"

namespace xgrad {

namespace {

using Tensors = std::vector<Tensor>;
using namespace detail;

constexpr double probe_step = 1e-6;
constexpr double doubt = 10;  // an estimated error may be so many times too small

/// Whether the gradient by the w-th input that can have one is among those in the mask.
constexpr std::uint64_t everything = ~0ULL;
bool asks(std::uint64_t mask, std::size_t w) {
  return mask == everything || (w < 64 && (mask >> w & 1U) != 0);
}

class Check {
 public:
  Check(const CheckedFunction& f, const Tensors& originals, const GradcheckOptions& options,
        int order)
      : d_{f}, found_{options, {}, {}, {}, {}, {}, 0, 0, order}, generator_(options.seed) {
    found_.tolerance = order == 1 ? options.tolerance : options.second_tolerance;
    for (const Tensor& x : originals) {
      const std::size_t i = d_.inputs.size();
      throw_if<DTypeError>(
          x.requires_grad() && x.dtype() != float64, "gradcheck: ", found_.input_name(i),
          " of shape ", x.shape(), " is ", x.dtype(),
          ", whose rounding is as great as the differences to be measured. Convert it with "
          "to(xg::float64); a module is converted by gradcheck(module, ...).");
      d_.inputs.push_back(x.detach().clone().requires_grad_(x.requires_grad()));
      if (x.requires_grad()) found_.wanted.push_back(i);
    }
    throw_if<Error>(found_.wanted.empty(), "gradcheck: no input requires a gradient");
  }

  GradcheckReport run() {
    const detail::Scoped keep(default_generator(), Generator(default_generator()));
    if (const std::string what = d_.unsteady(); !what.empty()) {
      return ended(Verdict::not_deterministic, what);
    }
    for (std::size_t k = 0; k < d_.base.size(); ++k) {
      if (std::isnan(d_.base[k])) {
        return ended(Verdict::not_finite, message("output ", k,
                                                  " of f is nan at these inputs. Look for 0 / 0, "
                                                  "inf - inf or the log of a negative number."));
      }
    }
    d_.measure_noise(generator_);
    found_.noise = largest(d_.noise, 0);
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
      const std::int64_t n = d_.inputs[found_.wanted[w]].numel();
      const std::size_t before = found_.records.size();
      if (n <= found_.options.each_element) {
        for (std::int64_t e = 0; e < n; ++e) examine(line(w, e, 1), w);
      } else {
        halve(w, 0, n);
      }
      judge(before);
    }
    found_.inputs = d_.inputs;
    return report_of(found_);
  }

 private:
  GradcheckReport ended(Verdict verdict, const std::string& what) const {
    return detail::report_of(verdict, what, found_.order);
  }

  Line line(std::size_t wanted, std::int64_t first, std::int64_t count) {
    Line out{found_.wanted[wanted], first, count, Values(index(count), 1.0)};
    for (std::size_t i = 0; count > 1 && i < out.signs.size(); ++i) {
      if (generator_.uniform<double>() < 0.5) out.signs[i] = -1;
    }
    return out;
  }

  // ---- analytic ---------------------------------------------------------------------------------

  void choose_seeds() {
    const std::int64_t n = static_cast<std::int64_t>(d_.base.size());
    const bool each = n <= (found_.order == 1 ? found_.options.full_jacobian : 0) && n > 1;
    for (int i = 0; i < (each || n == 1 ? 1 : 3); ++i) {
      Seed mixture;
      for (std::int64_t k = 0; k < n; ++k) mixture.weights.push_back(away_from_zero(generator_));
      d_.add_seed(std::move(mixture));
      found_.seeds.push_back("random upstream");
    }
    mixtures_ = d_.seeds.size();
    if (each) {
      const NoGrad no_grad;
      std::int64_t first = 0;
      const Tensors ys = d_.results(d_.inputs);
      for (std::size_t y = 0; y < ys.size(); first += ys[y++].numel()) {
        for (std::int64_t k = 0; k < ys[y].numel(); ++k) {
          d_.add_seed({first + k, {}});
          found_.seeds.push_back(message("output ", ys.size() > 1 ? message(y, " at ") : "",
                                         detail::index_of(ys[y].shape(), k)));
        }
      }
    }
  }

  /// Gradients by the inputs in the mask, which alone require one.
  void go_backward(std::uint64_t mask, std::size_t seeds) {
    const EnableGrad recording;
    Tensors leaves = d_.inputs, asked;
    for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
      Tensor& x = leaves[found_.wanted[w]];
      if (asks(mask, w)) {
        asked.push_back(x);
      } else {
        x = x.detach();
      }
    }
    const Tensors all = d_.results(leaves);
    for (std::size_t s = 0; s < seeds; ++s) {
      Tensors ys, weights;
      std::size_t next = 0;
      for (const Tensor& y : all) {
        Tensor weight = zeros(y.shape(), {.dtype = float64});
        for (double& v : weight.mut<double>()) {
          v = d_.seeds[s].output < 0 ? d_.seeds[s].weights[next]
                                     : index(d_.seeds[s].output) == next;
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
          if (!asks(mask, w)) continue;
          if (const Tensor& g = found[at++]; g.defined()) way.gradients[w] = g.detach();
        }
        found_.ways.push_back(std::move(way));
      }
    }
  }

  void go_backward() {
    go_backward(everything, d_.seeds.size());
    const std::size_t n = found_.wanted.size();
    for (std::size_t w = 0; n > 3 && w < std::min<std::size_t>(n, 63); ++w)
      go_backward(1ULL << w, 1);
    for (std::uint64_t mask = 1; n <= 3 && mask < (1ULL << n) - 1; ++mask) go_backward(mask, 1);
    // What the largest derivatives seem to be: how accurate the search has to be. Not a judge.
    for (std::size_t w = 0; w < found_.wanted.size(); ++w) {
      Values scales(d_.seeds.size(), floor(w));
      for (const Analytic& way : found_.ways) {
        if (!way.gradients[w].defined()) continue;
        scales[way.seed] = largest(way.gradients[w].data<double>(), scales[way.seed]);
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
    return 1e-4 * largest(d_.base, 1) / largest(d_.inputs[found_.wanted[wanted]].data<double>(), 1);
  }

  /// Both are so far above the error that they can be compared however small they are. Not at
  /// second order, where f is a gradient: that may be what a cancellation has left.
  bool clear(const Record& r) const {
    return found_.order == 1 &&
           std::min(std::abs(r.analytic), std::abs(r.numeric)) > 1e3 * r.numeric_error;
  }
  bool clearly_off(const Record& r) const {
    return clear(r) && r.error() > 0.01 * std::abs(r.numeric);
  }

  /// Records what both say; true where they agree at first sight.
  bool examine(const Line& line, std::size_t wanted) {
    const std::vector<Slope> numeric = d_.slopes(line, scales_[wanted], found_.tolerance);
    bool agree = true;
    for (std::size_t way = 0; way < found_.ways.size(); ++way) {
      const Analytic& a = found_.ways[way];
      if (!asks(a.asked, wanted)) continue;
      Record r{way, line.input, wanted, line.first, line.count};
      r.missing = !a.gradients[wanted].defined();
      for (std::size_t i = 0; !r.missing && i < line.signs.size(); ++i) {
        r.analytic += line.signs[i] * a.gradients[wanted].data<double>()[index(line.first) + i];
      }
      r.numeric = numeric[a.seed].value;
      r.numeric_error = numeric[a.seed].error;
      const double share = std::sqrt(static_cast<double>(line.count));
      agree = agree && !clearly_off(r) &&
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
    const double least = floor(found_.records[begin].wanted);
    Values scales(d_.seeds.size(), least);
    bool null = true;
    for (std::size_t i = begin; i < found_.records.size(); ++i) {
      const Record& r = found_.records[i];
      double& scale = scales[found_.ways[r.way].seed];
      const double size = std::abs(r.numeric) / std::sqrt(static_cast<double>(r.count));
      if (std::isfinite(size)) scale = std::max(scale, size);
      // Tiny is not null where it stands clear of the noise.
      const double largest = std::max(std::abs(r.analytic), std::abs(r.numeric));
      null = null && std::isfinite(r.numeric_error) && !clear(r) &&
             largest <= std::max(doubt * r.numeric_error, 1e-5 * least);
    }
    for (std::size_t i = begin; i < found_.records.size(); ++i) {
      Record& r = found_.records[i];
      r.scale = scales[found_.ways[r.way].seed] * std::sqrt(static_cast<double>(r.count));
      if (!std::isfinite(r.analytic)) {
        r.verdict = Verdict::not_finite;
      } else if (!(r.relative() <= found_.tolerance) || clearly_off(r)) {
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
      const Values d = d_.quotients(here, up, down);
      return d.empty() ? std::nan("") : d[s];
    };
    const double h = probe_step, left = slope(0, -h), right = slope(h, 0);
    const double far_left = slope(0, -4 * h), far_right = slope(4 * h, 0);
    const double noise = doubt * d_.seed_noise[s] / h, middle = (left + right) / 2;
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
    const double wide = slope(Differences::first_step, -Differences::first_step);
    const bool misled =
        (std::abs(r.numeric - middle) > unsure && std::abs(r.analytic - middle) <= unsure) ||
        std::abs(r.numeric - wide) > 100 * std::abs(r.analytic - wide);
    return noisy || misled ? Verdict::too_noisy : wrong;
  }

  Differences d_;
  detail::Findings found_;
  Generator generator_;
  std::size_t mixtures_ = 0;    // the first seeds; after them single outputs
  std::vector<Values> scales_;  // by wanted input and seed
  std::size_t singles_ = 0;
};

}  // namespace

void detail::throw_arity(std::size_t takes, std::size_t given) {
  throw Error(message("gradcheck: f takes ", takes, " tensors, but the inputs are ", given));
}

GradcheckReport gradcheck(const CheckedFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options) {
  Check check(f, inputs, options, 1);
  if (const auto shared = detail::shared_memory(inputs, 1)) return *shared;
  return check.run();
}

GradcheckReport gradgradcheck(const CheckedFunction& f, const Tensors& originals,
                              const GradcheckOptions& options) {
  const Check first(f, originals, options, 1);  // for its errors
  if (const auto shared = detail::shared_memory(originals, 2)) return *shared;
  const detail::Scoped keep(default_generator(), Generator(default_generator()));
  Generator generator(options.seed + 1);
  GradcheckOptions named = options;
  const std::size_t n = originals.size();
  std::vector<std::size_t> wanted;
  Tensors inputs = originals;
  named.names.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i >= options.names.size()) named.names[i] = message("input ", i);
    if (originals[i].requires_grad()) wanted.push_back(i);
  }
  {
    const NoGrad no_grad;
    for (const Tensor& y : f(originals)) {
      if (y.dtype() != float64) continue;
      Tensor upstream = empty(y.shape(), {.dtype = float64});
      for (double& v : upstream.mut<double>()) v = away_from_zero(generator);
      inputs.push_back(upstream.requires_grad_());
      named.names.push_back(message("upstream gradient ", inputs.size() - n - 1));
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
