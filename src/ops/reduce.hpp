#pragma once

/// Which dimensions a reduction removes, and how its kernel sees the tensor.

#include "kernels/reduce.hpp"
#include "ops/elementwise.hpp"

namespace xgrad::ops {

/// Bit d stands for dimension d.
using Axes = std::uint32_t;

/// The named dimensions, or all. Throws IndexError out of range, ShapeError for a repeated one.
Axes axes_of(const char* op, const Tensor& x, const Dims& dims);
/// Every dimension.
inline Axes all_axes(const Tensor& x) { return (Axes{1} << x.dim()) - 1; }

/// Shape of the result.
Shape reduced_shape(const Shape& shape, Axes axes, bool keepdim);
/// Number of elements that go into one output.
std::int64_t reduced_count(const Shape& shape, Axes axes);

/// x outside the graph, as the kernels of reductions read it. A copy, with the reduced dimensions
/// last, where they do not stand side by side.
struct Grouped {
  Tensor x;
  kernels::Groups groups;
};
Grouped grouped(const Tensor& x, Axes axes);

/// A new tensor of the result's shape, filled by kernel(groups, x's elements, the result's); x is
/// floating point.
template <class Kernel>
Tensor reduced(const Tensor& x, Axes axes, bool keepdim, Kernel kernel) {
  Tensor out = empty(reduced_shape(x.shape(), axes, keepdim), {.dtype = x.dtype()});
  const Grouped in = grouped(x, axes);
  detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    kernel(in.groups, in.x.data<T>().data(), out.mut<T>().data());
  });
  return out;
}

/// A result with its reduced dimensions back as size 1.
Tensor with_kept(const Tensor& y, const Shape& shape, Axes axes);
/// Each output's gradient, divided evenly among the places of `mask`.
Tensor share(const Tensor& g, const Tensor& mask, Axes axes);

/// What sums and products are collected in, and the dtype of their results: integers give int64.
template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
template <class T>
using TotalResult = std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>;
inline DType total_type(const Tensor& x) {
  return is_floating_point(x.dtype()) ? x.dtype() : int64;
}

Tensor sum(const Tensor& x, Axes axes, bool keepdim, const char* node);
Tensor mean(const Tensor& x, Axes axes, bool keepdim, const char* node);
/// The unrecorded extreme. Throws IndexError naming `op` for a reduction over no elements.
Tensor extreme(const char* op, const Tensor& x, Axes axes, bool keepdim, bool greatest);

}  // namespace xgrad::ops
