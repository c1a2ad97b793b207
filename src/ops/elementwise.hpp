#pragma once

/// The loops behind elementwise operations: `map(x, f)` and `map2(a, b, f)` compute a fresh,
/// unrecorded tensor; f is an ordinary lambda on elements.

#include <array>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "kernels/broadcast.hpp"
#include "xgrad/extend.hpp"

namespace xgrad::ops {

/// R(f(v)) for every element v of x, whose dtype is that of T.
template <class T, class R, class F>
Tensor map_as(const Tensor& x, F f) {
  Tensor out = empty(x.shape(), {.dtype = dtype_of<R>});
  kernels::map(x.numel(), x.data<T>().data(), out.mut<R>().data(), f);
  return out;
}

/// Integers as float32, floating point as it is.
inline Tensor as_floating(const Tensor& x) {
  return is_floating_point(x.dtype()) ? x : x.to(float32);
}

/// f for floating point elements; integers are converted to float32 first.
template <class F>
Tensor map_floating(const Tensor& x, F f) {
  const Tensor input = as_floating(x);
  return detail::dispatch_floating(input.dtype(),
                                   [&]<class T>(T) { return map_as<T, T>(input, f); });
}

/// f for numbers of any kind, which it keeps; throws DTypeError for bool.
template <class F>
Tensor map_number(const char* op, const Tensor& x, F f) {
  return detail::dispatch_number(op, x.dtype(), [&]<class T>(T) { return map_as<T, T>(x, f); });
}

/// PyTorch's type of a result: among tensors with dimensions the greatest type wins; a 0-d tensor,
/// and after it a C++ number, only counts where its kind (bool, integer, floating point) is higher.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, Scalar b);

/// R(f(a, b)) for every pair of elements after broadcasting; both tensors have T's dtype.
template <class T, class R, class F>
Tensor map2_as(const char* op, const Tensor& a, const Tensor& b, F f) {
  const T* from_a = a.data<T>().data();
  const T* from_b = b.data<T>().data();
  if (a.shape() == b.shape()) {
    Tensor out = empty(a.shape(), {.dtype = dtype_of<R>});
    const kernels::Grid row{1, a.numel(), {}, {1, 1}};
    if (row.cols > 0) kernels::map(row, from_a, from_b, out.mut<R>().data(), f);
    return out;
  }
  const Shape shape = detail::broadcast_shapes(op, a.shape(), b.shape());
  Tensor out = empty(shape, {.dtype = dtype_of<R>});
  if (shape.numel() > 0) {
    kernels::broadcast(kernels::Plan<2>(shape, {a.shape(), b.shape()}), from_a, from_b,
                       out.mut<R>().data(), f);
  }
  return out;
}

/// f(a, b) in the common type of a and b; the result has that type too, or type R if one is given.
template <class R = void, class F>
Tensor map2(const char* op, const Tensor& a, const Tensor& b, F f) {
  if (a.dtype() != b.dtype()) {
    const DType type = result_type(a, b);
    return map2<R>(op, a.to(type), b.to(type), f);
  }
  return detail::dispatch(a.dtype(), [&]<class T>(T) {
    return map2_as<T, std::conditional_t<std::is_void_v<R>, T, R>>(op, a, b, f);
  });
}

/// The same with a number on the right, converted to the common type first.
template <class R = void, class F>
Tensor map2(const char* op, const Tensor& a, Scalar b, F f) {
  if (const DType type = result_type(a, b); type != a.dtype()) return map2<R>(op, a.to(type), b, f);
  return detail::dispatch(a.dtype(), [&]<class T>(T) {
    using Result = std::conditional_t<std::is_void_v<R>, T, R>;
    return map_as<T, Result>(a, [f, v = b.to<T>()](T x) { return f(x, v); });
  });
}

/// g * d, but exactly 0 where g is 0, even if d is infinite or NaN: what was not chosen upstream
/// contributes nothing. The derivative is that of the plain product, so second order stays right
/// (masking g instead would make the Hessian of (sqrt(x) - 2)^2 at its minimum 0 instead of 1/8).
Tensor times(const Tensor& g, const Tensor& d);
/// g / d in the same sense.
Tensor over(const Tensor& g, const Tensor& d);
template <std::floating_point T>
T times(T g, T d) {
  return g == 0 ? g : g * d;
}
template <std::floating_point T>
T over(T g, T d) {
  return g == 0 ? g : g / d;
}

/// A reverse rule `formula(g, v)` written once, as a lambda for tensors and for numbers: while
/// recording it runs on tensors, so that it can be differentiated again, otherwise on the elements
/// in one pass. g and v have the same shape and floating dtype.
template <class F>
Tensor chain(const Tensor& g, const Tensor& v, F formula) {
  if (is_grad_enabled()) return formula(g, v);
  return detail::dispatch_floating(
      g.dtype(), [&]<class T>(T) { return map2_as<T, T>("chain", g, v, formula); });
}

/// A smooth function f of each element with a reverse rule formula(g, x) for `chain`. Integers are
/// converted to float32.
template <class F, class G>
Tensor by_input(const char* node, const Tensor& x, F f, G formula) {
  return record(
      map_floating(x, f), node,
      [x = save(x), formula](const Tensor& g) { return chain(g, x, formula); }, x);
}
/// The same with a rule formula(g, y) of the output.
template <class F, class G>
Tensor by_output(const char* node, const Tensor& x, F f, G formula) {
  return record(
      map_floating(x, f), node,
      [formula](const Tensor& g, const Tensor& y) { return chain(g, y, formula); }, x);
}

/// A number for a formula, in the precision of the other operand.
template <std::floating_point T>
T constant(T, double c) {
  return static_cast<T>(c);
}
inline Scalar constant(const Tensor&, double c) { return c; }

}  // namespace xgrad::ops
