#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "xgrad/autograd.hpp"
#include "xgrad/error.hpp"
#include "xgrad/nn.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/random.hpp"
#include "xgrad/teach/explain.hpp"

namespace {

namespace xg = xgrad;
using xg::Tensor;
using xg::teach::Explanation;
using xg::teach::Norm;

double largest(const Tensor& x) { return x.abs().amax().item<double>(); }

/// The same norm from small operations, its derivative by autograd: written apart from the lens.
Tensor reference_dx(const Norm& n, const Tensor& x_in, const Tensor& g) {
  const Tensor x = x_in.clone().requires_grad_();
  Tensor y;
  if (n.kind == Norm::group) {
    const Tensor v = x.reshape({x.size(0), n.groups, x.numel() / x.size(0) / n.groups});
    const Tensor d = v - v.mean(2, true);
    y = (d / (d.square().mean(2, true) + *n.eps).sqrt()).reshape({x.size(0), x.size(1), -1});
    y = (y * n.weight.unsqueeze(1) + n.bias.unsqueeze(1)).reshape(x.shape());
  } else if (n.kind == Norm::batch) {
    const Tensor v = x.reshape({x.size(0), x.size(1), -1}).transpose(0, 1).reshape({x.size(1), -1});
    const Tensor mean = n.training ? v.mean(1, true) : n.running_mean.unsqueeze(1);
    const Tensor var = n.training ? (v - mean).square().mean(1, true) : n.running_var.unsqueeze(1);
    y = (v - mean) / (var + *n.eps).sqrt() * n.weight.unsqueeze(1) + n.bias.unsqueeze(1);
    y = y.reshape({x.size(1), x.size(0), -1}).transpose(0, 1).reshape(x.shape());
  } else {
    const std::int64_t k = n.normalized_shape.numel();
    const Tensor v = x.reshape({-1, k});
    const Tensor d = n.kind == Norm::layer ? v - v.mean(1, true) : v;
    y = d / (d.square().mean(1, true) + *n.eps).sqrt() * n.weight.reshape({k});
    if (n.bias.defined()) y = y + n.bias.reshape({k});
    y = y.reshape(x.shape());
  }
  return xg::grad(y, {x}, {.grad_output = g})[0];
}

struct Case {
  Norm norm;
  Tensor x, g;
};

/// Any norm, rank 2 to 4, sizes, eps and parameters, far from 0 or near it.
Case random_case(int seed, xg::DType dtype = xg::float64) {
  xg::manual_seed(static_cast<std::uint64_t>(seed));
  const xg::TensorOptions like{.dtype = dtype};
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return xg::randint(low, high + 1, {1}).item<std::int64_t>();
  };
  Case c;
  c.norm.kind = static_cast<Norm::Kind>(seed % 4);
  c.norm.groups = pick(1, 3);
  xg::Shape shape = {pick(2, 5), c.norm.groups * pick(2, 3)};
  for (std::int64_t rank = pick(2, 4); shape.dim() < rank;) shape.push_back(pick(2, 4));
  c.x = xg::randn(shape, like) * std::pow(10.0, static_cast<double>(pick(-2, 2))) +
        static_cast<double>(pick(-5, 5));
  c.g = xg::randn(shape, like);
  c.norm.training = pick(0, 2) > 0;
  c.norm.eps = std::pow(10.0, static_cast<double>(-pick(3, 12)));
  xg::Shape parameter = shape[1];
  if (c.norm.kind == Norm::layer || c.norm.kind == Norm::rms) {
    parameter = shape.slice(shape.dim() - static_cast<int>(pick(1, shape.dim() - 1)));
    c.norm.normalized_shape = parameter;
  }
  c.norm.weight = xg::randn(parameter, like);
  if (c.norm.kind != Norm::rms) c.norm.bias = xg::randn(parameter, like);
  c.norm.running_mean = xg::randn(parameter, like);
  c.norm.running_var = xg::rand(parameter, like) + 0.1;
  return c;
}

