#pragma once

#include "xgrad/tensor.hpp"

namespace xgrad::ops {

/// The dimensions before the last two.
inline Shape batch_of(const Shape& shape) { return shape.slice(0, shape.dim() - 2); }

/// op(a) op(b) of the last two dimensions, op a transpose where the flag says so; the dimensions
/// before them broadcast. Recorded under `name`. No operand is ever copied to transpose it.
Tensor gemm(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b,
            const char* name = "MmBackward0");

}  // namespace xgrad::ops
