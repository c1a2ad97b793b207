// An operation of one's own: the forward pass, its gradient beside it, and a check of that
// gradient.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// Swish with a learned slope, x * sigmoid(beta * x) (Ramachandran, Zoph, Le 2017): x (*), beta ().
xg::Tensor swish(const xg::Tensor& x, const xg::Tensor& beta) {
  const xg::Tensor out = x.detach() * sigmoid(beta.detach() * x.detach());
  return xg::record(
      out, "SwishBackward0",
      [x = xg::save(x), beta = xg::save(beta)](const xg::Tensor& g) {
        const xg::Tensor s = sigmoid(beta * x);
        const xg::Tensor slope = s * (1 - s);
        return xg::grads(g * (s + beta * x * slope),   // by x
                         xg::sum(g * x * x * slope));  // by beta, a number for all elements
      },
      x, beta);
}

int main() {
  xg::manual_seed(0);
  xg::Tensor x = xg::tensor({{-2.0, -0.5, 0.0}, {0.5, 1.0, 3.0}}, {.requires_grad = true});
  xg::Tensor beta = xg::tensor(1.5, {.requires_grad = true});
  xg::Tensor y = swish(x, beta);
  std::cout << y << "\n";

  y.sum().backward();
  std::cout << x.grad() << "\n" << beta.grad() << "\n";

  // Checked against differences of the forward pass. In a test, with xgrad/testing.hpp:
  // EXPECT_GRADIENTS(swish, {x64, beta64}); EXPECT_GRADIENTS2(swish, {x64, beta64});
  xg::Tensor x64 = xg::randn({4, 3}, {.dtype = xg::float64, .requires_grad = true});
  xg::Tensor beta64 = xg::tensor(0.7, {.dtype = xg::float64, .requires_grad = true});
  std::cout << xg::gradcheck(swish, {x64, beta64}, {.names = {"x", "beta"}});
  std::cout << xg::gradgradcheck(swish, {x64, beta64}, {.names = {"x", "beta"}});
}