TEST(TeachExplain, TermsAddUpToAutogradOnAThousandCases) {
  for (int seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed);
    const bool numeric = seed % 25 < 4;
    const Explanation e = xg::teach::explain(c.norm, c.x, c.g, {.numeric = numeric ? 1000 : 0});
    const double most =
        std::max({largest(e.direct), largest(e.through_mean), largest(e.through_variance)});
    EXPECT_LE(largest(e.sum - e.checks[1].gradient), 1e-12 * most);
    EXPECT_LE(largest(e.sum - e.checks[0].gradient), 1e-11 * most);
    // Far from 0 the reference's mean is rounded more coarsely than the lens's.
    EXPECT_LE(largest(e.sum - reference_dx(c.norm, c.x, c.g)), 1e-9 * most);
    EXPECT_EQ(e.checks[2].gradient.defined(), numeric);
    const xg::NoGrad no_grad;  // asks for gradients inside
    EXPECT_TRUE(equal(xg::teach::explain(c.norm, c.x, c.g, {.numeric = 0}).sum, e.sum));
    for (const auto& check : e.checks) {
      EXPECT_TRUE(check.comparison.approximate || !check.gradient.defined()) << check.name;
    }
    for (const auto& step : e.steps) {
      EXPECT_TRUE(step.comparison.approximate || !step.gradient.defined()) << step.name;
      EXPECT_EQ(step.autograd.defined(), step.gradient.defined()) << step.name;
    }
    EXPECT_EQ(e.identities.size(), c.norm.kind == Norm::rms  ? 1U
                                   : c.norm.own_statistics() ? 2U
                                                             : 0U);
    for (const auto& identity : e.identities) {
      EXPECT_TRUE(identity.comparison.approximate) << identity.name;
    }
  }
}

TEST(TeachExplain, StepsAreThoseOfTheFormula) {
  // One row by hand: mean 2, centred (-1, 0, 1), variance 2/3; eps 1/3 makes std 1.
  const Tensor x = xg::tensor({{1.0, 2.0, 3.0}}, {.dtype = xg::float64});
  const Tensor g = xg::tensor({{1.0, 0.0, 5.0}}, {.dtype = xg::float64});
  Norm norm;
  norm.eps = 1.0 / 3;
  norm.weight = xg::tensor({2.0, 3.0, 4.0}, {.dtype = xg::float64});
  const Explanation e = xg::teach::explain(norm, x, g);
  std::vector<std::string> names;
  for (const auto& step : e.steps) names.push_back(step.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "mean", "centred", "variance", "std", "rstd",
                                             "x_hat", "weight", "bias", "y"}));
  const auto expect = [&](const Tensor& t, const std::vector<double>& values) {
    ASSERT_EQ(t.numel(), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(t.to_vector<double>()[i], values[i], 1e-14);
    }
  };
  expect(e.step("mean").value, {2});
  expect(e.step("centred").value, {-1, 0, 1});
  expect(e.step("variance").value, {2.0 / 3});
  expect(e.step("std").value, {1});
  expect(e.step("y").value, {-2, 0, 4});
  expect(e.step("x_hat").gradient, {2, 0, 20});  // h = g * weight
  expect(e.step("rstd").gradient, {18});         // sum(h * centred)
  expect(e.step("std").gradient, {-18});
  expect(e.step("variance").gradient, {-9});
  expect(e.step("centred").gradient, {2 + 6, 0, 20 - 6});  // h rstd + 2/n centred dvariance
  expect(e.step("mean").gradient, {-22});
  expect(e.step("weight").gradient, {-1, 0, 5});
  expect(e.step("bias").gradient, {1, 0, 5});
  expect(e.direct, {2, 0, 20});
  expect(e.through_mean, {-22.0 / 3, -22.0 / 3, -22.0 / 3});
  expect(e.through_variance, {6, 0, -6});
  expect(e.sum, {8 - 22.0 / 3, -22.0 / 3, 14 - 22.0 / 3});
  expect(e.identities[1].left, {6});  // 18 * (1/3) / 1
  EXPECT_EQ(e.step("mean").value.shape(), (xg::Shape{1, 1}));
  EXPECT_THROW(e.step("nothing"), xg::Error);
}

TEST(TeachExplain, BatchNormInEvalHasNoCorrection) {
  xg::manual_seed(3);
  const Tensor x = xg::randn({4, 3}, {.dtype = xg::float64}),
               g = xg::randn({4, 3}, {.dtype = xg::float64});
  xg::nn::BatchNorm1d layer(3);
  layer.to(xg::float64);
  for (int i = 0; i < 3; ++i) layer(xg::randn({4, 3}, {.dtype = xg::float64}));
  const std::vector<double> before = layer.running_mean.to_vector<double>();
  const Explanation trained = xg::teach::explain(layer, x, g);
  EXPECT_EQ(layer.running_mean.to_vector<double>(), before);
  EXPECT_GT(largest(trained.through_mean), 0);
  layer.eval();
  const Explanation e = xg::teach::explain(layer, x, g);
  EXPECT_EQ(largest(e.through_mean), 0);
  EXPECT_EQ(largest(e.through_variance), 0);
  EXPECT_TRUE(xg::equal(e.sum, e.direct));
  EXPECT_FALSE(e.step("mean").gradient.defined());
  EXPECT_FALSE(e.step("variance").gradient.defined());
  EXPECT_TRUE(e.identities.empty());
  EXPECT_TRUE(e.checks[0].comparison.approximate);
  // Frozen is as eval.
  layer.train();
  layer.freeze();
  EXPECT_EQ(largest(xg::teach::explain(layer, x, g).through_mean), 0);
}

