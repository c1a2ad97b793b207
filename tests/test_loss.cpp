#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

constexpr xg::TensorOptions f64{.dtype = xg::float64};
constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor leaf(const Tensor& x) { return x.detach().clone().requires_grad_(); }

/// The gradient of sum(y * g) by x is the same by the fused kernels and when recorded.
void expect_paths_agree(const Tensor& y, const Tensor& x, const Tensor& g, double tolerance) {
  const Tensor fused = xg::grad(y, {x}, {.grad_output = g, .retain_graph = true})[0];
  const Tensor recorded = xg::grad(y, {x}, {.grad_output = g, .create_graph = true})[0];
  EXPECT_TRUE(recorded.requires_grad());
  expect_close(fused, recorded, tolerance);
}

Tensor labels(std::int64_t classes, const xg::Shape& shape) { return xg::randint(classes, shape); }

}  // namespace

// ---- softmax ------------------------------------------------------------------------------------

TEST(SoftmaxOp, EveryDimension) {
  xg::manual_seed(1);
  for (const xg::Shape& shape :
       std::vector<xg::Shape>{{4}, {2, 3}, {2, 3, 4}, {2, 5, 3, 4}, {3, 130}}) {
    const Tensor x = leaf(xg::randn(shape, f64) * 5);
    const Tensor g = xg::randn(shape, f64);
    for (int d = -shape.dim(); d < shape.dim(); ++d) {
      const Tensor e = exp(x.detach() - x.detach().amax(d, true));
      const Tensor expected = e / e.sum(d, true);
      const Tensor y = xg::softmax(x, d);
      const Tensor log_y = xg::log_softmax(x, d);
      EXPECT_EQ(y.grad_fn(), "SoftmaxBackward0");
      EXPECT_EQ(log_y.grad_fn(), "LogSoftmaxBackward0");
      expect_close(y.detach(), expected, 1e-14);
      expect_close(exp(log_y.detach()), expected, 1e-14);
      expect_paths_agree(y, x, g, 1e-14);
      expect_paths_agree(log_y, x, g, 1e-13);
      // float32 has an exp of its own.
      expect_close(xg::softmax(x.detach().to(xg::float32), d), expected, 1e-6);
    }
  }
}

TEST(SoftmaxOp, ExtremeLogits) {
  const Tensor x = xg::tensor({{1000.0, 0.0, -1000.0}, {-infinity, 2.0, 2.0}});
  expect_near(xg::softmax(x, 1), {1, 0, 0, 0, 0.5, 0.5}, 1e-7);
  const std::vector<float> y = xg::log_softmax(x, 1).to_vector<float>();
  EXPECT_EQ(y[1], -1000.0f);
  EXPECT_EQ(y[3], -std::numeric_limits<float>::infinity());
  // Tiny probabilities come out as denormal numbers, as in PyTorch, and not as 0.
  const std::vector<float> tiny = xg::softmax(xg::tensor({-100.0, 0.0}), 0).to_vector<float>();
  EXPECT_FLOAT_EQ(tiny[0], std::exp(-100.0f));
  const std::vector<float> lost =
      xg::softmax(xg::tensor({{-infinity, -infinity}, {0.0, 0.0}}), 1).to_vector<float>();
  EXPECT_TRUE(std::isnan(lost[0]));
  EXPECT_EQ(lost[2], 0.5f);  // the other row is untouched
}

TEST(SoftmaxOp, Errors) {
  EXPECT_THROW(xg::softmax(xg::rand({2, 3}), 2), xg::IndexError);
  EXPECT_THROW(xg::log_softmax(xg::rand({2, 3}), -3), xg::IndexError);
  EXPECT_THROW(xg::softmax(xg::arange(3), 0), xg::DTypeError);
  EXPECT_EQ(xg::softmax(xg::zeros({2, 0}), 1).shape(), (xg::Shape{2, 0}));
  EXPECT_EQ(xg::softmax(xg::tensor(3.0), 0).item<float>(), 1.0f);
}

// ---- cross_entropy ------------------------------------------------------------------------------

