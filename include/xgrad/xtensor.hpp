#pragma once

/// The door to xtensor (0.24 to 0.27), and the only public header that includes it: `xgrad.hpp`
/// does not. Link your program with the CMake target `xtensor` too.
///
///   what you have               what you want            copies
///   Tensor x                    read it in xtensor       adapt<float>(x): none
///   Tensor x                    write it from xtensor    adapt_mut<float>(x): none
///   xt::xarray a, done with it  a Tensor                 from_xarray(std::move(a)): none
///   any other expression        a Tensor                 from_xarray(e): one, its evaluation
///   Tensor x                    an xt::xarray of its own to_xarray<float>(x): one
///
/// Who owns the elements: the tensors that share them, or an array that was not given away. A
/// tensor never points into memory that somebody else may free: an array that lives on can only be
/// copied.

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include <vector>

#include "xgrad/tensor.hpp"

namespace xgrad {

namespace detail {
template <class T>
auto adapted(std::span<T> elements, const Shape& shape) {
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  return xt::adapt(elements.data(), elements.size(), xt::no_ownership(), sizes);
}

/// Arrays whose memory a tensor can take over: dense, row-major, of a tensor's types.
template <class A>
inline constexpr bool adoptable = false;
template <Element T, class A, class S, class Tag>
inline constexpr bool
    adoptable<xt::xarray_container<xt::uvector<T, A>, xt::layout_type::row_major, S, Tag>> = true;
template <Element T, class A, std::size_t n, class Tag>
inline constexpr bool
    adoptable<xt::xtensor_container<xt::uvector<T, A>, n, xt::layout_type::row_major, Tag>> = true;

template <class A>
struct ArrayOwner final : Owner {
  A array;
  explicit ArrayOwner(A&& a) : array(std::move(a)) {}
};
}  // namespace detail

/// The elements of x as an xtensor expression, row-major and read-only, without a copy:
/// `double m = xt::amax(xg::adapt<double>(x))();`. T must be the C++ type of x's dtype, else
/// DTypeError. It points into x's memory: valid as long as a tensor with this memory lives, so it
/// cannot be taken of a temporary; give a lazy expression built on it a container before x dies.
template <class T>
auto adapt(const Tensor& x) {
  return detail::adapted(x.data<T>(), x.shape());
}
template <class T>
auto adapt(const Tensor&& x) = delete;

/// The same for writing: `xg::adapt_mut<float>(x) = 2 * a;` evaluates into x. Counts as an in-place
/// change, at the time of the call, with the rules of `Tensor::mut`.
template <class T>
auto adapt_mut(Tensor& x) {
  return detail::adapted(x.mut<T>(), x.shape());
}

/// A copy of x.
template <class T>
xt::xarray<T> to_xarray(const Tensor& x) {
  return adapt<T>(x);
}

/// The values of any xtensor expression, evaluated into a new tensor: double gives float64, float
/// float32, bool bool, other integers int64. Throws ShapeError beyond 8 dimensions.
template <class E>
Tensor from_xarray(const xt::xexpression<E>& expression) {
  using V = typename E::value_type;
  using T = std::conditional_t<detail::Element<V>, V,
                               std::conditional_t<std::is_integral_v<V>, std::int64_t, double>>;
  const E& values = expression.derived_cast();
  Shape shape;
  for (auto size : values.shape()) shape.push_back(static_cast<std::int64_t>(size));
  Tensor out = empty(shape, {.dtype = dtype_of<T>});
  auto to = adapt_mut<T>(out);
  to.assign(values);
  return out;
}

/// The elements of an array that is given away, `from_xarray(std::move(a))`, without a copy: they
/// live as long as a tensor that has them; a is left as any array that was moved from. For xarray
/// and xtensor, row-major, of float, double, std::int64_t or bool; others are copied.
template <class A>
requires detail::adoptable<A> Tensor from_xarray(A&& array) {
  Shape shape;
  for (auto size : array.shape()) shape.push_back(static_cast<std::int64_t>(size));
  auto* owner = new detail::ArrayOwner<A>(std::move(array));
  return detail::adopt(owner->array.data(), shape, dtype_of<typename A::value_type>, owner);
}

}  // namespace xgrad
