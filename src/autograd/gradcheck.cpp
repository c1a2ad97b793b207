#include "xgrad/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "detail/message.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/random.hpp"

namespace xgrad {

namespace {

using Values = std::vector<double>;

constexpr int step_count = 10;
constexpr std::int64_t few_outputs = 64;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Random, and nowhere near 0: a zero upstream gradient hides what is below it.
Tensor random_like(const Tensor& x, Generator& generator) {
  Tensor out = empty(x.shape(), {.dtype = float64});
  for (double& v : out.mut<double>()) {
    v = generator.uniform<double>() + 0.5;
    if (generator.uniform<double>() < 0.5) v = -v;
  }
  return out;
}

/// What is checked: a function, copies of its inputs, and which of them require a gradient.
struct Subject {
  const CheckedFunction& f;
  std::vector<Tensor> inputs{};
  std::vector<std::size_t> wanted{};

  Subject(const CheckedFunction& function, const std::vector<Tensor>& originals) : f(function) {
    for (const Tensor& x : originals) {
      const std::size_t i = inputs.size();
      throw_if<DTypeError>(
          x.requires_grad() && x.dtype() != float64, "gradcheck: input ", i, " of shape ",
          x.shape(), " is ", x.dtype(),
          ", whose rounding is as great as the differences to be measured. Convert "
          "it with to(xg::float64), a module with its parameters and buffers.");
      inputs.push_back(x.detach().clone().requires_grad_(x.requires_grad()));
      if (x.requires_grad()) wanted.push_back(i);
    }
    throw_if<Error>(wanted.empty(), "gradcheck: no input requires a gradient");
  }

  Values outputs() {
    const NoGrad no_grad;
    const Tensor out = f(inputs);
    if (out.dtype() == float64) return out.to_vector<double>();
    throw DTypeError(message("gradcheck: the function returned ", out.dtype(),
                             ", only a float64 result can be checked"));
  }
  double element(std::size_t input, std::size_t e) { return inputs[input].data<double>()[e]; }
  Values outputs_with(std::size_t input, std::size_t e, double value) {
    const double before = element(input, e);
    const NoGrad no_grad;
    inputs[input].mut<double>()[e] = value;
    Values out = outputs();
    inputs[input].mut<double>()[e] = before;
    return out;
  }
};

// ---- numeric ------------------------------------------------------------------------------------

/// Ridders' method: central differences, each step half the one before, extrapolated to step 0 with
/// even powers; of all extrapolations the one that agrees best with its neighbours.
double extrapolated(const Values& differences) {
  double best = differences.back();
  double best_error = infinity;
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
      if (error > best_error) continue;
      best_error = error;
      best = next[m + 1];
    }
    row = std::move(next);
  }
  return best;
}

/// Derivatives of all outputs by one element.
Values slopes_by(Subject& s, std::size_t input, std::size_t e, double first_step) {
  const double x = s.element(input, e);
  double h = first_step * (1 + std::abs(x));
  std::vector<Values> differences;  // of each output
  for (int i = 0; i < step_count; ++i, h /= 2) {
    const double above = x + h, below = x - h;
    const Values up = s.outputs_with(input, e, above), down = s.outputs_with(input, e, below);
    differences.resize(up.size());
    for (std::size_t k = 0; k < up.size(); ++k) {
      differences[k].push_back((up[k] - down[k]) / (above - below));
    }
  }
  Values slopes;
  for (const Values& d : differences) slopes.push_back(extrapolated(d));
  return slopes;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] == 0 ? 0 : a[i] * b[i];
  return sum;
}

// ---- analytic -----------------------------------------------------------------------------------

struct Analytic {
  Values upstream;
  std::vector<Tensor> gradients;  // by the wanted inputs
  const char* path;
};

/// For a random upstream gradient, and for each output alone where they are few; as backward()
/// computes them, and recorded.
std::vector<Analytic> analytic(Subject& s, Generator& generator) {
  const EnableGrad recording;
  const Tensor out = s.f(s.inputs);
  std::vector<Tensor> seeds = {random_like(out, generator)};
  for (std::int64_t k = 0; out.numel() > 1 && out.numel() <= few_outputs && k < out.numel(); ++k) {
    Tensor one = zeros(out.shape(), {.dtype = float64});
    one.mut<double>()[static_cast<std::size_t>(k)] = 1;
    seeds.push_back(one);
  }
  std::vector<Tensor> xs;
  for (std::size_t i : s.wanted) xs.push_back(s.inputs[i]);
  std::vector<Analytic> results;
  for (const Tensor& seed : seeds) {
    for (bool create_graph : {false, true}) {
      std::vector<Tensor> found(xs.size());
      if (out.requires_grad()) {
        found = grad(out, xs, {seed, create_graph, /*retain_graph=*/true, /*allow_unused=*/true});
      }
      for (std::size_t i = 0; i < xs.size(); ++i) {
        found[i] = found[i].defined() ? found[i].detach() : zeros_like(xs[i].detach());
      }
      results.push_back(
          {seed.to_vector<double>(), std::move(found), create_graph ? " (with create_graph)" : ""});
    }
  }
  return results;
}

