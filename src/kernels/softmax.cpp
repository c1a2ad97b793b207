#include "kernels/softmax.hpp"

#include <limits>
#include <vector>

#include "kernels/exp.hpp"
#include "kernels/sum.hpp"

namespace xgrad::kernels {

namespace {

using std::int64_t;

template <class T>
XGRAD_INLINE T max_of(const T* x, int64_t n) {
  constexpr int64_t width = 256 / sizeof(T);
  T most = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (n >= width) {
    T lane[width];
    std::copy_n(x, width, lane);
    for (i = width; i + width <= n; i += width) {
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) {
        const T v = x[i + j];
        lane[j] = v > lane[j] ? v : lane[j];
      }
    }
    for (int64_t half = width / 2; half > 0; half /= 2) {
      for (int64_t j = 0; j < half; ++j) {
        lane[j] = lane[j + half] > lane[j] ? lane[j + half] : lane[j];
      }
    }
    most = lane[0];
  }
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

XGRAD_INLINE int64_t rows_together(int64_t cols) { return std::max<int64_t>(4096 / cols, 1); }

/// Puts exp(x - max) of each row into e and calls finish(r, x, e, max, sum) for it. The rows are
/// taken together by as many as stay in the cache, so that exp runs over one long array even where
/// the rows are short; e has room for them all, or where `keep` is not set for those of one round.
template <class T, class Finish>
XGRAD_INLINE void exp_rows(const Softmax<T>& a, T* e, bool keep, Finish finish) {
  const int64_t cols = a.cols;
  const int64_t step = rows_together(cols);
  std::vector<T> most(static_cast<std::size_t>(std::min(step, a.rows)));
  for (int64_t first = 0; first < a.rows; first += step) {
    const int64_t rows = std::min(step, a.rows - first);
    const T* x = a.x + first * cols;
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = x + r * cols;
      const T m = max_of(from, cols);
      most[static_cast<std::size_t>(r)] = m;
      T* to = e + r * cols;
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) to[j] = from[j] - m;
    }
#pragma omp simd
    for (int64_t i = 0; i < rows * cols; ++i) e[i] = exp(e[i]);
    for (int64_t r = 0; r < rows; ++r) {
      T* row = e + r * cols;
      finish(first + r, x + r * cols, row, most[static_cast<std::size_t>(r)],
             sum<T>(cols, [=](int64_t j) { return row[j]; }));
    }
    if (keep) e += rows * cols;
  }
}

template <class T>
XGRAD_INLINE void softmax_of(const Softmax<T>& a) {
  exp_rows(a, a.out, true, [cols = a.cols](int64_t, const T*, T* e, T, double total) {
    const T scale = static_cast<T>(1 / total);
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) e[j] *= scale;
  });
}

template <class T>
XGRAD_INLINE void log_softmax_of(const Softmax<T>& a) {
  exp_rows(a, a.out, true, [cols = a.cols](int64_t, const T* x, T* y, T most, double total) {
    const T log_total = static_cast<T>(std::log(total));
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) y[j] = (x[j] - most) - log_total;
  });
}

template <class T>
XGRAD_INLINE void softmax_backward_of(const Softmax<T>& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const T* y = a.x + r * a.cols;
    const T* g = a.g + r * a.cols;
    T* dx = a.out + r * a.cols;
    const T gy = static_cast<T>(sum<T>(a.cols, [=](int64_t j) { return g[j] * y[j]; }));
#pragma omp simd
    for (int64_t j = 0; j < a.cols; ++j) dx[j] = y[j] * (g[j] - gy);
  }
}

template <class T>
XGRAD_INLINE void log_softmax_backward_of(const Softmax<T>& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const T* y = a.x + r * a.cols;
    const T* g = a.g + r * a.cols;
    T* dx = a.out + r * a.cols;
    const T total = static_cast<T>(sum<T>(a.cols, [=](int64_t j) { return g[j]; }));
#pragma omp simd
    for (int64_t j = 0; j < a.cols; ++j) dx[j] = g[j] - exp(y[j]) * total;
  }
}

template <class T>
XGRAD_INLINE double cross_entropy_of(const Softmax<T>& a) {
  const int64_t cols = a.cols;
  const int64_t together = std::min(rows_together(cols), a.rows);
  std::vector<T> scratch(a.out ? 0 : static_cast<std::size_t>(together * cols));
  double result = 0;
  const auto finish = [&](int64_t r, const T* x, T* e, T most, double total) {
    const bool counts = a.target[r] != a.ignore_index;
    const T factor = counts ? a.factor[r] : T(0);
    double loss = 0;
    if (counts) {
      loss = static_cast<double>(factor) *
             (std::log(total) + static_cast<double>(most - x[a.target[r]]));
    }
    result += loss;
    if (a.losses) a.losses[r] = static_cast<T>(loss);
    if (!a.out) return;
    if (!counts) {
      std::fill_n(e, cols, T(0));  // even where the logits are not finite
      return;
    }
    const T scale = static_cast<T>(static_cast<double>(factor) / total);
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) e[j] *= scale;
    e[a.target[r]] -= factor;
  };
  exp_rows(a, a.out ? a.out : scratch.data(), a.out != nullptr, finish);
  return result;
}

}  // namespace

XGRAD_CLONES void softmax(const Softmax<float>& a) { softmax_of(a); }
XGRAD_CLONES void softmax(const Softmax<double>& a) { softmax_of(a); }
XGRAD_CLONES void log_softmax(const Softmax<float>& a) { log_softmax_of(a); }
XGRAD_CLONES void log_softmax(const Softmax<double>& a) { log_softmax_of(a); }
XGRAD_CLONES void softmax_backward(const Softmax<float>& a) { softmax_backward_of(a); }
XGRAD_CLONES void softmax_backward(const Softmax<double>& a) { softmax_backward_of(a); }
XGRAD_CLONES void log_softmax_backward(const Softmax<float>& a) { log_softmax_backward_of(a); }
XGRAD_CLONES void log_softmax_backward(const Softmax<double>& a) { log_softmax_backward_of(a); }
XGRAD_CLONES double cross_entropy(const Softmax<float>& a) { return cross_entropy_of(a); }
XGRAD_CLONES double cross_entropy(const Softmax<double>& a) { return cross_entropy_of(a); }

}  // namespace xgrad::kernels
