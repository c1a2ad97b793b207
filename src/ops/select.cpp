#include <algorithm>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "kernels/broadcast.hpp"
#include "ops/rows.hpp"
#include "ops/window.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::wrap_dim, ops::check_int64, ops::Rows, ops::Window, ops::wrap_index;

int ops::dim_with_size(const char* op, const Tensor& x, std::int64_t dim) {
  throw_if<IndexError>(x.dim() == 0, op, ": a 0-d tensor has no parts");
  return wrap_dim(op, dim, x.shape().dim());
}

std::int64_t ops::wrap_index(const char* op, std::int64_t i, std::int64_t lowest, int dim,
                             std::int64_t size) {
  throw_if<IndexError>(i < lowest || i >= size, op, ": index ", i, " is out of range for dim ", dim,
                       " of size ", size);
  return i < 0 ? i + size : i;
}

Tensor ops::wrap_indices(const char* op, const Tensor& index, std::int64_t lowest, int dim,
                         std::int64_t size) {
  Tensor numbers = reshape(index, {index.numel()}).clone();
  for (std::int64_t& i : numbers.mut<std::int64_t>()) i = wrap_index(op, i, lowest, dim, size);
  return numbers;
}

void ops::check_int64(const char* op, const Tensor& index) {
  if (index.dtype() == int64) return;
  throw DTypeError(
      message(op, ": the index must be int64, got ", index.dtype(), " of shape ", index.shape()));
}

// ---- one index, one range -----------------------------------------------------------------------

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  const int at = ops::dim_with_size("select", x, dim);
  const std::int64_t size = x.shape()[at];
  const Window all(x.shape());
  Window window;
  window.offset = wrap_index("select", index, -size, at, size) * all.stride(at);
  window.rows = at == 0;
  for (int d = 0; d < x.shape().dim(); ++d) {
    if (d != at) window.push_back(x.shape()[d], all.stride(d));
  }
  return ops::part(x, window, "SelectBackward0");
}

Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  const int at = ops::dim_with_size("narrow", x, dim);
  const std::int64_t size = x.shape()[at];
  const std::int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first) {
    throw IndexError(message("narrow: ", detail::count(length, "element"), " from ", start,
                             " on do not lie within dim ", dim, " of shape ", x.shape()));
  }
  return ops::part(x, ops::slice(x.shape(), at, first, length), "SliceBackward0");
}

// ---- rows by number -----------------------------------------------------------------------------

/// The derivative of take_rows: zeros with each row of g added at its place.
static Tensor add_rows(const Tensor& g, const Rows& rows) {
  Tensor out = zeros(rows.from, {.dtype = g.dtype()});
  detail::dispatch_floating(g.dtype(), [&]<class T>(T) {
    const T* from = g.data<T>().data();
    T* to = out.mut<T>().data();
    ops::each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      for (std::int64_t i = 0; i < rows.blocks[2]; ++i) to[whole + i] += from[taken + i];
    });
  });
  return record(
      out, "IndexAddBackward0",
      [rows](const Tensor& h) { return ops::take_rows(h, rows, "IndexSelectBackward0"); }, g);
}

Tensor ops::take_rows(const Tensor& x, const Rows& rows, const char* name) {
  Tensor out = empty(rows.to, {.dtype = x.dtype()});
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = out.mut<T>().data();
    ops::each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      std::copy(from + whole, from + whole + rows.blocks[2], to + taken);
    });
  });
  return record(
      out, name, [rows](const Tensor& g) { return add_rows(g, rows); }, x);
}

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index) {
  check_int64("index_select", index);
  throw_if<ShapeError>(index.dim() > 1, "index_select: the index must be 1-d, got shape ",
                       index.shape(), ". index(x, {tensor}) takes any shape.");
  const int at = wrap_dim("index_select", dim, x.shape().dim());
  throw_if<ShapeError>(x.dim() == 0 && index.numel() != 1,
                       "index_select: x of shape () has one element, the index ", index.numel(),
                       "; needs exactly one");
  Rows rows(x.shape(), at, at + 1);
  rows.numbers = ops::wrap_indices("index_select", index, 0, at, rows.blocks[1]);
  rows.to = x.shape();
  if (x.dim() > 0) rows.to[at] = index.numel();
  return ops::take_rows(x, rows, "IndexSelectBackward0");
}

