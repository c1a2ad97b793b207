#pragma once

#include "xgrad/random.hpp"

namespace xgrad::detail {

/// Overwrite a floating point tensor with uniform numbers of [low, high), or with normal ones of
/// this mean and deviation, drawn in PyTorch's order.
void fill_uniform(Tensor& x, double low, double high, Generator& generator);
void fill_normal(Tensor& x, double mean, double deviation, Generator& generator);

}  // namespace xgrad::detail
