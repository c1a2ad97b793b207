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
  constexpr int64_t width = lanes<T>;
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

/// Rows taken together: few enough to stay in the cache, so that exp runs over one long array even
/// where the rows are short.
XGRAD_INLINE int64_t rows_together(int64_t cols) { return std::max<int64_t>(4096 / cols, 1); }

/// e = exp(x - max) for each row.
template <class T>
XGRAD_INLINE void shifted_exp(const T* x, int64_t rows, int64_t cols, T* e) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * cols;
    T* to = e + r * cols;
    const T most = max_of(from, cols);
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) to[j] = from[j] - most;
  }
#pragma omp simd
  for (int64_t i = 0; i < rows * cols; ++i) e[i] = exp(e[i]);
}

template <class T>
XGRAD_INLINE void softmax_of(const Softmax<T>& a) {
  const int64_t cols = a.cols;
  const int64_t step = rows_together(cols);
  for (int64_t first = 0; first < a.rows; first += step) {
    const int64_t rows = std::min(step, a.rows - first);
    T* y = a.out + first * cols;
    shifted_exp(a.x + first * cols, rows, cols, y);
    for (int64_t r = 0; r < rows; ++r, y += cols) {
      const T scale = static_cast<T>(1 / sum<T>(cols, [=](int64_t j) { return y[j]; }));
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) y[j] *= scale;
    }
  }
}

template <class T>
XGRAD_INLINE void log_softmax_of(const Softmax<T>& a) {
  const int64_t cols = a.cols;
  const int64_t step = rows_together(cols);
  for (int64_t first = 0; first < a.rows; first += step) {
    const int64_t rows = std::min(step, a.rows - first);
    const T* x = a.x + first * cols;
    T* y = a.out + first * cols;
    shifted_exp(x, rows, cols, y);
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
      const T most = max_of(x, cols);
      const T log_sum = static_cast<T>(std::log(sum<T>(cols, [=](int64_t j) { return y[j]; })));
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) y[j] = (x[j] - most) - log_sum;
    }
  }
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
  const int64_t step = rows_together(cols);
  std::vector<T> scratch(a.out ? 0 : static_cast<std::size_t>(std::min(step, a.rows) * cols));
  double total = 0;
  for (int64_t first = 0; first < a.rows; first += step) {
    const int64_t rows = std::min(step, a.rows - first);
    const T* x = a.x + first * cols;
    T* e = a.out ? a.out + first * cols : scratch.data();
    shifted_exp(x, rows, cols, e);
    for (int64_t r = first; r < first + rows; ++r, x += cols, e += cols) {
      const T factor = a.factor[r];
      const bool counts = a.target[r] != a.ignore_index;
      double loss = 0;
      T scale = 0;
      if (counts) {
        const double exp_sum = sum<T>(cols, [=](int64_t j) { return e[j]; });
        const auto distance = static_cast<double>(max_of(x, cols) - x[a.target[r]]);
        loss = static_cast<double>(factor) * (std::log(exp_sum) + distance);
        scale = static_cast<T>(static_cast<double>(factor) / exp_sum);
      }
      total += loss;
      if (a.losses) a.losses[r] = static_cast<T>(loss);
      if (!a.out) continue;
      if (!counts) {
        std::fill_n(e, cols, T(0));  // even where the logits are not finite
        continue;
      }
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) e[j] *= scale;
      e[a.target[r]] -= factor;
    }
  }
  return total;
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
