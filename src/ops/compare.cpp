#include <functional>

#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using ops::map2;

// ---- comparisons: in the common type of both ----------------------------------------------------

Tensor eq(const Tensor& a, const Tensor& b) { return map2<bool>("eq", a, b, std::equal_to<>()); }
Tensor ne(const Tensor& a, const Tensor& b) {
  return map2<bool>("ne", a, b, std::not_equal_to<>());
}
Tensor lt(const Tensor& a, const Tensor& b) { return map2<bool>("lt", a, b, std::less<>()); }
Tensor le(const Tensor& a, const Tensor& b) { return map2<bool>("le", a, b, std::less_equal<>()); }
Tensor gt(const Tensor& a, const Tensor& b) { return map2<bool>("gt", a, b, std::greater<>()); }
Tensor ge(const Tensor& a, const Tensor& b) {
  return map2<bool>("ge", a, b, std::greater_equal<>());
}
Tensor eq(const Tensor& a, Scalar b) { return map2<bool>("eq", a, b, std::equal_to<>()); }
Tensor ne(const Tensor& a, Scalar b) { return map2<bool>("ne", a, b, std::not_equal_to<>()); }
Tensor lt(const Tensor& a, Scalar b) { return map2<bool>("lt", a, b, std::less<>()); }
Tensor le(const Tensor& a, Scalar b) { return map2<bool>("le", a, b, std::less_equal<>()); }
Tensor gt(const Tensor& a, Scalar b) { return map2<bool>("gt", a, b, std::greater<>()); }
Tensor ge(const Tensor& a, Scalar b) { return map2<bool>("ge", a, b, std::greater_equal<>()); }

Tensor logical_not(const Tensor& x) { return eq(x, 0); }

Tensor isfinite(const Tensor& x) {
  return detail::dispatch(x.dtype(), [&]<class T>(T) {
    // inf - inf and NaN - NaN are NaN
    return ops::map_as<T, bool>(x, [](T v) { return v - v == 0; });
  });
}

// ---- where --------------------------------------------------------------------------------------

/// Unrecorded choice; a and b have the result's dtype.
static Tensor chosen(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  throw_if<DTypeError>(condition.dtype() != DType::bool_, op, ": the condition of shape ",
                       condition.shape(), " is ", condition.dtype(),
                       ", not bool; compare it (x != 0)");
  const Shape shape = detail::broadcast_shapes(op, condition.shape(),
                                               detail::broadcast_shapes(op, a.shape(), b.shape()));
  Tensor out = empty(shape, {.dtype = a.dtype()});
  if (out.numel() == 0) return out;
  const kernels::Plan<3> plan(shape, {condition.shape(), a.shape(), b.shape()});
  detail::dispatch(a.dtype(), [&]<class T>(T) {
    // As bytes: loops over bool do not vectorise.
    const auto* choice = reinterpret_cast<const unsigned char*>(condition.data<bool>().data());
    const T* from_a = a.data<T>().data();
    const T* from_b = b.data<T>().data();
    T* to = out.mut<T>().data();
    const auto rows = [&, n = plan.sizes[0]](auto step_c, auto step_a, auto step_b) {
      plan.each_row([&](const auto& at, std::int64_t first) {
        const auto* c = choice + at[0];
        const T* x = from_a + at[1];
        const T* y = from_b + at[2];
        T* z = to + first;
        for (std::int64_t i = 0; i < n; ++i) {
          const T v = x[i * step_a];  // read first, also for vectorising
          const T w = y[i * step_b];
          z[i] = c[i * step_c] != 0 ? v : w;
        }
      });
    };
    using Fixed = std::integral_constant<std::int64_t, 0>;  // steps known when compiling
    using Moves = std::integral_constant<std::int64_t, 1>;
    const auto [step_c, step_a, step_b] =
        std::array{plan.strides[0][0], plan.strides[1][0], plan.strides[2][0]};
    if (step_c == 1 && step_a == 1 && step_b == 1) return rows(Moves(), Moves(), Moves());
    if (step_c == 1 && step_a == 1) return rows(Moves(), Moves(), Fixed());
    if (step_c == 1 && step_b == 1) return rows(Moves(), Fixed(), Moves());
    rows(step_c, step_a, step_b);
  });
  return out;
}

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
  return where(condition, a, tensor(b, {.dtype = ops::result_type(a, b)}));
}

Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return where(condition, tensor(a, {.dtype = ops::result_type(b, a)}), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  return record_broadcast(
      chosen("masked_fill", mask, tensor(value, {.dtype = x.dtype()}), x), "MaskedFillBackward0",
      [mask = save(mask)](const Tensor& g) { return masked_fill(g, mask, 0); }, x);
}

}  // namespace xgrad