// ---- the report ---------------------------------------------------------------------------------

std::string words(Subject& s, const GradcheckReport& r, const Analytic& by, double step) {
  char text[256];
  std::snprintf(text, sizeof text,
                ", element %lld: the analytic derivative%s is %.9g, the numeric one %.9g.",
                static_cast<long long>(r.element), by.path, r.analytic, r.numeric);
  std::string message = "gradcheck: input " + std::to_string(r.input) + " of shape " +
                        s.inputs[r.input].shape().str() + text;
  const std::size_t e = static_cast<std::size_t>(r.element);
  const double x = s.element(r.input, e);
  const double h = step * (1 + std::abs(x)) / (1 << step_count);
  const double here = dot(by.upstream, s.outputs());
  const double left = (here - dot(by.upstream, s.outputs_with(r.input, e, x - h))) / h;
  const double right = (dot(by.upstream, s.outputs_with(r.input, e, x + h)) - here) / h;
  if (std::abs(left - right) <= 1e-2 * (1 + std::abs(r.numeric))) return message;
  std::snprintf(text, sizeof text,
                " The slope is %.6g on the left and %.6g on the right: there is a kink or a jump "
                "here, so move the input away from it.",
                left, right);
  return message + text;
}

}  // namespace

GradcheckReport gradcheck(const CheckedFunction& f, const std::vector<Tensor>& originals,
                          GradcheckOptions options) {
  Generator generator(options.seed);
  Subject s(f, originals);
  GradcheckReport report;
  const Values first = s.outputs(), second = s.outputs();
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (first[k] == second[k] || (std::isnan(first[k]) && std::isnan(second[k]))) continue;
    report.ok = false;
    report.message = "gradcheck: the function is not deterministic: called twice it returned " +
                     std::to_string(first[k]) + " and " + std::to_string(second[k]) +
                     ". Seed its randomness inside, or switch dropout off with eval().";
    return report;
  }

  const std::vector<Analytic> all = analytic(s, generator);
  const Analytic* culprit = nullptr;
  double worst = 1;  // error in units of what is allowed
  for (std::size_t i = 0; i < s.wanted.size(); ++i) {
    const std::size_t input = s.wanted[i];
    for (std::int64_t element = 0; element < s.inputs[input].numel(); ++element) {
      const std::size_t e = static_cast<std::size_t>(element);
      const Values slopes = slopes_by(s, input, e, options.step);
      for (const Analytic& by : all) {
        const double got = by.gradients[i].data<double>()[e];
        const double numeric = dot(by.upstream, slopes);
        const double error = std::abs(got - numeric);
        if (error == 0 || (std::isnan(got) && std::isnan(numeric))) continue;
        report.max_error = std::max(report.max_error, error / (1 + std::abs(numeric)));
        const double scale = std::max(std::abs(got), std::abs(numeric));
        double excess = error / (options.atol + options.rtol * scale);
        if (std::isnan(excess)) excess = infinity;
        if (excess <= worst) continue;
        worst = excess;
        culprit = &by;
        report = {false, report.max_error, input, element, got, numeric, {}};
      }
    }
  }
  if (culprit) report.message = words(s, report, *culprit, options.step);
  return report;
}

GradcheckReport gradgradcheck(const CheckedFunction& f, const std::vector<Tensor>& originals,
                              GradcheckOptions options) {
  Generator generator(options.seed + 1);
  const Subject s(f, originals);
  std::vector<Tensor> weights;
  for (std::size_t i : s.wanted) weights.push_back(random_like(s.inputs[i], generator));
  std::vector<Tensor> inputs = s.inputs;
  {
    const NoGrad no_grad;
    inputs.push_back(random_like(f(inputs), generator).requires_grad_());
  }
  // The sum of f's gradients by its inputs, each weighted by random numbers, as a function of the
  // inputs and of the upstream gradient, which comes last.
  const auto gradient = [&](const std::vector<Tensor>& all) {
    const bool recorded = is_grad_enabled();
    const EnableGrad recording;
    std::vector<Tensor> xs, wanted;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const bool wants = all[i].requires_grad();
      xs.push_back(recorded ? all[i] : all[i].detach().requires_grad_(wants));
      if (wants) wanted.push_back(xs.back());
    }
    const Tensor out = f(xs);
    Tensor total = zeros({}, {.dtype = float64});
    if (!out.requires_grad()) return total;
    const std::vector<Tensor> gradients = grad(
        out, wanted, {.grad_output = all.back(), .create_graph = recorded, .allow_unused = true});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) total = total + sum(gradients[i] * weights[i]);
    }
    return recorded ? total : total.detach();
  };
  GradcheckReport report = gradcheck(gradient, inputs, options);
  if (!report.ok) report.message = "second order, " + report.message;
  return report;
}

}  // namespace xgrad
