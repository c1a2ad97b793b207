// What a derivative is, four ways, and how the graph puts small ones together.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

static double cube(double x) { return x * x * x; }

int main() {
  // How much does x^3 change, per unit of x, when x = 2 moves a little?
  const double h = 0.001;
  std::printf("cube(2) = %.6f\ncube(2.001) = %.6f\n", cube(2), cube(2 + h));
  std::printf("a small step:        %.6f\n", (cube(2 + h) - cube(2)) / h);
  std::printf("a step to each side: %.6f\n", (cube(2 + h) - cube(2 - h)) / (2 * h));
  std::printf("the rule, 3 x^2:     %.6f\n", 3.0 * 2 * 2);
  xg::Tensor x = xg::tensor(2.0, {.dtype = xg::float64, .requires_grad = true});
  const xg::Tensor squared = x * x;
  const xg::Tensor cubed = squared * x;
  // The graph knows the derivative of a product, and multiplies along each way back.
  const auto back = xg::grad(cubed, {squared, x}, {.retain_graph = true});
  const double by_squared = back[0].item<double>();
  const double squared_by_x = xg::grad(squared, {x})[0].item<double>();
  std::printf("the graph:           %.6f\n\n", back[1].item<double>());
  std::printf("cubed by squared: %g, squared by x: %g, so this way: %g\n", by_squared, squared_by_x,
              by_squared * squared_by_x);
  std::printf("cubed by x itself, squared held still: %g\n", squared.item<double>());
  std::printf("x is used on both ways, so they add up: %g\n\n", back[1].item<double>());

  // A mean hands each of its numbers an equal share.
  xg::Tensor row = xg::tensor({1.0, 2.0, 3.0, 4.0}, {.requires_grad = true});
  row.mean().backward();
  std::cout << "mean of 4 numbers:   " << row.grad() << "\n";
  // The sum of a normalized row is 0 whatever the row is: there is nothing to gain anywhere.
  xg::Tensor wide = xg::tensor({1.0, 2.0, 3.0, 4.0}, {.dtype = xg::float64, .requires_grad = true});
  const auto of_sum = xg::grad(xg::layer_norm(wide, {4}).sum(), {wide});
  std::cout << "sum of a LayerNorm:  "
            << xg::to_string(
                   xg::allclose(of_sum[0], xg::zeros({4}, {.dtype = xg::float64}), 0, 1e-12))
            << ", its gradient is 0 up to rounding\n";
  // So a loss must weigh the outputs: here only the first one counts.
  const auto of_first = xg::grad(xg::layer_norm(wide, {4})[0], {wide});
  std::cout << "first output alone:  " << of_first[0].tolist().fixed(4) << "\n";
  std::printf("and they sum to 0:   %s\n",
              xg::to_string(std::abs(of_first[0].sum().item<double>()) < 1e-12).c_str());
}
