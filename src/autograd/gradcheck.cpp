#include "xgrad/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "xgrad/error.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/random.hpp"

namespace xgrad {

using detail::CheckedFunction;

namespace {

using Values = std::vector<double>;

constexpr int step_count = 10;
constexpr std::int64_t few_outputs = 64;

/// Random, and nowhere near 0: a zero upstream gradient hides what is below it.
Tensor random_like(const Tensor& x, Generator& generator) {
  Tensor out = empty(x.shape(), {.dtype = float64});
  for (double& v : out.mut<double>()) {
    v = generator.uniform<double>() + 0.5;
    if (generator.uniform<double>() < 0.5) v = -v;
  }
  return out;
}

/// Copies of the inputs, as leaves that require a gradient where the inputs do.
std::vector<Tensor> copies(const char* op, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (x.requires_grad() && x.dtype() != float64) {
      throw DTypeError(
          std::string(op) + ": input " + std::to_string(i) + " of shape " + x.shape().str() +
          " is " + name(x.dtype()) +
          ", whose rounding is as great as the differences that would be measured. "
          "Convert it with to(xg::float64), a module with its parameters and buffers.");
    }
    result.push_back(x.detach().clone().requires_grad_(x.requires_grad()));
    any = any || x.requires_grad();
  }
  if (!any) throw Error(std::string(op) + ": no input requires a gradient");
  return result;
}

Values values_of(CheckedFunction& f, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  const Tensor out = f.call(inputs);
  if (out.dtype() != float64) {
    throw DTypeError(std::string("gradcheck: the function returned ") + name(out.dtype()) +
                     ", only a float64 result can be checked");
  }
  return out.to_vector<double>();
}

/// Ridders' method: central differences, each step half the one before, extrapolated to step 0 with
/// even powers; of all extrapolations the one that agrees best with its neighbours.
double extrapolated(const Values& differences) {
  double best = differences.back();
  double best_error = std::numeric_limits<double>::infinity();
  Values row;
  for (double difference : differences) {
    if (!std::isfinite(difference)) {  // a wide step left the function's domain
      row.clear();
      continue;
    }
    Values next = {difference};
    double power = 1;
    for (std::size_t m = 0; m < row.size(); ++m) {
      power *= 4;
      next.push_back(next[m] + (next[m] - row[m]) / (power - 1));
      const double error =
          std::max(std::abs(next[m + 1] - next[m]), std::abs(next[m + 1] - row[m]));
      if (error <= best_error) {
        best_error = error;
        best = next[m + 1];
      }
    }
    row = std::move(next);
  }
  return best;
}

/// Derivatives of all outputs by one element of an input.
struct Slopes {
  Values both;         // by central differences
  Values left, right;  // one-sided, with the smallest step: they differ at a kink
};

Slopes slopes_by(CheckedFunction& f, std::vector<Tensor>& inputs, std::size_t input,
                 std::size_t element, double first_step) {
  const auto at = [&](double x) {
    const NoGrad no_grad;
    inputs[input].mut<double>()[element] = x;
    return values_of(f, inputs);
  };
  const double x = inputs[input].data<double>()[element];
  const Values middle = at(x);
  std::vector<Values> differences(middle.size());
  Slopes slopes{Values(middle.size()), Values(middle.size()), Values(middle.size())};
  double h = first_step * (1 + std::abs(x));
  for (int i = 0; i < step_count; ++i, h /= 2) {
    const double above = x + h, below = x - h;
    const Values up = at(above), down = at(below);
    for (std::size_t k = 0; k < middle.size(); ++k) {
      differences[k].push_back((up[k] - down[k]) / (above - below));
      slopes.right[k] = (up[k] - middle[k]) / (above - x);
      slopes.left[k] = (middle[k] - down[k]) / (x - below);
    }
  }
  at(x);
  for (std::size_t k = 0; k < middle.size(); ++k) slopes.both[k] = extrapolated(differences[k]);
  return slopes;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] == 0 ? 0 : a[i] * b[i];
  return sum;
}

std::string words(const char* op, const GradcheckReport& r, const Tensor& input, double left,
                  double right, const std::string& path) {
  char text[256];
  std::snprintf(text, sizeof text,
                ", element %lld: the analytic derivative%s is %.9g, the numeric one %.9g.",
                static_cast<long long>(r.element), path.c_str(), r.analytic, r.numeric);
  std::string message = std::string(op) + ": input " + std::to_string(r.input) + " of shape " +
                        input.shape().str() + text;
  if (std::abs(left - right) > 1e-2 * (1 + std::abs(r.numeric))) {
    std::snprintf(text, sizeof text,
                  " The slope is %.6g on the left and %.6g on the right: there is a kink or a jump "
                  "here, so move the input away from it.",
                  left, right);
    message += text;
  }
  return message;
}

/// The derivatives of one upstream gradient by each input.
struct Analytic {
  Values upstream;
  std::vector<Tensor> gradients;
  std::string path;
};

