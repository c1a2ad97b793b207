#include "xgrad/nn/norm.hpp"

#include <algorithm>
#include <cmath>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/python.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::nn {

using xgrad::detail::python_repr;

/// The options; throws Error where their eps or one of the sizes is negative.
template <class Options>
static Options checked(const char* layer, const Options& with, const Shape& sizes) {
  const double eps = std::optional<double>(with.eps).value_or(0);
  if (!(eps >= 0))
    throw Error(message(layer, ": eps must not be negative, got ", python_repr(eps)));
  throw_if<Error>(std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 0; }),
                  layer, ": sizes must not be negative, got ", sizes);
  return with;
}

static std::string truth(bool b) { return b ? "True" : "False"; }

static Tensor ones_if(bool wanted, const Shape& shape) { return wanted ? ones(shape) : Tensor(); }
static Tensor zeros_if(bool wanted, const Shape& shape) { return wanted ? zeros(shape) : Tensor(); }

/// Throws ShapeError for a rank or a number of channels that the layer does not take.
static void check_channels(const Module& layer, const Tensor& x, const detail::Ranks& ranks,
                           int dim, std::int64_t channels) {
  const bool ranked = x.defined() && x.dim() >= ranks.least && x.dim() <= ranks.most;
  if (ranked && x.size(dim) == channels) return;
  const std::string name = layer.type_name();
  xgrad::detail::check_defined(name.c_str(), x);
  throw_if<ShapeError>(!ranked, name, ": expected x of shape ", ranks.shapes, ", got ", x.shape());
  throw ShapeError(message(name, ": expected ", xgrad::detail::count(channels, "channel"),
                           " in dimension ", dim, ", got x of shape ", x.shape()));
}

LayerNorm::LayerNorm(Shape sizes, LayerNormOptions with)
    : normalized_shape(sizes),
      options(checked("LayerNorm", with, sizes)),
      weight(register_parameter("weight", ones_if(with.elementwise_affine, sizes))),
      bias(register_parameter("bias", zeros_if(with.elementwise_affine && with.bias, sizes))) {
  if (XGRAD_BUG(layer_norm_weight_not_trainable)) weight = weight.detach();
}
Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, normalized_shape, weight, bias, options.eps);
}
std::string LayerNorm::extra_repr() const {
  return normalized_shape.str() + ", eps=" + python_repr(options.eps) +
         ", elementwise_affine=" + truth(options.elementwise_affine);
}

RMSNorm::RMSNorm(Shape sizes, RMSNormOptions with)
    : normalized_shape(sizes),
      options(checked("RMSNorm", with, sizes)),
      weight(register_parameter("weight", ones_if(with.elementwise_affine, sizes))) {}
Tensor RMSNorm::forward(const Tensor& x) {
  return rms_norm(x, normalized_shape, weight, options.eps);
}
std::string RMSNorm::extra_repr() const {
  return normalized_shape.str() + ", eps=" + (options.eps ? python_repr(*options.eps) : "None") +
         ", elementwise_affine=" + truth(options.elementwise_affine);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions with)
    : num_groups(groups),
      num_channels(channels),
      options(checked("GroupNorm", with, channels)),
      weight(register_parameter("weight", ones_if(with.affine, channels))),
      bias(register_parameter("bias", zeros_if(with.affine, channels))) {
  if (groups > 0 && channels % groups == 0) return;
  throw Error(
      message("GroupNorm: num_channels ", channels, " is not divisible by num_groups ", groups));
}
Tensor GroupNorm::forward(const Tensor& x) {
  check_channels(*this, x, {2, Shape::max_dims, "(N, C, *)"}, 1, num_channels);
  return group_norm(x, num_groups, weight, bias, options.eps);
}
std::string GroupNorm::extra_repr() const {
  return std::to_string(num_groups) + ", " + std::to_string(num_channels) +
         ", eps=" + python_repr(options.eps) + ", affine=" + truth(options.affine);
}

InstanceNorm::InstanceNorm(std::int64_t channels, InstanceNormOptions with, detail::Ranks ranks)
    : num_features(channels),
      options(checked("InstanceNorm", with, channels)),
      weight(register_parameter("weight", ones_if(with.affine, channels))),
      bias(register_parameter("bias", zeros_if(with.affine, channels))),
      ranks_(ranks) {}
Tensor InstanceNorm::forward(const Tensor& x) {
  const bool one_row = x.defined() && x.dim() == ranks_.least;
  check_channels(*this, x, ranks_, one_row ? 0 : 1, num_features);
  if (!one_row) return instance_norm(x, weight, bias, options.eps);
  return squeeze(instance_norm(unsqueeze(x, 0), weight, bias, options.eps), 0);
}
/// What has no option here is printed as PyTorch does.
std::string InstanceNorm::extra_repr() const {
  return std::to_string(num_features) + ", eps=" + python_repr(options.eps) +
         ", momentum=0.1, affine=" + truth(options.affine) + ", track_running_stats=False";
}

BatchNorm::BatchNorm(std::int64_t channels, BatchNormOptions with, detail::Ranks ranks)
    : num_features(channels),
      options(checked("BatchNorm", with, channels)),
      weight(register_parameter("weight", ones_if(with.affine, channels))),
      bias(register_parameter("bias", zeros_if(with.affine, channels))),
      running_mean(register_buffer("running_mean", zeros_if(with.track_running_stats, channels))),
      running_var(register_buffer("running_var", ones_if(with.track_running_stats, channels))),
      num_batches_tracked(register_buffer("num_batches_tracked", with.track_running_stats
                                                                     ? zeros({}, {.dtype = int64})
                                                                     : Tensor())),
      ranks_(ranks) {
  const double momentum = with.momentum.value_or(0);
  throw_if<Error>(!std::isfinite(momentum), "BatchNorm: momentum must be finite, got ",
                  python_repr(momentum));
}

Tensor BatchNorm::forward(const Tensor& x) {
  check_channels(*this, x, ranks_, 1, num_features);
  const bool tracks = running_mean.defined();
  bool of_batch = !tracks || (is_training() && !frozen_);
  if (XGRAD_BUG(batch_norm_train_undoes_freeze)) of_batch = !tracks || is_training();
  if (XGRAD_BUG(batch_norm_eval_follows_grad_mode)) of_batch = !tracks || is_grad_enabled();
  double momentum = options.momentum.value_or(0);
  if (tracks && !options.momentum) momentum = 1 / (num_batches_tracked.item<double>() + 1);
  Tensor y = batch_norm(x, running_mean, running_var, weight, bias,
                        {.training = of_batch, .momentum = momentum, .eps = options.eps});
  if (tracks && of_batch) num_batches_tracked.add_(1);  // not for a batch that was refused
  return y;
}

std::string BatchNorm::extra_repr() const {
  return std::to_string(num_features) + ", eps=" + python_repr(options.eps) +
         ", momentum=" + (options.momentum ? python_repr(*options.momentum) : "None") +
         ", affine=" + truth(options.affine) +
         ", track_running_stats=" + truth(options.track_running_stats);
}

void BatchNorm::freeze() {
  check_not_moved();
  if (!running_mean.defined())
    throw Error(message(type_name(), ": freeze needs running statistics"));
  frozen_ = true;
}

void BatchNorm::reset_running_stats() {
  check_not_moved();
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

}  // namespace xgrad::nn
