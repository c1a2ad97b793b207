#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

namespace lanes {

constexpr std::int64_t few = 8;

template <std::int64_t n, class T, class F>
XGRAD_INLINE void add(T* lane, std::int64_t i, F f) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) lane[j] += f(i + j);
}
template <std::int64_t n, class T>
XGRAD_INLINE void fold(T* lane) {
  for (std::int64_t half = n / 2; half >= few; half /= 2) {
#pragma omp simd
    for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
}
template <class T>
XGRAD_INLINE double total(const T* lane) {
  return static_cast<double>(((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                             ((lane[4] + lane[5]) + (lane[6] + lane[7])));
}

template <class T, std::size_t... K, class... F>
XGRAD_INLINE std::array<double, sizeof...(F)> sums(std::index_sequence<K...>, std::int64_t n,
                                                   F... f) {
  constexpr std::int64_t block = 4096;
  constexpr std::int64_t many = 256 / sizeof(T) / sizeof...(F);  // four of the widest registers
  std::array<double, sizeof...(F)> totals{};
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t end = std::min(n, i + block);
    if (end - i >= few) {
      T lane[sizeof...(F)][many] = {};
      if (end - i >= many) {
        for (; i + many <= end; i += many) (add<many>(lane[K], i, f), ...);
        (fold<many>(lane[K]), ...);
      }
      for (; i + few <= end; i += few) (add<few>(lane[K], i, f), ...);
      ((totals[K] += total(lane[K])), ...);
    }
    T rest[sizeof...(F)] = {};
    for (; i < end; ++i) ((rest[K] += f(i)), ...);
    ((totals[K] += static_cast<double>(rest[K])), ...);
  }
  return totals;
}

}  // namespace lanes

/// f(0) + ... + f(n - 1) of each f, terms of type T. Many partial sums side by side, so that whole
/// registers are used and additions do not wait for each other; in blocks that are added up in
/// double, so that rounding errors do not grow with n.
template <class T, class... F>
XGRAD_INLINE std::array<double, sizeof...(F)> sums(std::int64_t n, F... f) {
  return lanes::sums<T>(std::index_sequence_for<F...>(), n, f...);
}
template <class T, class F>
XGRAD_INLINE double sum(std::int64_t n, F f) {
  return sums<T>(n, f)[0];
}

}  // namespace xgrad::kernels
