#pragma once

#include <cstdint>

/// Normalization of rows (layer_norm) and of channels (batch_norm). T is float or double; mean and
/// rstd = 1 / sqrt(var + eps) are doubles: the mean of values near 80000 is then known better than
/// a float near 80000 can say, and subtracting it in two parts costs one addition.

namespace xgrad::kernels {

// ---- layer_norm: each row without regard to the others

template <class T>
struct Rows {
  std::int64_t rows;
  std::int64_t cols;
  const T* x;
  const T* weight;  ///< null: ones
};
/// y = xhat weight + bias, where xhat = (x - mean) rstd; bias is null exactly when weight is.
void layer_norm(const Rows<float>& in, const float* bias, double eps, float* y, double* mean,
                double* rstd);
void layer_norm(const Rows<double>& in, const double* bias, double eps, double* y, double* mean,
                double* rstd);
/// dx = rstd (h - mean(h) - xhat mean(h xhat)), where h = g weight; to dweight is added the sum
/// over the rows of g xhat, to dbias that of g. dx may be null, as may both others.
void layer_norm_backward(const Rows<float>& in, const float* g, const double* mean,
                         const double* rstd, float* dx, float* dweight, float* dbias);
void layer_norm_backward(const Rows<double>& in, const double* g, const double* mean,
                         const double* rstd, double* dx, double* dweight, double* dbias);

// ---- batch_norm: data of shape (batch, channels, inner), numbers of each channel as doubles

struct ChannelSizes {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t inner;
};
template <class T>
struct Channels {
  ChannelSizes n;
  const T* x;
  const double* mean;
  const T* g = nullptr;
};
/// Mean and variance, divided by the number of values.
void channel_moments(const ChannelSizes& n, const float* x, double* mean, double* var);
void channel_moments(const ChannelSizes& n, const double* x, double* mean, double* var);
/// Sums of g and of g (x - mean).
void channel_sums(const Channels<float>& in, double* sum_g, double* sum_gd);
void channel_sums(const Channels<double>& in, double* sum_g, double* sum_gd);
/// out = (x - mean) scale + offset, plus g g_scale where there is a g.
void channel_map(const Channels<float>& in, const double* scale, const double* offset,
                 const double* g_scale, float* out);
void channel_map(const Channels<double>& in, const double* scale, const double* offset,
                 const double* g_scale, double* out);

}  // namespace xgrad::kernels
