#include "kernels/optim.hpp"

#include <cmath>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

namespace {

template <class T>
XGRAD_INLINE void sgd_loop(std::int64_t n, const SgdStep& s, const T* g, T* p, T* buffer) {
  const T lr = static_cast<T>(s.lr);
  const T decay = static_cast<T>(s.weight_decay);
  const T momentum = static_cast<T>(s.momentum);
  const T share = static_cast<T>(1 - s.dampening);
  const T sign = s.maximize ? T(-1) : T(1);
  const bool decays = decay != 0;
  const bool first = s.first;
  const bool nesterov = s.nesterov;
  if (!buffer) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const T gi = sign * g[i];
      p[i] -= lr * (decays ? gi + decay * p[i] : gi);
    }
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T gi = sign * g[i];
    const T d = decays ? gi + decay * p[i] : gi;
    const T b = first ? d : momentum * buffer[i] + share * d;
    buffer[i] = b;
    p[i] -= lr * (nesterov ? d + momentum * b : b);
  }
}

template <bool amsgrad, class T>
XGRAD_INLINE void adam_loop(std::int64_t n, const AdamStep& s, const T* g, T* p, T* m, T* v,
                            T* greatest) {
  const T beta1 = static_cast<T>(s.beta1);
  const T beta2 = static_cast<T>(s.beta2);
  const T share1 = static_cast<T>(1 - s.beta1);
  const T share2 = static_cast<T>(1 - s.beta2);
  const T rate = static_cast<T>(s.rate);
  const T root_scale = static_cast<T>(s.root_scale);
  const T eps = static_cast<T>(s.eps);
  const T decay = static_cast<T>(s.weight_decay);
  const T keep = static_cast<T>(s.keep);
  const T sign = s.maximize ? T(-1) : T(1);
  const bool decays = decay != 0;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T pi = p[i] * keep;
    const T gi = sign * g[i];
    const T d = decays ? gi + decay * pi : gi;
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

template <class T>
XGRAD_INLINE void adam_loops(std::int64_t n, const AdamStep& s, const T* g, T* p, T* m, T* v,
                             T* greatest) {
  if (greatest) {
    adam_loop<true>(n, s, g, p, m, v, greatest);
  } else {
    adam_loop<false>(n, s, g, p, m, v, greatest);
  }
}

}  // namespace

XGRAD_CLONES void sgd(std::int64_t n, const SgdStep& s, const float* g, float* p, float* buffer) {
  sgd_loop(n, s, g, p, buffer);
}
XGRAD_CLONES void sgd(std::int64_t n, const SgdStep& s, const double* g, double* p,
                      double* buffer) {
  sgd_loop(n, s, g, p, buffer);
}
XGRAD_CLONES void adam(std::int64_t n, const AdamStep& s, const float* g, float* p, float* m,
                       float* v, float* greatest) {
  adam_loops(n, s, g, p, m, v, greatest);
}
XGRAD_CLONES void adam(std::int64_t n, const AdamStep& s, const double* g, double* p, double* m,
                       double* v, double* greatest) {
  adam_loops(n, s, g, p, m, v, greatest);
}

}  // namespace xgrad::kernels
