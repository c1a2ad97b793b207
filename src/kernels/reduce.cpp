#include "kernels/reduce.hpp"

#include <cmath>
#include <limits>

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

}  // namespace

template <class T, class R>
XGRAD_CLONES void sums(const Groups& at, const T* x, const double* center, double divisor, R* out) {
  total(at, x, center, divisor, false, out, [](double d) { return d; });
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
