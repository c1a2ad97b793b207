#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

TEST(MseLossOp, NeverBroadcasts) {
  const auto call = [] {
    xg::mse_loss(xg::tensor({{1.0}, {2.0}, {3.0}}), xg::tensor({1.0, 2.0, 3.0}));
  };
  expect_error<xg::ShapeError>(call, {"(3, 1)", "(3,)", "reshape"});
  const auto other = [] { xg::mse_loss(xg::rand({3, 2}), xg::rand(4)); };
  EXPECT_EQ(error_of<xg::ShapeError>(other).find("reshape"), std::string::npos);
  EXPECT_THROW(xg::mse_loss(xg::tensor(1.0), xg::tensor({1.0})), xg::ShapeError);
}

TEST(MseLossOp, ValuesAndGradients) {
  xg::manual_seed(4);
  const Tensor a = leaf(xg::randn({5, 3}, f64));
  const Tensor b = leaf(xg::randn({5, 3}, f64));
  const Tensor d = a.detach() - b.detach();
  const Tensor mean = xg::mse_loss(a, b);
  EXPECT_EQ(mean.grad_fn(), "MseLossBackward0");
  EXPECT_NEAR(mean.item<double>(), (d * d).mean().item<double>(), 1e-14);
  for (const xg::Reduction reduction :
       {xg::Reduction::none, xg::Reduction::mean, xg::Reduction::sum}) {
    const Tensor y = xg::mse_loss(a, b, reduction);
    const Tensor g = xg::randn(y.shape(), f64);
    const double n = reduction == xg::Reduction::mean ? 15 : 1;
    expect_close(xg::grad(y, {b}, {.grad_output = g, .retain_graph = true})[0], d * g * -2 / n,
                 1e-14);
    expect_paths_agree(y, a, g, 1e-14);
  }
  // Mixed types promote; each gradient keeps its own.
  const Tensor c = leaf(xg::randn({5, 3}));
  const Tensor mixed = xg::mse_loss(c, b);
  EXPECT_EQ(mixed.dtype(), xg::float64);
  mixed.backward();
  EXPECT_EQ(c.grad().dtype(), xg::float32);
  EXPECT_THROW(xg::mse_loss(xg::arange(3), xg::arange(3)), xg::DTypeError);
  EXPECT_TRUE(std::isnan(xg::mse_loss(xg::zeros({0, 2}), xg::zeros({0, 2})).item<float>()));
}

TEST(ReductionOp, Names) {
  EXPECT_EQ(xg::reduction_from("none"), xg::Reduction::none);
  EXPECT_EQ(xg::reduction_from("mean"), xg::Reduction::mean);
  EXPECT_EQ(xg::reduction_from("sum"), xg::Reduction::sum);
  EXPECT_EQ(xg::reduction_from("batchmean"), xg::Reduction::batchmean);
}

TEST(PairLosses, FusedAndRecordedPathsAgree) {
  using xg::Reduction;
  xg::manual_seed(9);
  const Tensor x = leaf(xg::rand({5, 3}, f64) * 0.9 + 0.05);
  const Tensor t = leaf(xg::rand({5, 3}, f64) * 0.9 + 0.05);
  const Tensor w = xg::rand({5, 1}, f64);
  for (const Reduction r : {Reduction::none, Reduction::mean, Reduction::sum}) {
    for (const Tensor& y : {smooth_l1_loss(x, t, {r, 0.2}), huber_loss(x, t, {r, 0.2}),
                            binary_cross_entropy(x, t, {{}, r}), binary_cross_entropy(x, t, {w, r}),
                            binary_cross_entropy_with_logits(x, t, {{}, r}),
                            binary_cross_entropy_with_logits(x, t, {w, r, w + 1}),
                            kl_div(x, t, {r}), kl_div(x, t, {r, true})}) {
      SCOPED_TRACE(y.grad_fn());
      const Tensor g = xg::randn(y.shape(), f64);
      expect_paths_agree(y, x, g, 1e-13);
      expect_paths_agree(y, t, g, 1e-13);
    }
  }
}

TEST(PairLosses, SmoothL1OfTinyBeta) {
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    for (const double beta : {0.0, 1e-40}) {
      const Tensor x = xg::tensor({not_a_number, 1.0, 0.0, -2.0, infinity}, {dtype, true});
      const Tensor t = xg::zeros(5, {dtype, true});
      const Tensor loss = smooth_l1_loss(x, t, {xg::Reduction::none, beta});
      expect_values(loss, {not_a_number, 1, 0, 2, infinity});
      const double at_0 = beta == 0 ? -1 : 0;  // PyTorch's
      for (const bool create_graph : {false, true}) {
        const auto by = xg::grad(loss.sum(), {x, t}, {{}, create_graph, true});
        expect_values(by[0], {not_a_number, 1, at_0, -1, 1});
        expect_values(by[1], {not_a_number, -1, at_0, 1, -1});
      }
    }
  }
}

