#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

struct LinearOptions {
  bool bias = true;
};

/// x W^T + b: (*, in) -> (*, out). `weight` is (out, in), `bias` (out) or undefined; both start
/// uniform in ±1/sqrt(in), drawn in this order.
class Linear : public Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options = {});
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor& weight;
  Tensor& bias;
};

/// x itself.
struct Identity : Module {
  Tensor forward(const Tensor& x) override { return x; }
};

/// Dimensions start_dim to end_dim become one: (N, C, H, W) -> (N, C H W).
struct Flatten : Module {
  explicit Flatten(std::int64_t start = 1, std::int64_t end = -1)
      : start_dim(start), end_dim(end) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  std::int64_t start_dim;
  std::int64_t end_dim;
};

}  // namespace xgrad::nn
