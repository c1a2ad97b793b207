#include "kernels/norm.hpp"

#include <cmath>
#include <vector>

#include "detail/bug.hpp"
#include "kernels/parallel.hpp"
#include "kernels/sum.hpp"

namespace xgrad::kernels {

namespace {

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
/// Without `centered` the mean counts as 0.
template <class Acc, class T>
XGRAD_INLINE Moments moments(const T* x, int64_t n, bool centered = true) {
  const auto count = static_cast<double>(n);
  const auto value = [=](int64_t i) { return static_cast<Acc>(x[i]); };
  const Acc shift = centered ? static_cast<Acc>(sum<Acc>(n, value) / count) : Acc(0);
  if (XGRAD_BUG(layer_norm_one_pass_variance)) {
    const double all = sum<Acc>(n, [=](int64_t i) { return value(i) * value(i); }) / count;
    return {static_cast<double>(shift), all - static_cast<double>(shift * shift)};
  }
  const auto d = [=](int64_t i) { return static_cast<Acc>(x[i]) - shift; };
  const double rest = centered ? sum<Acc>(n, d) / count : 0;
  const double squares = sum<Acc>(n, [=](int64_t i) { return d(i) * d(i); }) / count;
  return {static_cast<double>(shift) + rest, std::max(squares - rest * rest, 0.0)};
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
  const T shift = static_cast<T>(mean);
  return {shift, static_cast<T>(scale),
          static_cast<T>((static_cast<double>(shift) - mean) * scale + offset)};
}

/// Two sums over the rows for each column: of T in blocks of rows, which then join the totals, so
/// that rounding errors grow less with the number of rows.
template <class T, class Total>
struct ColumnSums {
  ColumnSums(int64_t n, Total* first, Total* second)
      : cols(n), totals{first, second}, part(2 * static_cast<std::size_t>(n)) {
    std::fill_n(first, n, Total(0));
    std::fill_n(second, n, Total(0));
  }

  template <class A, class B>
  XGRAD_INLINE void add(A a, B b) {
    T* to = part.data();
    T* and_to = to + cols;
    const int64_t n = cols;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      to[j] += a(j);
      and_to[j] += b(j);
    }
    if (++rows == 64) add_up();
  }
  XGRAD_INLINE void add_up() {
    if (rows == 0) return;
    T* from = part.data();
    const int64_t n = cols;
    for (Total* to : totals) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        to[j] += static_cast<Total>(from[j]);
        from[j] = 0;
      }
      from += n;
    }
    rows = 0;
  }

  int64_t cols;
  Total* totals[2];
  std::vector<T> part;
  int64_t rows = 0;  // in the block
};

}  // namespace

// ---- rows ---------------------------------------------------------------------------------------

template <class T>
XGRAD_CLONES static void normalize(const Rows<T>& in, const T* bias, double eps, T* y, double* mean,
                                   double* rstd) {
  const int64_t cols = in.cols;
  const T* weight = in.weight;
  const T* x = in.x;
  for (int64_t r = 0; r < in.rows; ++r, x += cols, y += cols) {
    Moments m = moments<T>(x, cols, in.centered);
    if (!std::isfinite(m.var)) {  // squares beyond the range of float
      m = moments<double>(x, cols, in.centered);
    }
    if (XGRAD_BUG(layer_norm_counts_n_minus_1)) m.var *= 1 + 1 / (static_cast<double>(cols) - 1);
    mean[r] = m.mean;
    rstd[r] = 1 / std::sqrt(m.var + eps);
    if (XGRAD_BUG(layer_norm_eps_outside_root)) rstd[r] = 1 / (std::sqrt(m.var) + eps);
    const Line<T> xhat = line<T>(m.mean, rstd[r]);
    if (weight) {
      fill(y, cols, [=](int64_t j) { return xhat(x[j]) * weight[j] + bias[j]; });
    } else {
      fill(y, cols, [=](int64_t j) { return xhat(x[j]); });
    }
  }
}

template <class T>
static Rows<T> slice(Rows<T> rows, int64_t first, int64_t end) {
  rows.x += first * rows.cols;
  rows.rows = end - first;
  return rows;
}

template <class T>
void Norm<T>::rows(const Rows<T>& in, const T* bias, double eps, T* y, double* mean, double* rstd) {
  parallel(in.rows, enough_rows(in.cols), [&](int64_t, int64_t first, int64_t end) {
    normalize(slice(in, first, end), bias, eps, y + first * in.cols, mean + first, rstd + first);
  });
}

