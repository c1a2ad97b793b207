#pragma once

/// Whole rows taken from a tensor by number, and numbers that point into a dimension.

#include "xgrad/tensor.hpp"

namespace xgrad::ops {

/// The dimension counted from the front. Throws IndexError for a 0-d tensor too.
int dim_with_size(const char* op, const Tensor& x, std::int64_t dim);

/// The index counted from the front. Throws IndexError unless lowest <= i < size; `lowest` is
/// -size, or 0 where negative numbers are refused.
std::int64_t wrap_index(const char* op, std::int64_t i, std::int64_t lowest, int dim,
                        std::int64_t size);

/// A flat copy of an int64 tensor with each number so wrapped.
Tensor wrap_indices(const char* op, const Tensor& index, std::int64_t lowest, int dim,
                    std::int64_t size);

/// Throws DTypeError unless the index is int64.
void check_int64(const char* op, const Tensor& index);

/// Rows of the middle one of three dimensions that a tensor is seen as.
struct Rows {
  Shape from;        ///< shape of the tensor they are taken from
  Shape blocks;      ///< outer, rows, inner
  Tensor numbers{};  ///< 1-d int64, each within the rows
  Shape to{};        ///< shape of the result

  /// Dimensions begin to end - 1 of that shape are the rows.
  Rows(const Shape& shape, int begin, int end)
      : from(shape),
        blocks{shape.slice(0, begin).numel(), shape.slice(begin, end).numel(),
               shape.slice(end).numel()} {}
};

/// row(place in the whole tensor, place among the taken rows) for each row to move.
template <class F>
void each_row(const Rows& rows, F row) {
  std::int64_t taken = 0;
  for (std::int64_t outer = 0; outer < rows.blocks[0]; ++outer) {
    for (std::int64_t number : rows.numbers.data<std::int64_t>()) {
      row((outer * rows.blocks[1] + number) * rows.blocks[2], taken);
      taken += rows.blocks[2];
    }
  }
}

/// The rows of x, recorded under that name.
Tensor take_rows(const Tensor& x, const Rows& rows, const char* name);

}  // namespace xgrad::ops
