#pragma once

#include <vector>

#include "xgrad/xgrad.hpp"

/// The table of operations: one row for each function of ops.hpp (or each of its overloads), which
/// op_table_test.cpp puts through everything that every operation must pass,
/// op_table_random_test.cpp tries with shapes drawn at random, and `xgrad gradcheck` checks on
/// demand.

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
std::vector<Row> all_rows();

std::vector<xg::Shape> shapes_of(const Row& row);
/// What the inputs are called in ops.hpp, for messages.
std::vector<std::string> names_of(const Row& row);
/// Random, but evenly spread: no two values are close, and none is close to 0.
xg::Tensor real_values(const In& in, const xg::Shape& shape, xg::Generator& generator);
Tensors inputs_of(const Row& row, const std::vector<xg::Shape>& shapes, std::uint64_t seed = 11);
/// Copies, of which the real ones that are named in the mask are leaves that require a gradient.
Tensors leaves(const Tensors& inputs, std::uint32_t mask = ~0U);
/// The inputs' shapes where the first one has this shape: one of the row's own sets of the same
/// rank, with each size replaced everywhere as it is there. Throws ShapeError where the row has
/// none.
std::vector<xg::Shape> shapes_like(const Row& row, const xg::Shape& first);

}  // namespace op_table
