#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

/// In training zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself
/// in eval. Throws Error unless 0 <= p <= 1.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double p_;
};

}  // namespace xgrad::nn
