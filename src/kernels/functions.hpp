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
  const float p = polynomial(z, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                             1.33314422036e-1f, -3.33332819422e-1f);
  const float near = p * z * x + x;
  const float size = std::abs(x);
  const float far = std::copysign(1 - 2 / (exp(2 * size) + 1), x);
  return size < 0.625f ? near : far;
}
XGRAD_INLINE double tanh(double x) { return std::tanh(x); }

/// Within 2 units in the last place: two polynomials by N. Juffa, the second one in an exponent.
XGRAD_INLINE float erf(float x) {
  const float size = std::abs(x);
  const float z = x * x;
  const float p = polynomial(z, -5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                             -3.76125336e-1f, 1.28379166e-1f);
  const float near = p * x + x;
  float q = -1.72853470e-5f * size + 3.83197126e-4f;
  q = q * z - 3.88396438e-3f * size + 2.42546219e-2f;
  q = q * size - 1.06777877e-1f;
  q = q * size - 6.34846687e-1f;
  q = q * size - 1.28717512e-1f;
  const float far = std::copysign(1 - exp(q * size - size), x);
  return size < 0.927734375f ? near : far;
}
XGRAD_INLINE double erf(double x) { return std::erf(x); }

}  // namespace xgrad::kernels
