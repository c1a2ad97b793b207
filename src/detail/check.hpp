#pragma once

/// Checks that every operation makes before it computes, and the words of their errors.

#include "detail/message.hpp"
#include "xgrad/tensor.hpp"

namespace xgrad::detail {

/// The dimension counted from the front. Throws IndexError outside [-rank, rank); rank 0 allows 0
/// and -1, as PyTorch does.
int wrap_dim(const char* op, std::int64_t dim, int rank);

/// The shape both stretch to. Throws ShapeError naming the dimension, with a repair where there is
/// exactly one honest guess.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

/// Whether broadcasting stretches the one shape to the other.
bool stretches(const Shape& shape, const Shape& to);

/// Number of bytes of a new tensor. Throws ShapeError for a negative size or an overflow.
std::size_t checked_bytes(const char* op, const Shape& shape, DType dtype);

/// Throws Error unless all of the tensors are defined.
template <class... T>
void check_defined(const char* op, const T&... x) {
  throw_if<Error>(!(x.defined() && ...), op, ": a tensor is undefined (default-constructed)");
}

/// Throws DTypeError unless x is float32 or float64.
void check_floating(const char* op, const Tensor& x);

/// Throws GraphError where an in-place change would be hidden from the graph.
void check_in_place(const char* op, const Tensor& target, const Tensor& source = {});

/// "1 value", "3 values".
std::string count(std::integral auto n, const char* what) {
  return message(n, " ", what, n == 1 ? "" : "s");
}

}  // namespace xgrad::detail
