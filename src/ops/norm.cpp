#include "kernels/norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "ops/window.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

/// A parameter or statistic of x: undefined, or of this shape and x's dtype.
static void check_part(const char* op, const char* what, const Tensor& part, const Shape& expected,
                       const Tensor& x) {
  if (!part.defined()) return;
  throw_if<ShapeError>(part.shape() != expected, op, ": ", what, " has shape ", part.shape(),
                       ", expected ", expected, " for x of shape ", x.shape());
  throw_if<DTypeError>(part.dtype() != x.dtype(), op, ": ", what, " is ", part.dtype(),
                       ", but x is ", x.dtype());
}

/// The checks that all norms share, for a weight and a bias of this shape.
static void check_norm(const char* op, const Tensor& x, const Shape& shape, const Tensor& weight,
                       const Tensor& bias, double eps) {
  detail::check_floating(op, x);
  check_part(op, "weight", weight, shape, x);
  check_part(op, "bias", bias, shape, x);
  if (eps >= 0) return;
  throw Error(message(op, ": eps must be at least 0, got ", eps));
}

template <class T>
static const T* pointer(const Tensor& x) {
  return x.defined() ? x.data<T>().data() : nullptr;
}

/// Product of the sizes after (N, C).
static std::int64_t inner_size(const Shape& x) {
  return std::accumulate(x.begin() + 2, x.end(), std::int64_t{1}, std::multiplies());
}

/// (x - mean) / sqrt(var + eps) over the given dimensions, recorded; with a mean of 0 unless
/// centered.
static Tensor standardized(const Tensor& x, const Dims& dims, double eps, bool centered = true) {
  const auto moved = [&](const Tensor& v) { return v - mean(v, {.dim = dims, .keepdim = true}); };
  // Twice, since far from 0 the first mean is rounded too coarsely for the distances from it.
  const Tensor d = centered ? moved(moved(x)) : x;
  const Tensor root = sqrt(mean(square(d), {.dim = dims, .keepdim = true}) + eps);
  return d / (XGRAD_BUG(norm_rstd_is_a_constant) ? root.detach() : root);
}

// ---- layer_norm, rms_norm -----------------------------------------------------------------------

static void check_normalized_shape(const char* op, const Shape& shape, const Shape& x) {
  throw_if<ShapeError>(shape.dim() == 0, op,
                       ": normalized_shape () names no dimension of x, shape ", x);
  const int before = x.dim() - shape.dim();
  if (before >= 0 && std::equal(shape.begin(), shape.end(), x.begin() + before)) return;
  std::string sizes;
  for (std::int64_t size : shape) sizes += ", " + std::to_string(size);
  throw ShapeError(
      message(op, ": normalized_shape ", shape, " does not match the last ",
              (shape.dim() == 1 ? "dimension" : detail::count(shape.dim(), "dimension")),
              " of x, shape ", x, ". Expected x of shape (*", sizes, ")."));
}

