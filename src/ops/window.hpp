#pragma once

/// Parts of a tensor as sizes, strides and an offset. Only the shape operations know of them: what
/// they return is dense again.

#include "kernels/copy.hpp"
#include "xgrad/tensor.hpp"

namespace xgrad::ops {

struct Window {
  Shape sizes;
  kernels::Strides strides{};
  std::int64_t offset = 0;
  bool rows = false;  ///< whole rows of dimension 0, one after the other: dense as it stands

  Window() = default;
  /// All of a tensor of this shape.
  explicit Window(const Shape& shape) : sizes(shape), strides(kernels::row_major(shape)) {}

  std::int64_t& stride(int d) { return strides[static_cast<std::size_t>(d)]; }
  std::int64_t stride(int d) const { return strides[static_cast<std::size_t>(d)]; }
  void push_back(std::int64_t size, std::int64_t stride_of_it) {
    stride(sizes.dim()) = stride_of_it;
    sizes.push_back(size);
  }
};

/// x's memory from element `offset` on under another shape, unrecorded.
Tensor alias(const Tensor& x, const Shape& shape, std::int64_t offset = 0);

/// The same, recorded; the sizes are known to fit.
Tensor reshaped(const Tensor& x, const Shape& shape, const char* name);

/// The window's elements, unrecorded: a dense copy, but x's memory for whole rows.
Tensor read(const Tensor& x, const Window& window);

/// Writes values, which stretch to the window's sizes, into x; unrecorded.
void write(Tensor& x, const Window& window, const Tensor& values);

/// `read`, recorded under this name. The elements of a window must be different ones.
Tensor part(const Tensor& x, const Window& window, const char* name);

/// Elements start, start + 1, ... along one dimension.
Window slice(const Shape& shape, int dim, std::int64_t start, std::int64_t length);

}  // namespace xgrad::ops
