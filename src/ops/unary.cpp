#include <cmath>
#include <numbers>

#include "kernels/functions.hpp"
#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

// In the rules `using std::cos` serves numbers; tensors find xgrad's function by their type.

namespace xgrad {

using ops::by_input, ops::by_output, ops::constant, ops::map_number, ops::over, ops::times;

// ---- steps and pieces of straight lines: integers stay integers ---------------------------------

constexpr auto no_slope = [](const Tensor& g) { return zeros_like(g); };

/// f of floating point numbers; integers are whole already.
template <class F>
static Tensor rounded(const char* op, const char* node, const Tensor& x, F f) {
  Tensor out = map_number(op, x, [f](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>)
      return v;
    else
      return f(v);
  });
  return record(out, node, no_slope, x);
}

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
  return record(map_number("sign", x, [](auto v) { return (v > 0) - (v < 0); }), "SignBackward0",
                no_slope, x);
}

Tensor abs(const Tensor& x) {
  return record(
      map_number("abs", x, [](auto v) { return std::abs(v); }), "AbsBackward0",
      [x = save(x)](const Tensor& g) { return g * sign(x); }, x);
}

// ---- powers -------------------------------------------------------------------------------------

Tensor square(const Tensor& x) {
  const Tensor input = x.dtype() == DType::bool_ ? x.to(int64) : x;
  return record(
      map_number("square", input, [](auto v) { return v * v; }), "PowBackward0",
      [x = save(x)](const Tensor& g) {
        return ops::chain(g, x, [](const auto& h, const auto& v) { return h * (v * 2); });
      },
      x);
}

Tensor sqrt(const Tensor& x) {
  return by_output(
      "SqrtBackward0", x, [](auto v) { return std::sqrt(v); },
      [](const auto& g, const auto& y) { return over(g, y * 2); });
}

Tensor rsqrt(const Tensor& x) {
  return by_output(
      "RsqrtBackward0", x, [](auto v) { return 1 / std::sqrt(v); },
      [](const auto& g, const auto& y) { return times(g, times(times(y, y), y) / -2); });
}

Tensor reciprocal(const Tensor& x) {
  return by_output(
      "ReciprocalBackward0", x, [](auto v) { return 1 / v; },
      [](const auto& g, const auto& y) { return times(g, -times(y, y)); });
}

// ---- exponentials and logarithms ----------------------------------------------------------------

Tensor exp(const Tensor& x) {
  return by_output(
      "ExpBackward0", x, [](auto v) { return kernels::exp(v); },
      [](const auto& g, const auto& y) { return g * y; });
}

Tensor expm1(const Tensor& x) {
  return by_output(
      "Expm1Backward0", x, [](auto v) { return std::expm1(v); },
      [](const auto& g, const auto& y) { return g * (y + 1); });
}

Tensor log(const Tensor& x) {
  return by_input(
      "LogBackward0", x, [](auto v) { return std::log(v); },
      [](const auto& g, const auto& v) { return over(g, v); });
}

Tensor log1p(const Tensor& x) {
  return by_input(
      "Log1PBackward0", x, [](auto v) { return std::log1p(v); },
      [](const auto& g, const auto& v) { return over(g, v + 1); });
}

// ---- circular functions and erf -----------------------------------------------------------------

Tensor sin(const Tensor& x) {
  return by_input(
      "SinBackward0", x, [](auto v) { return std::sin(v); },
      [](const auto& g, const auto& v) {
        using std::cos;
        return g * cos(v);
      });
}

Tensor cos(const Tensor& x) {
  return by_input(
      "CosBackward0", x, [](auto v) { return std::cos(v); },
      [](const auto& g, const auto& v) {
        using std::sin;
        return -(g * sin(v));
      });
}

Tensor erf(const Tensor& x) {
  return by_input(
      "ErfBackward0", x, [](auto v) { return kernels::erf(v); },
      [](const auto& g, const auto& v) {
        using kernels::exp;
        return g * exp(-(v * v)) * constant(v, 2 * std::numbers::inv_sqrtpi);
      });
}

}  // namespace xgrad
