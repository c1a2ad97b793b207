// BatchNorm goes down each column, LayerNorm across each row: the same numbers both ways.
// 14_pictures draws them.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  const xg::Tensor x = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}});
  std::cout << x << "\n\n";

  std::cout << "mean across each row:  " << x.mean(-1).tolist() << "\n";
  std::cout << "std across each row:   " << x.std({.dim = -1, .unbiased = false}).tolist().fixed(3)
            << "\n";
  std::cout << "mean down each column: " << x.mean(0).tolist() << "\n";
  std::cout << "std down each column:  " << x.std({.dim = 0, .unbiased = false}).tolist().fixed(3)
            << "\n\n";

  xg::nn::LayerNorm across(3);
  xg::nn::BatchNorm1d down(3);
  std::cout << "LayerNorm: " << across(x).tolist().round(4) << "\n";
  std::cout << "BatchNorm: " << down(x).tolist().round(4) << "\n\n";

  // A new second row: the first row's LayerNorm stays, its BatchNorm does not
  // (-0.9999 and not -1: the second column has so little spread that eps shows).
  const xg::Tensor other = xg::tensor({{1.0, 2.0, 3.0}, {-4.0, 2.5, 0.0}});
  std::cout << "with another second row\n";
  std::cout << "LayerNorm: " << across(other).tolist().round(4) << "\n";
  std::cout << "BatchNorm: " << down(other).tolist().round(4) << "\n\n";

  // Each is the other on the transposed numbers (BatchNorm in train mode, weights still 1 and 0).
  xg::nn::LayerNorm across_two(2);
  const bool same = xg::allclose(down(x), across_two(x.t()).t());
  std::cout << "BatchNorm(x) equals LayerNorm(x.t()).t(): " << xg::to_string(same) << "\n";
}
