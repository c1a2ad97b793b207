#include "xgrad/nn/loss.hpp"

#include "xgrad/error.hpp"

namespace xgrad::nn {

Tensor Loss::operator()(const Tensor& input, const Tensor& target) {
  try {
    return forward(input, target);
  } catch (Error& error) {
    error.add_module(name());
    throw;
  }
}

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyOptions options) : options_(std::move(options)) {
  register_buffer("weight", options_.weight);
}
Tensor CrossEntropyLoss::forward(const Tensor& input, const Tensor& target) {
  return cross_entropy(input, target, options_);
}

NLLLoss::NLLLoss(NllLossOptions options) : options_(std::move(options)) {
  register_buffer("weight", options_.weight);
}
Tensor NLLLoss::forward(const Tensor& input, const Tensor& target) {
  return nll_loss(input, target, options_);
}

Tensor MSELoss::forward(const Tensor& input, const Tensor& target) {
  return mse_loss(input, target, options_.reduction);
}

}  // namespace xgrad::nn
