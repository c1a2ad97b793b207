#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/functions.hpp"
#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using ops::by_input, ops::by_output, ops::constant, ops::map2;

// ---- pieces of straight lines -------------------------------------------------------------------

/// A reverse rule f(g, v) in which v only tells the piece: linear in g, derivative 0 by v.
template <class F>
static Tensor piecewise(const char* node, const Tensor& g, const Tensor& v, F f) {
  Tensor out = detail::dispatch_floating(
      g.dtype(), [&](auto t) { return ops::map2_as<decltype(t), decltype(t)>(node, g, v, f); });
  return record(
      out, node, [node, v = save(v), f](const Tensor& h) { return piecewise(node, h, v, f); }, g);
}

Tensor relu(const Tensor& x) {
  return record(
      ops::map_number("relu", x, [](auto v) { return v <= 0 ? decltype(v)(0) : v; }),
      "ReluBackward0",
      [](const Tensor& g, const Tensor& y) {
        return piecewise("ThresholdBackwardBackward0", g, y,
                         [](auto h, auto v) { return v <= 0 ? decltype(h)(0) : h; });
      },
      x);
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  detail::check_floating("leaky_relu", x);
  const auto bent = [negative_slope](auto h, auto v) {
    const auto scaled = h * static_cast<decltype(h)>(negative_slope);
    return v > 0 ? h : scaled;
  };
  return record(
      ops::map_floating(x, [bent](auto v) { return bent(v, v); }), "LeakyReluBackward0",
      [x = save(x), bent](const Tensor& g) {
        return piecewise("LeakyReluBackwardBackward0", g, x, bent);
      },
      x);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  throw_if<Error>(!min && !max, "clamp: needs min, max or both");
  Tensor out = x.detach();
  if (min)
    out =
        map2("clamp", out, *min, [](auto v, auto low) { return low != low || v < low ? low : v; });
  if (max)
    out = map2("clamp", out, *max,
               [](auto v, auto high) { return high != high || v > high ? high : v; });
  constexpr double inf = std::numeric_limits<double>::infinity();
  return record(
      out, "ClampBackward1",
      [x = save(x), low = min.value_or(-inf), high = max.value_or(inf)](const Tensor& g) {
        return piecewise("WhereBackward0", g, x, [low, high](auto h, auto v) {
          using T = decltype(v);
          return v >= low.to<T>() && v <= high.to<T>() ? h : T(0);
        });
      },
      x);
}

// ---- sigmoid and its relatives ------------------------------------------------------------------

// Functions of numbers for the formulas; of tensors they are xgrad's.
using kernels::erf, kernels::exp, kernels::sigmoid, kernels::tanh;

template <std::floating_point T>
static T relu(T x) {
  return x <= 0 ? 0 : x;
}
template <std::floating_point T>
static T where(bool condition, T a, T b) {
  return condition ? a : b;
}

Tensor sigmoid(const Tensor& x) {
  return by_output(
      "SigmoidBackward0", x, [](auto v) { return sigmoid(v); },
      [](const auto& g, const auto& y) { return g * (1 - y) * y; });
}

Tensor tanh(const Tensor& x) {
  return by_output(
      "TanhBackward0", x, [](auto v) { return tanh(v); },
      [](const auto& g, const auto& y) { return g * (1 - y * y); });
}

Tensor logsigmoid(const Tensor& x) {
  detail::check_floating("logsigmoid", x);
  return by_input(
      "LogSigmoidBackward0", x, [](auto v) { return -relu(-v) - std::log1p(exp(-std::abs(v))); },
      [](const auto& g, const auto& v) { return g * sigmoid(-v); });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  detail::check_floating("softplus", x);
  return by_input(
      "SoftplusBackward0", x,
      [beta, threshold](auto v) {
        const auto b = constant(v, beta);
        return v * b > constant(v, threshold) ? v : std::log1p(exp(v * b)) / b;
      },
      [beta, threshold](const auto& g, const auto& v) {
        const auto scaled = v * constant(v, beta);
        return where(scaled > constant(v, threshold), g, g * sigmoid(scaled));
      });
}

Tensor elu(const Tensor& x, double alpha) {
  detail::check_floating("elu", x);
  return by_input(
      "EluBackward0", x,
      [alpha](auto v) { return v <= 0 ? std::expm1(v) * constant(v, alpha) : v; },
      [alpha](const auto& g, const auto& v) {
        // exp sees nothing positive: its overflow would reach the second derivative.
        return where(v <= 0, g * constant(v, alpha) * exp(-relu(-v)), g);
      });
}

Tensor silu(const Tensor& x) {
  detail::check_floating("silu", x);
  return by_input(
      "SiluBackward0", x, [](auto v) { return v / (1 + exp(-v)); },
      [](const auto& g, const auto& v) {
        const auto s = sigmoid(v);
        return g * s * (1 + v * (1 - s));
      });
}

// ---- gelu ---------------------------------------------------------------------------------------

constexpr double half_root = 1 / std::numbers::sqrt2;
constexpr double tanh_scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double tanh_cubic = 0.044715;

/// x times the normal distribution function.
static Tensor gelu_exact(const Tensor& x) {
  return by_input(
      "GeluBackward0", x, [](auto v) { return v * ((1 + erf(v * constant(v, half_root))) / 2); },
      [](const auto& g, const auto& v) {
        const auto distribution = (1 + erf(v * constant(v, half_root))) / 2;
        const auto density = exp(v * v / -2) * constant(v, std::numbers::inv_sqrtpi * half_root);
        return g * (distribution + v * density);
      });
}

static Tensor gelu_tanh(const Tensor& x) {
  return by_input(
      "GeluBackward0", x,
      [](auto v) {
        return v *
               ((1 + tanh(constant(v, tanh_scale) * (v + constant(v, tanh_cubic) * v * v * v))) /
                2);
      },
      [](const auto& g, const auto& v) {
        const auto bend = constant(v, tanh_cubic) * v * v;
        const auto t = tanh(constant(v, tanh_scale) * (v + bend * v));
        const auto inner_slope = constant(v, tanh_scale) * (1 + 3 * bend);
        return g * (1 + t + v * (1 - t * t) * inner_slope) / 2;
      });
}

Tensor gelu(const Tensor& x, GeluOptions options) {
  detail::check_floating("gelu", x);
  if (options.approximate == "none") return gelu_exact(x);
  if (options.approximate == "tanh") return gelu_tanh(x);
  throw Error(
      message("gelu: approximate must be \"none\" or \"tanh\", got \"", options.approximate, "\""));
}

}  // namespace xgrad