Tensor embedding(const Tensor& indices, const Tensor& weight,
                 std::optional<std::int64_t> padding_idx) {
  check_int64("embedding", indices);
  throw_if<ShapeError>(weight.dim() != 2, "embedding: weight must be (rows, features), got shape ",
                       weight.shape());
  const std::int64_t count = weight.size(0);
  if (padding_idx) padding_idx = wrap_index("embedding", *padding_idx, -count, 0, count);
  Rows rows(weight.shape(), 0, 1);
  rows.numbers = ops::wrap_indices("embedding", indices, 0, 0, count);
  rows.to = indices.shape() + weight.size(1);
  return record(
      ops::take_rows(weight.detach(), rows, ""), "EmbeddingBackward0",
      [rows, padding_idx](const Tensor& g) {
        if (!padding_idx || XGRAD_BUG(embedding_trains_padding)) return add_rows(g, rows);
        const Shape one_each = rows.to.slice(0, rows.to.dim() - 1) + 1;
        return add_rows(masked_fill(g, (rows.numbers == *padding_idx).reshape(one_each), 0), rows);
      },
      weight);
}

// ---- gather -------------------------------------------------------------------------------------

/// element(place in x, place in the index) for each element of the index.
template <class F>
static void each_gathered(const Shape& shape, int dim, const Tensor& index, F element) {
  if (index.numel() == 0) return;
  const Window all(shape);
  kernels::Plan<1> plan;
  for (int d = index.shape().dim() - 1; d >= 0; --d) {
    plan.push(index.shape()[d], {d == dim ? 0 : all.stride(d)});
  }
  const std::int64_t* at = index.data<std::int64_t>().data();
  const std::int64_t step = shape.dim() == 0 ? 0 : all.stride(dim);
  plan.each_row([&](const auto& offset, std::int64_t first) {
    for (std::int64_t i = 0; i < plan.sizes[0]; ++i) {
      element(offset[0] + i * plan.strides[0][0] + at[first + i] * step, first + i);
    }
  });
}

/// The derivative of gather: zeros of that shape with each element of g added at its place.
static Tensor scatter_add(const Tensor& g, const Shape& shape, int dim, const Tensor& index) {
  Tensor out = zeros(shape, {.dtype = g.dtype()});
  detail::dispatch_floating(g.dtype(), [&]<class T>(T) {
    const T* from = g.data<T>().data();
    T* to = out.mut<T>().data();
    each_gathered(shape, dim, index, [&](std::int64_t whole, std::int64_t taken) {
      to[whole] = (XGRAD_BUG(gather_overwrites_repeats) ? 0 : to[whole]) + from[taken];
    });
  });
  return record(
      out, "ScatterAddBackward0",
      [dim, index = save(index)](const Tensor& h) { return gather(h, dim, index); }, g);
}

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index) {
  check_int64("gather", index);
  const Shape& shape = x.shape();
  const int at = wrap_dim("gather", dim, shape.dim());
  const std::int64_t size = shape.dim() == 0 ? 1 : shape[at];
  bool fits = index.numel() == 0 ||
              std::max<std::int64_t>(1, index.dim()) == std::max<std::int64_t>(1, x.dim());
  for (int d = 0; fits && index.numel() > 0 && d < index.shape().dim(); ++d) {
    fits = d == at || index.shape()[d] <= shape[d];
  }
  throw_if<ShapeError>(!fits, "gather: index of shape ", index.shape(), " does not fit x of shape ",
                       shape, ": needs as many dimensions, and no greater sizes except in dim ",
                       dim);
  for (std::int64_t i : index.data<std::int64_t>()) wrap_index("gather", i, 0, at, size);
  Tensor out = empty(index.shape(), {.dtype = x.dtype()});
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = out.mut<T>().data();
    each_gathered(shape, at, index,
                  [&](std::int64_t whole, std::int64_t taken) { to[taken] = from[whole]; });
  });
  return record(
      out, "GatherBackward0",
      [from = shape, at, index = save(index)](const Tensor& g) {
        return scatter_add(g, from, at, index);
      },
      x);
}

}  // namespace xgrad