namespace {

/// dx of one row, where h(j) = g[j] weight[j].
template <class T, class H>
XGRAD_INLINE void row_backward(const T* x, int64_t cols, bool centered, Line<T> xhat, H h, T* dx) {
  const auto n = static_cast<double>(cols);
  T mean_h = centered ? static_cast<T>(sum<T>(cols, h) / n) : T(0);
  const T mean_h_xhat =
      static_cast<T>(sum<T>(cols, [=](int64_t j) { return h(j) * xhat(x[j]); }) / n);
  if (XGRAD_BUG(layer_norm_drops_mean_term)) mean_h = 0;
  const T rstd = xhat.scale;
  fill(dx, cols, [=](int64_t j) { return rstd * (h(j) - mean_h - xhat(x[j]) * mean_h_xhat); });
}

}  // namespace

template <class T>
XGRAD_CLONES static void backward(const Rows<T>& in, const T* g, const double* mean,
                                  const double* rstd, T* dx, T* dweight, T* dbias) {
  const int64_t cols = in.cols;
  const T* weight = in.weight;
  const T* x = in.x;
  ColumnSums<T, T> sums(dweight ? cols : 0, dweight, dbias);
  for (int64_t r = 0; r < in.rows; ++r, x += cols, g += cols) {
    const Line<T> xhat = line<T>(mean[r], rstd[r]);
    const auto plain = [=](int64_t j) { return g[j]; };
    if (dx && weight) {
      const auto weighted = [=](int64_t j) { return g[j] * weight[j]; };
      row_backward(x, cols, in.centered, xhat, weighted, dx + r * cols);
    } else if (dx) {
      row_backward(x, cols, in.centered, xhat, plain, dx + r * cols);
    }
    if (XGRAD_BUG(layer_norm_drops_tail_rows) && r >= in.rows / 2 * 2) continue;
    if (dweight) sums.add([=](int64_t j) { return g[j] * xhat(x[j]); }, plain);
  }
  sums.add_up();
}

template <class T>
void Norm<T>::rows_backward(const Rows<T>& in, const T* g, const double* mean, const double* rstd,
                            T* dx, T* dweight, T* dbias) {
  const int64_t least = enough_rows(in.cols);
  const int64_t cols = dweight ? in.cols : 0;
  // The sums of the parts after the first.
  std::vector<T> sums(static_cast<std::size_t>((parts_of(in.rows, least) - 1) * 2 * cols));
  parallel(in.rows, least, [&](int64_t part, int64_t first, int64_t end) {
    const bool own = part > 0 && dweight;
    T* to = sums.data() + (own ? (part - 1) * 2 * cols : 0);
    const int64_t at = first * in.cols;
    backward(slice(in, first, end), g + at, mean + first, rstd + first, dx ? dx + at : nullptr,
             own ? to : dweight, own ? to + cols : dbias);
  });
  for (auto from = sums.begin(); from != sums.end();) {
    for (T* to : {dweight, dbias}) {
      for (T* end = to + cols; to < end;) *to++ += *from++;
    }
  }
}

// ---- channels -----------------------------------------------------------------------------------
// Where inner is 1 a row holds one value of each channel, so the loops run over channels; otherwise
// each channel has a run of values of its own.

namespace {

/// Adds a part to the moments of `n` values (Chan, Golub, LeVeque 1979); `squares` is a sum of
/// squared distances from the mean.
XGRAD_INLINE void merge(double n, double& mean, double& squares, double part_n, double part_mean,
                        double part_squares) {
  const double distance = part_mean - mean;
  mean += distance * (part_n / (n + part_n));
  squares += part_squares + distance * distance * (n * part_n / (n + part_n));
}

/// Two passes over a block of rows while it is in the cache, then on to the next.
template <class T>
XGRAD_INLINE void column_moments(int64_t batch, int64_t channels, const T* x, double* mean,
                                 double* squares) {
  const int64_t most = std::clamp<int64_t>((int64_t{1} << 16) / channels, 8, 64);
  std::vector<T> scratch(3 * static_cast<std::size_t>(channels));
  T* shift = scratch.data();
  T* d_sum = shift + channels;
  T* d_squares = d_sum + channels;
  for (int64_t first = 0; first < batch; first += most) {
    const int64_t rows = std::min(most, batch - first);
    const T* block = x + first * channels;
    const T share = 1 / static_cast<T>(rows);
    std::fill_n(shift, 3 * channels, T(0));
    for (const T* row = block; row < block + rows * channels; row += channels) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) shift[c] += row[c];
    }
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) shift[c] *= share;
    for (const T* row = block; row < block + rows * channels; row += channels) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        const T d = row[c] - shift[c];
        d_sum[c] += d;
        d_squares[c] += d * d;
      }
    }
    const auto n = static_cast<double>(rows);
    for (int64_t c = 0; c < channels; ++c) {
      const double rest = static_cast<double>(d_sum[c]) / n;
      merge(static_cast<double>(first), mean[c], squares[c], n,
            static_cast<double>(shift[c]) + rest,
            static_cast<double>(d_squares[c]) - n * rest * rest);
    }
  }
}

}  // namespace

