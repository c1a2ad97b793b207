#pragma once

/// Functions of one number, free of branches, so that loops over them vectorise.

#include "kernels/exp.hpp"

namespace xgrad::kernels {

template <class T>
XGRAD_INLINE T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}

/// Within 2 units in the last place: the polynomial of Cephes' tanhf below 0.625, exp above.
XGRAD_INLINE float tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float size = std::abs(x);
  const float far = std::copysign(1 - 2 / (exp(2 * size) + 1), x);
  return size < 0.625f ? near : far;
}
XGRAD_INLINE double tanh(double x) { return std::tanh(x); }

}  // namespace xgrad::kernels
