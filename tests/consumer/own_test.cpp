#include "xgrad/xgrad.hpp"
namespace xg = xgrad;
static xg::Tensor my_norm(const xg::Tensor& x) {
  return (x - x.mean(-1, true)) / (x.var(-1, false, true) + 1e-5).sqrt();
}

#include "xgrad/testing.hpp"

TEST(MyNorm, Gradients) {
  const xg::Tensor x = xg::randn({3, 5}, {.dtype = xg::float64, .requires_grad = true});
  EXPECT_GRADIENTS(my_norm, {x});   // against differences, to first order
  EXPECT_GRADIENTS2(my_norm, {x});  // and to second
}
