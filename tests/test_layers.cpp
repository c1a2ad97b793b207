#include <gtest/gtest.h>

#include <cmath>

#include "support/text.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace nn = xgrad::nn;

namespace {

// ---- layers -------------------------------------------------------------------------------------

TEST(Module, PrintsPyTorchsTree) {
  struct Net : nn::Module {
    nn::Linear& fc1 = register_module("fc1", nn::Linear(2, 3));
    nn::Sequential& block =
        register_module("block", nn::Sequential(nn::Linear(3, 3, {.bias = false}), nn::ReLU()));
    std::string extra_repr() const override { return "a=1"; }
  };
  EXPECT_EQ(text(Net()),
            "Net(\n"
            "  a=1\n"
            "  (fc1): Linear(in_features=2, out_features=3, bias=True)\n"
            "  (block): Sequential(\n"
            "    (0): Linear(in_features=3, out_features=3, bias=False)\n"
            "    (1): ReLU()\n"
            "  )\n"
            ")");
  EXPECT_EQ(text(nn::Sequential()), "Sequential()");
  EXPECT_EQ(text(nn::LeakyReLU(0.2)), "LeakyReLU(negative_slope=0.2)");
  EXPECT_EQ(text(nn::GELU()), "GELU(approximate='none')");
  EXPECT_EQ(text(nn::ELU()), "ELU(alpha=1.0)");
  EXPECT_EQ(text(nn::Sequential(nn::SiLU(), nn::Tanh(), nn::Sigmoid(), nn::LogSigmoid(),
                                nn::Identity(), nn::Softmax(1))),
            "Sequential(\n  (0): SiLU()\n  (1): Tanh()\n  (2): Sigmoid()\n  (3): LogSigmoid()\n"
            "  (4): Identity()\n  (5): Softmax(dim=1)\n)");
  EXPECT_EQ(text(nn::Softplus({.beta = 0.5})), "Softplus(beta=0.5, threshold=20)");
  EXPECT_EQ(text(nn::LogSoftmax(-1)), "LogSoftmax(dim=-1)");
  EXPECT_EQ(text(nn::Flatten()), "Flatten(start_dim=1, end_dim=-1)");
  EXPECT_EQ(text(nn::Dropout()), "Dropout(p=0.5, inplace=False)");
  EXPECT_EQ(text(nn::LayerNorm({2, 3}, {.eps = 1e-6})),
            "LayerNorm((2, 3), eps=1e-06, elementwise_affine=True)");
  EXPECT_EQ(text(nn::BatchNorm2d(4, {.momentum = std::nullopt, .affine = false})),
            "BatchNorm2d(4, eps=1e-05, momentum=None, affine=False, track_running_stats=True)");
  EXPECT_EQ(text(nn::RMSNorm(6)), "RMSNorm((6,), eps=None, elementwise_affine=True)");
  EXPECT_EQ(text(nn::RMSNorm({2, 3}, {.eps = 1e-6, .elementwise_affine = false})),
            "RMSNorm((2, 3), eps=1e-06, elementwise_affine=False)");
  EXPECT_EQ(text(nn::GroupNorm(2, 4)), "GroupNorm(2, 4, eps=1e-05, affine=True)");
  EXPECT_EQ(text(nn::InstanceNorm1d(3)),
            "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)");
  EXPECT_EQ(text(nn::InstanceNorm2d(3, {.affine = true})),
            "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=False)");
  EXPECT_EQ(text(nn::CrossEntropyLoss()), "CrossEntropyLoss()");
  EXPECT_EQ(text(nn::L1Loss()), "L1Loss()");
  EXPECT_EQ(text(nn::SmoothL1Loss({.beta = 0.5})), "SmoothL1Loss()");
}

TEST(Linear, FollowsThePyTorchLesson) {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  nn::Sequential layer(nn::Linear(5, 6), nn::ReLU());
  EXPECT_EQ(text(layer(batch)),
            "tensor([[0.2260, 0.3470, 0.0000, 0.2216, 0.0000, 0.0000],\n"
            "        [0.2133, 0.2394, 0.0000, 0.5198, 0.3297, 0.0000]],\n"
            "       grad_fn=<ReluBackward0>)");
}

TEST(Linear, WithoutBiasAndWithWrongSizes) {
  nn::Linear layer(3, 2, {.bias = false});
  EXPECT_FALSE(layer.bias.defined());
  EXPECT_EQ(layer.parameters().size(), 1U);
  EXPECT_EQ(layer.state_dict().size(), 1U);
  EXPECT_EQ(layer(xg::randn({4, 1, 3})).shape(), (xg::Shape{4, 1, 2}));
  EXPECT_THROW(nn::Linear(-1, 2), xg::Error);
}

TEST(ModuleList, IsIterated) {
  nn::ModuleList layers;
  for (int i = 1; i < 4; ++i) layers.push_back(nn::Linear(i, i + 1));
  xg::Tensor x = xg::randn({2, 1});
  for (nn::Module& layer : layers) x = layer(x);
  EXPECT_EQ(x.shape(), (xg::Shape{2, 4}));
  EXPECT_EQ(layers.size(), 3);
}

TEST(Activation, ModulesCallTheirFunctions) {
  const xg::Tensor x = xg::tensor({{-1.5, 0.0, 0.25}, {2.0, -0.5, 30.0}});
  const auto same = [&](nn::Module&& module, const xg::Tensor& expected) {
    EXPECT_TRUE(xg::equal(module(x), expected)) << module;
  };
  same(nn::LeakyReLU(0.2), xg::leaky_relu(x, 0.2));
  same(nn::GELU({.approximate = "tanh"}), xg::gelu(x, {.approximate = "tanh"}));
  same(nn::SiLU(), xg::silu(x));
  same(nn::Tanh(), xg::tanh(x));
  same(nn::Sigmoid(), xg::sigmoid(x));
  same(nn::ELU(0.5), xg::elu(x, 0.5));
  same(nn::Softplus({.beta = 2, .threshold = 10}), xg::softplus(x, 2, 10));
  same(nn::Softmax(0), xg::softmax(x, 0));
  same(nn::LogSoftmax(1), xg::log_softmax(x, 1));
  same(nn::Identity(), x);
  same(nn::Flatten(0), xg::flatten(x));
}

TEST(Dropout, OnlyInTraining) {
  nn::Dropout layer(0.5);
  const xg::Tensor x = xg::ones({20, 30});
  xg::manual_seed(1);
  EXPECT_FALSE(xg::equal(layer(x), x));
  layer.eval();
  EXPECT_TRUE(xg::equal(layer(x), x));
  EXPECT_THROW(nn::Dropout(1.5), xg::Error);
}

TEST(Loss, ModulesTakeInputAndTarget) {
  const xg::Tensor logits = xg::randn({4, 3});
  const xg::Tensor classes = xg::tensor({2, 0, 1, 1});
  nn::CrossEntropyLoss weighted({.weight = xg::tensor({1.0, 2.0, 0.5})});
  EXPECT_EQ(weighted.named_buffers()[0].first, "weight");
  EXPECT_TRUE(xg::equal(weighted(logits, classes),
                        xg::cross_entropy(logits, classes, {.weight = weighted.buffers()[0]})));
  nn::MSELoss mse({.reduction = xg::Reduction::sum});
  EXPECT_TRUE(
      xg::equal(mse(logits, logits * 2.0), xg::mse_loss(logits, logits * 2.0, xg::Reduction::sum)));
  EXPECT_THROW(mse(logits, xg::zeros({4})), xg::ShapeError);
  const xg::Tensor logs = xg::log_softmax(logits, 1);
  EXPECT_TRUE(xg::equal(nn::NLLLoss()(logs, classes), xg::nll_loss(logs, classes)));
  const xg::Tensor target = xg::rand({4, 3}), p = xg::rand({4, 3}), w = xg::rand({3});
  const auto sum = xg::Reduction::sum;
  EXPECT_TRUE(xg::equal(nn::L1Loss({sum})(logits, target), xg::l1_loss(logits, target, sum)));
  EXPECT_TRUE(xg::equal(nn::SmoothL1Loss({.beta = 0.5})(logits, target),
                        xg::smooth_l1_loss(logits, target, {.beta = 0.5})));
  EXPECT_TRUE(xg::equal(nn::HuberLoss({.delta = 0.5})(logits, target),
                        xg::huber_loss(logits, target, {.delta = 0.5})));
  EXPECT_TRUE(xg::equal(nn::KLDivLoss({.log_target = true})(logs, logs - 1.0),
                        xg::kl_div(logs, logs - 1.0, {.log_target = true})));
  EXPECT_TRUE(xg::equal(nn::BCELoss({.weight = w})(p, target),
                        xg::binary_cross_entropy(p, target, {.weight = w})));
  nn::BCEWithLogitsLoss bce({.weight = w, .pos_weight = w + 1.0});
  EXPECT_TRUE(xg::equal(
      bce(logits, target),
      xg::binary_cross_entropy_with_logits(logits, target, {w, xg::Reduction::mean, w + 1.0})));
  EXPECT_EQ(bce.named_buffers()[1].first, "pos_weight");
  bce.to(xg::float64);
  EXPECT_EQ(bce(logits.to(xg::float64), target.to(xg::float64)).dtype(), xg::float64);
}

// ---- initialisation -----------------------------------------------------------------------------

TEST(Init, DrawsPyTorchsNumbers) {
  xg::manual_seed(42);
  xg::Tensor x = xg::empty({3, 4});
  const std::vector<double> truncated = nn::init::trunc_normal_(x, 0, 0.02).to_vector<double>();
  EXPECT_NEAR(truncated[0], 0.02372814528644085, 1e-8);
  EXPECT_NEAR(truncated[2], -0.0059593613259494305, 1e-8);
  xg::manual_seed(42);
  xg::Tensor y = xg::empty({4, 3});
  nn::init::kaiming_normal_(y, {.nonlinearity = "relu"});
  EXPECT_NEAR(y.to_vector<double>()[4], -0.9168083667755127, 1e-6);
}

TEST(Init, Gains) {
  EXPECT_DOUBLE_EQ(nn::init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_DOUBLE_EQ(nn::init::calculate_gain("leaky_relu", 0), std::sqrt(2.0));
  EXPECT_THROW(nn::init::calculate_gain("swish"), xg::Error);
}

TEST(Init, FansAndBounds) {
  xg::Tensor x = xg::empty({4, 3, 2}, {.requires_grad = true});
  EXPECT_EQ(nn::init::calculate_fan(x.shape()).in, 6);
  EXPECT_EQ(nn::init::calculate_fan(x.shape()).out, 8);
  EXPECT_TRUE(nn::init::kaiming_uniform_(x, {.mode = "fan_out", .nonlinearity = "relu"}).is(x));
  EXPECT_LE(xg::amax(xg::abs(x)).item<double>(), std::sqrt(6.0 / 8));
  EXPECT_THROW(nn::init::kaiming_normal_(x, {.mode = "fan"}), xg::Error);
  xg::Tensor row = xg::empty({3});
  EXPECT_THROW(nn::init::xavier_uniform_(row), xg::ShapeError);
  EXPECT_THROW(nn::init::uniform_(row, 1, 0), xg::Error);
  EXPECT_TRUE(xg::equal(nn::init::ones_(x).detach(), xg::ones({4, 3, 2})));
}

}  // namespace
