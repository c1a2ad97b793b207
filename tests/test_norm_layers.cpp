#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

/// The normalization layers: what they keep, when they change it, and which errors leave it alone.

namespace xg = xgrad;
namespace nn = xgrad::nn;

namespace {

nn::BatchNorm1d norm_f64(std::int64_t features, nn::BatchNormOptions options = {}) {
  nn::BatchNorm1d norm(features, options);
  norm.to(xg::float64);
  return norm;
}

/// The bits of all buffers.
class Snapshot {
 public:
  explicit Snapshot(const nn::Module& module) {
    for (const auto& entry : module.named_buffers()) before_.push_back(entry.second.clone());
  }
  bool holds(const nn::Module& module) const {
    const std::vector<xg::Tensor> now = module.buffers();
    bool same = now.size() == before_.size();
    for (std::size_t i = 0; same && i < now.size(); ++i) same = xg::equal(now[i], before_[i]);
    return same;
  }

 private:
  std::vector<xg::Tensor> before_;
};

// ---- N-03 ---------------------------------------------------------------------------------------

TEST(BatchNorm, N03OneValuePerChannelIsRefusedInTrainingOnly) {
  struct Net : nn::Module {
    nn::BatchNorm1d& norm = register_module("norm", nn::BatchNorm1d(2));
    xg::Tensor forward(const xg::Tensor& x) override { return norm(x); }
  };
  Net net;
  net(xg::randn({5, 2}));
  for (const xg::Shape& shape : {xg::Shape{1, 2}, xg::Shape{1, 2, 1}}) {
    const Snapshot before(net);
    const std::string text = error_of<xg::ShapeError>([&] { net(xg::ones(shape)); });
    expect_words(text, {"\"norm\"", "more than 1 value per channel", shape.str()});
    EXPECT_TRUE(before.holds(net));
  }
  EXPECT_EQ(net.norm.num_batches_tracked.item<int>(), 1);
  net(xg::ones({1, 2, 3}));  // three values per channel
  EXPECT_EQ(net.norm.num_batches_tracked.item<int>(), 2);

  nn::BatchNorm1d fresh = norm_f64(2);
  fresh.eval();
  expect_near(fresh(xg::tensor({{3.0, -1.0}}, f64)), {2.999985000, -0.999995000});
}

// ---- N-04 ---------------------------------------------------------------------------------------

TEST(BatchNorm, MomentumIsANumber) {
  expect_error<xg::Error>([] { nn::BatchNorm1d(2, {.momentum = NAN}); }, {"momentum", "nan"});
}

TEST(BatchNorm, N04EstimatorsAndMomentum) {
  const xg::Tensor x =
      xg::tensor({{2., 15., 2., 1.}, {2., 17., 2., 1.}, {-4., -2., -2., -1.}}, f64);
  nn::BatchNorm1d norm = norm_f64(4, {.momentum = 1.0});
  const xg::Tensor trained = norm(x);
  expect_near(norm.running_mean, {0, 10, 0.666666667, 0.333333333});
  expect_near(norm.running_var, {12, 109, 5.333333333, 1.333333333});
  expect_near(trained.select(1, 0), {0.707106339, 0.707106339, -1.414212678});
  norm.eval();
  expect_near(norm(x).select(1, 0), {0.577350029, 0.577350029, -1.154700057});

  nn::BatchNorm1d slow = norm_f64(4, {.momentum = 0.1});
  slow(x);
  expect_near(slow.running_mean, {0, 1, 0.066666667, 0.033333333});
  expect_near(slow.running_var, {2.1, 11.8, 1.433333333, 1.033333333});

  nn::BatchNorm1d usual = norm_f64(1);
  const xg::Tensor column = xg::tensor({{1.0}, {3.0}}, f64);
  usual(column);
  expect_near(usual.running_mean, {0.2});
  expect_near(usual.running_var, {1.1});
  usual.eval();
  expect_near(usual(column), {0.762766604, 2.669683115});
}

TEST(BatchNorm, N04RunningMeanAfterEqualBatches) {
  nn::BatchNorm2d norm(3, {.momentum = 0.3});
  norm.to(xg::float64);
  xg::manual_seed(5);
  const xg::Tensor x = xg::randn({2, 3, 4, 5}, f64) + 2.0;
  for (int t = 0; t < 4; ++t) norm(x);
  const double share = 1 - std::pow(0.7, 4);
  EXPECT_TRUE(xg::allclose(norm.running_mean, x.mean({0, 2, 3}) * share, 1e-12));
  const xg::Tensor var = x.var({.dim = {0, 2, 3}});
  EXPECT_TRUE(xg::allclose(norm.running_var, var * share + (1 - share), 1e-12));
}

// ---- N-05 ---------------------------------------------------------------------------------------

TEST(BatchNorm, N05CumulativeAverageUnderNoGrad) {
  nn::BatchNorm1d norm = norm_f64(1, {.momentum = std::nullopt});
  const xg::NoGrad no_grad;
  const double batches[3][2] = {{1, 3}, {4, 8}, {7, 13}};
  const double means[] = {2, 4, 6};
  const double vars[] = {2, 5, 9.333333333};
  for (int i = 0; i < 3; ++i) {
    norm(xg::tensor({{batches[i][0]}, {batches[i][1]}}, f64));
    expect_near(norm.running_mean, {means[i]});
    expect_near(norm.running_var, {vars[i]});
  }
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 3);
  norm.eval();
  const Snapshot before(norm);
  norm(xg::tensor({{5.0}, {50.0}}, f64));
  EXPECT_TRUE(before.holds(norm));
}

