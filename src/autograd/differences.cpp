#include "autograd/differences.hpp"

#include <algorithm>
#include <cmath>

namespace xgrad::detail {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr int levels = 10;     // five decades of steps
constexpr double ratio = 3.3;  // of each to the next; no power of 2, which rounding is made of

double away_from_zero(Generator& generator) {
  const double v = generator.uniform<double>() + 0.5;
  return generator.uniform<double>() < 0.5 ? -v : v;
}

double largest(std::span<const double> values, double least) {
  for (double v : values) least = std::isfinite(v) ? std::max(least, std::abs(v)) : least;
  return least;
}

double Seed::operator()(const Values& x, bool sizes) const {
  if (output >= 0) return x[index(output)];
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k] != 0) sum += (sizes ? std::abs(weights[k]) : weights[k]) * x[k];
  }
  return sum;
}

std::vector<Tensor> Differences::results(const std::vector<Tensor>& at) const {
  std::vector<Tensor> out;
  for (const Tensor& y : f(at)) {
    if (y.dtype() == float64) out.push_back(y);
    throw_if<DTypeError>(y.dtype() == float32, "gradcheck: f returned float32 of shape ", y.shape(),
                         "; only float64 results can be checked, so convert what f uses besides "
                         "its inputs with to(xg::float64)");
  }
  throw_if<DTypeError>(out.empty(), "gradcheck: f returned no floating point tensor");
  return out;
}
Values Differences::outputs() const {
  const NoGrad no_grad;
  Values row;
  for (const Tensor& y : results(inputs)) {
    const std::span<const double> values = y.data<double>();
    row.insert(row.end(), values.begin(), values.end());
  }
  return row;
}
std::string Differences::unsteady() {
  const auto writes = [&] {
    std::uint32_t sum = 0;
    for (const Tensor& x : inputs) sum += x.impl().storage->version;
    return sum;
  };
  const std::uint32_t before = writes();
  base = outputs();
  const Values again = outputs();
  if (again.size() != base.size()) return "called twice, f returned results of other sizes.";
  for (std::size_t k = 0; k < base.size(); ++k) {
    if (again[k] == base[k] || (std::isnan(again[k]) && std::isnan(base[k]))) continue;
    return message("called twice with the same inputs, f returned ", base[k], " and ", again[k],
                   " as output ", k,
                   writes() != before
                       ? ". It writes into an input: let it change a clone() of that."
                       : ". Seed its randomness inside f, or switch dropout off with eval().");
  }
  return "";
}
Values Differences::outputs_or_nothing() const {
  try {
    return outputs();
  } catch (const Error&) {  // out of f's domain
    return {};
  }
}
Values Differences::outputs_at(const Line& line, double step) {
  const NoGrad no_grad;
  const std::span<double> x =
      inputs[line.input].mut<double>().subspan(index(line.first), index(line.count));
  const Values before(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += line.signs[i] * step;
  const Values row = outputs_or_nothing();
  std::copy(before.begin(), before.end(), x.begin());
  return row;
}

void Differences::measure_noise(Generator& generator) {
  const NoGrad no_grad;
  for (double y : base) noise.push_back(std::isfinite(y) ? epsilon * std::abs(y) : 0);
  const std::vector<Tensor> originals = inputs;
  for (int draw = 0; draw < 6; ++draw) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      inputs[i] = originals[i].detach().clone().requires_grad_();
      for (double& v : inputs[i].mut<double>()) v *= 1 + epsilon * away_from_zero(generator);
    }
    const Values moved = outputs_or_nothing();
    for (std::size_t k = 0; k < moved.size() && moved.size() == base.size(); ++k) {
      const double by = std::abs(moved[k] - base[k]);
      if (std::isfinite(by)) noise[k] = std::max(noise[k], by);
    }
  }
  inputs = originals;
}

Values Differences::quotients(const Line& line, double up_step, double down_step) {
  Values up = outputs_at(line, up_step), down = outputs_at(line, down_step);
  if (up.size() != base.size() || down.size() != base.size()) return {};
  double width = up_step - down_step;
  if (line.count == 1) {  // as far as the rounded ends are apart
    const double x = inputs[line.input].data<double>()[index(line.first)];
    const volatile double top = x + up_step, bottom = x + down_step;
    width = top - bottom;
  }
  for (std::size_t k = 0; k < up.size(); ++k) {
    up[k] = up[k] == down[k] ? 0 : (up[k] - down[k]) / width;
  }
  Values out;
  for (const Seed& seed : seeds) out.push_back(seed(up));
  return out;
}

/// Ridders' method: central differences over smaller and smaller steps, extrapolated to step 0
/// with even powers; of all extrapolations the one whose neighbours and rounding say it is best.
void Differences::search(const Line& line, double h, const Values& scales, double tolerance,
                         std::vector<Slope>& best) {
  std::vector<Values> rows(seeds.size());
  for (int level = 0; level < levels; ++level, h /= ratio) {
    const Values d = quotients(line, h, -h);
    bool done = level >= 2;
    for (std::size_t s = 0; s < seeds.size(); ++s) {
      if (d.empty() || !std::isfinite(d[s])) {  // the step left the function's domain
        rows[s].clear();
        done = false;
        continue;
      }
      const double rounding = seed_noise[s] / h;
      Values next = {d[s]};
      double power = 1;
      for (std::size_t m = 0; m < rows[s].size() && m < 6; ++m) {
        power *= ratio * ratio;
        next.push_back(next[m] + (next[m] - rows[s][m]) / (power - 1));
        const double error = rounding + std::max(std::abs(next[m + 1] - next[m]),
                                                 std::abs(next[m + 1] - rows[s][m]));
        if (error < best[s].error) best[s] = {next[m + 1], error};
      }
      rows[s] = std::move(next);
      const double enough = 0.01 * tolerance * std::max(std::abs(best[s].value), scales[s]);
      done = done && best[s].error <= std::max(2 * rounding, enough);
    }
    if (done) return;
  }
}

void Differences::add_seed(Seed seed) {
  seed_noise.push_back(seed(noise, true));
  seeds.push_back(std::move(seed));
}

std::vector<Slope> Differences::slopes(const Line& line, const Values& scales, double tolerance) {
  std::vector<Slope> best(seeds.size());
  search(line, first_step, scales, tolerance, best);
  const double x =
      largest(inputs[line.input].data<double>().subspan(index(line.first), index(line.count)), 0);
  bool poor = false;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    poor = poor || best[s].error > 0.1 * tolerance * scales[s];
  }
  if (!poor || x < 1) return best;  // large numbers may bear large steps
  std::vector<Slope> wide(seeds.size());
  search(line, x / 7, scales, tolerance, wide);
  for (std::size_t s = 0; s < seeds.size(); ++s) {  // far away f may be another one
    if (wide[s].error < best[s].error &&
        !(std::abs(wide[s].value - best[s].value) > best[s].error)) {
      best[s] = wide[s];
    }
  }
  return best;
}

}  // namespace xgrad::detail
