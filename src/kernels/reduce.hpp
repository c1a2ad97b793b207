#pragma once

/// Loops that reduce a dense array seen as (outer, reduced, inner) to (outer, inner).

#include <algorithm>
#include <cstdint>

#include "kernels/simd.hpp"

namespace xgrad::kernels {

struct Groups {
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;
};

/// Columns that are worked on together: few enough that one value for each stays in the cache, many
/// enough that most rows are read to their end.
inline constexpr std::int64_t most_columns = 1024;

/// call(first output, first element, columns) for each block of neighbouring columns.
template <class Call>
XGRAD_INLINE void each_block(const Groups& at, Call call) {
  for (std::int64_t o = 0; o < at.outer; ++o) {
    for (std::int64_t j = 0; j < at.inner; j += most_columns) {
      call(o * at.inner + j, o * at.reduced * at.inner + j, std::min(most_columns, at.inner - j));
    }
  }
}

/// Folds n neighbours: independent accumulators, so that the compiler uses whole registers, in
/// blocks, so that rounding errors of long sums stay small.
template <class T, class A, class Step, class Merge>
XGRAD_INLINE A fold_row(const T* x, std::int64_t n, std::int64_t output, A start, Step step,
                        Merge merge) {
  constexpr std::int64_t lanes = 16;
  constexpr std::int64_t block = 4096;
  A total = start;
  std::int64_t i = 0;
  while (n - i >= 2 * lanes) {
    A part[lanes];
    for (A& p : part) p = start;
    const std::int64_t end = i + std::min(block, (n - i) / lanes * lanes);
    for (; i < end; i += lanes) {
#pragma omp simd
      for (std::int64_t k = 0; k < lanes; ++k) part[k] = step(part[k], x[i + k], output);
    }
    for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
      for (std::int64_t k = 0; k < half; ++k) part[k] = merge(part[k], part[k + half]);
    }
    total = merge(total, part[0]);
  }
  for (; i < n; ++i) total = step(total, x[i], output);
  return total;
}

/// Folds `width` neighbouring columns of n rows.
template <class T, class A, class Step>
XGRAD_INLINE void fold_columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t width,
                               std::int64_t output, A* total, Step step) {
  std::int64_t row = 0;
  for (; row + 4 <= n; row += 4) {
    const T* a = x + row * stride;
    const T* b = a + stride;
    const T* c = b + stride;
    const T* d = c + stride;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) {
      const A first = step(step(total[j], a[j], output + j), b[j], output + j);
      total[j] = step(step(first, c[j], output + j), d[j], output + j);
    }
  }
  for (; row < n; ++row) {
    const T* a = x + row * stride;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) total[j] = step(total[j], a[j], output + j);
  }
}

/// finish(output, total) for each output, where total folds `start` and the reduced elements v with
/// total = step(total, v, output); merge combines two totals.
template <class T, class A, class Step, class Merge, class Finish>
XGRAD_INLINE void fold(const Groups& at, const T* x, A start, Step step, Merge merge,
                       Finish finish) {
  if (at.inner == 1) {
    for (std::int64_t o = 0; o < at.outer; ++o) {
      finish(o, fold_row(x + o * at.reduced, at.reduced, o, start, step, merge));
    }
    return;
  }
  A total[most_columns];
  each_block(at, [&](std::int64_t output, std::int64_t first, std::int64_t width) {
    std::fill_n(total, width, start);
    fold_columns(x + first, at.reduced, at.inner, width, output, total, step);
    for (std::int64_t j = 0; j < width; ++j) finish(output + j, total[j]);
  });
}

/// Sum of x - center divided by `divisor`, for one center per output; null: center 0. `out` may be
/// `center`. T and R are float and float, float and double, or double and double.
template <class T, class R>
void sums(const Groups& at, const T* x, const double* center, double divisor, R* out);
/// The same for (x - center)^2, or its root; T is float or double, as below.
template <class T>
void squares(const Groups& at, const T* x, const double* center, double divisor, bool root, T* out);
/// The greatest or the least element; NaN wins.
template <class T>
void extremes(const Groups& at, const T* x, bool greatest, T* out);

}  // namespace xgrad::kernels
