#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

const std::vector<xg::Shape> batch_norm_shapes = {{5, 3},       {130, 2},     {4, 3, 2}, {1, 2, 5},
                                                  {2, 3, 4, 5}, {3, 2, 1, 7}, {2, 2, 35}};

/// Sizes of a per-channel tensor that broadcasts against `shape`.
xg::Shape across(const xg::Shape& shape) {
  xg::Shape result{shape[1]};
  for (int d = 2; d < shape.dim(); ++d) result.push_back(1);
  return result;
}
std::vector<std::int64_t> all_but_channels(const xg::Shape& shape) {
  std::vector<std::int64_t> dims{0};
  for (int d = 2; d < shape.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

TEST(BatchNormOp, N03OneValuePerChannel) {
  for (const xg::Shape& shape : std::vector<xg::Shape>{{1, 2}, {1, 2, 1}, {1, 2, 1, 1}}) {
    const Tensor x = xg::tensor({3.0, -1.0}).reshape(shape);
    const Tensor mean = xg::tensor({0.25, -0.5});
    const Tensor var = xg::tensor({1.5, 2.0});
    const auto train = [&] { xg::batch_norm(x, mean, var, {}, {}, {.training = true}); };
    const std::string text = error_of<xg::ShapeError>(train);
    EXPECT_EQ(text.rfind("batch_norm", 0), 0u) << text;
    expect_words(text, {"more than 1 value per channel", shape.str(), "eval()"});
    EXPECT_TRUE(xg::equal(mean, xg::tensor({0.25, -0.5})));
    EXPECT_TRUE(xg::equal(var, xg::tensor({1.5, 2.0})));
    expect_near(xg::batch_norm(x, xg::zeros(2), xg::ones(2)), {2.999985, -0.999995}, 1e-6);
  }
  // A length makes up for a batch of one.
  EXPECT_EQ(xg::batch_norm(xg::rand({1, 2, 3}), {}, {}, {}, {}, {.training = true}).shape(),
            (xg::Shape{1, 2, 3}));
}

TEST(BatchNormOp, N04RunningStatistics) {
  const Tensor x = xg::tensor({{2, 15, 2, 1}, {2, 17, 2, 1}, {-4, -2, -2, -1}}, f64);
  Tensor mean = xg::zeros(4, f64);
  Tensor var = xg::ones(4, f64);
  const Tensor y = xg::batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 1.0});
  expect_near(mean, {0, 10, 2.0 / 3, 1.0 / 3}, 1e-9);
  expect_near(var, {12, 109, 16.0 / 3, 4.0 / 3}, 1e-9);
  expect_near(y.select(1, 0), {0.707106339, 0.707106339, -1.414212678}, 1e-8);
  expect_near(xg::batch_norm(x, mean, var).select(1, 0), {0.577350029, 0.577350029, -1.154700057},
              1e-8);

  mean = xg::zeros(4, f64);
  var = xg::ones(4, f64);
  xg::batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.1}).sum();
  expect_near(mean, {0, 1, 0.2 / 3, 0.1 / 3}, 1e-9);
  expect_near(var, {2.1, 11.8, 1.433333333, 1.033333333}, 1e-8);

  const Tensor column = xg::tensor({{1}, {3}}, f64);
  mean = xg::zeros(1, f64);
  var = xg::ones(1, f64);
  xg::batch_norm(column, mean, var, {}, {}, {.training = true}).sum();
  expect_near(mean, {0.2}, 1e-12);
  expect_near(var, {1.1}, 1e-12);
  expect_near(xg::batch_norm(column, mean, var), {0.762766604, 2.669683115}, 1e-8);
}

TEST(BatchNormOp, RunningMeanAfterEqualBatches) {
  const Tensor x = xg::rand({6, 3, 2}, f64) + 4;
  const Tensor mu = x.mean({0, 2});
  Tensor mean = xg::zeros(3, f64);
  Tensor var = xg::ones(3, f64);
  const xg::NoGrad no_grad;  // does not stop the statistics
  for (int t = 1; t <= 5; ++t) {
    xg::batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.3}).sum();
    expect_close(mean, mu * (1 - std::pow(0.7, t)), 1e-12);
  }
  const Tensor before = mean.clone();
  xg::batch_norm(x, mean, var).sum();
  EXPECT_TRUE(xg::equal(mean, before));
}

