#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

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
      expect_error<xg::IndexError>(call, {"label " + std::to_string(label), "(0)", "3 classes"});
    }
  }
  Tensor map = xg::zeros({2, 4, 5}, {.dtype = xg::int64});
  map.index_put_({1, 2, 3}, 7);
  expect_error<xg::IndexError>(
      [&] {
        xg::cross_entropy(xg::rand({2, 3, 4, 5}), map);
      },
      {"label 7 at position (1, 2, 3)"});

  const auto two_rows = [] { xg::cross_entropy(xg::rand({2, 3}), xg::tensor({1})); };
  expect_error<xg::ShapeError>(two_rows, {"(2, 3)", "(1,)"});
  EXPECT_THROW(xg::cross_entropy(xg::rand({2, 3}), xg::tensor({{1}, {2}})), xg::ShapeError);
  const auto floats = [] { xg::cross_entropy(xg::rand({2, 3}), xg::tensor({1.0, 2.0})); };
  expect_error<xg::DTypeError>(floats, {"int64"});
}

TEST(CrossEntropyOp, IsLogSoftmaxThenNll) {
  xg::manual_seed(2);
  for (const xg::Shape& shape :
       std::vector<xg::Shape>{{5}, {7, 3}, {700, 10}, {2, 130}, {2, 3, 4}, {2, 5, 3, 4}}) {
    const int dim = shape.dim() == 1 ? 0 : 1;
    const Tensor x = leaf(xg::randn(shape, f64) * 3);
    const Tensor weight = xg::rand(shape[dim], f64) + 0.1;
    const Tensor target = xg::randint(shape[dim], x.select(dim, 0).shape());
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
  expect_error<xg::GraphError>(learned, {"detach"});

  const Tensor weight = xg::tensor({0.5, 2.0, 3.0});
  const Tensor each = xg::cross_entropy(x.detach(), target, {.reduction = xg::Reduction::none});
  const std::vector<float> l = each.to_vector<float>();
  const Tensor mean = xg::cross_entropy(x, target, {.weight = weight});
  EXPECT_NEAR(mean.item<float>(), (0.5f * l[0] + 3 * l[1]) / 3.5f, 1e-6);
}

TEST(CrossEntropyOp, SecondBackwardGivesTheSameGradient) {
  const Tensor x = leaf(xg::randn({3, 4}));
  const Tensor y = xg::cross_entropy(x, xg::tensor({1, 3, 0}));
  Tensor first = xg::grad(y, {x}, {.retain_graph = true})[0];
  const Tensor kept = first.clone();
  first.mul_(5);  // the caller's own
  EXPECT_TRUE(xg::equal(xg::grad(y, {x})[0], kept));
}

TEST(AccuracyOp, ShareOfHits) {
  const Tensor logits = xg::tensor({{0.1, 0.9}, {2.0, 1.0}, {0.0, 3.0}, {1.0, 0.0}});
  EXPECT_EQ(xg::accuracy(logits, xg::tensor({1, 0, 0, 0})), 0.75);
  EXPECT_THROW(xg::accuracy(logits, xg::tensor({1, 0})), xg::ShapeError);
  EXPECT_THROW(xg::accuracy(logits, xg::tensor({1.0, 0.0, 0.0, 0.0})), xg::DTypeError);
}
