#include <torch/torch.h>

#include "step.hpp"

namespace bench {

struct TorchStep::Net {
  torch::nn::Sequential net{torch::nn::Linear(784, 128), torch::nn::ReLU(),
                            torch::nn::Linear(128, 10)};
  torch::optim::SGD sgd{net->parameters(), torch::optim::SGDOptions(1e-7)};
  torch::Tensor x = torch::randn({64, 784});
  torch::Tensor labels = torch::randint(10, {64}, torch::kLong);
};

TorchStep::TorchStep() : net_(new Net) { torch::set_num_threads(1); }
TorchStep::~TorchStep() { delete net_; }

void TorchStep::run() {
  net_->sgd.zero_grad();
  torch::Tensor loss =
      torch::nn::functional::cross_entropy(net_->net->forward(net_->x), net_->labels);
  loss.backward();
  net_->sgd.step();
}

}  // namespace bench
