// One row is rescaled by its own mean and variance: by hand, then by the module.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  // A row is all the values that one example has at a layer.
  const xg::Tensor row = xg::tensor({1.0, 2.0, 3.0, 4.0});
  const xg::Tensor mean = row.mean();
  const xg::Tensor var = (row - mean).pow(2).mean();
  std::cout << "mean " << mean << ", variance " << var << ", std " << var.sqrt() << "\n";
  // The variance is the mean squared distance from the mean, and the square of the std. "Unbiased"
  // would divide by n - 1, which is what var does unless told otherwise.
  std::cout << "var(unbiased=False): " << row.var({.unbiased = false}) << "\n";
  std::cout << "std squared:         " << row.std({.unbiased = false}).square() << "\n\n";

  // eps stands inside the square root.
  const xg::Tensor by_hand = (row - mean) / xg::sqrt(var + 1e-5);
  xg::nn::LayerNorm norm(4);
  const xg::Tensor by_layer_norm = norm(row);
  std::cout << "By hand: " << by_hand.tolist().fixed(4) << "\n";
  std::cout << "LayerNorm: " << by_layer_norm.tolist().fixed(4) << "\n";
  std::cout << "Equal: " << xg::to_string(xg::allclose(by_hand, by_layer_norm)) << "\n";
  // Whatever it was, the row now has mean 0 and std 1 (a little less: eps). abs, because the sign
  // of a rounding error around 0 is chance.
  std::cout << "mean " << by_layer_norm.mean().abs().tolist().fixed(4) << ", std "
            << by_layer_norm.std({.unbiased = false}).tolist().fixed(4) << "\n\n";

  // What eps is for: a flat row has variance 0, and 0 / 0 is not a number.
  const xg::Tensor flat = xg::tensor({5.0, 5.0, 5.0, 5.0});
  const xg::Tensor centred = flat - flat.mean();
  const xg::Tensor flat_var = centred.square().mean();
  std::cout << "flat row without eps: " << centred / xg::sqrt(flat_var) << "\n";
  std::cout << "flat row with eps:    " << centred / xg::sqrt(flat_var + 1e-5) << "\n";
  std::cout << "LayerNorm:            " << norm(flat).tolist() << "\n";
}