TEST(BatchNormOp, N07NotFinite) {
  for (const double bad : {not_a_number, infinity}) {
    const Tensor mean = xg::zeros(2);
    const Tensor var = xg::ones(2);
    const Tensor x = xg::tensor({{1.0, 2.0}, {3.0, bad}});
    const auto train = [&] { xg::batch_norm(x, mean, var, {}, {}, {.training = true}); };
    expect_error<xg::Error>(train, {"channel 1", "not finite", "(2, 2)"});
    EXPECT_TRUE(xg::equal(mean, xg::zeros(2)));
    EXPECT_TRUE(xg::equal(var, xg::ones(2)));
  }
  Tensor mean = xg::zeros(1);
  Tensor var = xg::ones(1);
  EXPECT_THROW(
      xg::batch_norm(xg::tensor({{1.0}, {not_a_number}}), mean, var, {}, {}, {.training = true}),
      xg::Error);
  xg::batch_norm(xg::tensor({{1.0}, {3.0}}), mean, var, {}, {}, {.training = true}).sum();
  expect_near(xg::batch_norm(xg::tensor({{2.0}}), mean, var), {1.716225491}, 1e-6);
  // Finite values whose variance is beyond float would poison running_var just the same.
  EXPECT_THROW(xg::batch_norm(xg::tensor({{1e30}, {-1e30}}), mean, var, {}, {}, {.training = true}),
               xg::Error);
  expect_near(var, {1.1}, 1e-6);
}

TEST(BatchNormOp, LargeOffsetAndManyRows) {
  xg::manual_seed(2);
  for (const xg::Shape& shape : std::vector<xg::Shape>{{1000, 3}, {3, 2, 1000}, {4, 3, 7}}) {
    const Tensor x = leaf(xg::randn(shape) + 1e5);
    const Tensor exact = leaf(x.to(xg::float64));
    const Tensor weight = leaf(xg::rand(shape[1]));
    const Tensor exact_weight = leaf(weight.to(xg::float64));
    const Tensor g = xg::rand(shape);
    Tensor mean = xg::zeros(shape[1], f64);
    Tensor var = xg::ones(shape[1], f64);
    const xg::BatchNormOptions options{.training = true, .momentum = 1.0};
    const Tensor y = xg::batch_norm(x, {}, {}, weight, {}, options);
    const Tensor reference = xg::batch_norm(exact, mean, var, exact_weight, {}, options);
    expect_close(y, reference, 1e-5);
    expect_close(var, exact.detach().var({.dim = all_but_channels(shape)}), 1e-7);
    y.backward(g);
    reference.backward(g.to(xg::float64));
    expect_close(x.grad(), exact.grad(), 1e-5);
    expect_close(weight.grad(), exact_weight.grad(), 1e-3);
  }
}

TEST(BatchNormOp, MoreChannelsThanOneBlock) {
  // Channels of one value per row, beside the same with a run of values of its own for each.
  const Tensor x = random_leaf({6, 1500});
  const Tensor other = leaf(x.detach().reshape({3, 2, 1500}).transpose(1, 2));
  const Tensor weight = random_leaf({1500}, 2);
  const Tensor bias = random_leaf({1500}, 3);
  const Tensor g = random_leaf({6, 1500}, 4).detach();
  const Tensor other_g = g.reshape({3, 2, 1500}).transpose(1, 2);
  const xg::BatchNormOptions training{.training = true};
  const Tensor y = xg::batch_norm(x, {}, {}, weight, bias, training);
  const Tensor other_y = xg::batch_norm(other, {}, {}, weight, bias, training);
  const auto as_rows = [](const Tensor& t) {
    return t.detach().transpose(1, 2).reshape({6, 1500});
  };
  expect_close(y.detach(), as_rows(other_y));
  const std::vector<Tensor> got = fused_grads(y, {x, weight, bias}, g);
  const std::vector<Tensor> expected = fused_grads(other_y, {other, weight, bias}, other_g);
  expect_close(got[0], as_rows(expected[0]), 1e-11);
  expect_close(got[1], expected[1], 1e-11);
  expect_close(got[2], expected[2], 1e-11);
}

