
#include "support/leaves.hpp"

/// Attention: who sees whom, and PyTorch's numbers and names.

namespace xg = xgrad;
namespace nn = xgrad::nn;
using xg::Tensor;

namespace {

TEST(Attention, WeightsAreAShareOfWhatMayBeSeen) {
  xg::manual_seed(1);
  const Tensor q = xg::randn({2, 3, 4}, f64), k = xg::randn({2, 5, 4}, f64);
  expect_near(attention_weights(q, k).sum(-1), std::vector<double>(6, 1.0), 1e-12);
  const Tensor causal = attention_weights(q, k, {.is_causal = true});
  expect_near(causal.sum(-1), std::vector<double>(6, 1.0), 1e-12);
  EXPECT_TRUE(equal(causal, xg::tril(causal)));
  EXPECT_EQ(causal.index({0, 0, 0}).item<double>(), 1);
  // A mask and the causal rule both hold: query 2 is left with keys 1 and 2.
  const Tensor mask = xg::tensor({false, true, true, true, true});
  const Tensor last =
      attention_weights(q, k, {.mask = mask, .is_causal = true}).select(0, 1).select(0, 2);
  EXPECT_EQ(last.index({0}).item<double>(), 0);
  EXPECT_GT(last.index({1}).item<double>(), 0);
  EXPECT_EQ(last.index({3}).item<double>(), 0);
}

TEST(Attention, ABoolMaskIsAFloatingOneOfMinusInfinity) {
  xg::manual_seed(2);
  const Tensor q = xg::randn({2, 2, 3, 4}, f64), k = xg::randn({2, 2, 5, 4}, f64);
  const Tensor v = xg::randn({2, 2, 5, 3}, f64);
  const Tensor allowed = xg::randint(2, {2, 1, 3, 5}) + xg::eye(3, 5).to(xg::int64) > 0;
  const Tensor added = where(allowed, xg::zeros({}, f64), -infinity);
  const Tensor a = scaled_dot_product_attention(q, k, v, {.mask = allowed, .scale = 0.3});
  EXPECT_TRUE(equal(a, scaled_dot_product_attention(q, k, v, {.mask = added, .scale = 0.3})));
  EXPECT_TRUE(equal(a, matmul(attention_weights(q, k, {.mask = allowed, .scale = 0.3}), v)));
}

TEST(Attention, AQueryWithoutKeysIsNaNAndTheOthersAreNot) {
  const Tensor x = xg::ones({2, 3}, f64);
  const Tensor mask = xg::tensor({{true, false}, {false, false}});
  expect_values(scaled_dot_product_attention(x, x, x, {.mask = mask}),
                {1, 1, 1, not_a_number, not_a_number, not_a_number});
}

TEST(Attention, TheFutureHasNoGradient) {
  xg::manual_seed(3);
  nn::MultiheadAttention layer(6, 3, {.is_causal = true});
  const Tensor x = xg::randn({2, 4, 6}, {.requires_grad = true});
  layer(x).select(1, 1).sum().backward();
  EXPECT_TRUE(equal(x.grad().narrow(1, 2, 2), xg::zeros({2, 2, 6})));
  EXPECT_NE(x.grad().narrow(1, 0, 1).abs().sum().item<double>(), 0);
}

TEST(MultiheadAttention, IsPyTorchsForTheSameSeed) {
  xg::manual_seed(7);
  nn::MultiheadAttention layer(4, 2);
  EXPECT_EQ(to_string(layer),
            "MultiheadAttention(\n"
            "  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, "
            "bias=True)\n"
            ")");
  std::vector<std::string> names;
  for (const auto& entry : layer.named_parameters()) names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight",
                                             "out_proj.bias"}));
  const Tensor x = xg::randn({2, 3, 4});
  expect_near(layer.in_proj_weight.select(0, 0), {0.4689, -0.1063, 0.3150, 0.2386}, 6e-5);
  expect_near(layer.out_proj.weight.select(0, 0), {0.0349, -0.3012, 0.1592, 0.1569}, 6e-5);
  EXPECT_TRUE(equal(layer.in_proj_bias, xg::zeros({12})));
  EXPECT_TRUE(equal(layer.out_proj.bias, xg::zeros({4})));
  expect_near(layer(x).select(0, 1),
              {0.0460, -0.1506, -0.0178, -0.0613, -0.0217, -0.0012, -0.0872, 0.0176, -0.0492,
               0.0411, -0.1404, 0.0178},
              6e-5);
  const Tensor k = xg::randn({2, 5, 4}), v = xg::randn({2, 5, 4});
  expect_near(layer.forward(x, k, v).select(0, 1).select(0, 2), {0.1715, -0.0488, -0.1725, -0.0283},
              6e-5);
  expect_close(layer(x.select(0, 1)), layer(x).select(0, 1), 1e-6);  // one sequence
  layer.options.is_causal = true;
  expect_near(layer(x).select(0, 1),
              {0.0546, -0.0034, 0.4658, 0.0868, 0.0487, -0.0781, 0.1081, 0.0531, -0.0492, 0.0411,
               -0.1404, 0.0178},
              6e-5);
}

TEST(MultiheadAttention, WithoutBiasAndWithoutABatch) {
  nn::MultiheadAttention layer(4, 2, {.bias = false});
  EXPECT_EQ(layer.parameters().size(), 2U);
  EXPECT_EQ(layer(xg::ones({0, 3, 4})).shape(), (xg::Shape{0, 3, 4}));
  EXPECT_EQ(layer(xg::ones({2, 1, 4})).shape(), (xg::Shape{2, 1, 4}));
  layer.to(xg::float64);
  std::vector<Tensor> inputs = layer.parameters();
  inputs.push_back(xg::randn({2, 3, 4}, {.dtype = xg::float64, .requires_grad = true}));
  const auto f = [&](const std::vector<Tensor>& in) {
    layer.in_proj_weight = in[0];
    layer.out_proj.weight = in[1];
    return layer(in[2]);
  };
  EXPECT_TRUE(xg::gradcheck(f, inputs));
}

}  // namespace
