#pragma once

#include <array>
#include <cstdint>

#include "xgrad/shape.hpp"

namespace xgrad::kernels {

/// Distance in elements between neighbours along each dimension; may be 0 or negative.
using Strides = std::array<std::int64_t, Shape::max_dims>;

/// Those of a dense tensor.
Strides row_major(const Shape& shape);

/// to[i, j, ...] = from[i, j, ...] for all indices below `sizes`; `to` has no stride 0, and the two
/// do not overlap. Whole rows are memcpy, transposes go tile by tile.
template <class T>
void copy(const Shape& sizes, T* to, const Strides& to_strides, const T* from,
          const Strides& from_strides);

}  // namespace xgrad::kernels
