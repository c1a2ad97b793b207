#pragma once

#include "xgrad/tensor.hpp"

/// Limits to gradients, in place, between backward() and step(). Parameters without a gradient are
/// skipped.

namespace xgrad::optim {

struct ClipGradNormOptions {
  double norm_type = 2.0;  ///< p of the norm, > 0, may be infinity
  bool error_if_nonfinite = false;
};
/// Scales all gradients by max_norm / (norm + 1e-6) where that is below 1 and returns the norm of
/// all of them together as it was before. A norm that is infinite or NaN leaves them unchanged, or
/// is an Error. Pascanu, Mikolov, Bengio 2013, arXiv 1211.5063.
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       ClipGradNormOptions options = {});

/// Limits each element of the gradients to [-clip_value, clip_value]; NaN stays.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace xgrad::optim
