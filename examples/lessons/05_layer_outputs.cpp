// The numbers to normalize: a Linear layer, then ReLU, which cuts off everything below zero.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  xg::manual_seed(123);
  // Two examples with five features each.
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  const xg::Tensor out = layer(batch);
  std::cout << batch << "\n\n";
  std::cout << layer << "\n\n";
  // grad_fn: the operation that made it, where the backward pass will start.
  std::cout << out << "\n";
  std::cout << batch.shape() << " -> " << out.shape() << "\n";
  // One row of outputs for each input, in order.
  for (int i = 0; i < 2; ++i) {
    const bool own = xg::allclose(layer(batch[i]), out[i]);
    std::cout << "row " << i << " comes from input " << i << ": " << xg::to_string(own) << "\n";
  }
  std::cout << "\n";

  // The same before ReLU: what was negative is 0 afterwards, the rest is unchanged.
  const xg::Tensor linear_out = layer[0](batch);
  std::cout << linear_out << "\n";
  std::cout << "negative before ReLU: " << (linear_out < 0).sum().item<int>() << "\n";
  std::cout << "negative after ReLU:  " << (out < 0).sum().item<int>() << "\n";
  std::cout << "zeros in each row:    " << (out == 0).sum(-1).tolist() << "\n";
  const xg::Tensor thresholded = xg::where(linear_out > 0, linear_out, 0);
  std::cout << "ReLU is max(x, 0): " << xg::to_string(xg::equal(out, thresholded)) << "\n";
  // "Nonlinear": the sum of two results is not the result of the sum.
  const xg::Tensor one = xg::tensor(1.0);
  std::cout << "ReLU(1) + ReLU(-1) = " << (one.relu() + (-one).relu()).item<int>()
            << ", ReLU(1 - 1) = " << (one - one).relu().item<int>() << "\n\n";

  // GPT-2's GELU is smoother: it lets a little of the negative side through.
  std::cout << "GELU instead:\n"
            << xg::gelu(linear_out, {.approximate = "tanh"}).detach() << "\n\n";

  // The values are those of the seed; another seed draws others.
  xg::manual_seed(124);
  std::cout << "seed 124:\n" << xg::randn({2, 5}) << "\n";
}
