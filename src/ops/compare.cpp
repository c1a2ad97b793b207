#include <algorithm>

#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

// ---- comparisons
// ---------------------------------------------------------------------------------

namespace {

/// f(a, b) of every pair, compared in their common type.
template <class F>
Tensor compare(const char* op, const Tensor& a, const Tensor& b, F f) {
  const DType type = ops::result_type(a, b);
  const Tensor x = a.detach().to(type);
  const Tensor y = b.detach().to(type);
  return detail::dispatch(type, [&](auto t) {
    using T = decltype(t);
    return ops::map2_as<T, bool>(op, x, y, f);
  });
}

template <class F>
Tensor compare(const char*, const Tensor& a, Scalar b, F f) {
  const DType type = ops::result_type(a, b);
  const Tensor x = a.dtype() == type ? a : a.detach().to(type);
  return detail::dispatch(type, [&](auto t) {
    using T = decltype(t);
    return ops::map_as<T, bool>(x, [f, v = b.to<T>()](T e) { return f(e, v); });
  });
}

constexpr auto equals = [](auto x, auto y) { return x == y; };
constexpr auto differs = [](auto x, auto y) { return x != y; };
constexpr auto less = [](auto x, auto y) { return x < y; };
constexpr auto at_most = [](auto x, auto y) { return x <= y; };
constexpr auto greater = [](auto x, auto y) { return x > y; };
constexpr auto at_least = [](auto x, auto y) { return x >= y; };

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", a, b, equals); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", a, b, differs); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", a, b, less); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", a, b, at_most); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", a, b, greater); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", a, b, at_least); }
Tensor eq(const Tensor& a, Scalar b) { return compare("eq", a, b, equals); }
Tensor ne(const Tensor& a, Scalar b) { return compare("ne", a, b, differs); }
Tensor lt(const Tensor& a, Scalar b) { return compare("lt", a, b, less); }
Tensor le(const Tensor& a, Scalar b) { return compare("le", a, b, at_most); }
Tensor gt(const Tensor& a, Scalar b) { return compare("gt", a, b, greater); }
Tensor ge(const Tensor& a, Scalar b) { return compare("ge", a, b, at_least); }

Tensor logical_not(const Tensor& x) { return eq(x, 0); }

Tensor isfinite(const Tensor& x) {
  return detail::dispatch(x.dtype(), [&](auto t) {
    using T = decltype(t);
    // inf - inf and NaN - NaN are NaN
    return ops::map_as<T, bool>(x, [](T v) { return v - v == 0; });
  });
}

// ---- where
// ---------------------------------------------------------------------------------------

namespace {

void check_mask(const char* op, const Tensor& mask) {
  if (mask.dtype() == DType::bool_) return;
  throw DTypeError(std::string(op) + ": the condition of shape " + mask.shape().str() + " is " +
                   name(mask.dtype()) + ", not bool; compare it with something (x != 0)");
}

/// One run of a choice: operands that do not move repeat their first element.
template <class T>
void choose(const bool* c, bool c_moves, const T* a, bool a_moves, const T* b, bool b_moves, T* to,
            std::int64_t n) {
  const auto loop = [&](auto at_c, auto at_a, auto at_b) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T x = at_a(i);
      const T y = at_b(i);
      to[i] = at_c(i) ? x : y;
    }
  };
  const auto running = [](auto* p) { return [p](std::int64_t i) { return p[i]; }; };
  const auto fixed = [](auto* p) { return [v = *p](std::int64_t) { return v; }; };
  if (!c_moves) {
    const T* source = *c ? a : b;
    if (*c ? a_moves : b_moves) return std::copy_n(source, n, to), void();
    return std::fill_n(to, n, *source), void();
  }
  if (a_moves && b_moves) return loop(running(c), running(a), running(b));
  if (a_moves) return loop(running(c), running(a), fixed(b));
  if (b_moves) return loop(running(c), fixed(a), running(b));
  return loop(running(c), fixed(a), fixed(b));
}

/// Unrecorded choice; a and b have the result's dtype.
Tensor chosen(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Shape& sc = condition.shape();
  const Shape& sa = a.shape();
  const Shape& sb = b.shape();
  const Shape shape = detail::broadcast_shapes(op, sc, detail::broadcast_shapes(op, sa, sb));
  Tensor out = empty(shape, {.dtype = a.dtype()});
  const std::int64_t n = shape.numel();
  if (n == 0) return out;
  const bool* c = condition.data<bool>().data();
  detail::dispatch(a.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from_a = a.data<T>().data();
    const T* from_b = b.data<T>().data();
    T* to = out.mut<T>().data();
    const auto flat = [&](const Shape& s) { return s == shape || s.dim() == 0; };
    if (flat(sc) && flat(sa) && flat(sb)) {
      return choose(c, sc.dim() > 0, from_a, sa.dim() > 0, from_b, sb.dim() > 0, to, n);
    }
    const kernels::Plan<3> plan(shape, {sc, sa, sb});
    plan.each_row([&](const std::array<std::int64_t, 3>& at, std::int64_t first) {
      choose(c + at[0], plan.strides[0][0] != 0, from_a + at[1], plan.strides[1][0] != 0,
             from_b + at[2], plan.strides[2][0] != 0, to + first, plan.sizes[0]);
    });
  });
  return out;
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_mask("where", condition);
  const DType type = ops::result_type(a, b);
  return record_broadcast(
      chosen("where", condition, a.to(type), b.to(type)), "WhereBackward0",
      [c = save(condition)](const Tensor& g, Needs needs) {
        return grads(needs[0] ? where(c, g, 0) : Tensor(), needs[1] ? where(c, 0, g) : Tensor());
      },
      a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, full({}, b, {.dtype = ops::result_type(a, b)}));
}

Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return where(condition, full({}, a, {.dtype = ops::result_type(b, a)}), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  check_mask("masked_fill", mask);
  return record_broadcast(
      chosen("masked_fill", mask, full({}, value, {.dtype = x.dtype()}), x), "MaskedFillBackward0",
      [mask = save(mask)](const Tensor& g) { return masked_fill(g, mask, 0); }, x);
}

}  // namespace xgrad
