#include "kernels/reduce.hpp"

#include <limits>

namespace xgrad::kernels {

namespace {

template <class T, class R, class Term>
XGRAD_INLINE void total(const Groups& at, const T* x, const double* center, double divisor, R* out,
                        Term term) {
  const auto add = [](double a, double b) { return a + b; };
  const auto finish = [=](std::int64_t o, double sum) { out[o] = static_cast<R>(sum / divisor); };
  if (center) {
    const auto step = [=](double a, T v, std::int64_t o) {
      return a + term(static_cast<double>(v) - center[o]);
    };
    return fold(at, x, 0.0, step, add, finish);
  }
  const auto step = [=](double a, T v, std::int64_t) { return a + term(static_cast<double>(v)); };
  fold(at, x, 0.0, step, add, finish);
}

constexpr auto itself = [](double d) { return d; };
constexpr auto squared = [](double d) { return d * d; };

template <class T, class Above>
XGRAD_INLINE void extreme(const Groups& at, const T* x, T start, Above above, T* out) {
  // A NaN is not equal to itself, so it enters; nothing is above it, so it stays.
  const auto better = [above](T a, T v) { return above(v, a) || v != v ? v : a; };
  fold(
      at, x, start, [better](T a, T v, std::int64_t) { return better(a, v); }, better,
      [=](std::int64_t o, T best) { out[o] = best; });
}

template <class T>
XGRAD_INLINE void extremes_of(const Groups& at, const T* x, bool greatest, T* out) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (greatest) {
    extreme(
        at, x, -infinity, [](T a, T b) { return a > b; }, out);
  } else {
    extreme(
        at, x, infinity, [](T a, T b) { return a < b; }, out);
  }
}

}  // namespace

XGRAD_CLONES void sums(const Groups& at, const float* x, const double* center, double divisor,
                       float* out) {
  total(at, x, center, divisor, out, itself);
}
XGRAD_CLONES void sums(const Groups& at, const float* x, const double* center, double divisor,
                       double* out) {
  total(at, x, center, divisor, out, itself);
}
XGRAD_CLONES void sums(const Groups& at, const double* x, const double* center, double divisor,
                       double* out) {
  total(at, x, center, divisor, out, itself);
}
XGRAD_CLONES void squares(const Groups& at, const float* x, const double* center, double divisor,
                          float* out) {
  total(at, x, center, divisor, out, squared);
}
XGRAD_CLONES void squares(const Groups& at, const double* x, const double* center, double divisor,
                          double* out) {
  total(at, x, center, divisor, out, squared);
}

XGRAD_CLONES void extremes(const Groups& at, const float* x, bool greatest, float* out) {
  extremes_of(at, x, greatest, out);
}
XGRAD_CLONES void extremes(const Groups& at, const double* x, bool greatest, double* out) {
  extremes_of(at, x, greatest, out);
}

}  // namespace xgrad::kernels
