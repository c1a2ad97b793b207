#include "xgrad/nn/norm.hpp"

#include "detail/check.hpp"
#include "detail/python.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::nn {

using xgrad::detail::python_repr;

namespace {

void check_eps(const char* layer, double eps) {
  if (!(eps >= 0))
    throw Error(std::string(layer) + ": eps must not be negative, got " + python_repr(eps));
}

std::string truth(bool b) { return b ? "True" : "False"; }

Tensor ones_if(bool wanted, const Shape& shape) { return wanted ? ones(shape) : Tensor(); }
Tensor zeros_if(bool wanted, const Shape& shape) { return wanted ? zeros(shape) : Tensor(); }

}  // namespace

LayerNorm::LayerNorm(Shape sizes, LayerNormOptions with)
    : normalized_shape(sizes),
      options(with),
      weight(register_parameter("weight", ones_if(with.elementwise_affine, sizes))),
      bias(register_parameter("bias", zeros_if(with.elementwise_affine && with.bias, sizes))) {
  check_eps("LayerNorm", with.eps);
}
Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, normalized_shape, weight, bias, options.eps);
}
std::string LayerNorm::extra_repr() const {
  return normalized_shape.str() + ", eps=" + python_repr(options.eps) +
         ", elementwise_affine=" + truth(options.elementwise_affine);
}

BatchNorm::BatchNorm(std::int64_t channels, BatchNormOptions with)
    : num_features(channels),
      options(with),
      weight(register_parameter("weight", ones_if(with.affine, channels))),
      bias(register_parameter("bias", zeros_if(with.affine, channels))),
      running_mean(register_buffer("running_mean", zeros_if(with.track_running_stats, channels))),
      running_var(register_buffer("running_var", ones_if(with.track_running_stats, channels))),
      num_batches_tracked(register_buffer("num_batches_tracked", with.track_running_stats
                                                                     ? zeros({}, {.dtype = int64})
                                                                     : Tensor())) {
  check_eps("BatchNorm", with.eps);
}

Tensor BatchNorm::forward(const Tensor& x) {
  check_rank(x);
  if (x.size(1) != num_features) {
    throw ShapeError(type_name() + ": expected " + xgrad::detail::count(num_features, "channel") +
                     " in dimension 1, got x of shape " + x.shape().str());
  }
  const bool tracks = running_mean.defined();
  const bool of_batch = !tracks || (is_training() && !frozen_);
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
  if (!running_mean.defined()) throw Error(type_name() + ": freeze needs running statistics");
  frozen_ = true;
}

void BatchNorm::reset_running_stats() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

void BatchNorm1d::check_rank(const Tensor& x) const {
  if (x.dim() == 2 || x.dim() == 3) return;
  throw ShapeError("BatchNorm1d: expected x of shape (N, C) or (N, C, L), got " + x.shape().str());
}
void BatchNorm2d::check_rank(const Tensor& x) const {
  if (x.dim() == 4) return;
  throw ShapeError("BatchNorm2d: expected x of shape (N, C, H, W), got " + x.shape().str());
}

}  // namespace xgrad::nn
