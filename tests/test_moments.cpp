#include <gtest/gtest.h>

#include <cmath>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

TEST(Reduce, VarianceOfNumbersFarFromZero) {
  const Tensor x = xg::tensor({40000.0, 40001.0, 40002.0, 40003.0});
  EXPECT_NEAR(var(x, false).item<double>(), 1.25, 1e-6);
  EXPECT_NEAR(var(x).item<double>(), 5.0 / 3, 1e-6);
  EXPECT_EQ(var(xg::full({256}, 1234.567)).item<double>(), 0);
  EXPECT_EQ(var(xg::full({7, 5}, 1e8), {.dim = 0}).to_vector<double>(),
            std::vector<double>(5, 0.0));
}

TEST(Reduce, RootsOfSquaresBeyondFloat) {
  const double root = std::sqrt(0.5);
  for (const double unit : {1e-30, 1e25, 1e30, 1e38}) {
    const Tensor x = xg::tensor({unit, 2 * unit}).requires_grad_();
    EXPECT_NEAR(xg::std(x).item<double>() / unit, root, 1e-6);
    EXPECT_NEAR(norm(x).item<double>() / unit, std::sqrt(5.0), 1e-6);
    for (const bool create_graph : {false, true}) {
      expect_near(grad(xg::std(x), {x}, {.create_graph = create_graph})[0], {-root, root}, 1e-6);
    }
  }
  const Tensor far = xg::tensor({0.0, 3e38}).requires_grad_();  // twice its std is infinite
  expect_near(slope(xg::std(far), far), {-root, root}, 1e-6);
}

TEST(Reduce, LogsumexpDoesNotOverflow) {
  expect_values(logsumexp(leaf({1000, 1000}), 0), {1000 + std::log(2.0)});
  expect_values(logsumexp(leaf({-1000, -1000}), 0), {-1000 + std::log(2.0)});
  expect_values(logsumexp(leaf({-infinity, 1}), 0), {1});
  expect_values(logsumexp(leaf({-infinity, -infinity}), 0), {-infinity});
  expect_values(logsumexp(leaf({infinity, 1}), 0), {infinity});
}

TEST(Cases, A09_NormAndStdOfConstantsHaveGradientZero) {
  for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, infinity}) {
    const Tensor zero = leaf({0, 0, 0});
    const Tensor first = grad(norm(zero, {.p = p}), {zero}, {.create_graph = true})[0];
    expect_values(first, {0, 0, 0});
    if (!first.requires_grad()) continue;
    const Tensor second = grad(sum(first), {zero}, {.allow_unused = true})[0];
    EXPECT_TRUE(!second.defined() || isfinite(second).amin().item<bool>()) << p;
  }
  for (const double constant : {0.0, 1.0, 0.1}) {
    const Tensor x = leaf({constant, constant, constant});
    expect_values(slope(xg::std(x), x), {0, 0, 0});
    expect_values(slope(xg::std(x, false), x), {0, 0, 0});
  }
  const Tensor x = leaf({3, 4});
  expect_values(slope(norm(x), x), {0.6, 0.8});
  // One constant row does not disturb the others.
  const Tensor rows = leaf({0, 0, 3, 4, 0, 0}, {3, 2});
  expect_values(slope(norm(rows, {.dim = 1}), rows), {0, 0, 0.6, 0.8, 0, 0});
}

// A number alone must not become the flag: var(-1) over all elements would be wrong without a word.
TEST(Var, ANumberIsADimensionAndABoolIsUnbiased) {
  const xg::Tensor x = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}});
  expect_values(x.var(-1), {1, 100});
  expect_values(x.var(0, false), {20.25, 81, 182.25});
  expect_values(xg::var(x, -1, true, true), {1, 100});
  EXPECT_EQ(xg::var(x, -1, true, true).shape(), xg::Shape({2, 1}));
  expect_values(x.std(0, false), {4.5, 9, 13.5});
  expect_values(xg::std(x[0], false).square(), {2.0 / 3}, 1e-6);
  expect_values(x[0].var(), {1});
}
