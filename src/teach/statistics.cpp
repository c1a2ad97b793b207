#include "xgrad/teach/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/sum.hpp"

namespace xgrad::teach {

namespace {

template <class T>
XGRAD_CLONES double sum_all(const T* x, std::int64_t n) {
  return kernels::sum<double>(n, [=](std::int64_t i) { return static_cast<double>(x[i]); });
}

template <class T>
XGRAD_CLONES double sum_squares(const T* x, std::int64_t n, double from) {
  return kernels::sum<double>(n, [=](std::int64_t i) {
    const double d = static_cast<double>(x[i]) - from;
    return d * d;
  });
}

template <class T>
XGRAD_CLONES double sum_squares(const T* a, const T* b, std::int64_t n) {
  return kernels::sum<double>(n, [=](std::int64_t i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return d * d;
  });
}

/// 0, or NaN where an element is NaN or infinite.
template <class T>
XGRAD_CLONES double sum_zeros(const T* x, std::int64_t n) {
  return kernels::sum<T>(n, [=](std::int64_t i) { return x[i] * 0; });
}

template <class T>
XGRAD_CLONES std::pair<T, T> extremes(const T* x, std::int64_t n) {
  T low = x[0], high = x[0];
#pragma omp simd reduction(min : low) reduction(max : high)
  for (std::int64_t i = 0; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  return {low, high};
}

template <class T>
XGRAD_CLONES void raise_to(T* highest, const T* row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) highest[i] = highest[i] < row[i] ? row[i] : highest[i];
}

/// f of the elements as float or double; those of other types are converted.
template <class F>
auto with_elements(const Tensor& x, F f) {
  if (x.dtype() == float32) return f(x.data<float>().data(), x.numel());
  const Tensor wide = x.detach().to(float64);
  return f(wide.data<double>().data(), x.numel());
}

}  // namespace

Statistics statistics(const Tensor& x) {
  return with_elements(x, [](const auto* values, std::int64_t n) -> Statistics {
    if (n == 0) return {};
    const double mean = sum_all(values, n) / static_cast<double>(n);
    const double squares = sum_squares(values, n, mean);
    const auto [low, high] = extremes(values, n);
    return {mean, n == 1 ? 0 : std::sqrt(squares / static_cast<double>(n - 1)), low, high};
  });
}

double l2_norm(const Tensor& x) {
  return with_elements(
      x, [](const auto* values, std::int64_t n) { return std::sqrt(sum_squares(values, n, 0)); });
}

double distance(const Tensor& a, const Tensor& b) {
  return with_elements(a, [&b](const auto* values, std::int64_t n) {
    using T = std::remove_cvref_t<decltype(*values)>;
    const Tensor other = b.detach().to(std::is_same_v<T, float> ? float32 : float64);
    return std::sqrt(sum_squares(values, other.data<T>().data(), n));
  });
}

double dead_share(const Tensor& x) {
  const std::int64_t columns = x.dim() == 0 ? 1 : x.size(-1);
  return with_elements(x, [columns](const auto* values, std::int64_t n) {
    std::vector<std::remove_cvref_t<decltype(*values)>> highest(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < n; i += columns) raise_to(highest.data(), values + i, columns);
    const auto without = std::count(highest.begin(), highest.end(), 0);
    return n == 0 ? none : static_cast<double>(without) / static_cast<double>(columns);
  });
}

bool is_finite(const Tensor& x) {
  return with_elements(
      x, [](const auto* values, std::int64_t n) { return sum_zeros(values, n) == 0; });
}

}  // namespace xgrad::teach