TEST(CrossEntropyOp, HugeLogits) {
  const auto check = [](const Tensor& x, const Tensor& target, double loss,
                        const std::vector<double>& gradient) {
    const Tensor input = leaf(x);
    const Tensor y = xg::cross_entropy(input, target);
    EXPECT_NEAR(y.item<double>(), loss, 1e-6);
    for (const bool create_graph : {false, true}) {
      expect_near(xg::grad(y, {input}, {.create_graph = create_graph, .retain_graph = true})[0],
                  gradient, 1e-7);
    }
  };
  check(xg::tensor({{1e8, 1e8}}), xg::tensor({1}), 0.693147181, {0.5, -0.5});
  check(xg::tensor({{1000, 0}, {0, -1000}}, f64), xg::tensor({1, 0}), 500, {0.5, -0.5, 0, 0});
  check(xg::tensor({{0, -1000}}, f64), xg::tensor({1}), 1000, {1, -1});
  // One row's maximum says nothing about another's.
  check(xg::tensor({{2000.0, 0.0, 0.0}, {-2000.0, -2000.0, -2001.0}}), xg::tensor({0, 1}),
        (0 + std::log(2 + std::exp(-1.0))) / 2,
        {0, 0, 0, 0.5 / (2 + std::exp(-1.0)), 0.5 / (2 + std::exp(-1.0)) - 0.5,
         0.5 * std::exp(-1.0) / (2 + std::exp(-1.0))});
}

TEST(CrossEntropyOp, LabelOutOfRange) {
  const Tensor x = xg::tensor({{1.0, 2.0, 3.0}});
  for (const std::int64_t label : {3, -1, 1000000}) {
    for (const bool nll : {false, true}) {
      const auto call = [&] {
        const Tensor target = xg::tensor(std::vector<std::int64_t>{label});
        nll ? xg::nll_loss(x, target) : xg::cross_entropy(x, target);
      };
      EXPECT_THROW(call(), xg::IndexError);
      const std::string text = message(call);
      EXPECT_TRUE(contains(text, "label " + std::to_string(label))) << text;
      EXPECT_TRUE(contains(text, "(0)")) << text;
      EXPECT_TRUE(contains(text, "3 classes")) << text;
    }
  }
  Tensor map = xg::zeros({2, 4, 5}, {.dtype = xg::int64});
  map.index_put_({1, 2, 3}, 7);
  EXPECT_TRUE(contains(message([&] {
                         xg::cross_entropy(xg::rand({2, 3, 4, 5}), map);
                       }),
                       "label 7 at position (1, 2, 3)"));

  const auto two_rows = [] { xg::cross_entropy(xg::rand({2, 3}), xg::tensor({1})); };
  EXPECT_THROW(two_rows(), xg::ShapeError);
  EXPECT_TRUE(contains(message(two_rows), "(2, 3)"));
  EXPECT_TRUE(contains(message(two_rows), "(1,)"));
  EXPECT_THROW(xg::cross_entropy(xg::rand({2, 3}), xg::tensor({{1}, {2}})), xg::ShapeError);
  const auto floats = [] { xg::cross_entropy(xg::rand({2, 3}), xg::tensor({1.0, 2.0})); };
  EXPECT_THROW(floats(), xg::DTypeError);
  EXPECT_TRUE(contains(message(floats), "int64"));
}