TEST(BatchNorm, MomentumZeroIsNotCumulative) {
  nn::BatchNorm1d norm(2, {.momentum = 0.0});
  norm(xg::randn({4, 2}) + 3.0);
  expect_near(norm.running_mean, {0, 0}, 0);
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 1);
}

// ---- N-06 ---------------------------------------------------------------------------------------

TEST(BatchNorm, N06FrozenParametersDoNotFreezeStatistics) {
  nn::BatchNorm1d norm = norm_f64(1);
  norm.requires_grad_(false);
  const xg::Tensor x = xg::tensor({{1.0}, {3.0}}, {.dtype = xg::float64, .requires_grad = true});
  norm(x).backward(xg::tensor({{1.0}, {-2.0}}, f64));
  expect_near(norm.running_mean, {0.2});
  expect_near(norm.running_var, {1.1});
  EXPECT_TRUE(x.has_grad());
  EXPECT_FALSE(norm.weight.has_grad());
  norm.eval();
  const Snapshot before(norm);
  norm(xg::tensor({{100.0}, {300.0}}, f64));
  EXPECT_TRUE(before.holds(norm));
}

TEST(BatchNorm, FreezeKeepsStatisticsThroughTrain) {
  nn::Sequential net(nn::Linear(3, 2), nn::BatchNorm1d(2));
  auto& norm = net.at<nn::BatchNorm1d>(1);
  const xg::Tensor x = xg::randn({5, 3});
  net(x);
  norm.freeze();
  net.train();
  EXPECT_TRUE(norm.is_training());
  EXPECT_TRUE(norm.is_frozen());
  const Snapshot before(net);
  const xg::Tensor frozen = net(x);
  net(xg::randn({1, 3}));  // one value per channel is fine, as in eval
  EXPECT_TRUE(before.holds(net));
  frozen.square().sum().backward();
  EXPECT_TRUE(norm.weight.has_grad());  // the parameters still train
  net.eval();
  EXPECT_TRUE(xg::equal(net(x), frozen));
  net.train();
  norm.unfreeze();
  net(x);
  EXPECT_FALSE(before.holds(net));
  EXPECT_THROW(nn::BatchNorm1d(2, {.track_running_stats = false}).freeze(), xg::Error);
}

// ---- N-07 ---------------------------------------------------------------------------------------

TEST(BatchNorm, N07NonFiniteBatchIsRefusedAndLeavesNoTrace) {
  for (double bad : {static_cast<double>(NAN), HUGE_VAL}) {
    nn::ModuleList nets(nn::BatchNorm1d(1));
    nets.to(xg::float64);
    auto& norm = nets.at<nn::BatchNorm1d>(0);
    const Snapshot before(norm);
    const std::string text = error_of<xg::Error>([&] { norm(xg::tensor({{1.0}, {bad}}, f64)); });
    expect_words(text, {"\"0\"", "finite", "channel 0"});
    EXPECT_TRUE(before.holds(norm));
    norm(xg::tensor({{1.0}, {3.0}}, f64));
    expect_near(norm.running_mean, {0.2});
    expect_near(norm.running_var, {1.1});
    norm.eval();
    expect_near(norm(xg::tensor({{2.0}}, f64)), {1.8 / std::sqrt(1.1 + 1e-5)});
    norm.reset_running_stats();
    expect_near(norm.running_mean, {0}, 0);
    expect_near(norm.running_var, {1}, 0);
    EXPECT_EQ(norm.num_batches_tracked.item<int>(), 0);
  }
}

