#include "kernels/reduce.hpp"

#include <cmath>
#include <limits>

#include "kernels/sum.hpp"

namespace xgrad::kernels {

namespace {

template <class T, class R, class Term>
XGRAD_INLINE void total(const Groups& at, const T* x, const double* center, double divisor,
                        bool root, R* out, Term term) {
  const auto add = [](double a, double b) { return a + b; };
  const auto finish = [=](std::int64_t o, double sum) {
    out[o] = static_cast<R>(root ? std::sqrt(sum / divisor) : sum / divisor);
  };
  if (center) {
    const auto step = [=](double a, T v, std::int64_t o) {
      return a + term(static_cast<double>(v) - center[o]);
    };
    return fold(at, x, 0.0, step, add, finish);
  }
  const auto step = [=](double a, T v, std::int64_t) { return a + term(static_cast<double>(v)); };
  fold(at, x, 0.0, step, add, finish);
}

template <class T, class Above>
XGRAD_INLINE void extreme(const Groups& at, const T* x, T start, Above above, T* out) {
  // A NaN is not equal to itself, so it enters; nothing is above it, so it stays.
  const auto better = [above](T a, T v) { return above(v, a) || v != v ? v : a; };
  fold(
      at, x, start, [better](T a, T v, std::int64_t) { return better(a, v); }, better,
      [=](std::int64_t o, T best) { out[o] = best; });
}

/// total[j] += the sum of column j over n rows: in T over a few rows, which then join the total.
template <class T>
XGRAD_INLINE void add_columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t width,
                              double* total) {
  constexpr std::int64_t together = 8;
  T part[most_columns];
  for (std::int64_t row = 0; row < n;) {
    const std::int64_t end = std::min(n, row + 8 * together);
    std::fill_n(part, width, T(0));
    for (; row + together <= end; row += together) {
      const T* r = x + row * stride;
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) {
        const T* c = r + j;
        part[j] += ((c[0] + c[stride]) + (c[2 * stride] + c[3 * stride])) +
                   ((c[4 * stride] + c[5 * stride]) + (c[6 * stride] + c[7 * stride]));
      }
    }
    for (; row < end; ++row) {
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) part[j] += x[row * stride + j];
    }
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) total[j] += static_cast<double>(part[j]);
  }
}

}  // namespace

template <class T, class R>
XGRAD_CLONES void sums(const Groups& at, const T* x, const double* center, double divisor, R* out) {
  if (center) return total(at, x, center, divisor, false, out, [](double d) { return d; });
  if (at.inner == 1) {
    for (std::int64_t o = 0; o < at.outer; ++o, x += at.reduced) {
      out[o] = static_cast<R>(sum<T>(at.reduced, [=](std::int64_t i) { return x[i]; }) / divisor);
    }
    return;
  }
  double total[most_columns];
  each_block(at, [&](std::int64_t output, std::int64_t first, std::int64_t width) {
    std::fill_n(total, width, 0.0);
    add_columns(x + first, at.reduced, at.inner, width, total);
    for (std::int64_t j = 0; j < width; ++j) out[output + j] = static_cast<R>(total[j] / divisor);
  });
}
template void sums(const Groups&, const float*, const double*, double, float*);
template void sums(const Groups&, const float*, const double*, double, double*);
template void sums(const Groups&, const double*, const double*, double, double*);

template <class T>
XGRAD_CLONES void squares(const Groups& at, const T* x, const double* center, double divisor,
                          bool root, T* out) {
  total(at, x, center, divisor, root, out, [](double d) { return d * d; });
}
template void squares(const Groups&, const float*, const double*, double, bool, float*);
template void squares(const Groups&, const double*, const double*, double, bool, double*);

template <class T>
XGRAD_CLONES void extremes(const Groups& at, const T* x, bool greatest, T* out) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (greatest) {
    extreme(
        at, x, -infinity, [](T a, T b) { return a > b; }, out);
  } else {
    extreme(
        at, x, infinity, [](T a, T b) { return a < b; }, out);
  }
}
template void extremes(const Groups&, const float*, bool, float*);
template void extremes(const Groups&, const double*, bool, double*);

}  // namespace xgrad::kernels
