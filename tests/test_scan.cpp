#include <gtest/gtest.h>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

TEST(Prod, GradientsWhereElementsAreZero) {
  const Tensor x = leaf({2, 0, 3, 5});
  expect_values(slope(prod(x), x), {0, 30, 0, 0});
  const Tensor two = leaf({2, 0, 0, 5});
  expect_values(slope(prod(two), two), {0, 0, 0, 0});
  // Second order: sum over pairs of the product of the others.
  const Tensor first = grad(prod(x), {x}, {.create_graph = true})[0];
  const Tensor weights = xg::tensor({1, 2, 3, 4}, {.dtype = xg::float64});
  expect_values(slope(first * weights, x), {2 * 15, 15 + 3 * 10 + 4 * 6, 2 * 10, 2 * 6});
  const Tensor of_two = grad(prod(two, 0), {two}, {.create_graph = true})[0];
  expect_values(slope(of_two * weights, two), {0, 3 * 10, 2 * 10, 0});
  // The gradient of a plain backward pass carries no history.
  prod(x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Prod, AlongEachDimension) {
  const Tensor x = scattered({2, 3, 5});
  for (int d = 0; d < 3; ++d) {
    Tensor expected = x.detach().select(d, 0);
    for (int i = 1; i < x.size(d); ++i) expected = expected * x.detach().select(d, i);
    const Tensor y = prod(x, d);
    EXPECT_EQ(y.grad_fn(), "ProdBackward1");
    expect_values(y, expected.to_vector<double>());
    const Tensor g = scattered(y.shape()).detach();
    const Tensor plain = unsqueeze(g * y.detach(), d) / x.detach();
    expect_values(grad(y, {x}, {.grad_output = g})[0], plain.to_vector<double>());
  }
}

TEST(Cumsum, AlongEachDimension) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_values(cumsum(x, 0), {1, 2, 3, 5, 7, 9});
  expect_values(cumsum(x, -1), {1, 3, 6, 4, 9, 15});
  const Tensor g = xg::tensor({{1, 10, 100}, {2, 20, 200}}, {.dtype = xg::float64});
  expect_values(grad(cumsum(x, 0), {x}, {.grad_output = g})[0], {3, 30, 300, 2, 20, 200});
  expect_values(grad(cumsum(x, 1), {x}, {.grad_output = g})[0], {111, 110, 100, 222, 220, 200});
  const Tensor wide = xg::ones({3, 700}, {.dtype = xg::float64});
  EXPECT_TRUE(equal(cumsum(wide, 0), cumsum(wide.t(), 1).t()));
}
