// Mean and variance of each row, and what keepdim keeps.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  const xg::Tensor out = layer(batch);

  // dim -1 is the last one: the six features. keepdim leaves it there, with size 1.
  const xg::Tensor mean = out.mean({.dim = -1, .keepdim = true});
  const xg::Tensor var = (out - mean).pow(2).mean({.dim = -1, .keepdim = true});
  std::cout << "Mean:\n" << mean << "\n";
  std::cout << "Variance:\n" << var << "\n";
  std::cout << mean.shape() << " " << var.shape() << "\n";
  // The mean is the average of the elements, the variance that of the squared distances, divided by
  // n: unbiased=False.
  const xg::Tensor built_in = out.var({.dim = -1, .unbiased = false, .keepdim = true});
  std::cout << "var(unbiased=False) is the same: " << xg::to_string(xg::allclose(var, built_in))
            << "\n\n";

  // Each row has its own: the first number belongs to the first input, the second to the second.
  for (int i = 0; i < 2; ++i) {
    std::cout << "row " << i << ": mean " << out[i].mean().tolist().fixed(4) << ", variance "
              << out[i].var({.unbiased = false}).tolist().fixed(4) << "\n";
  }
  std::cout << "\n";

  // What do you think: which shape does the mean have without keepdim?
  std::cout << "with keepdim:    " << mean.shape() << "\n";
  std::cout << "without keepdim: " << out.mean(-1).shape() << "\n";
  // (2, 1) lines up with (2, 6): each row's one number meets its six features.
  std::cout << "(2, 6) - (2, 1): " << (out - mean).shape() << "\n";
  try {
    out - out.mean(-1);
  } catch (const xg::ShapeError& error) {
    std::cout << "(2, 6) - (2,):   " << error.what() << "\n";
  }
}
