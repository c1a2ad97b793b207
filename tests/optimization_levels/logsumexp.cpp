// Case X-01: an expression that refers to dead locals shows itself at one optimization level only,
// so this program is built at several. Every function returns values, never a promise of them.

#include <cmath>
#include <cstdio>
#include <vector>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

auto shifted(const xg::Tensor& x) { return x + 0; }

auto helper(const std::vector<double>& values) {
  const auto x = xg::tensor(values, {.dtype = xg::float64});
  const auto top = amax(x);
  return log(sum(exp(shifted(x) - top))) + top;
}

struct Scaled {
  float scale;
  auto operator()(const xg::Tensor& x) const { return scale * x * scale; }
};

/// A temporary of a temporary: all of it is gone when the caller looks at the result.
auto scaled(const xg::Tensor& x) { return Scaled{0.5F}(x + 1) - Scaled{2.0F}(x); }

int failures = 0;

void expect(const char* what, double got, double expected) {
  if (std::abs(got - expected) <= 1e-12) return;
  std::printf("%s: %.12f, expected %.12f\n", what, got, expected);
  ++failures;
}

}  // namespace

int main() {
  const std::vector<double> values = {-0.042808, -0.042504, -0.043407, -0.047227};
  const auto by_helper = helper(values);
  const auto x = xg::tensor(values, {.dtype = xg::float64, .requires_grad = true});
  const auto by_function = logsumexp(shifted(x), 0);
  const auto difference = scaled(xg::tensor({3.0, -1.0}, {.dtype = xg::float64}));

  // Fresh memory and deeper stacks in between: what was promised only would change.
  const auto noise = sum(xg::full({1000}, 7.0) * 3.0);
  expect("noise", noise.item<double>(), 21000);

  expect("helper", by_helper.item<double>(), 1.342309662830);
  expect("helper again", by_helper.item<double>(), 1.342309662830);
  expect("logsumexp", by_function.item<double>(), 1.342309662830);
  expect("scaled[0]", difference.to_vector<double>()[0], 0.25 * 4 - 4.0 * 3);
  expect("scaled[1]", difference.to_vector<double>()[1], 0.25 * 0 + 4.0 * 1);

  // The rule keeps what it saved until it is called.
  by_function.backward();
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double softmax = std::exp(values[i] - 1.342309662830);
    expect("gradient", x.grad().to_vector<double>()[i], softmax);
    total += x.grad().to_vector<double>()[i];
  }
  expect("sum of the gradient", total, 1);
  return failures == 0 ? 0 : 1;
}
