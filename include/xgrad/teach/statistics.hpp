#pragma once

#include <limits>

#include "xgrad/tensor.hpp"

namespace xgrad::teach {

/// Where there is no number to tell.
inline constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// What tells of many numbers in few.
struct Statistics {
  double mean = none;
  double std = none;  ///< divides by n - 1, as Tensor::std; 0 for one element
  double min = none;
  double max = none;
};

/// Of all elements of x, of any type; `none` throughout where x has none.
Statistics statistics(const Tensor& x);
/// sqrt(sum x^2)
double l2_norm(const Tensor& x);
/// sqrt(sum (a - b)^2) of two tensors of one shape.
double distance(const Tensor& a, const Tensor& b);
/// Share of the units (last dimension) of a ReLU's output that are 0 in all rows.
double dead_share(const Tensor& x);
/// No element is NaN or infinite.
bool is_finite(const Tensor& x);

}  // namespace xgrad::teach
