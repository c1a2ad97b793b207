#include "kernels/norm.hpp"

#include <cmath>
#include <vector>

#include "kernels/sum.hpp"

namespace xgrad::kernels {

namespace {

using std::int64_t;

// Rows whose gradients by weight and bias are added up before they join the total.
constexpr int64_t row_block = 64;

struct Moments {
  double mean;
  double var;  // divided by n
};

/// Two passes. The first only has to find a value near the mean: what is missing comes out of the
/// second as the mean of the differences, which are exact or nearly so. Acc is the type of these.
template <class Acc, class T>
XGRAD_INLINE Moments moments(const T* x, int64_t n) {
  const auto count = static_cast<double>(n);
  const auto shift =
      static_cast<Acc>(sum<Acc>(n, [=](int64_t i) { return static_cast<Acc>(x[i]); }) / count);
  const auto d = [=](int64_t i) { return static_cast<Acc>(x[i]) - shift; };
  const double rest = sum<Acc>(n, d) / count;
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

// ---- layer_norm ---------------------------------------------------------------------------------

template <class T>
XGRAD_INLINE void layer_norm_of(const Rows<T>& in, const T* bias, double eps, T* y, double* mean,
                                double* rstd) {
  const int64_t cols = in.cols;
  const T* weight = in.weight;
  for (int64_t r = 0; r < in.rows; ++r, y += cols) {
    const T* x = in.x + r * cols;
    Moments m = moments<T>(x, cols);
    if (!std::isfinite(m.var)) m = moments<double>(x, cols);  // squares beyond the range of float
    mean[r] = m.mean;
    rstd[r] = 1 / std::sqrt(m.var + eps);
    const Line<T> xhat = line<T>(m.mean, rstd[r]);
    if (weight) {
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) y[j] = xhat(x[j]) * weight[j] + bias[j];
    } else {
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) y[j] = xhat(x[j]);
    }
  }
}

/// dx = rstd (h - mean(h) - xhat mean(h xhat)) of one row, h(j) = g[j] weight[j].
template <class T, class H>
XGRAD_INLINE void layer_norm_dx(const T* x, int64_t cols, Line<T> xhat, H h, T* dx) {
  const auto n = static_cast<double>(cols);
  const T mean_h = static_cast<T>(sum<T>(cols, h) / n);
  const T mean_h_xhat =
      static_cast<T>(sum<T>(cols, [=](int64_t j) { return h(j) * xhat(x[j]); }) / n);
  const T rstd = xhat.scale;
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) dx[j] = rstd * (h(j) - mean_h - xhat(x[j]) * mean_h_xhat);
}

template <class T>
XGRAD_INLINE void layer_norm_backward_of(const Rows<T>& in, const T* g, const double* mean,
                                         const double* rstd, T* dx, T* dweight, T* dbias) {
  const int64_t cols = in.cols;
  const T* weight = in.weight;
  std::vector<T> block(dweight && in.rows > row_block ? 2 * static_cast<std::size_t>(cols) : 0);
  T* to_weight = block.empty() ? dweight : block.data();
  T* to_bias = block.empty() ? dbias : block.data() + cols;
  for (int64_t r = 0; r < in.rows; ++r, g += cols) {
    const T* x = in.x + r * cols;
    const Line<T> xhat = line<T>(mean[r], rstd[r]);
    if (dx && weight) {
      layer_norm_dx(
          x, cols, xhat, [=](int64_t j) { return g[j] * weight[j]; }, dx + r * cols);
    } else if (dx) {
      layer_norm_dx(
          x, cols, xhat, [=](int64_t j) { return g[j]; }, dx + r * cols);
    }
    if (!dweight) continue;
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) {
      to_weight[j] += g[j] * xhat(x[j]);
      to_bias[j] += g[j];
    }
    if (block.empty() || ((r + 1) % row_block != 0 && r + 1 != in.rows)) continue;
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) {
      dweight[j] += to_weight[j];
      dbias[j] += to_bias[j];
      to_weight[j] = to_bias[j] = 0;
    }
  }
}

// ---- batch_norm ---------------------------------------------------------------------------------
// Where inner is 1 a row holds one value of each channel, so the loops run over channels; otherwise
// each channel has a run of values of its own.

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
    for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) shift[c] += block[r * channels + c];
    }
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) shift[c] *= share;
    for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        const T d = block[r * channels + c] - shift[c];
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

template <class T>
XGRAD_INLINE void channel_moments_of(const ChannelSizes& n, const T* x, double* mean, double* var) {
  std::fill_n(mean, n.channels, 0.0);
  std::fill_n(var, n.channels, 0.0);
  const auto inner = static_cast<double>(n.inner);
  if (n.inner == 1) {
    column_moments(n.batch, n.channels, x, mean, var);
  } else {
    for (int64_t b = 0; b < n.batch; ++b) {
      for (int64_t c = 0; c < n.channels; ++c, x += n.inner) {
        const Moments m = moments<T>(x, n.inner);
        merge(static_cast<double>(b) * inner, mean[c], var[c], inner, m.mean, m.var * inner);
      }
    }
  }
  const double count = static_cast<double>(n.batch) * inner;
  for (int64_t c = 0; c < n.channels; ++c) var[c] = std::max(var[c] / count, 0.0);
}