TEST(TeachExplain, TakesLayersAsTheyAre) {
  xg::manual_seed(4);
  const Tensor x = xg::randn({2, 6, 5}), g = xg::randn({2, 6, 5});
  xg::nn::LayerNorm layer({6, 5}, {.eps = 1e-3});
  xg::nn::RMSNorm rms(5);
  xg::nn::GroupNorm group(3, 6);
  for (const Norm& norm : {Norm(layer), Norm(rms), Norm(group)}) {
    const Explanation e = xg::teach::explain(norm, x, g);
    for (const auto& check : e.checks) EXPECT_TRUE(check.comparison.approximate) << check.name;
    EXPECT_EQ(e.sum.dtype(), xg::float32);
  }
  EXPECT_EQ(xg::teach::explain(layer, x, g).count, 30);
  EXPECT_EQ(xg::teach::explain(group, x, g).step("mean").value.shape(), (xg::Shape{2, 3}));
}

TEST(TeachExplain, BearsWhatANormCanMeet) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto norm = [](Norm::Kind kind, double eps) {
    Norm n;
    n.kind = kind;
    n.eps = eps;
    return n;
  };
  Tensor x =
      xg::tensor({{1.0, 2.0, 4.0}, {3.0, 3.0, 3.0}, {0.5, nan, 1.0}}, {.dtype = xg::float64});
  const Tensor g =
      xg::tensor({{1.0, -2.0, 4.0}, {3.0, 1.0, 0.5}, {0.5, 2.0, 1.0}}, {.dtype = xg::float64});
  for (Norm::Kind kind : {Norm::layer, Norm::batch, Norm::rms, Norm::group}) {
    for (double eps : {0.0, 1e-5}) {
      const Explanation e = xg::teach::explain(norm(kind, eps), x, g);
      EXPECT_TRUE(std::isnan(e.sum.to_vector<double>()[7])) << kind;
      if (kind == Norm::batch) {
        EXPECT_NE(e.checks[0].refusal.find("channel 1"), std::string::npos);
        continue;
      }
      EXPECT_TRUE(std::isfinite(e.sum.to_vector<double>()[0]));
      EXPECT_EQ(std::isnan(e.sum.to_vector<double>()[3]),
                kind != Norm::rms && eps == 0);  // a constant row
      for (const auto& check : e.checks) EXPECT_TRUE(check.gradient.defined()) << check.refusal;
    }
  }
  // A batch of one row: the library refuses, the formula says that nothing gets through.
  const Tensor row = x.narrow(0, 0, 1), up = g.narrow(0, 0, 1);
  const Explanation one = xg::teach::explain(norm(Norm::batch, 1e-5), row, up);
  EXPECT_NE(one.checks[0].refusal.find("more than 1 value"), std::string::npos);
  EXPECT_EQ(largest(one.sum), 0);
  EXPECT_TRUE(
      xg::teach::explain(norm(Norm::layer, 1e-5), row, up).checks[0].comparison.approximate);
}

TEST(TeachExplain, RefusesWhatTheOperationRefuses) {
  const Tensor x = xg::randn({4, 6}), g = xg::randn({4, 6});
  Norm n;
  EXPECT_THROW(xg::teach::explain(n, x, xg::randn({6, 4})), xg::ShapeError);
  EXPECT_THROW(xg::teach::explain(n, x, g.to(xg::float64)), xg::DTypeError);
  EXPECT_THROW(xg::teach::explain(n, xg::zeros({0, 6}), xg::zeros({0, 6})), xg::ShapeError);
  EXPECT_THROW(xg::teach::explain(n, Tensor(), g), xg::Error);
  n.eps = -1;
  EXPECT_THROW(xg::teach::explain(n, x, g), xg::Error);
  n.eps = 1e-5;
  n.weight = xg::ones(4);
  EXPECT_THROW(xg::teach::explain(n, x, g), xg::ShapeError);
  n = {};
  n.kind = Norm::group;
  n.groups = 4;
  EXPECT_THROW(xg::teach::explain(n, x, g), xg::ShapeError);
  n.kind = Norm::batch;
  EXPECT_THROW(xg::teach::explain(n, xg::randn({6}), xg::randn({6})), xg::ShapeError);
  n.kind = Norm::rms;
  n.bias = xg::zeros(6);
  EXPECT_THROW(xg::teach::explain(n, x, g), xg::Error);
}

}  // namespace