TEST(CrossEntropyOp, IsLogSoftmaxThenNll) {
  xg::manual_seed(2);
  for (const xg::Shape& shape :
       std::vector<xg::Shape>{{5}, {7, 3}, {700, 10}, {2, 130}, {2, 3, 4}, {2, 5, 3, 4}}) {
    const int dim = shape.dim() == 1 ? 0 : 1;
    const Tensor x = leaf(xg::randn(shape, f64) * 3);
    const Tensor weight = xg::rand(shape[dim], f64) + 0.1;
    const Tensor target = labels(shape[dim], x.select(dim, 0).shape());
    for (const xg::Reduction reduction :
         {xg::Reduction::none, xg::Reduction::mean, xg::Reduction::sum}) {
      for (const Tensor& w : {Tensor(), weight}) {
        const Tensor y =
            xg::cross_entropy(x, target, {.weight = w, .reduction = reduction, .ignore_index = 1});
        const Tensor two_steps =
            xg::nll_loss(xg::log_softmax(x, dim), target,
                         {.weight = w, .reduction = reduction, .ignore_index = 1});
        EXPECT_EQ(y.grad_fn(), shape.dim() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0");
        EXPECT_EQ(y.grad_fn(), two_steps.grad_fn());
        const bool nothing = reduction == xg::Reduction::mean && std::isnan(y.item<double>());
        if (!nothing) expect_close(y.detach(), two_steps.detach(), 1e-10);
        const Tensor g = xg::randn(y.shape(), f64);
        expect_paths_agree(y, x, g, 1e-12);
        expect_close(xg::grad(y, {x}, {.grad_output = g})[0],
                     xg::grad(two_steps, {x}, {.grad_output = g})[0], 1e-12);
        // float32, and without a gradient to compute along the way.
        const Tensor plain = xg::cross_entropy(x.detach().to(xg::float32), target,
                                               {.weight = w.defined() ? w.to(xg::float32) : w,
                                                .reduction = reduction,
                                                .ignore_index = 1});
        if (!nothing) {
          const double scale = reduction == xg::Reduction::sum ? 1e-3 : 1e-5;
          expect_close(plain, y.detach(), scale);
        }
      }
    }
  }
}

TEST(CrossEntropyOp, ProbabilitiesAndSmoothing) {
  xg::manual_seed(3);
  const Tensor x = xg::randn({4, 3}, f64);
  const Tensor target = xg::tensor({2, 0, 1, 1});
  Tensor one_hot = xg::zeros({4, 3}, f64);
  for (std::int64_t i = 0; i < 4; ++i) {
    one_hot.index_put_({i, target.to_vector<std::int64_t>()[static_cast<std::size_t>(i)]}, 1);
  }
  // Classes are the probabilities 0 and 1, smoothing mixes in the even distribution.
  for (const double smoothing : {0.0, 0.3, 1.0}) {
    const Tensor by_class = xg::cross_entropy(x, target, {.label_smoothing = smoothing});
    expect_close(by_class, xg::cross_entropy(x, one_hot, {.label_smoothing = smoothing}), 1e-12);
    expect_close(by_class, xg::cross_entropy(x, one_hot * (1 - smoothing) + smoothing / 3), 1e-12);
  }
  EXPECT_THROW(xg::cross_entropy(x, target, {.label_smoothing = 1.5}), xg::Error);
  EXPECT_THROW(xg::cross_entropy(x, target, {.label_smoothing = -0.1}), xg::Error);
  EXPECT_THROW(xg::cross_entropy(x, one_hot, {.ignore_index = 1}), xg::Error);
}

TEST(CrossEntropyOp, IgnoredRows) {
  const Tensor x = leaf(xg::tensor({{1.0, 2.0}, {-infinity, infinity}, {0.0, 1.0}}));
  const Tensor target = xg::tensor({0, -100, 1});
  const Tensor y = xg::cross_entropy(x, target, {.reduction = xg::Reduction::none});
  EXPECT_EQ(y.to_vector<float>()[1], 0.0f);
  y.sum().backward();
  const std::vector<float> dx = x.grad().to_vector<float>();
  EXPECT_EQ(dx[2], 0.0f);  // whatever the logits of that row are
  EXPECT_EQ(dx[3], 0.0f);

  for (const double smoothing : {0.0, 0.1}) {
    for (const bool create_graph : {false, true}) {
      const Tensor loss = xg::cross_entropy(x, target, {.label_smoothing = smoothing});
      const Tensor slope = xg::grad(loss, {x}, {.create_graph = create_graph})[0];
      EXPECT_TRUE(isfinite(loss).all() && isfinite(slope).all()) << smoothing << create_graph;
      expect_values(slope[1], {0, 0});
    }
  }

  const Tensor z = leaf(xg::rand({2, 3}));
  const Tensor all = xg::cross_entropy(z, xg::tensor({-100, -100}));
  EXPECT_TRUE(std::isnan(all.item<float>()));
  all.backward();
  EXPECT_TRUE(xg::equal(z.grad(), xg::zeros({2, 3})));
}

TEST(CrossEntropyOp, Weight) {
  const Tensor x = leaf(xg::rand({2, 3}));
  const Tensor target = xg::tensor({0, 2});
  EXPECT_THROW(xg::cross_entropy(x, target, {.weight = xg::ones(2)}), xg::ShapeError);
  EXPECT_THROW(xg::cross_entropy(x, target, {.weight = xg::ones(3, f64)}), xg::DTypeError);
  const auto learned = [&] { xg::cross_entropy(x, target, {.weight = leaf(xg::ones(3))}); };
  EXPECT_THROW(learned(), xg::GraphError);

  const Tensor weight = xg::tensor({0.5, 2.0, 3.0});
  const Tensor each = xg::cross_entropy(x.detach(), target, {.reduction = xg::Reduction::none});
  const std::vector<float> l = each.to_vector<float>();
  const Tensor mean = xg::cross_entropy(x, target, {.weight = weight});
  EXPECT_NEAR(mean.item<float>(), (0.5f * l[0] + 3 * l[1]) / 3.5f, 1e-6);
  EXPECT_TRUE(contains(message(learned), "detach"));
}

TEST(CrossEntropyOp, SecondBackwardGivesTheSameGradient) {
  const Tensor x = leaf(xg::randn({3, 4}));
  const Tensor y = xg::cross_entropy(x, xg::tensor({1, 3, 0}));
  Tensor first = xg::grad(y, {x}, {.retain_graph = true})[0];
  const Tensor kept = first.clone();
  first.mul_(5);  // the caller's own
  EXPECT_TRUE(xg::equal(xg::grad(y, {x})[0], kept));
}

// ---- mse_loss, accuracy, dropout ----------------------------------------------------------------

TEST(MseLossOp, NeverBroadcasts) {
  const auto call = [] {
    xg::mse_loss(xg::tensor({{1.0}, {2.0}, {3.0}}), xg::tensor({1.0, 2.0, 3.0}));
  };
  EXPECT_THROW(call(), xg::ShapeError);
  const std::string text = message(call);
  EXPECT_TRUE(contains(text, "(3, 1)")) << text;
  EXPECT_TRUE(contains(text, "(3,)")) << text;
  EXPECT_TRUE(contains(text, "reshape")) << text;
  EXPECT_FALSE(contains(message([] { xg::mse_loss(xg::rand({3, 2}), xg::rand(4)); }), "reshape"));
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
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    for (const double beta : {0.0, 1e-40}) {
      const Tensor x = xg::tensor({nan, 1.0, 0.0, -2.0, infinity}, {dtype, true});
      const Tensor t = xg::zeros(5, {dtype, true});
      const Tensor loss = smooth_l1_loss(x, t, {xg::Reduction::none, beta});
      expect_values(loss, {nan, 1, 0, 2, infinity});
      const double at_0 = beta == 0 ? -1 : 0;  // PyTorch's
      for (const bool create_graph : {false, true}) {
        const auto by = xg::grad(loss.sum(), {x, t}, {{}, create_graph, true});
        expect_values(by[0], {nan, 1, at_0, -1, 1});
        expect_values(by[1], {nan, -1, at_0, 1, -1});
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

TEST(KlDivOp, NothingTimesItsLogarithmIsNothing) {
  const Tensor x = leaf(xg::tensor({{-1.0, -2.0}, {-0.5, -3.0}}, f64));
  const Tensor t = xg::tensor({{0.0, 1.0}, {0.25, 0.75}}, f64);
  const double row = 0.25 * (std::log(0.25) + 0.5) + 0.75 * (std::log(0.75) + 3);
  EXPECT_NEAR(kl_div(x, t, {xg::Reduction::batchmean}).item<double>(), (2 + row) / 2, 1e-15);
  kl_div(x, t, {xg::Reduction::sum}).backward();
  expect_near(x.grad(), {0, -1, -0.25, -0.75});
}

TEST(AccuracyOp, ShareOfHits) {
  const Tensor logits = xg::tensor({{0.1, 0.9}, {2.0, 1.0}, {0.0, 3.0}, {1.0, 0.0}});
  EXPECT_EQ(xg::accuracy(logits, xg::tensor({1, 0, 0, 0})), 0.75);
  EXPECT_THROW(xg::accuracy(logits, xg::tensor({1, 0})), xg::ShapeError);
  EXPECT_THROW(xg::accuracy(logits, xg::tensor({1.0, 0.0, 0.0, 0.0})), xg::DTypeError);
}

TEST(DropoutOp, DrawsAsPyTorch) {
  // torch.manual_seed(0); F.dropout(torch.ones(20), 0.3)
  const std::vector<double> kept{0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    xg::manual_seed(0);
    const Tensor y = xg::dropout(xg::ones({4, 5}, {.dtype = dtype}), 0.3);
    expect_near((y * 0.7).reshape({20}), kept, 1e-6);
  }
}

TEST(DropoutOp, ScaleKeepsTheExpectedValue) {
  const Tensor y = xg::dropout(xg::ones({100, 50}, {.dtype = xg::float64}), 0.75);
  EXPECT_EQ(xg::max(y).item<double>(), 4);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.1);
}

TEST(DropoutOp, MaskOfTheForwardPassDecides) {
  xg::manual_seed(5);
  const Tensor x = leaf(xg::rand({30, 40}) + 1);
  const Tensor y = xg::dropout(x, 0.25);
  EXPECT_EQ(y.grad_fn(), "MulBackward0");
  EXPECT_NEAR((y == 0).to(xg::float32).mean().item<double>(), 0.25, 0.05);
  const Tensor g = xg::randn({30, 40});
  y.backward(g);
  expect_close(x.grad(), g * (y.detach() / x.detach()), 1e-5);
}

TEST(DropoutOp, Limits) {
  const Tensor x = leaf(xg::rand({2, 3}));
  EXPECT_TRUE(xg::dropout(x, 0.0).is(x));
  EXPECT_TRUE(xg::dropout(x, 0.5, false).is(x));
  const Tensor none = xg::dropout(x, 1.0);
  EXPECT_TRUE(xg::equal(none.detach(), xg::zeros({2, 3})));
  none.sum().backward();
  EXPECT_TRUE(xg::equal(x.grad(), xg::zeros({2, 3})));
  for (const double p : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(xg::dropout(x, p), xg::Error);
    EXPECT_THROW(xg::dropout(x, p, false), xg::Error);
  }
}
