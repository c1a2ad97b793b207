#pragma once

#include "xgrad/loss.hpp"
#include "xgrad/nn/module.hpp"

/// The losses of xgrad/loss.hpp as modules: `loss(input, target)`.

namespace xgrad::nn {

/// Of two tensors, which forward compares.
class Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;  ///< the value
  /// Forward, with the name in errors.
  Tensor operator()(const Tensor& input, const Tensor& target);
};

/// f(input, target, options) as a module; weights among the options become buffers.
template <class Options, auto f>
class LossOf : public Loss {
 public:
  explicit LossOf(Options options = {}) : options_(std::move(options)) {
    if constexpr (requires { options_.weight; }) register_buffer("weight", options_.weight);
    if constexpr (requires { options_.pos_weight; }) {
      register_buffer("pos_weight", options_.pos_weight);
    }
  }
  using Loss::forward;
  /// f of both.
  Tensor forward(const Tensor& input, const Tensor& target) override {
    check_not_moved();
    return f(input, target, options_);
  }

 private:
  Options options_;
};

/// `MSELoss({.reduction = Reduction::sum})`
struct ReductionOptions {
  Reduction reduction = Reduction::mean;
  operator Reduction() const { return reduction; }  ///< as the functions take it
};

struct L1Loss : LossOf<ReductionOptions, l1_loss> {
  using LossOf::LossOf;
};
struct MSELoss : LossOf<ReductionOptions, mse_loss> {
  using LossOf::LossOf;
};
struct SmoothL1Loss : LossOf<SmoothL1LossOptions, smooth_l1_loss> {
  using LossOf::LossOf;
};
struct HuberLoss : LossOf<HuberLossOptions, huber_loss> {
  using LossOf::LossOf;
};
struct BCELoss : LossOf<BCELossOptions, binary_cross_entropy> {
  using LossOf::LossOf;
};
struct BCEWithLogitsLoss : LossOf<BCEWithLogitsLossOptions, binary_cross_entropy_with_logits> {
  using LossOf::LossOf;
};
struct KLDivLoss : LossOf<KLDivLossOptions, kl_div> {
  using LossOf::LossOf;
};
struct NLLLoss : LossOf<NllLossOptions, nll_loss> {
  using LossOf::LossOf;
};
/// `CrossEntropyLoss({.label_smoothing = 0.1})`
struct CrossEntropyLoss : LossOf<CrossEntropyOptions, cross_entropy> {
  using LossOf::LossOf;
};

}  // namespace xgrad::nn
