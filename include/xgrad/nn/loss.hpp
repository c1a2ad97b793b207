#pragma once

#include "xgrad/nn/module.hpp"
#include "xgrad/ops.hpp"

/// The losses of ops.hpp as modules: `loss(input, target)`.

namespace xgrad::nn {

class Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input, const Tensor& target);
};

/// `CrossEntropyLoss({.label_smoothing = 0.1})`; a class weight becomes the buffer "weight".
class CrossEntropyLoss : public Loss {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  CrossEntropyOptions options_;
};

class NLLLoss : public Loss {
 public:
  explicit NLLLoss(NllLossOptions options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  NllLossOptions options_;
};

struct MSELossOptions {
  Reduction reduction = Reduction::mean;
};
class MSELoss : public Loss {
 public:
  explicit MSELoss(MSELossOptions options = {}) : options_(options) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  MSELossOptions options_;
};

}  // namespace xgrad::nn
