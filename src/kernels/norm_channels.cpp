#include <cmath>
#include <vector>

#include "kernels/norm.hpp"
#include "kernels/norm_parts.hpp"
#include "kernels/parallel.hpp"
#include "kernels/reduce.hpp"

namespace xgrad::kernels {

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

/// Two passes over a block of rows while it is in the cache, then on to the next. Four rows at a
/// time, so that totals are loaded and stored less often.
template <class T>
XGRAD_INLINE void column_moments(int64_t batch, int64_t channels, int64_t width, const T* x,
                                 double* mean, double* squares) {
  alignas(64) T shift[most_columns], d_sum[most_columns], d_squares[most_columns];
  const int64_t most = std::clamp<int64_t>((int64_t{1} << 16) / width, 8, 64);
  for (int64_t first = 0; first < batch; first += most) {
    const int64_t rows = std::min(most, batch - first);
    const T* block = x + first * channels;
    for (T* to : {shift, d_sum, d_squares}) std::fill_n(to, width, T(0));
    // Where the block ends, `none` stands for what is missing of the four.
    const auto row = [=](int64_t r, const T* none) {
      return r < rows ? block + r * channels : none;
    };
    for (int64_t r = 0; r < rows; r += 4) {
      const T *a0 = row(r, d_sum), *a1 = row(r + 1, d_sum), *a2 = row(r + 2, d_sum),
              *a3 = row(r + 3, d_sum);
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) shift[c] += (a0[c] + a1[c]) + (a2[c] + a3[c]);
    }
    const T share = 1 / static_cast<T>(rows);
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) shift[c] *= share;
    for (int64_t r = 0; r < rows; r += 4) {
      const T *a0 = row(r, shift), *a1 = row(r + 1, shift), *a2 = row(r + 2, shift),
              *a3 = row(r + 3, shift);
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) {
        const T d0 = a0[c] - shift[c], d1 = a1[c] - shift[c];
        const T d2 = a2[c] - shift[c], d3 = a3[c] - shift[c];
        d_sum[c] += (d0 + d1) + (d2 + d3);
        d_squares[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
      }
    }
    const auto n = static_cast<double>(rows);
    for (int64_t c = 0; c < width; ++c) {
      const double rest = static_cast<double>(d_sum[c]) / n;
      merge(static_cast<double>(first), mean[c], squares[c], n,
            static_cast<double>(shift[c]) + rest,
            static_cast<double>(d_squares[c]) - n * rest * rest);
    }
  }
}

}  // namespace

template <class T>
XGRAD_CLONES void ChannelNorm<T>::moments(const Channels<T>& in, double* mean, double* var) {
  std::fill_n(mean, in.channels, 0.0);
  std::fill_n(var, in.channels, 0.0);
  const auto inner = static_cast<double>(in.inner);
  const T* x = in.x;
  for (int64_t c = 0; c < in.channels && in.inner == 1; c += most_columns) {
    const int64_t width = std::min(most_columns, in.channels - c);
    column_moments(in.batch, in.channels, width, x + c, mean + c, var + c);
  }
  for (int64_t b = 0; b < in.batch && in.inner != 1; ++b) {
    for (int64_t c = 0; c < in.channels; ++c, x += in.inner) {
      const Moments m = kernels::moments<T>(x, in.inner, near_mean<T>(x, in.inner), true);
      merge(static_cast<double>(b) * inner, mean[c], var[c], inner, m.mean, m.var * inner);
    }
  }
  const double count = static_cast<double>(in.batch) * inner;
  for (int64_t c = 0; c < in.channels; ++c) var[c] = std::max(var[c] / count, 0.0);
}

template <class T>
XGRAD_CLONES void ChannelNorm<T>::sums(const Channels<T>& in, const double* mean, double* sum_g,
                                       double* sum_gd) {
  const int64_t channels = in.channels;
  const int64_t inner = in.inner;
  const T* x = in.x;
  const T* g = in.g;
  std::vector<T> near(mean, mean + channels);
  const T* shift = near.data();
  ColumnSums<T, double> columns(channels, sum_g, sum_gd);
  for (int64_t b = 0; b < in.batch && inner == 1; b += 64) {
    const T* at = x + b * channels;
    const T* g_at = g + b * channels;
    columns.add(
        std::min<int64_t>(64, in.batch - b),
        [=](int64_t r, int64_t c) { return g_at[r * channels + c]; },
        [=](int64_t r, int64_t c) {
          return g_at[r * channels + c] * (at[r * channels + c] - shift[c]);
        });
  }
  columns.add_up();
  for (int64_t b = 0; b < in.batch && inner != 1; ++b) {
    for (int64_t c = 0; c < channels; ++c, x += inner, g += inner) {
      const T center = shift[c];
      const auto [g_sum, gd_sum] = kernels::sums<T>(
          inner, [=](int64_t i) { return g[i]; },
          [=](int64_t i) { return g[i] * (x[i] - center); });
      sum_g[c] += g_sum;
      sum_gd[c] += gd_sum;
    }
  }
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
void ChannelNorm<T>::map(const Channels<T>& in, const double* mean, const double* scale,
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

template struct ChannelNorm<float>;
template struct ChannelNorm<double>;

}  // namespace xgrad::kernels
