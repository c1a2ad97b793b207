// A small network learns to read handwritten digits.
#include <cstdio>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

struct Mlp : xg::nn::Module {
  xg::nn::Linear& fc1 = register_module("fc1", xg::nn::Linear(64, 32));
  xg::nn::LayerNorm& norm = register_module("norm", xg::nn::LayerNorm(32));
  xg::nn::Linear& fc2 = register_module("fc2", xg::nn::Linear(32, 10));
  xg::Tensor forward(const xg::Tensor& x) override { return fc2(relu(norm(fc1(x)))); }
};

int main() {
  xg::manual_seed(0);
  Mlp net;
  xg::optim::Adam adam(net.parameters(), {.lr = 0.01});
  const xg::data::Split digits = xg::data::digits_split();
  xg::data::DataLoader loader(digits.train, {.batch_size = 64, .shuffle = true});

  for (int epoch = 1; epoch <= 10; ++epoch) {
    double total = 0;
    for (const auto& [images, labels] : loader) {
      xg::Tensor loss = xg::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      total += loss.item<double>();
    }
    if (epoch % 5 == 0) std::printf("epoch %d loss %.2f\n", epoch, total / double(loader.size()));
  }
  const xg::NoGrad no_grad;
  net.eval();
  std::printf("test accuracy %.2f\n", xg::accuracy(net(digits.test.inputs), digits.test.labels));
}
