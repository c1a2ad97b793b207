#include "kernels/reduce.hpp"

#include <limits>

namespace xgrad::kernels {

namespace {

template <class T, class R>
XGRAD_INLINE void sums_of(const Groups& at, const T* x, double divisor, R* out) {
  const auto add = [](double a, double b) { return a + b; };
  fold(
      at, x, 0.0, [](double a, T v, std::int64_t) { return a + static_cast<double>(v); }, add,
      [=](std::int64_t o, double total) { out[o] = static_cast<R>(total / divisor); });
}

template <class T>
XGRAD_INLINE void squares_of(const Groups& at, const T* x, const double* center, double divisor,
                             T* out) {
  const auto add = [](double a, double b) { return a + b; };
  const auto finish = [=](std::int64_t o, double total) {
    out[o] = static_cast<T>(total / divisor);
  };
  if (!center) {
    const auto step = [](double a, T v, std::int64_t) {
      return a + static_cast<double>(v) * static_cast<double>(v);
    };
    return fold(at, x, 0.0, step, add, finish);
  }
  const auto step = [center](double a, T v, std::int64_t o) {
    const double d = static_cast<double>(v) - center[o];
    return a + d * d;
  };
  fold(at, x, 0.0, step, add, finish);
}

/// The extreme of `sign` * x: a NaN is neither above nor equal to itself, so it enters and stays.
template <class T, class Wins>
XGRAD_INLINE void extremes_of(const Groups& at, const T* x, T start, Wins wins, T* out) {
  const auto better = [wins](T a, T v) { return wins(v, a) || v != v ? v : a; };
  fold(
      at, x, start, [better](T a, T v, std::int64_t) { return better(a, v); }, better,
      [=](std::int64_t o, T total) { out[o] = total; });
}

}  // namespace

XGRAD_CLONES void sums(const Groups& at, const float* x, double divisor, float* out) {
  sums_of(at, x, divisor, out);
}
XGRAD_CLONES void sums(const Groups& at, const float* x, double divisor, double* out) {
  sums_of(at, x, divisor, out);
}
XGRAD_CLONES void sums(const Groups& at, const double* x, double divisor, double* out) {
  sums_of(at, x, divisor, out);
}

XGRAD_CLONES void squares(const Groups& at, const float* x, const double* center, double divisor,
                          float* out) {
  squares_of(at, x, center, divisor, out);
}
XGRAD_CLONES void squares(const Groups& at, const double* x, const double* center, double divisor,
                          double* out) {
  squares_of(at, x, center, divisor, out);
}

XGRAD_CLONES void greatest(const Groups& at, const float* x, float* out) {
  extremes_of(
      at, x, -std::numeric_limits<float>::infinity(), [](float a, float b) { return a > b; }, out);
}
XGRAD_CLONES void greatest(const Groups& at, const double* x, double* out) {
  extremes_of(
      at, x, -std::numeric_limits<double>::infinity(), [](double a, double b) { return a > b; },
      out);
}
XGRAD_CLONES void least(const Groups& at, const float* x, float* out) {
  extremes_of(
      at, x, std::numeric_limits<float>::infinity(), [](float a, float b) { return a < b; }, out);
}
XGRAD_CLONES void least(const Groups& at, const double* x, double* out) {
  extremes_of(
      at, x, std::numeric_limits<double>::infinity(), [](double a, double b) { return a < b; },
      out);
}

}  // namespace xgrad::kernels