template <class T>
XGRAD_INLINE void channel_sums_of(const Channels<T>& in, double* sum_g, double* sum_gd) {
  const int64_t batch = in.n.batch;
  const int64_t channels = in.n.channels;
  const int64_t inner = in.n.inner;
  std::fill_n(sum_g, channels, 0.0);
  std::fill_n(sum_gd, channels, 0.0);
  std::vector<T> scratch(3 * static_cast<std::size_t>(channels));
  T* shift = scratch.data();
  T* part_g = shift + channels;
  T* part_gd = part_g + channels;
  for (int64_t c = 0; c < channels; ++c) shift[c] = static_cast<T>(in.mean[c]);
  const T* x = in.x;
  const T* g = in.g;
  for (int64_t b = 0; b < batch; ++b) {
    if (inner == 1) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        part_g[c] += g[c];
        part_gd[c] += g[c] * (x[c] - shift[c]);
      }
      x += channels, g += channels;
      if ((b + 1) % row_block != 0 && b + 1 != batch) continue;
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        sum_g[c] += static_cast<double>(part_g[c]);
        sum_gd[c] += static_cast<double>(part_gd[c]);
        part_g[c] = part_gd[c] = 0;
      }
      continue;
    }
    for (int64_t c = 0; c < channels; ++c, x += inner, g += inner) {
      const T near = shift[c];
      sum_g[c] += sum<T>(inner, [=](int64_t i) { return g[i]; });
      sum_gd[c] += sum<T>(inner, [=](int64_t i) { return g[i] * (x[i] - near); });
    }
  }
  // What shift is more than the mean.
  for (int64_t c = 0; c < channels; ++c) {
    sum_gd[c] += (static_cast<double>(shift[c]) - in.mean[c]) * sum_g[c];
  }
}

template <class T>
XGRAD_INLINE void channel_map_of(const Channels<T>& in, const double* scale, const double* offset,
                                 const double* g_scale, T* out) {
  const int64_t batch = in.n.batch;
  const int64_t channels = in.n.channels;
  const int64_t inner = in.n.inner;
  std::vector<T> scratch(4 * static_cast<std::size_t>(channels));
  T* shift = scratch.data();
  T* by_x = shift + channels;
  T* plus = by_x + channels;
  T* by_g = plus + channels;
  for (int64_t c = 0; c < channels; ++c) {
    const Line<T> l = line<T>(in.mean[c], scale[c], offset[c]);
    shift[c] = l.shift;
    by_x[c] = l.scale;
    plus[c] = l.offset;
    if (in.g) by_g[c] = static_cast<T>(g_scale[c]);
  }
  const int64_t row = channels * inner;
  for (int64_t b = 0; b < batch; ++b) {
    const T* x = in.x + b * row;
    const T* g = in.g ? in.g + b * row : nullptr;
    T* y = out + b * row;
    if (inner == 1 && g) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        y[c] = g[c] * by_g[c] + ((x[c] - shift[c]) * by_x[c] + plus[c]);
      }
    } else if (inner == 1) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) y[c] = (x[c] - shift[c]) * by_x[c] + plus[c];
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        const Line<T> l{shift[c], by_x[c], plus[c]};
        const T s = by_g[c];
        const int64_t end = (c + 1) * inner;
        if (g) {
#pragma omp simd
          for (int64_t i = c * inner; i < end; ++i) y[i] = g[i] * s + l(x[i]);
        } else {
#pragma omp simd
          for (int64_t i = c * inner; i < end; ++i) y[i] = l(x[i]);
        }
      }
    }
  }
}

}  // namespace

XGRAD_CLONES void layer_norm(const Rows<float>& in, const float* bias, double eps, float* y,
                             double* mean, double* rstd) {
  layer_norm_of(in, bias, eps, y, mean, rstd);
}
XGRAD_CLONES void layer_norm(const Rows<double>& in, const double* bias, double eps, double* y,
                             double* mean, double* rstd) {
  layer_norm_of(in, bias, eps, y, mean, rstd);
}
XGRAD_CLONES void layer_norm_backward(const Rows<float>& in, const float* g, const double* mean,
                                      const double* rstd, float* dx, float* dweight, float* dbias) {
  layer_norm_backward_of(in, g, mean, rstd, dx, dweight, dbias);
}
XGRAD_CLONES void layer_norm_backward(const Rows<double>& in, const double* g, const double* mean,
                                      const double* rstd, double* dx, double* dweight,
                                      double* dbias) {
  layer_norm_backward_of(in, g, mean, rstd, dx, dweight, dbias);
}
XGRAD_CLONES void channel_moments(const ChannelSizes& n, const float* x, double* mean,
                                  double* var) {
  channel_moments_of(n, x, mean, var);
}
XGRAD_CLONES void channel_moments(const ChannelSizes& n, const double* x, double* mean,
                                  double* var) {
  channel_moments_of(n, x, mean, var);
}
XGRAD_CLONES void channel_sums(const Channels<float>& in, double* sum_g, double* sum_gd) {
  channel_sums_of(in, sum_g, sum_gd);
}
XGRAD_CLONES void channel_sums(const Channels<double>& in, double* sum_g, double* sum_gd) {
  channel_sums_of(in, sum_g, sum_gd);
}
XGRAD_CLONES void channel_map(const Channels<float>& in, const double* scale, const double* offset,
                              const double* g_scale, float* out) {
  channel_map_of(in, scale, offset, g_scale, out);
}
XGRAD_CLONES void channel_map(const Channels<double>& in, const double* scale, const double* offset,
                              const double* g_scale, double* out) {
  channel_map_of(in, scale, offset, g_scale, out);
}

}  // namespace xgrad::kernels
