#include <cmath>
#include <functional>

#include "detail/bug.hpp"
#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::check_number, ops::chain, ops::map2, ops::over, ops::times;

// ---- types --------------------------------------------------------------------------------------

/// The higher category decides; the lower one is heard only where it is a higher kind of number.
static DType combined(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower.value_or(float32);
  if (!lower || is_floating_point(*higher)) return *higher;
  if (*higher == DType::bool_ || is_floating_point(*lower)) return promote_types(*higher, *lower);
  return *higher;
}

/// True division and the like: integers become float32.
static Tensor floating_operand(const Tensor& x, DType type) {
  return x.to(is_floating_point(type) ? type : float32);
}

DType ops::result_type(const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) == (b.dim() == 0)) return promote_types(a.dtype(), b.dtype());
  return a.dim() == 0 ? combined(b.dtype(), a.dtype()) : combined(a.dtype(), b.dtype());
}

DType ops::result_type(const Tensor& a, Scalar b) { return combined(a.dtype(), b.dtype()); }

// ---- add, sub, mul, div -------------------------------------------------------------------------

Tensor add(const Tensor& a, const Tensor& b) {
  return record_broadcast(
      map2("add", a, b, std::plus<>()), "AddBackward0", [](const Tensor& g) { return grads(g, g); },
      a, b);
}

Tensor add(const Tensor& a, Scalar b) {
  return record_broadcast(
      map2("add", a, b, std::plus<>()), "AddBackward0", [](const Tensor& g) { return g; }, a);
}

Tensor sub(const Tensor& a, const Tensor& b) {
  check_number("sub", a.dtype());
  check_number("sub", b.dtype());
  return record_broadcast(
      map2("sub", a, b, std::minus<>()), "SubBackward0",
      [](const Tensor& g, Needs needs) { return grads(g, needs[1] ? -g : Tensor()); }, a, b);
}

Tensor sub(const Tensor& a, Scalar b) {
  check_number("sub", a.dtype());
  check_number("sub", b.dtype());
  return record_broadcast(
      map2("sub", a, b, std::minus<>()), "SubBackward0", [](const Tensor& g) { return g; }, a);
}

Tensor rsub(const Tensor& a, Scalar b) {
  check_number("rsub", a.dtype());
  check_number("rsub", b.dtype());
  return record_broadcast(
      map2("rsub", a, b, [](auto x, auto y) { return y - x; }), "RsubBackward1",
      [](const Tensor& g) { return -g; }, a);
}

Tensor mul(const Tensor& a, const Tensor& b) {
  return record_broadcast(
      map2("mul", a, b, std::multiplies<>()), "MulBackward0",
      [a = save(a), b = save(b)](const Tensor& g, Needs needs) {
        return grads(needs[0] ? g * b : Tensor(), needs[1] ? g * a : Tensor());
      },
      a, b);
}

Tensor mul(const Tensor& a, Scalar b) {
  return record_broadcast(
      map2("mul", a, b, std::multiplies<>()), "MulBackward0",
      [b](const Tensor& g) { return g * b; }, a);
}

Tensor div(const Tensor& a, const Tensor& b) {
  const DType type = ops::result_type(a, b);
  Tensor out = map2("div", floating_operand(a, type), floating_operand(b, type), std::divides<>());
  return record_broadcast(
      out, "DivBackward0",
      [a = save(a), b = save(b)](const Tensor& g, Needs needs) {
        return grads(needs[0] ? over(g, b) : Tensor(),
                     needs[1] ? times(g, -(div(a, b) / b)) : Tensor());
      },
      a, b);
}

Tensor div(const Tensor& a, Scalar b) {
  Tensor out = map2("div", floating_operand(a, ops::result_type(a, b)), b, std::divides<>());
  return record_broadcast(
      out, "DivBackward0",
      [b](const Tensor& g) { return over(g, tensor(b, {.dtype = g.dtype()})); }, a);
}

Tensor rdiv(const Tensor& a, Scalar b) {
  const Tensor input = floating_operand(a, ops::result_type(a, b));
  return record_broadcast(
      map2("rdiv", input, b, [](auto x, auto y) { return y / x; }),
      "MulBackward0",  // PyTorch computes b * (1 / a)
      [a = save(a), b](const Tensor& g) { return times(g, -(rdiv(a, b) / a)); }, a);
}

Tensor neg(const Tensor& x) {
  Tensor out = ops::map_number("neg", x, [](auto v) { return -v; });
  return record(
      out, "NegBackward0", [](const Tensor& g) { return -g; }, x);
}
Tensor operator-(const Tensor& a) { return neg(a); }

// ---- pow ----------------------------------------------------------------------------------------

constexpr const char* negative_power =
    "pow: an integer to a negative power; convert with to(xg::float32)";

template <class T>
static T power(T base, T exponent) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    throw_if<Error>(exponent < 0, negative_power);
    T result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
      if (exponent & 1) result *= base;
    }
    return result;
  } else {
    return static_cast<T>(std::pow(base, exponent));
  }
}

