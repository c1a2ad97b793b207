#pragma once

#include <algorithm>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

// Elements a partial sum in T takes before it is added up in double.
inline constexpr std::int64_t sum_block = 4096;
// Partial sums kept side by side, so that additions do not wait for each other: four registers of
// the widest kind.
template <class T>
inline constexpr std::int64_t lanes = 256 / sizeof(T);

template <std::int64_t N, class T>
XGRAD_INLINE T sum_lanes(T* lane) {
  for (std::int64_t half = N / 2; half >= 8; half /= 2) {
#pragma omp simd
    for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/// f(0) + ... + f(n - 1), terms of type T.
template <class T, class F>
XGRAD_INLINE double sum(std::int64_t n, F f) {
  constexpr std::int64_t width = lanes<T>;
  double total = 0;
  for (std::int64_t start = 0; start < n; start += sum_block) {
    const std::int64_t end = std::min(n, start + sum_block);
    std::int64_t i = start;
    if (end - start >= width) {
      T lane[width] = {};
      for (; i + width <= end; i += width) {
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) lane[j] += f(i + j);
      }
      total += static_cast<double>(sum_lanes<width>(lane));
    }
    T rest = 0;
#pragma omp simd reduction(+ : rest)
    for (std::int64_t k = i; k < end; ++k) rest += f(k);
    total += static_cast<double>(rest);
  }
  return total;
}

struct TwoSums {
  double f = 0;
  double g = 0;
};
/// The sums of f(i) and of g(i), in one pass.
template <class T, class F, class G>
XGRAD_INLINE TwoSums sum_both(std::int64_t n, F f, G g) {
  constexpr std::int64_t width = lanes<T> / 2;
  TwoSums total;
  for (std::int64_t start = 0; start < n; start += sum_block) {
    const std::int64_t end = std::min(n, start + sum_block);
    std::int64_t i = start;
    if (end - start >= width) {
      T lane_f[width] = {};
      T lane_g[width] = {};
      for (; i + width <= end; i += width) {
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) {
          lane_f[j] += f(i + j);
          lane_g[j] += g(i + j);
        }
      }
      total.f += static_cast<double>(sum_lanes<width>(lane_f));
      total.g += static_cast<double>(sum_lanes<width>(lane_g));
    }
    T rest_f = 0;
    T rest_g = 0;
#pragma omp simd reduction(+ : rest_f, rest_g)
    for (std::int64_t k = i; k < end; ++k) {
      rest_f += f(k);
      rest_g += g(k);
    }
    total.f += static_cast<double>(rest_f);
    total.g += static_cast<double>(rest_g);
  }
  return total;
}

}  // namespace xgrad::kernels
