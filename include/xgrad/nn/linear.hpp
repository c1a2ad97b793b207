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
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
};

/// Dimensions start_dim to end_dim become one: (N, C, H, W) -> (N, C H W).
class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1)
      : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  std::int64_t start_dim_;
  std::int64_t end_dim_;
};

}  // namespace xgrad::nn
