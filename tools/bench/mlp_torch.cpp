// examples/train_mlp.cpp in libtorch, on random data: compiled by the benchmark to time it, never
// run.
#include <torch/torch.h>

#include <cstdio>

struct MlpImpl : torch::nn::Module {
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(64, 32));
  torch::nn::LayerNorm norm =
      register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({32})));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(32, 10));
  torch::Tensor forward(const torch::Tensor& x) { return fc2(torch::relu(norm(fc1(x)))); }
};
TORCH_MODULE(Mlp);

int main() {
  torch::manual_seed(0);
  Mlp net;
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.01));
  for (int epoch = 1; epoch <= 10; ++epoch) {
    const torch::Tensor images = torch::randn({64, 64});
    const torch::Tensor labels = torch::randint(10, {64}, torch::kLong);
    torch::Tensor loss = torch::nn::functional::cross_entropy(net(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
    std::printf("epoch %d loss %.2f\n", epoch, loss.item<double>());
  }
  const torch::NoGradGuard no_grad;
  net->eval();
  std::printf("%.2f\n",
              net(torch::randn({64, 64})).argmax(1).to(torch::kFloat).mean().item<float>());
}