template <class T>
XGRAD_CLONES void Norm<T>::channel_moments(const Channels<T>& in, double* mean, double* var) {
  std::fill_n(mean, in.channels, 0.0);
  std::fill_n(var, in.channels, 0.0);
  const auto inner = static_cast<double>(in.inner);
  const T* x = in.x;
  if (in.inner == 1) column_moments(in.batch, in.channels, x, mean, var);
  for (int64_t b = 0; b < in.batch && in.inner != 1; ++b) {
    for (int64_t c = 0; c < in.channels; ++c, x += in.inner) {
      const Moments m = moments<T>(x, in.inner);
      merge(static_cast<double>(b) * inner, mean[c], var[c], inner, m.mean, m.var * inner);
    }
  }
  const double count = static_cast<double>(in.batch) * inner;
  for (int64_t c = 0; c < in.channels; ++c) var[c] = std::max(var[c] / count, 0.0);
}

template <class T>
XGRAD_CLONES void Norm<T>::channel_sums(const Channels<T>& in, const double* mean, double* sum_g,
                                        double* sum_gd) {
  const int64_t channels = in.channels;
  const int64_t inner = in.inner;
  const T* x = in.x;
  const T* g = in.g;
  std::vector<T> near(mean, mean + channels);
  const T* shift = near.data();
  ColumnSums<T, double> sums(channels, sum_g, sum_gd);
  for (int64_t b = 0; b < in.batch; ++b) {
    if (inner == 1) {
      sums.add([=](int64_t c) { return g[c]; },
               [=](int64_t c) { return g[c] * (x[c] - shift[c]); });
      x += channels, g += channels;
      continue;
    }
    for (int64_t c = 0; c < channels; ++c, x += inner, g += inner) {
      const T center = shift[c];
      sum_g[c] += sum<T>(inner, [=](int64_t i) { return g[i]; });
      sum_gd[c] += sum<T>(inner, [=](int64_t i) { return g[i] * (x[i] - center); });
    }
  }
  sums.add_up();
  // What shift is more than the mean.
  for (int64_t c = 0; c < channels; ++c) {
    sum_gd[c] += (static_cast<double>(shift[c]) - mean[c]) * sum_g[c];
  }
}

template <class T>
XGRAD_CLONES static void map_channels(const Channels<T>& in, const double* mean,
                                      const double* scale, const double* offset,
                                      const double* g_scale, T* out) {
  const int64_t channels = in.channels;
  const int64_t inner = in.inner;
  std::vector<T> scratch(4 * static_cast<std::size_t>(channels));
  T* shift = scratch.data();
  T* by_x = shift + channels;
  T* plus = by_x + channels;
  T* by_g = plus + channels;
  for (int64_t c = 0; c < channels; ++c) {
    const Line<T> l = line<T>(mean[c], scale[c], offset[c]);
    shift[c] = l.shift;
    by_x[c] = l.scale;
    plus[c] = l.offset;
    if (in.g) by_g[c] = static_cast<T>(g_scale[c]);
  }
  const T* x = in.x;
  const T* g = in.g;
  const int64_t row = channels * inner;
  for (int64_t b = 0; b < in.batch; ++b, x += row, out += row) {
    T* y = out;
    const auto at = [=](int64_t c) { return (x[c] - shift[c]) * by_x[c] + plus[c]; };
    if (inner == 1 && g) {
      fill(y, channels, [=](int64_t c) { return g[c] * by_g[c] + at(c); });
    } else if (inner == 1) {
      fill(y, channels, at);
    }
    for (int64_t c = 0; c < channels && inner != 1; ++c, y += inner) {
      const T* from = x + c * inner;
      const T* g_from = g ? g + c * inner : nullptr;
      const Line<T> l{shift[c], by_x[c], plus[c]};
      const T s = by_g[c];
      if (g) {
        fill(y, inner, [=](int64_t i) { return g_from[i] * s + l(from[i]); });
      } else {
        fill(y, inner, [=](int64_t i) { return l(from[i]); });
      }
    }
    if (g) g += row;
  }
}

template <class T>
void Norm<T>::channel_map(const Channels<T>& in, const double* mean, const double* scale,
                          const double* offset, const double* g_scale, T* out) {
  const int64_t row = in.channels * in.inner;
  parallel(in.batch, enough_rows(row), [&](int64_t, int64_t first, int64_t end) {
    Channels<T> part = in;
    part.batch = end - first;
    part.x += first * row;
    if (in.g) part.g += first * row;
    map_channels(part, mean, scale, offset, g_scale, out + first * row);
  });
}

template struct Norm<float>;
template struct Norm<double>;

}  // namespace xgrad::kernels
