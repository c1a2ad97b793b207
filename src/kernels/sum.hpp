#pragma once

#include <algorithm>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

/// f(0) + ... + f(n - 1), terms of type T. Many partial sums side by side, so that whole registers
/// are used and additions do not wait for each other; in blocks that are added up in double, so
/// that rounding errors do not grow with n.
template <class T, class F>
XGRAD_INLINE double sum(std::int64_t n, F f) {
  constexpr std::int64_t block = 4096;
  constexpr std::int64_t few = 8;
  constexpr std::int64_t many = 256 / sizeof(T);  // four of the widest registers
  double total = 0;
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t end = std::min(n, i + block);
    if (end - i >= few) {
      T lane[many] = {};
      if (end - i >= many) {
        for (; i + many <= end; i += many) {
#pragma omp simd
          for (std::int64_t j = 0; j < many; ++j) lane[j] += f(i + j);
        }
        for (std::int64_t half = many / 2; half >= few; half /= 2) {
#pragma omp simd
          for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
        }
      }
      for (; i + few <= end; i += few) {
#pragma omp simd
        for (std::int64_t j = 0; j < few; ++j) lane[j] += f(i + j);
      }
      total += static_cast<double>(((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                                   ((lane[4] + lane[5]) + (lane[6] + lane[7])));
    }
    T rest = 0;
    for (; i < end; ++i) rest += f(i);
    total += static_cast<double>(rest);
  }
  return total;
}

}  // namespace xgrad::kernels
