#pragma once

/// What the kernels of norms over rows and over channels share.

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/sum.hpp"

namespace xgrad::kernels {

using std::int64_t;

template <class T, class F>
XGRAD_INLINE void fill(T* to, int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = f(i);
}

struct Moments {
  double mean;
  double var;  // divided by n
};

/// Two passes. The first only has to find a value near the mean: what is missing comes out of the
/// second as the mean of the differences, which are exact or nearly so. Acc is the type of these.
template <class Acc, class T>
XGRAD_INLINE double near_mean(const T* x, int64_t n) {
  return sum<Acc>(n, [=](int64_t i) { return static_cast<Acc>(x[i]); }) / static_cast<double>(n);
}
/// Without `centered` the mean counts as 0, and so must `near` be.
template <class Acc, class T>
XGRAD_INLINE Moments moments(const T* x, int64_t n, double near, bool centered) {
  const auto count = static_cast<double>(n);
  const Acc shift = static_cast<Acc>(near);
  const auto d = [=](int64_t i) { return static_cast<Acc>(x[i]) - shift; };
  const auto square = [=](int64_t i) { return d(i) * d(i); };
  if (!centered) return {0, sum<Acc>(n, square) / count};
  const auto [d_sum, squares] = sums<Acc>(n, d, square);
  const double rest = d_sum / count;
  return {static_cast<double>(shift) + rest, std::max(squares / count - rest * rest, 0.0)};
}

/// (x - shift) * scale + offset, where shift + what offset makes up for is the mean.
template <class T>
struct Line {
  T shift;
  T scale;
  T offset;
  XGRAD_INLINE T operator()(T x) const { return (x - shift) * scale + offset; }
};
template <class T>
XGRAD_INLINE Line<T> line(double mean, double scale, double offset = 0) {
  // Of numbers that fill the range of T, the distance from the mean may not fit into it.
  const bool huge = scale > 0 && scale < 64.0 / std::numeric_limits<T>::max();
  const T shift = huge ? T(0) : static_cast<T>(mean);
  return {shift, static_cast<T>(scale),
          static_cast<T>((static_cast<double>(shift) - mean) * scale + offset)};
}

/// Two sums over rows for each column: of T in blocks of some 64 rows, which then join the totals,
/// so that rounding errors grow less with the number of rows. Four rows at a time, so that the sums
/// are loaded and stored less often.
template <class T, class Total>
class ColumnSums {
 public:
  ColumnSums(int64_t cols, Total* first, Total* second)
      : cols_(cols), totals_{first, second}, memory_(2 * static_cast<std::size_t>(cols) + 64) {
    std::fill_n(first, cols, Total(0));
    std::fill_n(second, cols, Total(0));
    std::size_t bytes = memory_.size() * sizeof(T);
    void* start = memory_.data();
    part_ = static_cast<T*>(std::align(64, 0, start, bytes));
  }

  /// Adds a(r, column) and b(r, column) for `rows` rows.
  template <class A, class B>
  XGRAD_INLINE void add(int64_t rows, A a, B b) {
    const int64_t n = cols_;
    T* to = part_;
    T* and_to = to + n;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        to[j] += (a(r, j) + a(r + 1, j)) + (a(r + 2, j) + a(r + 3, j));
        and_to[j] += (b(r, j) + b(r + 1, j)) + (b(r + 2, j) + b(r + 3, j));
      }
    }
    for (; r < rows; ++r) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        to[j] += a(r, j);
        and_to[j] += b(r, j);
      }
    }
    rows_ += rows;
    if (rows_ >= 64) add_up();
  }
  /// The totals are whole only after this.
  XGRAD_INLINE void add_up() {
    T* from = part_;
    const int64_t n = cols_;
    for (Total* to : totals_) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        to[j] += static_cast<Total>(from[j]);
        from[j] = 0;
      }
      from += n;
    }
    rows_ = 0;
  }

 private:
  int64_t cols_;
  Total* totals_[2];
  std::vector<T> memory_;
  T* part_;
  int64_t rows_ = 0;  // in the block
};

}  // namespace xgrad::kernels
