#pragma once

/// The door to xtensor (0.24 to 0.27), and the only public header that includes it: `xgrad.hpp`
/// does not. Link your program with the CMake target `xtensor` too.

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

#include <vector>

#include "xgrad/tensor.hpp"

namespace xgrad {

/// The elements of x as an xtensor expression, row-major and read-only, without a copy:
/// `double m = xt::amax(xg::adapt<double>(x))();`. T must be the C++ type of x's dtype, else
/// DTypeError. It points into x's memory: valid as long as a tensor with this memory lives, so it
/// cannot be taken of a temporary; give a lazy expression built on it a container before x dies.
template <class T>
auto adapt(const Tensor& x) {
  const std::vector<std::size_t> shape(x.shape().begin(), x.shape().end());
  const std::span<const T> elements = x.data<T>();
  return xt::adapt(elements.data(), elements.size(), xt::no_ownership(), shape);
}
template <class T>
auto adapt(const Tensor&& x) = delete;

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
  const std::span<T> elements = out.mut<T>();
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  auto to = xt::adapt(elements.data(), elements.size(), xt::no_ownership(), sizes);
  to.assign(values);
  return out;
}

}  // namespace xgrad