TEST(PairLosses, MixedTypesPromote) {
  const Tensor x = leaf(xg::tensor({0.5, 0.25}));
  const Tensor y = binary_cross_entropy(x, xg::tensor({1, 0}));
  EXPECT_NEAR(y.item<double>(), -(std::log(0.5) + std::log(0.75)) / 2, 1e-6);
  const Tensor wide = binary_cross_entropy_with_logits(x, xg::tensor({1, 0}, f64));
  EXPECT_EQ(wide.dtype(), xg::float64);
  const Tensor whole = xg::tensor({1, 0}), half = xg::tensor({0.5, 0.5});
  const auto bce = [&](const Tensor& input) {
    return binary_cross_entropy_with_logits(input, half, {.pos_weight = half});
  };
  EXPECT_TRUE(xg::equal(bce(whole), bce(whole.to(xg::float32))));
  EXPECT_EQ(l1_loss(whole == 1, half).item<double>(), 0.5);
  wide.backward();
  EXPECT_EQ(x.grad().dtype(), xg::float32);
}

TEST(BceWithLogitsOp, StaysExactForHugeLogits) {
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    const Tensor x = leaf(xg::tensor({0.0, -100.0, 8e7, -8e7}, {.dtype = dtype}));
    const Tensor target = xg::tensor({0.0, 0.0, 0.0, 1.0}, {.dtype = dtype});
    for (const Tensor& pos_weight : {Tensor(), xg::ones(1, {.dtype = dtype})}) {
      const Tensor y = binary_cross_entropy_with_logits(
          x, target, {.reduction = xg::Reduction::none, .pos_weight = pos_weight});
      const std::vector<double> losses = y.to_vector<double>();
      EXPECT_NEAR(losses[0], 0.693147181, 1e-7);
      EXPECT_LT(losses[1], 1e-43);
      EXPECT_GE(losses[1], 0);
      EXPECT_EQ(losses[2], 8e7);
      EXPECT_EQ(losses[3], 8e7);
      for (const bool create_graph : {false, true}) {
        const Tensor dx = xg::grad(
            y, {x},
            {.grad_output = ones_like(y), .create_graph = create_graph, .retain_graph = true})[0];
        expect_near(dx, {0.5, 0, 1, -1}, 1e-30);
      }
    }
  }
}

TEST(BceOp, LogarithmsEndAtMinusHundred) {
  const Tensor x = leaf(xg::tensor({0.0, 1.0, 0.0, 1.0}));
  const Tensor y =
      binary_cross_entropy(x, xg::tensor({1.0, 0.0, 0.0, 1.0}), {.reduction = xg::Reduction::none});
  expect_near(y, {100, 100, 0, 0});
  y.sum().backward();
  EXPECT_TRUE(xg::isfinite(x.grad()).to_vector<bool>()[0]);
}

TEST(BceOp, SlopeByTheTargetIsInfiniteAtTheEnds) {
  const Tensor x = xg::tensor({0.0, 1.0, 1.0, 0.5});
  const Tensor t = leaf(xg::tensor({0.2, 0.3, 0.4, 0.6}));
  const Tensor upstream = xg::tensor({2.0, 3.0, 0.0, 4.0});
  binary_cross_entropy(x, t, {.reduction = xg::Reduction::none}).backward(upstream);
  EXPECT_EQ(t.grad().to_vector<double>(), (std::vector<double>{INFINITY, -INFINITY, 0, 0}));
}

TEST(KlDivOp, NothingTimesItsLogarithmIsNothing) {
  const Tensor x = leaf(xg::tensor({{-1.0, -2.0}, {-0.5, -3.0}}, f64));
  const Tensor t = xg::tensor({{0.0, 1.0}, {0.25, 0.75}}, f64);
  const double row = 0.25 * (std::log(0.25) + 0.5) + 0.75 * (std::log(0.75) + 3);
  EXPECT_NEAR(kl_div(x, t, {xg::Reduction::batchmean}).item<double>(), (2 + row) / 2, 1e-15);
  kl_div(x, t, {xg::Reduction::sum}).backward();
  expect_near(x.grad(), {0, -1, -0.25, -0.75});
}
