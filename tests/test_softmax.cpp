#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

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
