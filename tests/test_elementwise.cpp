#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::DType;
using xg::Tensor;

namespace {

struct Function {
  const char* node;
  Tensor (*call)(const Tensor&);
  double (*value)(double);
  char integers;  // 'k': kept, 'f': float32, 'x': refused
};

double logistic(double v) { return 1 / (1 + std::exp(-v)); }

const Function functions[] = {
    {"NegBackward0", xg::neg, [](double v) { return -v; }, 'k'},
    {"AbsBackward0", xg::abs, [](double v) { return std::fabs(v); }, 'k'},
    {"SignBackward0", xg::sign, [](double v) { return double((v > 0) - (v < 0)); }, 'k'},
    {"FloorBackward0", xg::floor, [](double v) { return std::floor(v); }, 'k'},
    {"CeilBackward0", xg::ceil, [](double v) { return std::ceil(v); }, 'k'},
    {"RoundBackward0", xg::round, [](double v) { return std::nearbyint(v); }, 'k'},
    {"PowBackward0", xg::square, [](double v) { return v * v; }, 'k'},
    {"ReluBackward0", xg::relu, [](double v) { return v > 0 ? v : 0; }, 'k'},
    {"ExpBackward0", xg::exp, [](double v) { return std::exp(v); }, 'f'},
    {"Expm1Backward0", xg::expm1, [](double v) { return std::expm1(v); }, 'f'},
    {"LogBackward0", xg::log, [](double v) { return std::log(v); }, 'f'},
    {"Log1PBackward0", xg::log1p, [](double v) { return std::log1p(v); }, 'f'},
    {"SqrtBackward0", xg::sqrt, [](double v) { return std::sqrt(v); }, 'f'},
    {"RsqrtBackward0", xg::rsqrt, [](double v) { return 1 / std::sqrt(v); }, 'f'},
    {"ReciprocalBackward0", xg::reciprocal, [](double v) { return 1 / v; }, 'f'},
    {"SinBackward0", xg::sin, [](double v) { return std::sin(v); }, 'f'},
    {"CosBackward0", xg::cos, [](double v) { return std::cos(v); }, 'f'},
    {"TanhBackward0", xg::tanh, [](double v) { return std::tanh(v); }, 'f'},
    {"ErfBackward0", xg::erf, [](double v) { return std::erf(v); }, 'f'},
    {"SigmoidBackward0", xg::sigmoid, logistic, 'f'},
    {"LogSigmoidBackward0", xg::logsigmoid, [](double v) { return std::log(logistic(v)); }, 'x'},
    {"SiluBackward0", xg::silu, [](double v) { return v * logistic(v); }, 'x'},
    {"LeakyReluBackward0", [](const Tensor& x) { return xg::leaky_relu(x, 0.2); },
     [](double v) { return v > 0 ? v : 0.2 * v; }, 'x'},
    {"EluBackward0", [](const Tensor& x) { return xg::elu(x, 0.7); },
     [](double v) { return v > 0 ? v : 0.7 * std::expm1(v); }, 'x'},
    {"SoftplusBackward0", [](const Tensor& x) { return xg::softplus(x, 2.0, 3.0); },
     [](double v) { return 2 * v > 3 ? v : std::log1p(std::exp(2 * v)) / 2; }, 'x'},
    {"GeluBackward0", [](const Tensor& x) { return xg::gelu(x); },
     [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }, 'x'},
    {"GeluBackward0", [](const Tensor& x) { return xg::gelu(x, {.approximate = "tanh"}); },
     [](double v) {
       return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
     },
     'x'},
};

}  // namespace

TEST(Unary, ValuesInBothPrecisionsAndNamesOfNodes) {
  const std::vector<double> points = {-2.3, -0.6, -0.01, 0.02, 0.4, 1.1, 1.7, 2.5, 3.25};
  for (const Function& f : functions) {
    SCOPED_TRACE(f.node);
    std::vector<double> expected;
    for (double v : points) expected.push_back(f.value(v));
    const Tensor x = leaf(points);
    expect_values(f.call(x), expected, 1e-14);
    expect_values(f.call(xg::tensor(points)), expected, 1e-6);
    EXPECT_EQ(f.call(x).grad_fn(), f.node);
    EXPECT_EQ(f.call(xg::tensor(points)).dtype(), xg::float32);
    EXPECT_EQ(f.call(xg::zeros({0, 3}, {.dtype = xg::float64})).shape(), (xg::Shape{0, 3}));
    EXPECT_EQ(f.call(xg::full({}, 0.5)).shape(), xg::Shape{});
  }
}

