// What the lessons on gradients share: two tensors side by side.
#pragma once

#include <cstdio>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// Prints whether a and b have the same bits, the same values up to rounding, and their largest
/// difference.
inline void compare(const char* name, const xg::Tensor& a, const xg::Tensor& b) {
  const double largest = (a - b).abs().max().item<double>();
  std::printf("%-10s exact: %-5s  approximate: %-5s  largest difference: %.1e\n", name,
              xg::to_string(xg::equal(a, b)).c_str(), xg::to_string(xg::allclose(a, b)).c_str(),
              largest);
}
