// Why normalize: what becomes of activations in a deep net, and of its training.
// Real runs; the last digits may differ between processors.
#include <cstdio>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// `depth` times Linear, LayerNorm (if `norm`), ReLU, and a last Linear to ten classes.
xg::nn::Sequential make_net(int depth, bool norm) {
  xg::nn::Sequential net;
  for (int i = 0; i < depth; ++i) {
    net.push_back(xg::nn::Linear(64, 64));
    if (norm) net.push_back(xg::nn::LayerNorm(64));
    net.push_back(xg::nn::ReLU());
  }
  net.push_back(xg::nn::Linear(64, 10));
  return net;
}

void print_activations(bool norm) {
  xg::manual_seed(0);
  xg::nn::Sequential net = make_net(10, norm);
  const xg::NoGrad no_grad;
  xg::Tensor x = xg::randn({256, 64});
  std::printf("%-14s", norm ? "with LayerNorm" : "without");
  int layer = 0;
  for (xg::nn::Module& module : net) {
    x = module(x);
    // How far a unit's value differs between examples, on average over the units.
    if (module.type_name() == "ReLU" && ++layer % 3 == 1) {  // layers 1, 4, 7, 10
      std::printf("  %.4f", x.std({.dim = 0}).mean().item<double>());
    }
  }
  std::printf("\n");
}

/// Trains on the digits; prints the loss after some epochs and the accuracy on digits not seen.
void train(bool norm, std::uint64_t seed) {
  xg::manual_seed(seed);
  xg::nn::Sequential net = make_net(6, norm);
  xg::optim::Adam adam(net.parameters());
  const xg::data::Split digits = xg::data::digits_split();
  xg::data::DataLoader loader(digits.train, {.batch_size = 32, .shuffle = true});
  std::printf("%-14s  seed %d  loss", norm ? "with LayerNorm" : "without", int(seed));
  for (int epoch = 1; epoch <= 8; ++epoch) {
    double total = 0;
    for (const auto& [images, labels] : loader) {
      const xg::Tensor loss = xg::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      total += loss.item<double>();
    }
    if (epoch <= 2 || epoch % 4 == 0) std::printf("  %.2f", total / double(loader.size()));
  }
  const xg::NoGrad no_grad;
  net.eval();
  std::printf("  test accuracy %.2f\n", xg::accuracy(net(digits.test.inputs), digits.test.labels));
}

int main() {
  std::printf(
      "Spread of a unit over 256 examples after layer 1, 4, 7 and 10, before training.\n"
      "Where it is 0, all inputs have become one output.\n");
  print_activations(false);
  print_activations(true);

  std::printf("\nSix layers learn to read digits: loss of epoch 1, 2, 4 and 8\n");
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    train(false, seed);
    train(true, seed);
  }
}