TEST(Unary, IntegersAreKeptConvertedOrRefused) {
  for (const Function& f : functions) {
    SCOPED_TRACE(f.node);
    const Tensor x = xg::tensor({-3, 0, 2});
    if (f.integers == 'x') {
      EXPECT_THROW(f.call(x), xg::DTypeError);
      continue;
    }
    EXPECT_EQ(f.call(x).dtype(), f.integers == 'k' ? xg::int64 : xg::float32);
    expect_values(f.call(x), {f.value(-3), f.value(0), f.value(2)}, 1e-6);
  }
  EXPECT_THROW(relu(xg::tensor({true})), xg::DTypeError);
  EXPECT_THROW(-xg::tensor({true}), xg::DTypeError);
  expect_values(square(xg::tensor({true, false})), {1, 0});
}

// The rule in one pass (nothing recorded) against the recorded one and against differences, and the
// second derivative against differences of the first.
TEST(Unary, DerivativesOfBothOrdersAgreeWithDifferences) {
  const std::vector<double> points = {-2.3, -0.6, 0.4, 1.1, 1.7, 3.2};
  const std::vector<double> seed = {0.7, -1.3, 2.1, 0.4, -0.9, 1.6};
  const Tensor g = xg::tensor(seed, {.dtype = xg::float64});
  const double h = 1e-5;
  for (const Function& f : functions) {
    SCOPED_TRACE(f.node);
    const Tensor x = leaf(points);
    const auto first_at = [&](double shift) {
      const Tensor moved = (x.detach() + shift).requires_grad_();
      return grad(f.call(moved), {moved}, {.grad_output = g})[0];
    };
    const Tensor first = first_at(0);
    const Tensor recorded = grad(f.call(x), {x}, {.grad_output = g, .create_graph = true})[0];
    std::vector<double> by_difference;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double d = (f.value(points[i] + h) - f.value(points[i] - h)) / (2 * h);
      // Outside the domain (log of a negative number) there is a formula, but no difference.
      by_difference.push_back(std::isnan(d) ? first.to_vector<double>()[i] : seed[i] * d);
    }
    const std::vector<double> second_by_difference =
        ((first_at(h) - first_at(-h)) / (2 * h)).to_vector<double>();
    expect_values(first, by_difference, 1e-7);
    expect_values(recorded, first.to_vector<double>(), 1e-12);
    if (!recorded.requires_grad()) {
      expect_values(xg::zeros({6}), second_by_difference, 1e-7);
      continue;
    }
    const Tensor second = grad(sum(recorded), {x}, {.allow_unused = true})[0];
    expect_values(second.defined() ? second : xg::zeros({6}), second_by_difference, 1e-6);
  }
}

TEST(Unary, GeluOfTheLargestNumbersIsTheirs) {
  const Tensor x = xg::tensor({3e38, -3e38}, {.dtype = xg::float32});
  for (const char* approximate : {"none", "tanh"}) {
    expect_values(gelu(x, {.approximate = approximate}) / 3e38, {1, 0});
  }
}

TEST(Unary, ExtremeArgumentsNeitherOverflowNorLoseTheirDigits) {
  expect_values(sigmoid(leaf({-1000, 1000})), {0, 1});
  expect_values(logsigmoid(leaf({-1000, 1000})), {-1000, 0});
  expect_values(softplus(leaf({-1000, 1000})), {0, 1000});
  expect_values(silu(leaf({-1000, 1000})), {0, 1000});
  EXPECT_EQ(expm1(leaf({1e-20})).item<double>(), 1e-20);
  EXPECT_EQ(log1p(leaf({1e-20})).item<double>(), 1e-20);
  const Tensor x = leaf({-1000, 1000});
  for (const Tensor& y : {sigmoid(x), logsigmoid(x), softplus(x), silu(x), elu(x), gelu(x)}) {
    const Tensor first = grad(sum(y), {x}, {.create_graph = true})[0];
    EXPECT_TRUE(isfinite(first).amin().item<bool>()) << y.grad_fn();
    const Tensor second = grad(sum(first), {x}, {.retain_graph = true})[0];
    EXPECT_TRUE(isfinite(second).amin().item<bool>()) << y.grad_fn();
  }
}

