#include <cmath>

#include "support/values.hpp"

/// Reverse rules at points that the table of operations avoids: each of these tests was written
/// because a change of the rule went unnoticed.

namespace {

namespace xg = xgrad;
using xg::Tensor;

constexpr xg::TensorOptions leaf{.dtype = xg::float64, .requires_grad = true};

TEST(Rules, ZeroToAPowerDoesNotDependOnThePower) {
  const Tensor x = xg::tensor({2, 0, 0.5}, leaf);
  pow(0, x).backward(xg::tensor({3, 4, 5}, {.dtype = xg::float64}));
  expect_values(x.grad(), {0, 0, 0});
}

TEST(Rules, NaNsShareTheGradientOfMaxAndMin) {
  for (auto extreme :
       {+[](const Tensor& x) { return xg::max(x); }, +[](const Tensor& x) { return xg::min(x); }}) {
    const Tensor x = xg::tensor({NAN, 1.0, NAN, 2.0}, leaf);
    extreme(x).backward(xg::tensor(3, {.dtype = xg::float64}));
    expect_values(x.grad(), {1.5, 0, 1.5, 0});
  }
}

// Column sums are taken in blocks of 64 rows.
TEST(Rules, NormsAddUpEveryBlockOfRows) {
  xg::manual_seed(1);
  for (const std::int64_t rows : {63, 64, 65, 128, 130}) {
    const Tensor x = xg::randn({rows, 3}, leaf), g = xg::randn({rows, 3}, {.dtype = xg::float64});
    const Tensor weight = xg::randn(3, leaf), bias = xg::randn(3, leaf);
    for (const Tensor& y : {xg::layer_norm(x, 3, weight, bias),
                            xg::batch_norm(x, {}, {}, weight, bias, {.training = true})}) {
      const std::vector<Tensor> all{x, weight, bias};
      const std::vector<Tensor> fused = grad(y, all, {.grad_output = g, .retain_graph = true});
      const std::vector<Tensor> recorded = grad(y, all, {.grad_output = g, .create_graph = true});
      for (std::size_t i = 0; i < all.size(); ++i) {
        expect_close(fused[i], recorded[i].detach(), 1e-11);
      }
    }
  }
}

}  // namespace
