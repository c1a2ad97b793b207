#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  ///< have a weight, and a bias
  bool bias = true;                ///< ... or the weight alone
};

/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose sizes are
/// `normalized_shape`; var divides by n. weight (ones) and bias (zeros) have that shape.
/// The same in training and eval. Ba, Kiros, Hinton 2016, arXiv 1607.06450.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Shape normalized_shape, LayerNormOptions options = {});
  explicit LayerNorm(std::initializer_list<std::int64_t> sizes, LayerNormOptions with = {})
      : LayerNorm(Shape(sizes), with) {}  // so that {6} is no question
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Shape normalized_shape;
  LayerNormOptions options;
  Tensor& weight;
  Tensor& bias;
};

struct BatchNormOptions {
  double eps = 1e-5;
  /// Weight of the new value in the running statistics: running = (1 - momentum) running +
  /// momentum new. std::nullopt: the plain average over all batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;               ///< have a weight (ones) and a bias (zeros)
  bool track_running_stats = true;  ///< without: eval uses the batch's own statistics too
};

/// (x - mean) / sqrt(var + eps) * weight + bias per channel (dimension 1 of x).
///
/// In training, mean and var (divided by n) are those of the batch, over all other dimensions, and
/// the running statistics move towards mean and the unbiased var (divided by n - 1) with every
/// forward, under NoGrad too and whatever `requires_grad` says. In eval, and while frozen, the
/// running statistics are used and stay as they are. The mode at the time of forward also decides
/// the gradient.
///
/// A training batch with one value per channel (ShapeError) or with statistics that are not finite
/// (Error) is refused, and leaves the running statistics as they were.
/// Ioffe, Szegedy 2015, arXiv 1502.03167.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  /// From now on the running statistics stay as they are, through train() too: forward works as in
  /// eval until unfreeze(). weight and bias still train (see `requires_grad_` for those). Throws
  /// Error without running statistics.
  void freeze();
  void unfreeze() { frozen_ = false; }
  bool is_frozen() const { return frozen_; }
  /// Mean 0, variance 1, no batch seen.
  void reset_running_stats();

  std::int64_t num_features;
  BatchNormOptions options;
  Tensor& weight;
  Tensor& bias;
  Tensor& running_mean;
  Tensor& running_var;
  Tensor& num_batches_tracked;  ///< int64, 0-d

 protected:
  BatchNorm(std::int64_t num_features, BatchNormOptions options);
  BatchNorm(BatchNorm&&) = default;
  /// Throws ShapeError for a rank the layer does not take.
  virtual void check_rank(const Tensor& x) const = 0;

 private:
  bool frozen_ = false;
};

/// BatchNorm of (N, C) or (N, C, L).
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t channels, BatchNormOptions with = {})
      : BatchNorm(channels, with) {}

 private:
  void check_rank(const Tensor& x) const override;
};

/// BatchNorm of (N, C, H, W).
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t channels, BatchNormOptions with = {})
      : BatchNorm(channels, with) {}

 private:
  void check_rank(const Tensor& x) const override;
};

}  // namespace xgrad::nn