TEST(Unary, FloatFunctionsAreWithinAFewUnitsInTheLastPlace) {
  std::vector<double> points;
  for (double size = 1e-20; size < 85; size *= 1.07) {
    points.push_back(size);
    points.push_back(-size);
  }
  for (const Function& f : functions) {
    SCOPED_TRACE(f.node);
    const std::string name = f.node;
    if (name == "SoftplusBackward0" || name == "GeluBackward0" || name == "LogSigmoidBackward0") {
      continue;  // compositions, with the digits of their parts
    }
    const Tensor x = xg::tensor(points);
    const std::vector<double> rounded = x.to_vector<double>();
    const std::vector<double> got = f.call(x).to_vector<double>();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double expected = f.value(rounded[i]);
      if (std::isnan(expected) || std::abs(expected) > 3e38) continue;
      const double tolerance = 4 * 6e-8 * std::abs(expected) + 1.5e-45;
      EXPECT_NEAR(got[i], expected, tolerance) << "at " << rounded[i];
    }
  }
}

TEST(Unary, RoundsHalfToEven) {
  expect_values(round(leaf({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})), {-2, -2, 0, 0, 2, 2});
}

TEST(Clamp, OneSideBothSidesAndTheGradientAtTheBounds) {
  const Tensor x = leaf({-2, -1, 0.5, 1, 3, not_a_number});
  expect_values(clamp(x, -1, 1), {-1, -1, 0.5, 1, 1, not_a_number});
  expect_values(slope(clamp(x, -1, 1), x), {0, 1, 1, 1, 0, 0});
  expect_values(clamp(x, std::nullopt, 1), {-2, -1, 0.5, 1, 1, not_a_number});
  expect_values(clamp(x, 0.5), {0.5, 0.5, 0.5, 1, 3, not_a_number});
  expect_values(clamp(x, 2, 1), {1, 1, 1, 1, 1, not_a_number});  // the maximum wins
  EXPECT_EQ(clamp(xg::tensor({1, 5}), 2, 3).dtype(), xg::int64);
  expect_values(clamp(xg::tensor({1, 5}), 1.5), {1.5, 5});
  EXPECT_THROW(clamp(x, std::nullopt), xg::Error);
  EXPECT_THROW(gelu(x, {.approximate = "sigmoid"}), xg::Error);
}

// ---- powers -------------------------------------------------------------------------------------

TEST(Pow, WholeExponentsAreExactAndTheirGradientsToo) {
  const Tensor x = leaf({-3, -0.5, 0, 2, 7});
  for (const int e : {0, 1, 2, 3, 4, -1, -2}) {
    SCOPED_TRACE(e);
    std::vector<double> values, slopes;
    for (double v : x.to_vector<double>()) {
      values.push_back(std::pow(v, e));
      slopes.push_back(e == 0 ? 0 : e * std::pow(v, e - 1));
    }
    expect_values(pow(x, e), values, 1e-15);
    expect_values(slope(pow(x, e), x), slopes, 1e-15);
  }
  expect_values(pow(xg::tensor({-3, 2}), 3), {-27, 8});
  EXPECT_THROW(pow(xg::tensor({2}), -1), xg::Error);
  // Gradient by the base where the exponent is a mask.
  expect_values(slope(pow(x, xg::tensor({true, false, true, false, true})), x), {1, 0, 1, 0, 1});
}

// ---- cases seen in other libraries --------------------------------------------------------------

