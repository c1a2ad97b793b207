#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

TEST(Extremes, ValuesIndicesAndTheirGradient) {
  const Tensor x = leaf({1, 3, 3, 5, 2, 5}, {2, 3});
  const auto [values, indices] = max(x, 1);
  expect_values(values, {3, 5});
  EXPECT_EQ(indices.to_vector<int>(), (std::vector<int>{1, 0}));  // the first of equals
  EXPECT_EQ(indices.dtype(), xg::int64);
  EXPECT_FALSE(indices.requires_grad());
  EXPECT_EQ(values.grad_fn(), "MaxBackward0");
  const Tensor g = xg::tensor({0.5, -2.0}, {.dtype = xg::float64});
  expect_values(grad(values, {x}, {.grad_output = g})[0], {0, 0.5, 0, -2, 0, 0});
  const auto [low, at] = min(x, 0, true);
  EXPECT_EQ(low.shape(), (xg::Shape{1, 3}));
  expect_values(low, {1, 2, 3});
  EXPECT_EQ(at.to_vector<int>(), (std::vector<int>{0, 1, 0}));
  expect_values(slope(low, x), {1, 0, 1, 0, 1, 0});
  EXPECT_EQ(argmax(x).item<int>(), 3);
  EXPECT_EQ(argmin(x).item<int>(), 0);
  EXPECT_EQ(argmax(x, 0).to_vector<int>(), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(argmin(x, 1, true).shape(), (xg::Shape{2, 1}));
  const Tensor columns = xg::tensor({{2, 1}, {2, 3}, {1, 3}});
  EXPECT_EQ(max(columns, 0).indices.to_vector<int>(), (std::vector<int>{0, 1}));
  EXPECT_EQ(max(xg::full({}, 2.5), 0).indices.item<int>(), 0);
  EXPECT_EQ(max(x).grad_fn(), "MaxBackward1");
}

TEST(Extremes, NanWins) {
  // In every place of a register and of the rest behind it.
  for (std::size_t place = 0; place < 40; ++place) {
    std::vector<double> values(40, 1.0);
    values[7] = 3;
    values[place] = not_a_number;
    const Tensor x = xg::tensor(values);
    EXPECT_TRUE(std::isnan(amax(x).item<double>())) << place;
    EXPECT_TRUE(std::isnan(amin(x).item<double>())) << place;
    EXPECT_EQ(argmax(x).item<std::size_t>(), place);
    EXPECT_EQ(max(reshape(x, {2, 20}), 1).indices.to_vector<std::int64_t>()[place / 20],
              static_cast<std::int64_t>(place % 20));
    const Tensor column = amax(reshape(x, {20, 2}), 0);
    EXPECT_TRUE(std::isnan(column.to_vector<double>()[place % 2])) << place;
  }
}

TEST(Extremes, RowsOfMinusInfinity) {
  expect_values(amax(leaf({-infinity, -infinity, -infinity, -infinity}, {2, 2}), 1),
                {-infinity, -infinity});
  EXPECT_EQ(argmax(leaf({-infinity, -infinity, -infinity}, {3})).item<int>(), 0);
}

TEST(Cases, A10_TheGradientOfAnExtremeSumsToOne) {
  for (const auto f :
       {+[](const Tensor& x) { return xg::max(x); }, +[](const Tensor& x) { return xg::amax(x); },
        +[](const Tensor& x) { return xg::amax(x, 0); }}) {
    const Tensor x = leaf({2, 2, 1});
    expect_values(slope(f(x), x), {0.5, 0.5, 0});
  }
  const Tensor low = leaf({4, 1, 1, 1}, {2, 2});
  expect_values(slope(min(low), low), {0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  expect_values(slope(amin(low, 0), low), {0, 0.5, 1, 0.5});
  const Tensor x = leaf({2, 2, 1});
  expect_values(slope(max(x, 0).values, x), {1, 0, 0});
  const Tensor y = leaf({-2, 2, 1});
  expect_values(slope(norm(y, {.p = infinity}), y), {-0.5, 0.5, 0});
}

TEST(AnyAll, AreAboutNotZero) {
  const xg::Tensor x = xg::tensor({{0.0, 2.0}, {1.0, NAN}, {0.0, 0.0}});
  EXPECT_TRUE(x.any());
  EXPECT_FALSE(x.all());
  EXPECT_EQ(x.any(-1).dtype(), xg::bool_);
  expect_values(x.any(-1).to(xg::float32), {1, 1, 0});
  expect_values(x.all(1).to(xg::float32), {0, 1, 0});
  EXPECT_EQ(x.all(1, true).shape(), xg::Shape({3, 1}));
  EXPECT_FALSE(xg::zeros({0}).any());
  EXPECT_TRUE(xg::zeros({0}).all());
}
