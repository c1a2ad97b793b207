#include <gtest/gtest.h>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

TEST(Compare, NanIsUnequalToEverything) {
  const Tensor a = leaf({1, not_a_number, 2, not_a_number});
  const Tensor b = leaf({1, not_a_number, 3, 0});
  expect_values(a == b, {1, 0, 0, 0});
  expect_values(a != b, {0, 1, 1, 1});
  expect_values(a < b, {0, 0, 1, 0});
  expect_values(a <= b, {1, 0, 1, 0});
  expect_values(a > b, {0, 0, 0, 0});
  expect_values(a >= b, {1, 0, 0, 0});
  EXPECT_FALSE((a < b).requires_grad());
  expect_values(isfinite(leaf({1, not_a_number, infinity, -infinity, 1e308})), {1, 0, 0, 0, 1});
  expect_values(isfinite(xg::tensor({7, -7})), {1, 1});
  expect_values(logical_not(a == b), {0, 1, 1, 1});
}

TEST(Where, BroadcastsAllThree) {
  // Every element stretched or not, in each of the three places.
  const xg::Shape shapes[] = {{2, 3, 4}, {3, 1}, {2, 1, 4}, {4}, {}, {1, 3, 4}};
  for (const xg::Shape& sc : shapes) {
    for (const xg::Shape& sa : shapes) {
      for (const xg::Shape& sb : shapes) {
        SCOPED_TRACE(sc.str() + sa.str() + sb.str());
        const Tensor c = reshape(xg::arange(sc.numel()), sc) * 7 > reshape(xg::arange(4), {4}) * 9;
        const Tensor a = reshape(xg::arange(sa.numel(), {.dtype = xg::float64}), sa) + 100.0;
        const Tensor b = -reshape(xg::arange(sb.numel(), {.dtype = xg::float64}), sb);
        const Tensor y = where(c, a, b);
        const Tensor all = y * 0;  // the shape of all three
        const std::vector<bool> cs = expand(c, y.shape()).to_vector<bool>();
        const std::vector<double> as = (all + a).to_vector<double>();
        const std::vector<double> bs = (all + b).to_vector<double>();
        std::vector<double> expected;
        for (std::size_t i = 0; i < as.size(); ++i) expected.push_back(cs[i] ? as[i] : bs[i]);
        expect_values(y, expected);
      }
    }
  }
}

TEST(Where, ErrorsNameTheRepair) {
  const Tensor x = xg::ones({2, 6});
  EXPECT_THROW(where(x, x, x), xg::DTypeError);  // the condition must be bool
  EXPECT_THROW(where(x > 0, x, xg::ones({5})), xg::ShapeError);
  EXPECT_THROW(where(xg::ones({5}) > 0, x, x), xg::ShapeError);
  EXPECT_THROW(masked_fill(x, x, 1), xg::DTypeError);
}

TEST(Where, MaskedFillGivesTheMaskedNoGradient) {
  const Tensor x = xg::full({2, 3}, 4.0, {.dtype = xg::float64, .requires_grad = true});
  const Tensor y = masked_fill(x, xg::tensor({true, false, true}), -infinity);
  expect_values(y, {-infinity, 4, -infinity, -infinity, 4, -infinity});
  const Tensor g = xg::tensor({{1.5, 2, 3}, {4, 5, 6}}, {.dtype = xg::float64});
  expect_values(grad(y, {x}, {.grad_output = g})[0], {0, 2, 0, 0, 5, 0});
}
