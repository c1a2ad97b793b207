#include "detail/message.hpp"
#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using ops::map2;

// ---- comparisons: in the common type of both ----------------------------------------------------

namespace {

constexpr auto equals = [](auto x, auto y) { return x == y; };
constexpr auto differs = [](auto x, auto y) { return x != y; };
constexpr auto less = [](auto x, auto y) { return x < y; };
constexpr auto at_most = [](auto x, auto y) { return x <= y; };
constexpr auto greater = [](auto x, auto y) { return x > y; };
constexpr auto at_least = [](auto x, auto y) { return x >= y; };

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return map2<bool>("eq", a, b, equals); }
Tensor ne(const Tensor& a, const Tensor& b) { return map2<bool>("ne", a, b, differs); }
Tensor lt(const Tensor& a, const Tensor& b) { return map2<bool>("lt", a, b, less); }
Tensor le(const Tensor& a, const Tensor& b) { return map2<bool>("le", a, b, at_most); }
Tensor gt(const Tensor& a, const Tensor& b) { return map2<bool>("gt", a, b, greater); }
Tensor ge(const Tensor& a, const Tensor& b) { return map2<bool>("ge", a, b, at_least); }
Tensor eq(const Tensor& a, Scalar b) { return map2<bool>("eq", a, b, equals); }
Tensor ne(const Tensor& a, Scalar b) { return map2<bool>("ne", a, b, differs); }
Tensor lt(const Tensor& a, Scalar b) { return map2<bool>("lt", a, b, less); }
Tensor le(const Tensor& a, Scalar b) { return map2<bool>("le", a, b, at_most); }
Tensor gt(const Tensor& a, Scalar b) { return map2<bool>("gt", a, b, greater); }
Tensor ge(const Tensor& a, Scalar b) { return map2<bool>("ge", a, b, at_least); }

Tensor logical_not(const Tensor& x) { return eq(x, 0); }

Tensor isfinite(const Tensor& x) {
  return detail::dispatch(x.dtype(), [&]<class T>(T) {
    // inf - inf and NaN - NaN are NaN
    return ops::map_as<T, bool>(x, [](T v) { return v - v == 0; });
  });
}

// ---- where --------------------------------------------------------------------------------------

namespace {

/// Unrecorded choice; a and b have the result's dtype.
Tensor chosen(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  throw_if<DTypeError>(condition.dtype() != DType::bool_, op, ": the condition of shape ",
                       condition.shape(), " is ", condition.dtype(),
                       ", not bool; compare it (x != 0)");
  const Shape shape = detail::broadcast_shapes(op, condition.shape(),
                                               detail::broadcast_shapes(op, a.shape(), b.shape()));
  const auto fitted = [&](const Tensor& x, bool single_allowed) {
    const bool fits = x.shape() == shape || (single_allowed && x.dim() == 0);
    return fits ? x : expand(x.detach(), shape);
  };
  const Tensor c = fitted(condition, false);
  const Tensor x = fitted(a, true);
  const Tensor y = fitted(b, true);
  Tensor out = empty(shape, {.dtype = a.dtype()});
  if (out.numel() == 0) return out;
  detail::dispatch(a.dtype(), [&]<class T>(T) {
    const T* from_x = x.data<T>().data();
    const T* from_y = y.data<T>().data();
    const auto loop = [to = out.mut<T>(), choice = c.data<bool>()](auto at_x, auto at_y) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const T v = at_x(i);  // both are read first, which lets the loop vectorise
        const T w = at_y(i);
        to[i] = choice[i] ? v : w;
      }
    };
    const auto running = [](const T* p) { return [p](std::size_t i) { return p[i]; }; };
    const auto fixed = [](const T* p) { return [v = *p](std::size_t) { return v; }; };
    if (x.dim() > 0 && y.dim() > 0) {
      loop(running(from_x), running(from_y));
    } else if (x.dim() > 0) {
      loop(running(from_x), fixed(from_y));
    } else if (y.dim() > 0) {
      loop(fixed(from_x), running(from_y));
    } else {
      loop(fixed(from_x), fixed(from_y));
    }
  });
  return out;
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
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
  return record_broadcast(
      chosen("masked_fill", mask, full({}, value, {.dtype = x.dtype()}), x), "MaskedFillBackward0",
      [mask = save(mask)](const Tensor& g) { return masked_fill(g, mask, 0); }, x);
}

}  // namespace xgrad