TEST(BatchNormOp, N08EvalBackward) {
  Tensor mean = xg::tensor({1, -1}, f64);
  Tensor var = xg::tensor({4, 0.25}, f64);
  const Tensor weight = xg::tensor({3, 2}, f64).requires_grad_();
  const Tensor bias = xg::tensor({0.5, 0}, f64).requires_grad_();
  const Tensor x = xg::tensor({{1, 0}, {3, -1}, {5, 2}}, f64).requires_grad_();
  const Tensor g = xg::tensor({{1, -2}, {0.5, 3}, {2, 1}}, f64);
  for (int round = 0; round < 2; ++round) {
    const Tensor y = xg::batch_norm(x, mean, var, weight, bias, {.eps = 0});
    expect_near(y, {0.5, 4, 3.5, 0, 6.5, 12}, 1e-12);
    // A training step in between: what the forward pass used decides.
    const Tensor kept_mean = mean.clone();
    const Tensor kept_var = var.clone();
    xg::batch_norm(x.detach(), mean, var, {}, {}, {.training = true}).sum();
    for (const auto& path : {fused_grads, recorded_grads}) {
      const std::vector<Tensor> found = path(y, {x, weight, bias}, g);
      expect_near(found[0], {1.5, -8, 0.75, 12, 3, 4}, 1e-12);
      expect_near(found[1], {4.5, 2}, 1e-12);
      expect_near(found[2], {3.5, 2}, 1e-12);
    }
    mean = kept_mean;
    var = kept_var;
  }
}

TEST(BatchNormOp, N09TrainBackward) {
  const Tensor x = xg::tensor({{1, 2}, {2, -1}, {4, 0.5}, {7, 3}}, f64).requires_grad_();
  const Tensor weight = xg::tensor({1.5, -0.5}, f64).requires_grad_();
  const Tensor bias = xg::tensor({0.1, 0.2}, f64).requires_grad_();
  const Tensor g = xg::tensor({{1, -1}, {0.5, 2}, {-2, 0}, {0.25, 1}}, f64);
  const Tensor y = xg::batch_norm(x, {}, {}, weight, bias, {.training = true});
  expect_near(y,
              {-1.536632618, -0.088674506, -0.881979571, 0.901066658, 0.427326524, 0.406196076,
               2.391285665, -0.418588228},
              1e-8);
  for (const auto& path : {fused_grads, recorded_grads}) {
    const std::vector<Tensor> found = path(y, {x, weight, bias}, g);
    expect_near(found[0],
                {0.432539121, 0.392754875, 0.210424494, -0.246875293, -1.215784331, 0.237896652,
                 0.572820715, -0.383776233},
                1e-8);
    expect_near(found[1], {-1.472969356, -2.144439189}, 1e-8);
    expect_near(found[2], {-0.25, 2}, 1e-12);
    expect_near(found[0].sum(0), {0, 0}, 1e-12);
  }
}

