#include <iostream>

#include "xgrad/xgrad.hpp"
namespace xg = xgrad;

int main() {
  xg::manual_seed(123);
  xg::Tensor x = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  xg::nn::LayerNorm norm(6);

  xg::Tensor out = layer(x);
  std::cout << out << "\n" << out.mean({.dim = -1, .keepdim = true}).shape() << "\n";
  xg::Tensor loss = xg::mse_loss(norm(out), xg::ones({2, 6}));
  loss.backward();
  std::cout << norm(out) << "\n" << norm.parameters()[0].grad() << "\n";
}
