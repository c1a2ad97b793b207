#pragma once

#include <bit>
#include <cmath>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

/// The polynomial in x with these coefficients, that of the highest power first.
template <class... C>
XGRAD_INLINE float polynomial(float x, float sum, C... coefficients) {
  ((sum = sum * x + coefficients), ...);
  return sum;
}

/// exp(x) within 1 unit in the last place, without branches, so that loops over it vectorise.
/// exp(x) = 2^n exp(r) with |r| <= ln(2) / 2; polynomial of Cephes' expf.
XGRAD_INLINE float exp(float x) {
  x = x < -104.0f ? -104.0f : x;  // 0 from here down; NaN passes
  x = x > 89.0f ? 89.0f : x;      // infinite from here up
  // Adding 1.5 * 2^23 leaves the rounded number in the low bits.
  constexpr float magic = 12582912.0f;
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float p = polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                       1.6666665459e-1f, 5.0000001201e-1f);
  p = p * (r * r) + r + 1.0f;
  // 2^n in two factors, each of which is a normal number.
  const auto power = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                               std::bit_cast<std::uint32_t>(magic));
  const std::int32_t half = power >> 1;
  const auto two_to = [](std::int32_t e) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
  };
  return p * two_to(half) * two_to(power - half);
}
XGRAD_INLINE double exp(double x) { return std::exp(x); }

}  // namespace xgrad::kernels