Tensor pow(const Tensor& a, Scalar exponent) {
  check_number("pow", ops::result_type(a, exponent));
  const double e = exponent.to<double>();
  throw_if<Error>(e < 0 && !is_floating_point(ops::result_type(a, exponent)), negative_power);
  const auto raised = [&](auto f) { return map2("pow", a, exponent, f); };
  // The usual ones are much faster than the general case, and the whole ones exact.
  Tensor out = e == 1      ? raised([](auto x, auto) { return x; })
               : e == 2    ? raised([](auto x, auto) { return x * x; })
               : e == 3    ? raised([](auto x, auto) { return x * x * x; })
               : e == 0.5  ? raised([](auto x, auto) { return std::sqrt(x); })
               : e == -0.5 ? raised([](auto x, auto) { return 1 / std::sqrt(x); })
               : e == -1   ? raised([](auto x, auto) { return 1 / x; })
                           : raised([](auto x, auto y) { return power(x, y); });
  return record_broadcast(
      out, "PowBackward0",
      [a = save(a), e](const Tensor& g) {
        if (e == 0) return zeros_like(g);
        if (e == 1) return g;
        if (e == 2) return chain(g, a, [](auto h, auto v) { return times(h, v * 2); });
        return times(g, pow(a, e - 1) * e);
      },
      a);
}

Tensor pow(const Tensor& a, const Tensor& b) {
  check_number("pow", ops::result_type(a, b));
  Tensor out = map2("pow", a, b, [](auto x, auto y) { return power(x, y); });
  return record_broadcast(
      out, "PowBackward1",
      [a = save(a), b = save(b)](const Tensor& g, const Tensor& y, Needs needs) {
        const Tensor& base = a;
        const Tensor exponent = is_floating_point(b.get().dtype()) ? b : b.get().to(g.dtype());
        Tensor by_base;
        Tensor by_exponent;
        if (needs[0]) {
          by_base = times(g, times(exponent, pow(base, exponent - 1)));
        }
        if (needs[1]) {
          const Tensor flat = (base == 0) * (exponent >= 0);  // 0^b does not depend on b there
          by_exponent = times(g, where(flat, 0, times(y, log(base))));
        }
        return grads(by_base, by_exponent);
      },
      a, b);
}

Tensor pow(Scalar base, const Tensor& exponent) {
  check_number("pow", ops::result_type(exponent, base));
  Tensor out = map2("pow", exponent, base, [](auto x, auto y) { return power(y, x); });
  return record_broadcast(
      out, "PowBackward1",
      [base, exponent = save(exponent)](const Tensor& g, const Tensor& y) {
        const double b = base.to<double>();
        if (b != 0) return times(g, y * std::log(b));
        return times(g, where(exponent.get() >= 0, 0, y * std::log(b)));
      },
      exponent);
}

// ---- maximum, minimum ---------------------------------------------------------------------------

/// The operand above (below) the other. Its gradient: half to each at a tie, and all of it to both
/// beside a NaN, which wins from either side.
template <class Above>
static Tensor winner(const char* op, const char* node, const Tensor& a, const Tensor& b,
                     Above above) {
  Tensor out = map2(op, a, b, [above](auto x, auto y) { return x != x || above(x, y) ? x : y; });
  return record_broadcast(
      out, node,
      [a = save(a), b = save(b), above](const Tensor& g) {
        const Tensor& x = a;
        const Tensor& y = b;
        const Tensor share = XGRAD_BUG(maximum_counts_ties_twice) ? g : where(x == y, g / 2, g);
        return grads(where(above(y, x), 0, share), where(above(x, y), 0, share));
      },
      a, b);
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return winner("maximum", "MaximumBackward0", a, b, std::greater<>());
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return winner("minimum", "MinimumBackward0", a, b, std::less<>());
}

// ---- times, over --------------------------------------------------------------------------------

Tensor ops::times(const Tensor& g, const Tensor& d) {
  Tensor out = map2("times", g, d, [](auto x, auto y) { return x == 0 ? x : x * y; });
  return record_broadcast(
      out, "TimesBackward",
      [g = save(g), d = save(d)](const Tensor& h, Needs needs) {
        return grads(needs[0] ? times(h, d) : Tensor(), needs[1] ? times(h, g) : Tensor());
      },
      g, d);
}

Tensor ops::over(const Tensor& g, const Tensor& d) {
  if (XGRAD_BUG(unchosen_branch_gives_nan)) return g * pow(d, -1);
  Tensor out = map2("over", g, d, [](auto x, auto y) { return x == 0 ? x : x / y; });
  return record_broadcast(
      out, "OverBackward",
      [g = save(g), d = save(d)](const Tensor& h, Needs needs) {
        return grads(needs[0] ? over(h, d) : Tensor(),
                     needs[1] ? times(h, -over(over(g, d), d)) : Tensor());
      },
      g, d);
}

}  // namespace xgrad
