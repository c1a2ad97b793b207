#pragma once

#include "xgrad/tensor.hpp"

namespace xgrad::teach {

/// What tells of many numbers in few.
struct Statistics {
  double mean = 0;
  double std = 0;  ///< divides by n - 1, as Tensor::std; 0 for one element
  double min = 0;
  double max = 0;
};

/// Of all elements of x, of any type; NaN throughout where x has none.
Statistics statistics(const Tensor& x);
/// sqrt(sum x^2) of a floating point tensor.
double l2_norm(const Tensor& x);
/// ||a - b|| of two floating point tensors of one shape and type.
double distance(const Tensor& a, const Tensor& b);
/// No element is NaN or infinite.
bool is_finite(const Tensor& x);

}  // namespace xgrad::teach