/// Both norms of rows: layer_norm is the one that subtracts the mean.
static Tensor norm_of_rows(const char* op, bool centered, const Tensor& x,
                           const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                           double eps) {
  detail::check_defined(op, x);
  check_normalized_shape(op, normalized_shape, x.shape());
  check_norm(op, x, normalized_shape, weight, bias, eps);

  const std::int64_t cols = normalized_shape.numel();
  const std::int64_t rows = cols == 0 ? 0 : x.numel() / cols;
  const TensorOptions like{.dtype = x.dtype()};
  Tensor y = empty(x.shape(), like);
  std::vector<double> mean(static_cast<std::size_t>(rows));
  std::vector<double> rstd(static_cast<std::size_t>(rows));
  // The kernel takes both or neither.
  const bool affine = weight.defined() || bias.defined();
  const Tensor scale = affine && !weight.defined() ? ones(normalized_shape, like) : weight;
  const Tensor offset = affine && !bias.defined() ? zeros(normalized_shape, like) : bias;
  detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    kernels::RowNorm<T>::forward({rows, cols, centered, pointer<T>(x), pointer<T>(scale)},
                                 pointer<T>(offset), eps, y.mut<T>().data(), mean.data(),
                                 rstd.data());
  });
  if (XGRAD_BUG(layer_norm_plain_cuts_graph) && !affine) return y;

  return record(
      y, centered ? "NativeLayerNormBackward0" : "MulBackward0",
      [x = save(x), weight = save(weight), mean = std::move(mean), rstd = std::move(rstd), rows,
       cols, centered, normalized_shape, eps](const Tensor& g, Needs needs) {
        if (is_grad_enabled()) {
          std::vector<std::int64_t> last;
          for (int d = -normalized_shape.dim(); d < 0; ++d) last.push_back(d);
          const auto forward = [&](const std::vector<Tensor>& in) {
            const Tensor xhat = standardized(in[0], last, eps, centered);
            return in[1].defined() ? xhat * in[1] : xhat;
          };
          const std::vector<Tensor> by = composed(forward, g, {x, weight});
          return grads(by[0], by[1], needs[2] ? sum_to(g, normalized_shape) : Tensor());
        }
        const TensorOptions like_g{.dtype = g.dtype()};
        const bool parameters = needs[1] || needs[2];
        Tensor dx = needs[0] ? empty(g.shape(), like_g) : Tensor();
        Tensor dweight = parameters ? empty(normalized_shape, like_g) : Tensor();
        Tensor dbias = parameters ? empty(normalized_shape, like_g) : Tensor();
        detail::dispatch_floating(g.dtype(), [&]<class T>(T) {
          const auto to = [](Tensor& d) { return d.defined() ? d.mut<T>().data() : nullptr; };
          kernels::RowNorm<T>::backward({rows, cols, centered, pointer<T>(x), pointer<T>(weight)},
                                        pointer<T>(g), mean.data(), rstd.data(), to(dx),
                                        to(dweight), to(dbias));
        });
        return grads(dx, dweight, dbias);
      },
      x, weight, bias);
}

Tensor layer_norm(const Tensor& x, Shape normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return norm_of_rows("layer_norm", true, x, normalized_shape, weight, bias, eps);
}

Tensor rms_norm(const Tensor& x, Shape normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const double least = x.defined() && x.dtype() == float64 ? std::numeric_limits<double>::epsilon()
                                                           : std::numeric_limits<float>::epsilon();
  return norm_of_rows("rms_norm", false, x, normalized_shape, weight, {}, eps.value_or(least));
}

// ---- group_norm, instance_norm: layer_norm in another shape, then a line for each channel -------

static Tensor norm_of_groups(const char* op, const char* node, const Tensor& x, std::int64_t groups,
                             const Tensor& weight, const Tensor& bias, double eps) {
  const std::int64_t channels = x.shape()[1];
  check_norm(op, x, channels, weight, bias, eps);
  const std::int64_t inner = inner_size(x.shape());
  const std::int64_t cols = groups == channels ? inner : channels / groups * inner;
  Tensor y = layer_norm(reshape(x, {x.size(0) * groups, cols}), cols, {}, {}, eps);
  y = reshape(y, {x.size(0), channels, inner});
  if (weight.defined()) y = y * reshape(weight, {channels, 1});
  if (bias.defined()) y = y + reshape(bias, {channels, 1});
  return ops::reshaped(y, x.shape(), node);
}

