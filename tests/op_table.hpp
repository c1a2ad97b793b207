#pragma once

#include <vector>

#include "xgrad/xgrad.hpp"

/// The table of operations: one row for each function of ops.hpp (or each of its overloads), which
/// op_table_test.cpp puts through everything that every operation must pass.

namespace op_table {

namespace xg = xgrad;
using Tensors = std::vector<xg::Tensor>;

/// An input: random values between low and high, no two of them equal. Real ones require a
/// gradient; int64 ones are whole numbers in [low, high), bool ones a mask.
struct In {
  xg::Shape shape;
  double low = -2;
  double high = 2;
  xg::DType dtype = xg::float64;
};

struct Row {
  const char* name;     ///< that of the function; what stands in brackets tells its forms apart
  const char* grad_fn;  ///< as PyTorch names it; null where nothing is recorded
  xg::Tensor (*f)(const Tensors& in);
  std::vector<In> inputs;
  /// The shapes of the inputs once more: of one element, of none, broadcast, of another rank.
  std::vector<std::vector<xg::Shape>> more = {};
};

std::vector<Row> arithmetic_rows();
std::vector<Row> elementwise_rows();
std::vector<Row> reduction_rows();
std::vector<Row> shape_rows();
std::vector<Row> network_rows();

}  // namespace op_table
