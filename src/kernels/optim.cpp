#include "kernels/optim.hpp"

#include <cmath>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

namespace {

/// The gradient as the step takes it: turned for `maximize`, with the decay of the weight p.
template <class T, class Step>
struct Gradient {
  T sign, decay;
  explicit Gradient(const Step& s)
      : sign(s.maximize ? T(-1) : T(1)), decay(static_cast<T>(s.weight_decay)) {}
  XGRAD_INLINE T operator()(T g, T p) const { return decay != 0 ? sign * g + decay * p : sign * g; }
};

template <bool amsgrad, class T>
XGRAD_INLINE void adam(std::int64_t n, const AdamStep& s, const T* g, T* p, T* m, T* v,
                       T* greatest) {
  const Gradient<T, AdamStep> gradient(s);
  const T beta1 = static_cast<T>(s.beta1);
  const T beta2 = static_cast<T>(s.beta2);
  const T share1 = static_cast<T>(1 - s.beta1);
  const T share2 = static_cast<T>(1 - s.beta2);
  const T rate = static_cast<T>(s.rate);
  const T root_scale = static_cast<T>(s.root_scale);
  const T eps = static_cast<T>(s.eps);
  const T keep = static_cast<T>(s.keep);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T pi = p[i] * keep;
    const T d = gradient(g[i], pi);
    const T mi = beta1 * m[i] + share1 * d;
    const T vi = beta2 * v[i] + share2 * d * d;
    m[i] = mi;
    v[i] = vi;
    T top = vi;
    if constexpr (amsgrad) {
      const T before = greatest[i];
      top = vi > before || vi != vi ? vi : before;  // NaN stays
      greatest[i] = top;
    }
    p[i] = pi - rate * mi / (std::sqrt(top) * root_scale + eps);
  }
}

}  // namespace

template <class T>
XGRAD_CLONES void update(std::int64_t n, const SgdStep& s, const T* g, T* p, T* const* state) {
  const Gradient<T, SgdStep> gradient(s);
  const T lr = static_cast<T>(s.lr);
  const T momentum = static_cast<T>(s.momentum);
  const T share = static_cast<T>(1 - s.dampening);
  const bool first = s.first;
  const bool nesterov = s.nesterov;
  if (momentum == 0) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) p[i] -= lr * gradient(g[i], p[i]);
    return;
  }
  T* buffer = state[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    const T b = first ? d : momentum * buffer[i] + share * d;
    buffer[i] = b;
    p[i] -= lr * (nesterov ? d + momentum * b : b);
  }
}

template <class T>
XGRAD_CLONES void update(std::int64_t n, const AdamStep& s, const T* g, T* p, T* const* state) {
  if (s.amsgrad) {
    adam<true>(n, s, g, p, state[0], state[1], state[2]);
  } else {
    adam<false>(n, s, g, p, state[0], state[1], state[2]);
  }
}

template <class T>
XGRAD_CLONES void update(std::int64_t n, const RmspropStep& s, const T* g, T* p, T* const* state) {
  const Gradient<T, RmspropStep> gradient(s);
  const T lr = static_cast<T>(s.lr);
  const T alpha = static_cast<T>(s.alpha);
  const T share = static_cast<T>(1 - s.alpha);
  const T eps = static_cast<T>(s.eps);
  const T momentum = static_cast<T>(s.momentum);
  T *v = state[0], *buffer = state[1], *mean = state[2];
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    T square = v[i] = alpha * v[i] + share * d * d;
    if (s.centered) {
      const T m = mean[i] = alpha * mean[i] + share * d;
      square = square - m * m < 0 ? 0 : square - m * m;  // never below 0 by rounding
    }
    T change = d / (std::sqrt(square) + eps);
    if (momentum != 0) change = buffer[i] = momentum * buffer[i] + change;
    p[i] -= lr * change;
  }
}

template <class T>
XGRAD_CLONES void update(std::int64_t n, const AdagradStep& s, const T* g, T* p, T* const* state) {
  const Gradient<T, AdagradStep> gradient(s);
  const T lr = static_cast<T>(s.lr);
  const T eps = static_cast<T>(s.eps);
  T* sum = state[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    const T total = sum[i] + d * d;
    sum[i] = total;
    p[i] -= lr * d / (std::sqrt(total) + eps);
  }
}

template void update(std::int64_t, const SgdStep&, const float*, float*, float* const*);
template void update(std::int64_t, const SgdStep&, const double*, double*, double* const*);
template void update(std::int64_t, const AdamStep&, const float*, float*, float* const*);
template void update(std::int64_t, const AdamStep&, const double*, double*, double* const*);
template void update(std::int64_t, const RmspropStep&, const float*, float*, float* const*);
template void update(std::int64_t, const RmspropStep&, const double*, double*, double* const*);
template void update(std::int64_t, const AdagradStep&, const float*, float*, float* const*);
template void update(std::int64_t, const AdagradStep&, const double*, double*, double* const*);

}  // namespace xgrad::kernels
