#pragma once

#include <cstdint>

/// One step of n parameters p with gradients g: an overload of `update` for each kind of step, for
/// float and double. What an optimizer remembers stands in `state`, in its order.

namespace xgrad::kernels {

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the buffer holds nothing yet
};
struct AdamStep {
  double beta1, beta2, eps;
  double rate;          // lr / (1 - beta1^t)
  double root_scale;    // 1 / sqrt(1 - beta2^t)
  double weight_decay;  // added to the gradient
  double keep;          // decoupled decay: p *= keep
  bool amsgrad, maximize;
};
struct RmspropStep {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};
struct AdagradStep {
  double lr, eps, weight_decay;
  bool maximize;
};

/// state: the momentum, unused without.
template <class T>
void update(std::int64_t n, const SgdStep& s, const T* g, T* p, T* const* state);
/// state: m, v and, with amsgrad, the greatest v so far.
template <class T>
void update(std::int64_t n, const AdamStep& s, const T* g, T* p, T* const* state);
/// state: v, the momentum, the mean; the last two unused without.
template <class T>
void update(std::int64_t n, const RmspropStep& s, const T* g, T* p, T* const* state);
/// state: the sum of squares.
template <class T>
void update(std::int64_t n, const AdagradStep& s, const T* g, T* p, T* const* state);

}  // namespace xgrad::kernels