std::vector<Analytic> analytic(CheckedFunction& f, const std::vector<Tensor>& inputs,
                               Generator& generator) {
  const EnableGrad recording;
  const Tensor out = f.call(inputs);
  std::vector<Tensor> wanted;
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) wanted.push_back(x);
  }
  std::vector<Tensor> seeds = {random_like(out, generator)};
  if (out.numel() > 1 && out.numel() <= few_outputs) {
    for (std::int64_t k = 0; k < out.numel(); ++k) {
      Tensor one = zeros(out.shape(), {.dtype = float64});
      one.mut<double>()[static_cast<std::size_t>(k)] = 1;
      seeds.push_back(one);
    }
  }
  std::vector<Analytic> results;
  for (const Tensor& seed : seeds) {
    for (bool create_graph : {false, true}) {
      std::vector<Tensor> found(wanted.size());
      if (out.requires_grad()) {
        found = grad(out, wanted,
                     {.grad_output = seed,
                      .create_graph = create_graph,
                      .retain_graph = true,
                      .allow_unused = true});
      }
      std::vector<Tensor> gradients;  // by every input; undefined where none is wanted
      std::size_t next = 0;
      for (const Tensor& x : inputs) {
        if (!x.requires_grad()) {
          gradients.emplace_back();
          continue;
        }
        const Tensor& g = found[next++];
        gradients.push_back(g.defined() ? g.detach() : zeros_like(x.detach()));
      }
      results.push_back({seed.to_vector<double>(), std::move(gradients),
                         create_graph ? " (with create_graph)" : ""});
    }
  }
  return results;
}

}  // namespace

GradcheckReport detail::gradcheck(CheckedFunction& f, const std::vector<Tensor>& originals,
                                  const GradcheckOptions& options) {
  Generator generator(options.seed);
  std::vector<Tensor> inputs = copies("gradcheck", originals);
  GradcheckReport report;
  const Values first = values_of(f, inputs), second = values_of(f, inputs);
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (first[k] == second[k] || (std::isnan(first[k]) && std::isnan(second[k]))) continue;
    report.ok = false;
    report.message = "gradcheck: the function is not deterministic: called twice it returned " +
                     std::to_string(first[k]) + " and " + std::to_string(second[k]) +
                     ". Seed its randomness inside, or switch dropout off with eval().";
    return report;
  }

  const std::vector<Analytic> all = analytic(f, inputs, generator);
  double worst_excess = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    for (std::int64_t e = 0; e < inputs[i].numel(); ++e) {
      const std::size_t element = static_cast<std::size_t>(e);
      const Slopes slopes = slopes_by(f, inputs, i, element, options.step);
      for (const Analytic& by : all) {
        const double got = by.gradients[i].data<double>()[element];
        const double numeric = dot(by.upstream, slopes.both);
        const double error = std::abs(got - numeric);
        const double allowed =
            options.atol + options.rtol * std::max(std::abs(got), std::abs(numeric));
        if (error == 0 || (std::isnan(got) && std::isnan(numeric))) continue;
        report.max_error = std::max(report.max_error, error / (1 + std::abs(numeric)));
        // Written so that a NaN on one side is a mismatch, and the worst one.
        if (error <= allowed || error / allowed <= worst_excess) continue;
        worst_excess =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : error / allowed;
        report = {false, report.max_error, i, e, got, numeric, {}};
        report.message = words("gradcheck", report, inputs[i], dot(by.upstream, slopes.left),
                               dot(by.upstream, slopes.right), by.path);
      }
    }
  }
  return report;
}

namespace {

/// The sum of f's gradients by its inputs, each weighted by random numbers, as a function of the
/// inputs and of the upstream gradient, which comes last.
class GradientOf final : public CheckedFunction {
 public:
  GradientOf(CheckedFunction& f, std::vector<Tensor> weights)
      : f_(f), weights_(std::move(weights)) {}

  Tensor call(const std::vector<Tensor>& all) override {
    const bool recorded = is_grad_enabled();
    const EnableGrad recording;
    std::vector<Tensor> inputs, wanted;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const bool wants = all[i].requires_grad();
      inputs.push_back(recorded ? all[i] : all[i].detach().requires_grad_(wants));
      if (wants) wanted.push_back(inputs.back());
    }
    const Tensor out = f_.call(inputs);
    Tensor total = zeros({}, {.dtype = float64});
    if (!out.requires_grad()) return total;
    const std::vector<Tensor> gradients = grad(
        out, wanted, {.grad_output = all.back(), .create_graph = recorded, .allow_unused = true});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) total = total + sum(gradients[i] * weights_[i]);
    }
    return recorded ? total : total.detach();
  }

 private:
  CheckedFunction& f_;
  std::vector<Tensor> weights_;
};

}  // namespace

GradcheckReport detail::gradgradcheck(CheckedFunction& f, const std::vector<Tensor>& originals,
                                      const GradcheckOptions& options) {
  Generator generator(options.seed + 1);
  std::vector<Tensor> inputs = copies("gradgradcheck", originals);
  std::vector<Tensor> weights;
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) weights.push_back(random_like(x, generator));
  }
  const NoGrad no_grad;
  inputs.push_back(random_like(f.call(inputs), generator).requires_grad_());
  GradientOf gradient(f, std::move(weights));
  GradcheckReport report = detail::gradcheck(gradient, inputs, options);
  if (!report.ok) report.message = "second order, " + report.message;
  return report;
}

}  // namespace xgrad