Tensor group_norm(const Tensor& x, std::int64_t num_groups, const Tensor& weight,
                  const Tensor& bias, double eps) {
  detail::check_defined("group_norm", x);
  throw_if<ShapeError>(x.dim() < 2 || num_groups < 1 || x.size(1) % num_groups != 0,
                       "group_norm: needs x (N, C, *) with a C that num_groups divides, got ",
                       x.shape(), " and num_groups=", num_groups);
  if (x.numel() == num_groups) {  // PyTorch's rule: beside others a lone value becomes 0
    throw ShapeError(message("group_norm: needs more than 1 value per group, got x of shape ",
                             x.shape(), " and num_groups=", num_groups));
  }
  return norm_of_groups("group_norm", "NativeGroupNormBackward0", x, num_groups, weight, bias, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  detail::check_defined("instance_norm", x);
  throw_if<ShapeError>(x.dim() < 2 || inner_size(x.shape()) == 1,
                       "instance_norm: needs x (N, C, *) with more than 1 value per channel, got ",
                       x.shape());
  return norm_of_groups("instance_norm", "ViewBackward0", x, x.size(1), weight, bias, eps);
}

// ---- batch_norm ---------------------------------------------------------------------------------

namespace {

/// One number for each channel.
using PerChannel = std::vector<double>;

PerChannel numbers(const Tensor& x, std::int64_t channels, double otherwise) {
  if (x.defined()) return x.to_vector<double>();
  return PerChannel(static_cast<std::size_t>(channels), otherwise);
}

template <class T>
kernels::Channels<T> in_channels(const Tensor& x, const Tensor& g = {}) {
  return {x.shape()[0], x.shape()[1], inner_size(x.shape()), pointer<T>(x), pointer<T>(g)};
}

/// Mean and variance of a training batch; the running statistics move towards them.
template <class T>
void use_batch(const Tensor& x, double momentum, PerChannel& mean, PerChannel& var,
               Tensor& running_mean, Tensor& running_var) {
  kernels::ChannelNorm<T>::moments(in_channels<T>(x), mean.data(), var.data());
  const std::int64_t values = x.numel() / x.shape()[1];
  const auto count = static_cast<double>(values);
  if (XGRAD_BUG(batch_norm_momentum_reversed)) momentum = 1 - momentum;
  PerChannel unbiased = var;
  for (std::size_t c = 0; c < var.size(); ++c) {
    if (!XGRAD_BUG(batch_norm_biased_running_var)) unbiased[c] *= count / (count - 1);
    if (std::isfinite(static_cast<T>(mean[c])) && std::isfinite(static_cast<T>(unbiased[c])))
      continue;
    throw Error(
        message("batch_norm: the batch statistics of channel ", c, " are not finite (mean ",
                mean[c], ", variance ", unbiased[c], ") for x of shape ", x.shape(),
                ". The running statistics are unchanged; look for NaN or infinity in the batch."));
  }
  const auto move = [momentum](Tensor& running, const PerChannel& batch) {
    if (!running.defined()) return;
    T* to = running.mut<T>().data();
    for (std::size_t c = 0; c < batch.size(); ++c) {
      to[c] = static_cast<T>((1 - momentum) * static_cast<double>(to[c]) + momentum * batch[c]);
    }
  };
  move(running_mean, mean);
  move(running_var, unbiased);
  if (XGRAD_BUG(batch_norm_updates_before_use)) mean = numbers(running_mean, x.shape()[1], 0);
}

void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      const Tensor& weight, const Tensor& bias, const BatchNormOptions& options) {
  detail::check_defined("batch_norm", x);
  throw_if<ShapeError>(x.dim() < 2, "batch_norm: needs x of shape (N, C, *), got ", x.shape());
  const std::int64_t channels = x.shape()[XGRAD_BUG(batch_norm_affine_sized_by_batch) ? 0 : 1];
  check_norm("batch_norm", x, channels, weight, bias, options.eps);
  check_part("batch_norm", "running_mean", running_mean, channels, x);
  check_part("batch_norm", "running_var", running_var, channels, x);
  if (!options.training) {
    if (running_mean.defined() && running_var.defined()) return;
    throw Error("batch_norm: needs running_mean and running_var when not training");
  }
  throw_if<ShapeError>(channels > 0 && x.numel() == channels,
                       "batch_norm: training needs more than 1 value per channel, got x of shape ",
                       x.shape(),
                       ". Use a larger batch (drop_last for a short last one), call "
                       "eval(), or use LayerNorm.");
  if (running_mean.defined()) detail::check_in_place("batch_norm", running_mean);
  if (running_var.defined()) detail::check_in_place("batch_norm", running_var);
}

}  // namespace

Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight,
                  const Tensor& bias, BatchNormOptions options) {
  check_batch_norm(x, running_mean, running_var, weight, bias, options);
  const std::int64_t channels = x.shape()[1];
  const bool training = options.training;
  const double eps = options.eps;

  Tensor y = empty(x.shape(), {.dtype = x.dtype()});
  PerChannel mean = numbers(training ? Tensor() : running_mean, channels, 0);
  PerChannel rstd = numbers(training ? Tensor() : running_var, channels, 0);
  detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    if (training && x.numel() > 0) {  // an empty batch has no statistics
      use_batch<T>(x, options.momentum, mean, rstd, running_mean, running_var);
    }
    PerChannel scale = numbers(weight, channels, 1);
    for (std::size_t c = 0; c < scale.size(); ++c) {
      rstd[c] = 1 / std::sqrt(rstd[c] + eps);
      scale[c] *= rstd[c];
    }
    const PerChannel offset = numbers(bias, channels, 0);
    kernels::ChannelNorm<T>::map(in_channels<T>(x), mean.data(), scale.data(), offset.data(),
                                 nullptr, y.mut<T>().data());
  });

  return record(
      y, "NativeBatchNormBackward0",
      [x = save(x), weight = save(weight), mean = std::move(mean), rstd = std::move(rstd), channels,
       training = training || XGRAD_BUG(batch_norm_eval_uses_training_rule),
       eps](const Tensor& g, Needs needs) {
        const auto to_tensor = [&](const PerChannel& v) { return tensor(v, {.dtype = g.dtype()}); };
        if (is_grad_enabled()) {
          std::vector<std::int64_t> dims;  // all but that of the channels
          Shape shape = g.shape();         // with 1 there
          for (int d = 0; d < shape.dim(); ++d) {
            if (XGRAD_BUG(batch_norm_takes_rank_2) && d > 1) continue;
            if (d != 1) dims.push_back(d), shape[d] = 1;
          }
          const auto forward = [&](const std::vector<Tensor>& in) {
            const Tensor xhat = training ? standardized(in[0], dims, eps)
                                         : (in[0] - to_tensor(mean).reshape(shape)) *
                                               to_tensor(rstd).reshape(shape);
            return in[1].defined() ? xhat * in[1].reshape(shape) : xhat;
          };
          const std::vector<Tensor> by = composed(forward, g, {x, weight});
          return grads(by[0], by[1], needs[2] ? sum(g, {.dim = dims}) : Tensor());
        }
        Tensor dx = needs[0] ? empty(g.shape(), {.dtype = g.dtype()}) : Tensor();
        const PerChannel zero(mean.size());
        PerChannel sum_g = zero, sum_g_xhat = zero, x_scale = zero, offset = zero;
        PerChannel scale = numbers(weight, channels, 1);
        detail::dispatch_floating(g.dtype(), [&]<class T>(T) {
          const kernels::Channels<T> in = in_channels<T>(x, g);
          if (training || needs[1] || needs[2]) {
            kernels::ChannelNorm<T>::sums(in, mean.data(), sum_g.data(), sum_g_xhat.data());
          }
          const auto count = static_cast<double>(in.batch * in.inner);
          for (std::size_t c = 0; c < zero.size(); ++c) {
            sum_g_xhat[c] *= rstd[c];
            scale[c] *= rstd[c];
            x_scale[c] = -scale[c] * rstd[c] * sum_g_xhat[c] / count;
            offset[c] = -scale[c] * sum_g[c] / count;
          }
          if (!needs[0]) return;
          T* to = dx.mut<T>().data();
          if (training) {
            kernels::ChannelNorm<T>::map(in, mean.data(), x_scale.data(), offset.data(),
                                         scale.data(), to);
          } else {  // mean and var do not depend on x
            kernels::ChannelNorm<T>::map(in_channels<T>(g), zero.data(), scale.data(), zero.data(),
                                         nullptr, to);
          }
        });
        return grads(dx, to_tensor(sum_g_xhat), to_tensor(sum_g));
      },
      x, weight, bias);
}

}  // namespace xgrad
