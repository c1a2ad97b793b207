#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using ops::chain;
using ops::constant;
using ops::map_floating;
using ops::map_number;

namespace {

/// f of floating point elements; throws DTypeError for others.
template <class F>
Tensor activated(const char* op, const Tensor& x, F f) {
  detail::check_floating(op, x);
  return map_floating(x, f);
}

/// A reverse rule f(g, v) that only depends on which piece of a straight line v is on: linear in g,
/// derivative 0 by v.
template <class F>
Tensor piecewise(const char* node, const Tensor& g, const Tensor& v, F f) {
  Tensor out = detail::dispatch_floating(g.dtype(), [&](auto t) {
    using T = decltype(t);
    return ops::map2_as<T, T>(node, g, v, f);
  });
  return record(
      out, node, [node, v = save(v), f](const Tensor& h) { return piecewise(node, h, v, f); }, g);
}

// The functions of tensors that the rules below use, for numbers.
template <std::floating_point T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <std::floating_point T>
T relu(T x) {
  return x <= 0 ? 0 : x;
}
template <std::floating_point T>
T where(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace

// ---- pieces of straight lines
// --------------------------------------------------------------------

Tensor relu(const Tensor& x) {
  Tensor out = map_number("relu", x, [](auto v) { return v <= 0 ? decltype(v)(0) : v; });
  return record(
      out, "ReluBackward0",
      [](const Tensor& g, const Tensor& y) {
        return piecewise("ThresholdBackwardBackward0", g, y,
                         [](auto h, auto v) { return v <= 0 ? decltype(h)(0) : h; });
      },
      x);
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  Tensor out = activated("leaky_relu", x, [negative_slope](auto v) {
    const auto scaled = v * static_cast<decltype(v)>(negative_slope);
    return v > 0 ? v : scaled;
  });
  return record(
      out, "LeakyReluBackward0",
      [x = save(x), negative_slope](const Tensor& g) {
        return piecewise("LeakyReluBackwardBackward0", g, x, [negative_slope](auto h, auto v) {
          const auto scaled = h * static_cast<decltype(h)>(negative_slope);
          return v > 0 ? h : scaled;
        });
      },
      x);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  if (!min && !max) throw Error("clamp: needs min, max or both");
  DType type = x.dtype();
  if (min) type = ops::result_type(x, *min);
  if (max) type = promote_types(type, ops::result_type(x, *max));
  const Tensor input = x.to(type);
  Tensor out = detail::dispatch_number("clamp", type, [&](auto t) {
    using T = decltype(t);
    // An absent bound is one that nothing exceeds; a maximum below the minimum wins.
    const T least = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                         : std::numeric_limits<T>::lowest();
    const T most = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::max();
    const T low = min ? min->to<T>() : least;
    const T high = max ? max->to<T>() : most;
    return ops::map_as<T, T>(input, [low, high](T v) {
      const T raised = v < low ? low : v;
      return raised > high ? high : raised;
    });
  });
  return record(
      out, "ClampBackward1",
      [x = save(x), low = min ? min->to<double>() : -std::numeric_limits<double>::infinity(),
       high = max ? max->to<double>() : std::numeric_limits<double>::infinity()](const Tensor& g) {
        return piecewise("WhereBackward0", g, x, [low, high](auto h, auto v) {
          using T = decltype(v);
          const bool inside = v >= static_cast<T>(low) && v <= static_cast<T>(high);
          return inside ? h : T(0);
        });
      },
      x);
}

// ---- sigmoid and its relatives
// -------------------------------------------------------------------

Tensor sigmoid(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return sigmoid(v); });
  return record(
      out, "SigmoidBackward0",
      [](const Tensor& g, const Tensor& y) {
        return chain(g, y, [](const auto& h, const auto& v) { return h * (1 - v) * v; });
      },
      x);
}

