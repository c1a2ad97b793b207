#include <cmath>
#include <vector>

#include "detail/bug.hpp"
#include "kernels/norm.hpp"
#include "kernels/norm_parts.hpp"
#include "kernels/parallel.hpp"

namespace xgrad::kernels {

namespace {

/// Rows whose statistics are computed before they are used: short rows wait for their sums, roots
/// and quotients, and several at a time do so together.
constexpr int64_t most_together = 8;

template <class T>
Rows<T> slice(Rows<T> rows, int64_t first, int64_t end) {
  rows.x += first * rows.cols;
  rows.rows = end - first;
  return rows;
}

template <class T>
XGRAD_CLONES void normalize(const Rows<T>& in, const T* bias, double eps, T* y, double* mean,
                            double* rstd) {
  const int64_t cols = in.cols;
  const T* weight = in.weight;
  const int64_t together = cols > 512 ? 1 : most_together;
  for (int64_t first = 0; first < in.rows; first += together) {
    const int64_t end = std::min(in.rows, first + together);
    for (int64_t r = first; r < end && in.centered; ++r) {
      mean[r] = near_mean<T>(in.x + r * cols, cols);
    }
    for (int64_t r = first; r < end; ++r) {
      const T* x = in.x + r * cols;
      Moments m = moments<T>(x, cols, in.centered ? mean[r] : 0, in.centered);
      if (!std::isfinite(m.var)) {  // squares beyond the range of float
        m = moments<double>(x, cols, in.centered ? near_mean<double>(x, cols) : 0, in.centered);
      }
      if (XGRAD_BUG(layer_norm_one_pass_variance)) {
        const T near = static_cast<T>(m.mean), n = static_cast<T>(cols);
        const auto squares = sum<T>(cols, [=](int64_t j) { return x[j] * x[j]; });
        m.var = std::max<double>(static_cast<T>(squares) / n - near * near, 0);
      }
      if (XGRAD_BUG(layer_norm_counts_n_minus_1)) m.var *= 1 + 1 / (static_cast<double>(cols) - 1);
      mean[r] = m.mean;
      rstd[r] = 1 / std::sqrt(m.var + eps);
      if (XGRAD_BUG(layer_norm_eps_outside_root)) rstd[r] = 1 / (std::sqrt(m.var) + eps);
    }
    for (int64_t r = first; r < end; ++r, y += cols) {
      const T* x = in.x + r * cols;
      const Line<T> xhat = line<T>(mean[r], rstd[r]);
      if (weight) {
        fill(y, cols, [=](int64_t j) { return xhat(x[j]) * weight[j] + bias[j]; });
      } else {
        fill(y, cols, [=](int64_t j) { return xhat(x[j]); });
      }
    }
  }
}

}  // namespace

template <class T>
void RowNorm<T>::forward(const Rows<T>& in, const T* bias, double eps, T* y, double* mean,
                         double* rstd) {
  parallel(in.rows, enough_rows(in.cols), [&](int64_t, int64_t first, int64_t end) {
    normalize(slice(in, first, end), bias, eps, y + first * in.cols, mean + first, rstd + first);
  });
}

namespace {

/// dx of a few rows, where h(i, j) = g[i] weight[j] for element i, which is in column j.
template <class T, class H>
XGRAD_INLINE void rows_dx(const Rows<T>& in, const Line<T>* xhat, H h, T* dx) {
  const T* x = in.x;
  const int64_t cols = in.cols;
  T mean_h[most_together], mean_h_xhat[most_together];
  for (int64_t r = 0; r < in.rows; ++r) {
    const Line<T> at = xhat[r];
    const int64_t i = r * cols;
    const auto [h_sum, h_xhat_sum] = sums<T>(
        cols, [=](int64_t j) { return h(i + j, j); },
        [=](int64_t j) { return h(i + j, j) * at(x[i + j]); });
    mean_h[r] = in.centered ? static_cast<T>(h_sum / static_cast<double>(cols)) : T(0);
    mean_h_xhat[r] = static_cast<T>(h_xhat_sum / static_cast<double>(cols));
    if (XGRAD_BUG(layer_norm_drops_mean_term)) mean_h[r] = 0;
  }
  for (int64_t r = 0; r < in.rows; ++r) {
    const Line<T> at = xhat[r];
    const int64_t i = r * cols;
    const T rstd = at.scale, by_mean = mean_h[r], by_xhat = mean_h_xhat[r];
    fill(dx + i, cols,
         [=](int64_t j) { return rstd * (h(i + j, j) - by_mean - at(x[i + j]) * by_xhat); });
  }
}

template <class T>
XGRAD_CLONES void backward(const Rows<T>& all, const T* g, const double* mean, const double* rstd,
                           T* dx, T* dweight, T* dbias) {
  const int64_t cols = all.cols;
  const T* weight = all.weight;
  ColumnSums<T, T> sums(dweight ? cols : 0, dweight, dbias);
  const int64_t together = cols > 512 ? 4 : most_together;
  for (int64_t first = 0; first < all.rows; first += together) {
    Rows<T> in = slice(all, first, std::min(all.rows, first + together));
    Line<T> xhat[most_together];
    for (int64_t r = 0; r < in.rows; ++r) xhat[r] = line<T>(mean[first + r], rstd[first + r]);
    if (dx && weight) {
      rows_dx(
          in, xhat, [=](int64_t i, int64_t j) { return g[i] * weight[j]; }, dx);
    } else if (dx) {
      rows_dx(
          in, xhat, [=](int64_t i, int64_t) { return g[i]; }, dx);
    }
    if (XGRAD_BUG(layer_norm_drops_tail_rows)) in.rows = in.rows / 2 * 2;
    if (dweight) {
      const T* x = in.x;
      const Line<T>* lines = xhat;
      sums.add(
          in.rows,
          [=](int64_t r, int64_t j) { return g[r * cols + j] * lines[r](x[r * cols + j]); },
          [=](int64_t r, int64_t j) { return g[r * cols + j]; });
    }
    g += together * cols;
    if (dx) dx += together * cols;
  }
  sums.add_up();
}

}  // namespace

template <class T>
void RowNorm<T>::backward(const Rows<T>& in, const T* g, const double* mean, const double* rstd,
                          T* dx, T* dweight, T* dbias) {
  const int64_t least = enough_rows(in.cols);
  const int64_t cols = dweight ? in.cols : 0;
  // The sums of the parts after the first.
  std::vector<T> sums(static_cast<std::size_t>((parts_of(in.rows, least) - 1) * 2 * cols));
  parallel(in.rows, least, [&](int64_t part, int64_t first, int64_t end) {
    const bool own = part > 0 && dweight;
    T* to = sums.data() + (own ? (part - 1) * 2 * cols : 0);
    const int64_t at = first * in.cols;
    kernels::backward(slice(in, first, end), g + at, mean + first, rstd + first,
                      dx ? dx + at : nullptr, own ? to : dweight, own ? to + cols : dbias);
  });
  for (auto from = sums.begin(); from != sums.end();) {
    for (T* to : {dweight, dbias}) {
      for (T* end = to + cols; to < end;) *to++ += *from++;
    }
  }
}

template struct RowNorm<float>;
template struct RowNorm<double>;

}  // namespace xgrad::kernels
