// A module of one's own: a residual block with its own parameter, inside a larger net.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// x + scale * fc(norm(x)), a block that starts as the identity.
struct ResidualBlock : xg::nn::Module {
  xg::nn::LayerNorm& norm;
  xg::nn::Linear& fc;
  xg::Tensor& scale;

  explicit ResidualBlock(std::int64_t width)
      : norm(register_module("norm", xg::nn::LayerNorm(width))),
        fc(register_module("fc", xg::nn::Linear(width, width))),
        scale(register_parameter("scale", xg::zeros({width}))) {}

  xg::Tensor forward(const xg::Tensor& x) override { return x + scale * fc(norm(x)); }
};

int main() {
  xg::manual_seed(1);
  auto net = xg::nn::Sequential(xg::nn::Linear(3, 4), ResidualBlock(4), xg::nn::Linear(4, 2));
  std::cout << net << "\n\n";

  for (const auto& [name, parameter] : net.named_parameters()) {
    std::cout << name << " " << parameter.shape() << "\n";
  }

  xg::Tensor x = xg::randn({5, 3});
  xg::mse_loss(net(x), xg::zeros({5, 2})).backward();
  // The gate is closed, so the block's own layers get no gradient yet; the gate does.
  for (const auto& [name, parameter] : net.named_parameters()) {
    const double largest = parameter.grad().abs().amax().item<double>();
    std::cout << name << (largest == 0 ? ": gradient 0" : ": gradient not 0") << "\n";
  }
}
