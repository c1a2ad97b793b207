#pragma once

#include <cstdint>

namespace xgrad::kernels {

/// Rows, each normalized without regard to the others.
template <class T>
struct Rows {
  std::int64_t rows;
  std::int64_t cols;
  bool centered;  ///< layer_norm; rms_norm takes every mean to be 0
  const T* x;
  const T* weight;  ///< null: ones
};

/// Channels, each normalized over all batches: data of shape (batch, channels, inner).
template <class T>
struct Channels {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t inner;
  const T* x;
  const T* g = nullptr;
};

/// Both are for float and double; mean and rstd = 1 / sqrt(var + eps) are doubles: the mean of
/// values near 80000 is then known better than a float near 80000 can say, and subtracting it in
/// two parts costs one addition.

template <class T>
struct RowNorm {
  /// y = xhat weight + bias, where xhat = (x - mean) rstd; bias is null exactly when weight is.
  static void forward(const Rows<T>& in, const T* bias, double eps, T* y, double* mean,
                      double* rstd);
  /// dx = rstd (h - mean(h) - xhat mean(h xhat)), where h = g weight, and without mean(h) unless
  /// centered; dweight is the sum over the rows of g xhat, dbias that of g. dx may be null, as may
  /// both others.
  static void backward(const Rows<T>& in, const T* g, const double* mean, const double* rstd, T* dx,
                       T* dweight, T* dbias);
};

template <class T>
struct ChannelNorm {
  /// Mean and variance, divided by the number of values, of each channel.
  static void moments(const Channels<T>& in, double* mean, double* var);
  /// Sums of g and of g (x - mean) of each channel.
  static void sums(const Channels<T>& in, const double* mean, double* sum_g, double* sum_gd);
  /// out = (x - mean) scale + offset, plus g g_scale where there is a g.
  static void map(const Channels<T>& in, const double* mean, const double* scale,
                  const double* offset, const double* g_scale, T* out);
};

}  // namespace xgrad::kernels
