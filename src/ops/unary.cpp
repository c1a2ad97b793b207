#include <cmath>
#include <numbers>

#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

// In the lambdas below `using std::exp` serves numbers; tensors find xgrad's function by their
// type.

namespace xgrad {

using ops::chain;
using ops::constant;
using ops::map_floating;
using ops::map_number;
using ops::over;
using ops::times;

// ---- steps: gradient 0, or that of a straight line
// -----------------------------------------------

namespace {

constexpr auto no_slope = [](const Tensor& g) { return zeros_like(g); };

/// f of floating point numbers; integers are whole already.
template <class F>
Tensor rounded(const char* op, const char* node, const Tensor& x, F f) {
  Tensor out = map_number(op, x, [f](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>) {
      return v;
    } else {
      return f(v);
    }
  });
  return record(out, node, no_slope, x);
}

}  // namespace

Tensor floor(const Tensor& x) {
  return rounded("floor", "FloorBackward0", x, [](auto v) { return std::floor(v); });
}

Tensor ceil(const Tensor& x) {
  return rounded("ceil", "CeilBackward0", x, [](auto v) { return std::ceil(v); });
}

Tensor round(const Tensor& x) {
  return rounded("round", "RoundBackward0", x, [](auto v) { return std::nearbyint(v); });
}

Tensor sign(const Tensor& x) {
  if (x.dtype() == DType::bool_) return x.clone();
  Tensor out = map_number("sign", x, [](auto v) { return (v > 0) - (v < 0); });
  return record(out, "SignBackward0", no_slope, x);
}

Tensor abs(const Tensor& x) {
  Tensor out = map_number("abs", x, [](auto v) { return std::abs(v); });
  return record(
      out, "AbsBackward0", [x = save(x)](const Tensor& g) { return g * sign(x); }, x);
}

// ---- powers
// --------------------------------------------------------------------------------------

Tensor square(const Tensor& x) {
  const Tensor input = x.dtype() == DType::bool_ ? x.to(int64) : x;
  Tensor out = map_number("square", input, [](auto v) { return v * v; });
  return record(
      out, "PowBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) { return h * (v * 2); });
      },
      x);
}

Tensor sqrt(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::sqrt(v); });
  return record(
      out, "SqrtBackward0",
      [](const Tensor& g, const Tensor& y) {
        return chain(g, y, [](const auto& h, const auto& v) { return over(h, v * 2); });
      },
      x);
}

Tensor rsqrt(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return 1 / std::sqrt(v); });
  return record(
      out, "RsqrtBackward0",
      [](const Tensor& g, const Tensor& y) {
        return chain(g, y, [](const auto& h, const auto& v) {
          return times(h, times(times(v, v), v) / -2);
        });
      },
      x);
}

Tensor reciprocal(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return 1 / v; });
  return record(
      out, "ReciprocalBackward0",
      [](const Tensor& g, const Tensor& y) {
        return chain(g, y, [](const auto& h, const auto& v) { return times(h, -times(v, v)); });
      },
      x);
}

// ---- exponentials and logarithms
// -----------------------------------------------------------------

Tensor exp(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::exp(v); });
  return record(
      out, "ExpBackward0", [](const Tensor& g, const Tensor& y) { return g * y; }, x);
}

Tensor expm1(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::expm1(v); });
  return record(
      out, "Expm1Backward0", [](const Tensor& g, const Tensor& y) { return g * (y + 1); }, x);
}

Tensor log(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::log(v); });
  return record(
      out, "LogBackward0", [x = save(x)](const Tensor& g) { return over(g, x); }, x);
}

Tensor log1p(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::log1p(v); });
  return record(
      out, "Log1PBackward0", [x = save(x)](const Tensor& g) { return over(g, x.get() + 1); }, x);
}

// ---- circular functions and erf
// ------------------------------------------------------------------

Tensor sin(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::sin(v); });
  return record(
      out, "SinBackward0", [x = save(x)](const Tensor& g) { return g * cos(x); }, x);
}

Tensor cos(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::cos(v); });
  return record(
      out, "CosBackward0", [x = save(x)](const Tensor& g) { return -(g * sin(x)); }, x);
}

Tensor erf(const Tensor& x) {
  Tensor out = map_floating(x, [](auto v) { return std::erf(v); });
  return record(
      out, "ErfBackward0",
      [x = save(x)](const Tensor& g) {
        return chain(g, x, [](const auto& h, const auto& v) {
          using std::exp;
          return h * exp(-(v * v)) * constant(v, 2 * std::numbers::inv_sqrtpi);
        });
      },
      x);
}

}  // namespace xgrad
