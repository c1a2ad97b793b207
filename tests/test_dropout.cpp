#include <gtest/gtest.h>

#include <limits>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

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