Tensor tanh(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::tanh(v); });
  return record(
      out, "TanhBackward0",
      [](const Tensor& g, const Tensor& y) {
        return chain(g, y, [](const auto& h, const auto& v) { return h * (1 - v * v); });
      },
      x);
}

Tensor logsigmoid(const Tensor& x) {
  Tensor out = activated("logsigmoid", x, [](auto v) {
    const auto below = v < 0 ? v : decltype(v)(0);
    return below - std::log1p(std::exp(-std::abs(v)));
  });
  return record(
      out, "LogSigmoidBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) { return h * sigmoid(-v); });
      },
      x);
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  Tensor out = activated("softplus", x, [beta, threshold](auto v) {
    const auto b = static_cast<decltype(v)>(beta);
    return v * b > static_cast<decltype(v)>(threshold) ? v : std::log1p(std::exp(v * b)) / b;
  });
  return record(
      out, "SoftplusBackward0",
      [x = save(x), beta, threshold](const Tensor& g) {
        return chain(g, x, [beta, threshold](const auto& h, const auto& v) {
          const auto scaled = v * constant(v, beta);
          return where(scaled > constant(v, threshold), h, h * sigmoid(scaled));
        });
      },
      x);
}

Tensor elu(const Tensor& x, double alpha) {
  Tensor out = activated("elu", x, [alpha](auto v) {
    return v <= 0 ? std::expm1(v) * static_cast<decltype(v)>(alpha) : v;
  });
  return record(
      out, "EluBackward0",
      [x = save(x), alpha](const Tensor& g) {
        return chain(g, x, [alpha](const auto& h, const auto& v) {
          using std::exp;
          // exp sees nothing positive: an overflow there would reach the second derivative
          return where(v <= 0, h * constant(v, alpha) * exp(-relu(-v)), h);
        });
      },
      x);
}

Tensor silu(const Tensor& x) {
  Tensor out = activated("silu", x, [](auto v) { return v / (1 + std::exp(-v)); });
  return record(
      out, "SiluBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) {
          const auto s = sigmoid(v);
          return h * s * (1 + v * (1 - s));
        });
      },
      x);
}

// ---- gelu
// ----------------------------------------------------------------------------------------

namespace {

/// x times the normal distribution function.
Tensor gelu_exact(const Tensor& x) {
  Tensor out = activated("gelu", x, [](auto v) {
    using T = decltype(v);
    return v * (1 + std::erf(v * static_cast<T>(1 / std::numbers::sqrt2))) / 2;
  });
  return record(
      out, "GeluBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) {
          using std::erf;
          using std::exp;
          const double at_zero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
          const auto distribution = (1 + erf(v * constant(v, 1 / std::numbers::sqrt2))) / 2;
          const auto density = exp(v * v / -2) * constant(v, at_zero);
          return h * (distribution + v * density);
        });
      },
      x);
}

constexpr double tanh_scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double tanh_cubic = 0.044715;

Tensor gelu_tanh(const Tensor& x) {
  Tensor out = activated("gelu", x, [](auto v) {
    const auto inner = constant(v, tanh_scale) * (v + constant(v, tanh_cubic) * v * v * v);
    return v * (1 + std::tanh(inner)) / 2;
  });
  return record(
      out, "GeluBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) {
          using std::tanh;
          const auto cubic = constant(v, tanh_cubic) * v * v;
          const auto t = tanh(constant(v, tanh_scale) * (v + cubic * v));
          const auto inner_slope = constant(v, tanh_scale) * (1 + 3 * cubic);
          return h * ((1 + t) + v * (1 - t * t) * inner_slope) / 2;
        });
      },
      x);
}

}  // namespace

Tensor gelu(const Tensor& x, GeluOptions options) {
  if (options.approximate == "none") return gelu_exact(x);
  if (options.approximate == "tanh") return gelu_tanh(x);
  throw Error("gelu: approximate must be \"none\" or \"tanh\", got \"" + options.approximate +
              "\"");
}

}  // namespace xgrad
