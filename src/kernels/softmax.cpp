#include "kernels/softmax.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "kernels/exp.hpp"
#include "kernels/parallel.hpp"
#include "kernels/reduce.hpp"
#include "kernels/sum.hpp"

namespace xgrad::kernels {

namespace {

using std::int64_t;

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
      const T m = fold_row(
          from, cols, 0, -std::numeric_limits<T>::infinity(),
          [](T most_yet, T v, int64_t) { return v > most_yet ? v : most_yet; },
          [](T u, T v) { return v > u ? v : u; });
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
int64_t enough(const Softmax<T>& a) {
  return std::max<int64_t>(enough_rows(a.cols) / 2, 1);
}

/// kernel(part, rows) for each part of the rows.
template <class T, class Kernel>
void by_rows(const Softmax<T>& a, Kernel kernel) {
  parallel(a.rows, enough(a), [&](int64_t part, int64_t first, int64_t end) {
    Softmax<T> rows = a;
    const auto move = [](auto*& p, int64_t n) { p = p ? p + n : p; };
    rows.rows = end - first;
    for (const T** p : {&rows.x, &rows.g}) move(*p, first * a.cols);
    move(rows.out, first * a.cols);
    move(rows.target, first);
    move(rows.factor, first);
    move(rows.losses, first);
    kernel(part, rows);
  });
}

}  // namespace

template <class T>
XGRAD_CLONES static void softmax_rows(const Softmax<T>& a) {
  exp_rows(a, a.out, true, [cols = a.cols](int64_t, const T*, T* e, T, double total) {
    const T scale = static_cast<T>(1 / total);
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) e[j] *= scale;
  });
}
template <class T>
void Softmax<T>::softmax() const {
  by_rows(*this, [](int64_t, const Softmax& part) { softmax_rows(part); });
}

template <class T>
XGRAD_CLONES static void log_softmax_rows(const Softmax<T>& a) {
  exp_rows(a, a.out, true, [cols = a.cols](int64_t, const T* x, T* y, T most, double total) {
    const T log_total = static_cast<T>(std::log(total));
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) y[j] = (x[j] - most) - log_total;
  });
}
template <class T>
void Softmax<T>::log_softmax() const {
  by_rows(*this, [](int64_t, const Softmax& part) { log_softmax_rows(part); });
}

template <class T>
XGRAD_CLONES static void softmax_backward_rows(const Softmax<T>& a) {
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
void Softmax<T>::softmax_backward() const {
  by_rows(*this, [](int64_t, const Softmax& part) { softmax_backward_rows(part); });
}

template <class T>
XGRAD_CLONES static void log_softmax_backward_rows(const Softmax<T>& a) {
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
void Softmax<T>::log_softmax_backward() const {
  by_rows(*this, [](int64_t, const Softmax& part) { log_softmax_backward_rows(part); });
}

template <class T>
XGRAD_CLONES static double cross_entropy_rows(const Softmax<T>& a) {
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
template <class T>
double Softmax<T>::cross_entropy() const {
  std::vector<double> totals(static_cast<std::size_t>(parts_of(rows, enough(*this))));
  by_rows(*this, [&](int64_t part, const Softmax& some) {
    totals[static_cast<std::size_t>(part)] = cross_entropy_rows(some);
  });
  return std::accumulate(totals.begin(), totals.end(), 0.0);
}

template struct Softmax<float>;
template struct Softmax<double>;

}  // namespace xgrad::kernels