TEST(BatchNormOp, GradientIdentities) {
  xg::manual_seed(4);
  const double eps = 0.2;
  for (const xg::Shape& shape : batch_norm_shapes) {
    const xg::Dims dims(all_but_channels(shape));
    const Tensor x = leaf(xg::randn(shape, f64) * 2 + 1);
    const Tensor weight = xg::randn(shape[1], f64);
    const Tensor g = xg::randn(shape, f64);
    const Tensor h = g * weight.reshape(across(shape));
    const Tensor values = x.detach();
    const Tensor var = values.var({.dim = dims, .unbiased = false, .keepdim = true});
    const Tensor r = (var + eps).rsqrt();
    const Tensor xhat = (values - values.mean({.dim = dims, .keepdim = true})) * r;

    xg::batch_norm(x, {}, {}, weight, {}, {.training = true, .eps = eps}).backward(g);
    const Tensor dx = x.grad();
    expect_close(dx.sum({.dim = dims}), xg::zeros(shape[1], f64), 1e-11);
    const Tensor along = (h * xhat).sum({.dim = dims, .keepdim = true});
    expect_close((dx * xhat).sum({.dim = dims, .keepdim = true}), r * along * eps / (var + eps),
                 1e-11);

    // In eval both correction terms vanish.
    const Tensor running_mean = xg::randn(shape[1], f64);
    const Tensor running_var = xg::rand(shape[1], f64) + 0.5;
    x.set_grad({});
    xg::batch_norm(x, running_mean, running_var, weight, {}, {.eps = eps}).backward(g);
    expect_close(x.grad(), h * (running_var + eps).rsqrt().reshape(across(shape)), 1e-12);
  }
}

TEST(BatchNormOp, FusedAndRecordedPathsAgree) {
  xg::manual_seed(6);
  for (const xg::Shape& shape : batch_norm_shapes) {
    const Tensor x = leaf(xg::randn(shape, f64) + 3);
    const Tensor weight = leaf(xg::randn(shape[1], f64));
    const Tensor bias = leaf(xg::randn(shape[1], f64));
    const Tensor mean = xg::randn(shape[1], f64);
    const Tensor var = xg::rand(shape[1], f64) + 0.1;
    const Tensor g = xg::randn(shape, f64);
    for (const bool training : {true, false}) {
      const Tensor y =
          xg::batch_norm(x, mean.clone(), var.clone(), weight, bias, {.training = training});
      const std::vector<Tensor> fused = fused_grads(y, {x, weight, bias}, g);
      const std::vector<Tensor> recorded = recorded_grads(y, {x, weight, bias}, g);
      for (std::size_t i = 0; i < 3; ++i) expect_close(fused[i], recorded[i], 1e-10);
      // The same numbers in float32, where other kernels run.
      const Tensor x32 = leaf(x.to(xg::float32));
      const Tensor y32 = xg::batch_norm(x32, mean.to(xg::float32), var.to(xg::float32),
                                        weight.detach().to(xg::float32),
                                        bias.detach().to(xg::float32), {.training = training});
      expect_close(y32.detach(), y.detach(), 2e-5);
      y32.backward(g.to(xg::float32));
      expect_close(x32.grad(), fused[0], 1e-4);
    }
  }
}

TEST(BatchNormOp, ErrorsChangeNothing) {
  const Tensor x = xg::rand({4, 3});
  const Tensor mean = xg::zeros(3);
  const Tensor var = xg::ones(3);
  const xg::BatchNormOptions train{.training = true};
  EXPECT_THROW(xg::batch_norm(xg::rand(3), mean, var, {}, {}, train), xg::ShapeError);
  EXPECT_THROW(xg::batch_norm(x, xg::zeros(4), var, {}, {}, train), xg::ShapeError);
  EXPECT_THROW(xg::batch_norm(x, mean, xg::ones({1, 3}), {}, {}, train), xg::ShapeError);
  EXPECT_THROW(xg::batch_norm(x, mean, var, xg::ones(4), {}, train), xg::ShapeError);
  EXPECT_THROW(xg::batch_norm(x, mean, var, {}, xg::ones(3, f64), train), xg::DTypeError);
  EXPECT_THROW(xg::batch_norm(x, mean, {}, {}, {}, {}), xg::Error);
  // A running statistic that requires a gradient would be changed behind the graph's back.
  EXPECT_THROW(xg::batch_norm(x, mean, leaf(var), {}, {}, train), xg::GraphError);
  EXPECT_TRUE(xg::equal(mean, xg::zeros(3)));
  EXPECT_TRUE(xg::equal(var, xg::ones(3)));
}
