#pragma once

#include <cstdint>

namespace xgrad::kernels {

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the buffer holds nothing yet
};
/// One step of n parameters p with gradients g. `buffer` is null without momentum.
void sgd(std::int64_t n, const SgdStep& s, const float* g, float* p, float* buffer);
void sgd(std::int64_t n, const SgdStep& s, const double* g, double* p, double* buffer);

struct AdamStep {
  double beta1, beta2, eps;
  double rate;          // lr / (1 - beta1^t)
  double root_scale;    // 1 / sqrt(1 - beta2^t)
  double weight_decay;  // added to the gradient
  double keep;          // decoupled decay: p *= keep
  bool maximize;
};
/// `greatest`, that of all v so far, is null without amsgrad.
void adam(std::int64_t n, const AdamStep& s, const float* g, float* p, float* m, float* v,
          float* greatest);
void adam(std::int64_t n, const AdamStep& s, const double* g, double* p, double* m, double* v,
          double* greatest);

}  // namespace xgrad::kernels