// ---- N-08 ---------------------------------------------------------------------------------------

TEST(BatchNorm, N08TheModeOfTheForwardDecidesTheGradient) {
  nn::BatchNorm1d norm = norm_f64(2, {.eps = 0});
  {
    const xg::NoGrad no_grad;
    norm.running_mean.copy_(xg::tensor({1.0, -1.0}));
    norm.running_var.copy_(xg::tensor({4.0, 0.25}));
    norm.weight.copy_(xg::tensor({3.0, 2.0}));
    norm.bias.copy_(xg::tensor({0.5, 0.0}));
  }
  const xg::Tensor x = xg::tensor({{1.0, 0.0}, {3.0, -1.0}, {5.0, 2.0}},
                                  {.dtype = xg::float64, .requires_grad = true});
  const xg::Tensor g = xg::tensor({{1.0, -2.0}, {0.5, 3.0}, {2.0, 1.0}}, f64);
  for (bool switched : {false, true, false}) {
    norm.eval();
    const xg::Tensor y = norm(x);
    if (switched) norm.train();
    expect_near(y, {0.5, 4, 3.5, 0, 6.5, 12});
    y.backward(g);
    expect_near(x.grad(), {1.5, -8, 0.75, 12, 3, 4});
    expect_near(norm.weight.grad(), {4.5, 2});
    expect_near(norm.bias.grad(), {3.5, 2});
    x.set_grad({});
    norm.zero_grad();
  }
}

// ---- N-10 and the rest --------------------------------------------------------------------------

TEST(LayerNorm, N10ParametersHaveTheNormalizedShape) {
  nn::LayerNorm norm({2, 3});
  const xg::StateDict parameters = norm.named_parameters();
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[0].first, "weight");
  EXPECT_EQ(parameters[1].first, "bias");
  for (const auto& [name, p] : parameters) {
    EXPECT_EQ(p.shape(), (xg::Shape{2, 3})) << name;
    EXPECT_TRUE(p.requires_grad()) << name;
  }
  EXPECT_TRUE(norm.buffers().empty());  // running statistics are BatchNorm's alone
  EXPECT_EQ(nn::LayerNorm(6, {.bias = false}).parameters().size(), 1U);
  EXPECT_TRUE(nn::LayerNorm(6, {.elementwise_affine = false}).parameters().empty());
}

TEST(LayerNorm, TheSameInTrainingAndEvalAndForOneRow) {
  nn::LayerNorm norm(3);
  const xg::Tensor row = xg::tensor({{2.0, 4.0, 6.0}});
  norm.train();
  const xg::Tensor first = norm(row);
  norm.eval();
  EXPECT_TRUE(xg::equal(norm(row), first));
}

TEST(LayerNorm, N11NegativeEpsIsRefused) {
  EXPECT_THROW(nn::LayerNorm(3, {.eps = -1e-5}), xg::Error);
  EXPECT_THROW(nn::BatchNorm1d(3, {.eps = -1e-5}), xg::Error);
  const nn::LayerNorm zero_is_allowed(3, {.eps = 0});
  EXPECT_EQ(zero_is_allowed.parameters().size(), 2U);
}

TEST(OtherNorms, KeepNothingButTheirParameters) {
  const auto count = [](const nn::Module& layer) {
    EXPECT_TRUE(layer.buffers().empty());
    return layer.parameters().size();
  };
  EXPECT_EQ(count(nn::RMSNorm({2, 3})), 1U);
  EXPECT_EQ(count(nn::RMSNorm(3, {.elementwise_affine = false})), 0U);
  EXPECT_EQ(count(nn::GroupNorm(2, 4)), 2U);
  EXPECT_EQ(count(nn::GroupNorm(2, 4, {.affine = false})), 0U);
  EXPECT_EQ(count(nn::InstanceNorm1d(3)), 0U);
  EXPECT_EQ(count(nn::InstanceNorm2d(3, {.affine = true})), 2U);
}

