#include <iostream>
#include "xgrad/xgrad.hpp"
namespace xg = xgrad;
int main() {
  xg::manual_seed(123);
  const xg::Tensor x = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  xg::nn::LayerNorm norm(6);
  const xg::Tensor out = layer(x);
  std::cout << out << "\n";
  std::cout << out.mean({.dim = -1, .keepdim = true}).shape() << "\n";
  std::cout << norm(out) << "\n";
  xg::mse_loss(norm(out), xg::ones({2, 6})).backward();
  std::cout << norm.weight.grad() << "\n";
}
