#include <algorithm>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/window.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad {

using ops::Rows, ops::Window, ops::wrap_index;

namespace {

/// What an index list means: a window of x and, where it holds a tensor, rows of that window.
struct Selection {
  Window window;
  const char* name = "AliasBackward0";  // PyTorch's, after the last entry
  Tensor tensor{};                      // undefined: all of the window
  int tensor_at = 0;                    // its dimension of the window
  int tensor_dim = 0;                   // and of x
};

/// Dimensions that an int64 tensor or a mask stands for.
int dims_of(const Tensor& index) { return index.dtype() == DType::bool_ ? index.shape().dim() : 1; }

/// A slice's first element and their number.
std::pair<std::int64_t, std::int64_t> resolved(const char* op, const Slice& s, std::int64_t size) {
  throw_if<Error>(s.step < 1, op, ": the step of a slice must be positive, got ", s.step,
                  "; flip(x, {dim}) reverses");
  const auto bound = [size](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t start = bound(s.start.value_or(0));
  const std::int64_t stop = bound(s.stop.value_or(size));
  return {start, stop <= start ? 0 : 1 + (stop - start - 1) / s.step};
}

void check_tensor(const char* op, const Tensor& index, const Shape& shape, int dim) {
  if (index.dtype() != DType::bool_) return ops::check_int64(op, index);
  for (int d = 0; d < index.shape().dim(); ++d) {
    if (index.shape()[d] == shape[dim + d]) continue;
    throw IndexError(message(op, ": a mask of shape ", index.shape(), " does not match shape ",
                             shape, " from dim ", dim, " on"));
  }
}

Selection read_list(const char* op, const Shape& shape, std::initializer_list<Index> list) {
  using Kind = Index::Kind;
  int named = 0;
  int ellipses = 0;
  int tensors = 0;
  for (const Index& entry : list) {
    const Kind kind = entry.kind();
    if (kind == Kind::number || kind == Kind::slice) ++named;
    if (kind == Kind::tensor) ++tensors, named += dims_of(entry.tensor());
    if (kind == Kind::ellipsis) ++ellipses;
  }
  if (named > shape.dim() || ellipses > 1 || tensors > 1) {
    throw IndexError(message(op, ": an index of ", detail::count(named, "dimension"), ", ",
                             ellipses, " Ellipsis and ", detail::count(tensors, "tensor"),
                             " for shape ", shape,
                             ": at most its dimensions, one Ellipsis and one tensor"));
  }

  const Window all(shape);
  Selection s;
  Window& window = s.window;
  window.rows = true;
  bool outermost = true;  // only numbers so far: the next entry chooses whole rows
  int dim = 0;
  const auto keep = [&](int dims) {
    for (; dims > 0; --dims, ++dim, outermost = false) {
      window.push_back(shape[dim], all.stride(dim));
    }
  };
  for (const Index& entry : list) {
    switch (entry.kind()) {
      case Kind::number:
        window.offset +=
            wrap_index(op, entry.number(), -shape[dim], dim, shape[dim]) * all.stride(dim);
        window.rows = window.rows && outermost;
        s.name = "SelectBackward0";
        ++dim;
        break;
      case Kind::slice: {
        const auto [start, length] = resolved(op, entry.slice(), shape[dim]);
        const std::int64_t step = entry.slice().step;
        window.rows = window.rows && (length == shape[dim] || (outermost && step == 1));
        window.offset += start * all.stride(dim);
        window.push_back(length, all.stride(dim) * step);
        s.name = "SliceBackward0";
        outermost = false;
        ++dim;
        break;
      }
      case Kind::ellipsis: keep(shape.dim() - named); break;
      case Kind::new_axis:
        window.push_back(1, 0);
        s.name = "UnsqueezeBackward0";
        break;
      case Kind::tensor:
        check_tensor(op, entry.tensor(), shape, dim);
        s.tensor = entry.tensor();
        s.tensor_at = window.sizes.dim();
        s.tensor_dim = dim;
        keep(dims_of(s.tensor));
        break;
    }
  }
  keep(shape.dim() - dim);
  return s;
}

/// The rows of the window that the tensor of a selection takes.
Rows rows_of(const char* op, const Selection& s) {
  const Shape& sizes = s.window.sizes;
  const int end = s.tensor_at + dims_of(s.tensor);
  Rows rows(sizes, s.tensor_at, end);
  Shape chosen = s.tensor.shape();
  if (s.tensor.dtype() == DType::bool_) {
    std::vector<std::int64_t> numbers;
    const std::span<const bool> mask = s.tensor.data<bool>();
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) numbers.push_back(static_cast<std::int64_t>(i));
    }
    rows.numbers = tensor(numbers);
    chosen = rows.numbers.shape();
  } else {
    const std::int64_t size = rows.blocks[1];
    rows.numbers = ops::wrap_indices(op, s.tensor, -size, s.tensor_dim, size);
  }
  rows.to = sizes.slice(0, s.tensor_at) + chosen + sizes.slice(end);
  return rows;
}

}  // namespace

Tensor index(const Tensor& x, std::initializer_list<Index> list) {
  const Selection s = read_list("index", x.shape(), list);
  if (!s.tensor.defined()) return ops::part(x, s.window, s.name);
  const Rows rows = rows_of("index", s);
  const bool all = s.window.sizes == x.shape();
  return ops::take_rows(all ? x : ops::part(x, s.window, s.name), rows, "IndexBackward0");
}

Tensor& Tensor::index_put_(std::initializer_list<Index> list, const Tensor& values) & {
  detail::check_in_place("index_put_", *this, values);
  const Selection s = read_list("index_put_", shape(), list);
  const Rows rows = s.tensor.defined() ? rows_of("index_put_", s) : Rows({}, 0, 0);
  const Shape& target = s.tensor.defined() ? rows.to : s.window.sizes;
  Shape from = values.shape();
  while (from.dim() > target.dim() && from[0] == 1) from = from.slice(1);
  throw_if<ShapeError>(detail::broadcast_shapes("index_put_", target, from) != target,
                       "index_put_: values of shape ", values.shape(),
                       " do not stretch to the part of shape ", target);
  const NoGrad no_grad;
  Tensor source = values.to(dtype());
  if (source.impl().storage == impl().storage) source = source.clone();  // read before writing
  source = ops::alias(source, from);
  if (!s.tensor.defined()) {
    ops::write(*this, s.window, source);
    return *this;
  }
  source = source.expand(target);
  Tensor region = ops::read(*this, s.window);
  detail::dispatch(dtype(), [&]<class T>(T) {
    const T* row = source.data<T>().data();
    T* to = region.mut<T>().data();
    ops::each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      std::copy(row + taken, row + taken + rows.blocks[2], to + whole);
    });
  });
  if (!s.window.rows) ops::write(*this, s.window, region);
  return *this;
}

Tensor& Tensor::index_put_(std::initializer_list<Index> list, Scalar value) & {
  return index_put_(list, tensor(value, {.dtype = dtype()}));
}

}  // namespace xgrad
