#include "xgrad/nn/init.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "detail/python.hpp"
#include "random/fill.hpp"
#include "xgrad/autograd.hpp"

namespace xgrad::nn::init {

using xgrad::detail::python_repr;

/// PyTorch's rational start (Pavlis), improved by Newton's method.
static double inverse_erf(double y) {
  if (std::abs(y) >= 1) return std::copysign(HUGE_VAL, y);
  double x;
  if (std::abs(y) <= 0.7) {
    const double z = y * y;
    x = y * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
        ((((0.012229801 * z - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1);
  } else {
    const double z = std::sqrt(-std::log((1 - std::abs(y)) / 2));
    x = std::copysign(((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454, y) /
        ((1.637067800 * z + 3.543889200) * z + 1);
  }
  for (int step = 0; step < 2; ++step) {
    x -= (std::erf(x) - y) / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
  }
  return x;
}

static double kaiming_deviation(const Shape& shape, const KaimingOptions& options) {
  throw_if<Error>(options.mode != "fan_in" && options.mode != "fan_out",
                  "kaiming: mode must be fan_in or fan_out, got ", options.mode);
  const Fan fan = calculate_fan(shape);
  return calculate_gain(options.nonlinearity, options.a) /
         std::sqrt(static_cast<double>(options.mode == "fan_in" ? fan.in : fan.out));
}

static double xavier_deviation(const Shape& shape, double gain) {
  const Fan fan = calculate_fan(shape);
  return gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out));
}

/// Uniform numbers of this deviation.
static Tensor& uniform_deviation(Tensor& x, double deviation) {
  if (x.numel() == 0) return x;
  const double bound = std::sqrt(3.0) * deviation;
  return uniform_(x, -bound, bound);
}

Tensor& constant_(Tensor& x, double value) {
  const NoGrad no_grad;
  return x.fill_(value);
}
Tensor& zeros_(Tensor& x) { return constant_(x, 0); }
Tensor& ones_(Tensor& x) { return constant_(x, 1); }

Tensor& uniform_(Tensor& x, double low, double high, Generator& generator) {
  xgrad::detail::check_floating("uniform_", x);
  if (!(low <= high)) {
    throw Error(
        message("uniform_: needs low <= high, got ", python_repr(low), " and ", python_repr(high)));
  }
  const NoGrad no_grad;
  xgrad::detail::fill_uniform(x, low, high, generator);
  return x;
}

Tensor& normal_(Tensor& x, double mean, double deviation, Generator& generator) {
  xgrad::detail::check_floating("normal_", x);
  if (!(deviation >= 0)) {
    throw Error(
        message("normal_: the deviation must not be negative, got ", python_repr(deviation)));
  }
  const NoGrad no_grad;
  xgrad::detail::fill_normal(x, mean, deviation, generator);
  return x;
}

Tensor& trunc_normal_(Tensor& x, double mean, double deviation, double low, double high,
                      Generator& generator) {
  if (!(deviation > 0 && low <= high)) {
    throw Error(message("trunc_normal_: needs deviation > 0 and low <= high, got ",
                        python_repr(deviation), ", ", python_repr(low), " and ",
                        python_repr(high)));
  }
  const NoGrad no_grad;
  // The error function of a bound, which is 2 (its normal distribution) - 1.
  const auto erf_of = [&](double bound) {
    return std::erf((bound - mean) / deviation / std::numbers::sqrt2);
  };
  uniform_(x, erf_of(low), erf_of(high), generator);
  xgrad::detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    for (T& v : x.mut<T>()) {
      const T z = static_cast<T>(inverse_erf(v)) * static_cast<T>(deviation * std::numbers::sqrt2);
      v = std::clamp(z + static_cast<T>(mean), static_cast<T>(low), static_cast<T>(high));
    }
  });
  return x;
}

Fan calculate_fan(const Shape& shape) {
  throw_if<ShapeError>(shape.dim() < 2, "fan: needs at least 2 dimensions (out, in, *), got shape ",
                       shape);
  const std::int64_t field = shape.slice(2).numel();
  return {shape[1] * field, shape[0] * field};
}

double calculate_gain(const std::string& nonlinearity, std::optional<double> param) {
  for (const char* unit : {"linear", "conv1d", "conv2d", "conv3d", "sigmoid"}) {
    if (nonlinearity == unit) return 1;
  }
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::numbers::sqrt2;
  if (nonlinearity == "leaky_relu") {
    const double slope = param.value_or(0.01);
    return std::sqrt(2 / (1 + slope * slope));
  }
  if (nonlinearity == "selu") return 0.75;
  throw Error(
      message("calculate_gain: unknown nonlinearity ", nonlinearity,
              "; known are linear, conv1d to conv3d, sigmoid, tanh, relu, leaky_relu and selu"));
}

Tensor& kaiming_uniform_(Tensor& x, const KaimingOptions& options) {
  return uniform_deviation(x, kaiming_deviation(x.shape(), options));
}
Tensor& kaiming_normal_(Tensor& x, const KaimingOptions& options) {
  const double deviation = kaiming_deviation(x.shape(), options);
  return x.numel() == 0 ? x : normal_(x, 0, deviation);
}
Tensor& xavier_uniform_(Tensor& x, double gain) {
  return uniform_deviation(x, xavier_deviation(x.shape(), gain));
}
Tensor& xavier_normal_(Tensor& x, double gain) {
  return normal_(x, 0, xavier_deviation(x.shape(), gain));
}

}  // namespace xgrad::nn::init