TEST(OtherNorms, DoWhatTheirFunctionsDoInBothModes) {
  xg::manual_seed(4);
  const xg::Tensor x = xg::randn({2, 4, 3, 5});
  nn::RMSNorm rms({3, 5}, {.eps = 0.1});
  nn::GroupNorm group(2, 4, {.eps = 0.1});
  nn::InstanceNorm2d instance(4, {.eps = 0.1, .affine = true});
  for (xg::Tensor* p :
       {&rms.weight, &group.weight, &group.bias, &instance.weight, &instance.bias}) {
    nn::init::normal_(*p);
  }
  for (const bool training : {true, false}) {
    rms.train(training), group.train(training), instance.train(training);
    EXPECT_TRUE(equal(rms(x), rms_norm(x, {3, 5}, rms.weight, 0.1)));
    EXPECT_TRUE(equal(group(x), group_norm(x, 2, group.weight, group.bias, 0.1)));
    EXPECT_TRUE(equal(instance(x), instance_norm(x, instance.weight, instance.bias, 0.1)));
    EXPECT_TRUE(equal(instance(x.select(0, 1)), instance(x).select(0, 1)));  // without a batch
  }
}

TEST(BatchNorm, WrongShapesNameTheLayer) {
  nn::BatchNorm1d one(3);
  nn::BatchNorm2d two(3);
  const Snapshot before(one);
  expect_error<xg::ShapeError>(
      [&] {
        one(xg::zeros({2, 3, 4, 5}));
      },
      {"BatchNorm1d", "(N, C, L)", "(2, 3, 4, 5)"});
  expect_error<xg::ShapeError>([&] { one(xg::zeros({3})); }, {"BatchNorm1d", "(3,)"});
  expect_error<xg::ShapeError>(
      [&] {
        one(xg::zeros({2, 4}));
      },
      {"BatchNorm1d", "3 channels", "(2, 4)"});
  expect_error<xg::ShapeError>(
      [&] {
        two(xg::zeros({2, 3}));
      },
      {"BatchNorm2d", "(N, C, H, W)", "(2, 3)"});
  EXPECT_TRUE(before.holds(one));
}

TEST(BatchNorm, UntrackedUsesTheBatchAlways) {
  nn::BatchNorm1d norm(2, {.affine = false, .track_running_stats = false});
  EXPECT_TRUE(norm.state_dict().empty());
  const xg::Tensor x = xg::randn({5, 2});
  const xg::Tensor trained = norm(x);
  norm.eval();
  EXPECT_TRUE(xg::equal(norm(x), trained));
  EXPECT_THROW(norm(xg::ones({1, 2})), xg::ShapeError);
}

TEST(BatchNorm, S01BuffersAreInTheStateInPyTorchsOrder) {
  nn::BatchNorm1d norm(2);
  norm(xg::randn({5, 2}));
  const xg::StateDict state = norm.state_dict();
  ASSERT_EQ(state.size(), 5U);
  const char* names[] = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(state[i].first, names[i]);
  EXPECT_EQ(state[4].second.dtype(), xg::int64);
  EXPECT_EQ(state[4].second.dim(), 0);
  nn::BatchNorm1d loaded(2);
  loaded.load_state_dict(state);
  norm.eval();
  loaded.eval();
  const xg::Tensor x = xg::randn({3, 2});
  EXPECT_TRUE(xg::equal(loaded(x), norm(x)));
  EXPECT_EQ(loaded.num_batches_tracked.item<int>(), 1);
}

TEST(BatchNorm, MovedLayerUpdatesItsOwnBuffers) {
  nn::BatchNorm1d norm(2);
  nn::BatchNorm1d moved = std::move(norm);
  moved(xg::randn({5, 2}) + 4.0);
  EXPECT_EQ(moved.named_buffers()[2].second.item<int>(), 1);
  EXPECT_TRUE(moved.running_mean.is(moved.buffers()[0]));
  EXPECT_NE(moved.running_mean.to_vector<double>()[0], 0);
}

}  // namespace
