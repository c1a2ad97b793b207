#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

/// In training zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself
/// in eval. Throws Error unless 0 <= p <= 1.
struct Dropout : Module {
  explicit Dropout(double probability = 0.5);
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  double p;
};

}  // namespace xgrad::nn
