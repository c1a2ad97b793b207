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

struct RMSNormOptions {
  std::optional<double> eps = std::nullopt;  ///< without: the dtype's epsilon
  bool elementwise_affine = true;            ///< have a weight
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, whose sizes are `normalized_shape`;
/// weight (ones) has that shape. Zhang, Sennrich 2019, arXiv 1910.07467.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(Shape normalized_shape, RMSNormOptions options = {});
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Shape normalized_shape;
  RMSNormOptions options;
  Tensor& weight;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;  ///< have a weight (ones) and a bias (zeros)
};

/// Each of num_groups equal groups of neighbouring channels of each row of x (N, C, *) normalized;
/// then weight and bias per channel. The same in training and eval, whatever the batch. Throws
/// Error unless num_groups divides num_channels. Wu, He 2018, arXiv 1803.08494.
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, GroupNormOptions options = {});
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  std::int64_t num_groups;
  std::int64_t num_channels;
  GroupNormOptions options;
  Tensor& weight;
  Tensor& bias;
};

namespace detail {
/// The ranks of x that a layer of channels takes, and how to write their shapes.
struct Ranks {
  int least;
  int most;
  const char* shapes;
};
}  // namespace detail

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;  ///< have a weight (ones) and a bias (zeros)
};

/// Each channel of each row normalized by itself; then weight and bias per channel. It has no
/// running statistics: the same in training and eval. Ulyanov, Vedaldi, Lempitsky 2016, arXiv
/// 1607.08022.
class InstanceNorm : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  std::int64_t num_features;
  InstanceNormOptions options;
  Tensor& weight;
  Tensor& bias;

 protected:
  InstanceNorm(std::int64_t num_features, InstanceNormOptions options, detail::Ranks ranks);

 private:
  detail::Ranks ranks_;
};

/// InstanceNorm of (N, C, L) or (C, L).
struct InstanceNorm1d : InstanceNorm {
  explicit InstanceNorm1d(std::int64_t channels, InstanceNormOptions with = {})
      : InstanceNorm(channels, with, {2, 3, "(N, C, L) or (C, L)"}) {}
};

/// InstanceNorm of (N, C, H, W) or (C, H, W).
struct InstanceNorm2d : InstanceNorm {
  explicit InstanceNorm2d(std::int64_t channels, InstanceNormOptions with = {})
      : InstanceNorm(channels, with, {3, 4, "(N, C, H, W) or (C, H, W)"}) {}
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
  void unfreeze() { frozen_ = false; }        ///< ends freeze()
  bool is_frozen() const { return frozen_; }  ///< between the two
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
  BatchNorm(std::int64_t num_features, BatchNormOptions options, detail::Ranks ranks);

 private:
  detail::Ranks ranks_;
  bool frozen_ = false;
};

/// BatchNorm of (N, C) or (N, C, L).
struct BatchNorm1d : BatchNorm {
  explicit BatchNorm1d(std::int64_t channels, BatchNormOptions with = {})
      : BatchNorm(channels, with, {2, 3, "(N, C) or (N, C, L)"}) {}
};

/// BatchNorm of (N, C, H, W).
struct BatchNorm2d : BatchNorm {
  explicit BatchNorm2d(std::int64_t channels, BatchNormOptions with = {})
      : BatchNorm(channels, with, {4, 4, "(N, C, H, W)"}) {}
};

}  // namespace xgrad::nn