TEST(Cases, A08_TheBranchNotChosenByWhereDoesNotPoisonTheGradient) {
  const Tensor x = leaf({-1, -4});
  const Tensor y = where(x > 0, sqrt(x), x);
  expect_values(y, {-1, -4});
  expect_values(slope(y, x), {1, 1});

  const Tensor z = leaf({0});
  expect_values(where(z > 0, log(z), z * 2), {0});
  expect_values(slope(where(z > 0, log(z), z * 2), z), {2});

  // The same for every function with an infinite or undefined slope, and once more differentiated.
  using Call = Tensor (*)(const Tensor&);
  const Call singular[] = {
      xg::sqrt,
      xg::log,
      xg::rsqrt,
      xg::reciprocal,
      [](const Tensor& v) { return log1p(v - 1); },
      [](const Tensor& v) { return 1 / v; },
      [](const Tensor& v) { return xg::ones_like(v) / v; },
      [](const Tensor& v) { return pow(v, 0.5); },
      [](const Tensor& v) { return pow(v, -1); },
      [](const Tensor& v) { return pow(v, v - 0.5); },
  };
  for (const Call f : singular) {
    const Tensor v = leaf({0, 2});
    const Tensor first = grad(sum(where(v > 0, f(v), v * 3)), {v}, {.create_graph = true})[0];
    EXPECT_EQ(first.to_vector<double>()[0], 3);
    const Tensor second = grad(sum(first), {v})[0];
    EXPECT_EQ(second.to_vector<double>()[0], 0) << second.to_vector<double>()[0];
    const Tensor w = leaf({2});
    const Tensor plain = grad(f(w), {w}, {.create_graph = true})[0];
    EXPECT_EQ(first.to_vector<double>()[1], plain.item<double>());
    EXPECT_EQ(second.to_vector<double>()[1], slope(plain, w).item<double>());
  }
}

TEST(Cases, A09_TheSlopeOfSqrtAtZeroIsInfiniteUnlessNobodyAsks) {
  const Tensor x = leaf({0, 4});
  const Tensor g = xg::tensor({1.0, 1.0}, {.dtype = xg::float64});
  expect_values(grad(sqrt(x), {x}, {.grad_output = g})[0], {infinity, 0.25});
  expect_values(grad(sqrt(x), {x}, {.grad_output = g * 0})[0], {0, 0});
  // The curvature of (sqrt(x) - 2)^2 at its minimum, where the upstream gradient is 0.
  const Tensor y = leaf({4});
  const Tensor first = grad(sum(square(sqrt(y) - 2)), {y}, {.create_graph = true})[0];
  EXPECT_EQ(first.item<double>(), 0);
  expect_values(slope(first, y), {0.125});
}

TEST(Cases, A10_TiesShareTheGradient) {
  const Tensor a = leaf({2, 1});
  const Tensor b = leaf({2, 3});
  const std::vector<Tensor> g = grad(sum(maximum(a, b)), {a, b});
  expect_values(g[0], {0.5, 0});
  expect_values(g[1], {0.5, 1});
  expect_values(slope(maximum(a, a), a), {1, 1});
  expect_values(slope(minimum(a, a), a), {1, 1});
  const std::vector<Tensor> low = grad(sum(minimum(a, b)), {a, b});
  expect_values(low[0], {0.5, 1});
  expect_values(low[1], {0.5, 0});
}

TEST(Cases, A11_ReluPassesNan) {
  for (const DType dtype : {xg::float32, xg::float64}) {
    const Tensor x = xg::tensor({not_a_number, -1, 0, 2}, {.dtype = dtype, .requires_grad = true});
    const Tensor g = xg::tensor({3.5, 3.5, 3.5, 3.5}, {.dtype = dtype});
    expect_values(relu(x), {not_a_number, 0, 0, 2});
    expect_values(grad(relu(x), {x}, {.grad_output = g})[0], {3.5, 0, 0, 3.5});
    for (const Tensor& y : {leaky_relu(x), elu(x), silu(x), gelu(x), clamp(x, -1, 1)}) {
      EXPECT_TRUE(std::isnan(y.to_vector<double>()[0])) << y.grad_fn();
    }
    expect_values(slope(abs(x), x), {0, -1, 0, 1});
  }
  // Longer than a register, so that the vector loop and its rest are both seen.
  std::vector<double> values(37, -1);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = not_a_number;
  const std::vector<double> y = relu(xg::tensor(values)).to_vector<double>();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 3 == 0) << i;
}
