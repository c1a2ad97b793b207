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

LayerNorm::LayerNorm(Shape normalized_shape, LayerNormOptions options)
    : normalized_shape_(normalized_shape),
      options_(options),
      weight(register_parameter("weight", ones_if(options.elementwise_affine, normalized_shape))),
      bias(register_parameter(
          "bias", zeros_if(options.elementwise_affine && options.bias, normalized_shape))) {
  check_eps("LayerNorm", options.eps);
}
Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, normalized_shape_, weight, bias, options_.eps);
}
std::string LayerNorm::extra_repr() const {
  return normalized_shape_.str() + ", eps=" + python_repr(options_.eps) +
         ", elementwise_affine=" + truth(options_.elementwise_affine);
}

BatchNorm::BatchNorm(std::int64_t num_features, BatchNormOptions options)
    : num_features_(num_features),
      options_(options),
      weight(register_parameter("weight", ones_if(options.affine, num_features))),
      bias(register_parameter("bias", zeros_if(options.affine, num_features))),
      running_mean(
          register_buffer("running_mean", zeros_if(options.track_running_stats, num_features))),
      running_var(
          register_buffer("running_var", ones_if(options.track_running_stats, num_features))),
      num_batches_tracked(register_buffer("num_batches_tracked", options.track_running_stats
                                                                     ? zeros({}, {.dtype = int64})
                                                                     : Tensor())) {
  check_eps("BatchNorm", options.eps);
}

Tensor BatchNorm::forward(const Tensor& x) {
  check_rank(x);
  if (x.size(1) != num_features_) {
    throw ShapeError(type_name() + ": expected " + xgrad::detail::count(num_features_, "channel") +
                     " in dimension 1, got x of shape " + x.shape().str());
  }
  const bool tracks = running_mean.defined();
  const bool of_batch = !tracks || (is_training() && !frozen_);
  double momentum = options_.momentum.value_or(0);
  if (tracks && !options_.momentum) momentum = 1 / (num_batches_tracked.item<double>() + 1);
  Tensor y = batch_norm(x, running_mean, running_var, weight, bias,
                        {.training = of_batch, .momentum = momentum, .eps = options_.eps});
  if (tracks && of_batch) num_batches_tracked.add_(1);  // not for a batch that was refused
  return y;
}

std::string BatchNorm::extra_repr() const {
  return std::to_string(num_features_) + ", eps=" + python_repr(options_.eps) +
         ", momentum=" + (options_.momentum ? python_repr(*options_.momentum) : "None") +
         ", affine=" + truth(options_.affine) +
         ", track_running_stats=" + truth(options_.track_running_stats);
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
