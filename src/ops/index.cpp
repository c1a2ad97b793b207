#include <algorithm>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "kernels/broadcast.hpp"
#include "ops/window.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::wrap_dim;
using ops::Window;

namespace {

[[noreturn]] void fail_range(const char* op, std::int64_t i, int dim, std::int64_t size) {
  throw IndexError(std::string(op) + ": index " + std::to_string(i) + " is out of range for dim " +
                   std::to_string(dim) + " of size " + std::to_string(size));
}

/// The index counted from the front; `lowest` is -size, or 0 where negative ones are refused.
std::int64_t wrap_index(const char* op, std::int64_t i, std::int64_t lowest, int dim,
                        std::int64_t size) {
  if (i < lowest || i >= size) fail_range(op, i, dim, size);
  return i < 0 ? i + size : i;
}

void check_int64(const char* op, const Tensor& index) {
  if (index.dtype() == int64) return;
  throw DTypeError(std::string(op) + ": the index must be int64, got " + name(index.dtype()) +
                   " of shape " + index.shape().str());
}

int dim_with_size(const char* op, const Tensor& x, std::int64_t dim) {
  if (x.dim() == 0) throw IndexError(std::string(op) + ": a 0-d tensor has no parts");
  return wrap_dim(op, dim, x.shape().dim());
}

}  // namespace

// ---- one index, one range
// ------------------------------------------------------------------------

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  const int at = dim_with_size("select", x, dim);
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
  const int at = dim_with_size("narrow", x, dim);
  const std::int64_t size = x.shape()[at];
  const std::int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first) {
    throw IndexError("narrow: " + detail::count(length, "element") + " from " +
                     std::to_string(start) + " on do not lie within dim " + std::to_string(dim) +
                     " of shape " + x.shape().str());
  }
  return ops::part(x, ops::slice(x.shape(), at, first, length), "SliceBackward0");
}

// ---- rows by number
// ------------------------------------------------------------------------------

namespace {

/// Rows `numbers` (checked) of the middle one of three dimensions that a tensor is seen as.
struct Rows {
  Shape blocks;    ///< outer, rows, inner
  Tensor numbers;  ///< 1-d int64
  Shape from;      ///< shape of the tensor they are taken from
  Shape to;        ///< shape of the result
};

/// row(place in the whole tensor, place among the taken rows) for each row to move.
template <class F>
void each_row(const Rows& rows, F row) {
  const std::int64_t inner = rows.blocks[2];
  std::int64_t taken = 0;
  for (std::int64_t outer = 0; outer < rows.blocks[0]; ++outer) {
    for (std::int64_t number : rows.numbers.data<std::int64_t>()) {
      row((outer * rows.blocks[1] + number) * inner, taken);
      taken += inner;
    }
  }
}

Tensor add_rows(const Tensor& g, const Rows& rows);

Tensor take_rows(const Tensor& x, const Rows& rows, const char* name) {
  Tensor out = empty(rows.to, {.dtype = x.dtype()});
  detail::dispatch(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = x.data<T>().data();
    T* to = out.mut<T>().data();
    each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      std::copy(from + whole, from + whole + rows.blocks[2], to + taken);
    });
  });
  return record(
      out, name, [rows](const Tensor& g) { return add_rows(g, rows); }, x);
}

/// The derivative of take_rows: zeros with each row of g added at its place.
Tensor add_rows(const Tensor& g, const Rows& rows) {
  Tensor out = zeros(rows.from, {.dtype = g.dtype()});
  detail::dispatch_floating(g.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = g.data<T>().data();
    T* to = out.mut<T>().data();
    each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      for (std::int64_t i = 0; i < rows.blocks[2]; ++i) to[whole + i] += from[taken + i];
    });
  });
  return record(
      out, "IndexAddBackward0",
      [rows](const Tensor& h) { return take_rows(h, rows, "IndexSelectBackward0"); }, g);
}

/// A copy of the numbers, checked and counted from the front.
Tensor checked_numbers(const char* op, const Tensor& index, std::int64_t lowest, int dim,
                       std::int64_t size) {
  Tensor numbers = index.reshape({index.numel()}).clone();
  for (std::int64_t& i : numbers.mut<std::int64_t>()) i = wrap_index(op, i, lowest, dim, size);
  return numbers;
}

}  // namespace

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index) {
  check_int64("index_select", index);
  if (index.dim() > 1) {
    throw ShapeError("index_select: the index must be 1-d, got shape " + index.shape().str() +
                     ". index(x, {tensor}) takes any shape.");
  }
  const int at = wrap_dim("index_select", dim, x.shape().dim());
  Rows rows{.blocks = {1, 1, 1}, .numbers = {}, .from = x.shape(), .to = x.shape()};
  for (int d = 0; d < x.shape().dim(); ++d) {
    rows.blocks[d < at ? 0 : d == at ? 1 : 2] *= x.shape()[d];
  }
  rows.numbers = checked_numbers("index_select", index, 0, at, rows.blocks[1]);
  if (x.dim() > 0) rows.to[at] = index.numel();
  return take_rows(x, rows, "IndexSelectBackward0");
}

// ---- gather
// --------------------------------------------------------------------------------------

namespace {

/// element(place in x, place in the index) for each element of the index.
template <class F>
void each_gathered(const Shape& shape, int dim, const Tensor& index, F element) {
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
Tensor scatter_add(const Tensor& g, const Shape& shape, int dim, const Tensor& index) {
  Tensor out = zeros(shape, {.dtype = g.dtype()});
  detail::dispatch_floating(g.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = g.data<T>().data();
    T* to = out.mut<T>().data();
    each_gathered(shape, dim, index,
                  [&](std::int64_t whole, std::int64_t taken) { to[whole] += from[taken]; });
  });
  return record(
      out, "ScatterAddBackward0",
      [dim, index = save(index)](const Tensor& h) { return gather(h, dim, index); }, g);
}

}  // namespace

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
  if (!fits) {
    throw ShapeError("gather: index of shape " + index.shape().str() + " does not fit x of shape " +
                     shape.str() +
                     ": needs as many dimensions, and no greater sizes except in dim " +
                     std::to_string(dim));
  }
  for (std::int64_t i : index.data<std::int64_t>()) wrap_index("gather", i, 0, at, size);
  Tensor out = empty(index.shape(), {.dtype = x.dtype()});
  detail::dispatch(x.dtype(), [&](auto t) {
    using T = decltype(t);
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

// ---- index lists
// ---------------------------------------------------------------------------------

namespace {

/// What an index list means: a window of x and, where it holds a tensor, rows of that window.
struct Selection {
  Window window;
  const char* name = "AliasBackward0";  // PyTorch's, after the last entry
  Tensor tensor{};                      // undefined: all of the window
  int at = 0;                           // its place in the window
  int source_dim = 0;                   // and in x
};

class ListReader {
 public:
  ListReader(const char* op, const Shape& shape, std::initializer_list<Index> list)
      : op_(op), all_(shape) {
    found_.window.rows = true;
    int ellipses = 0;
    int named = 0;
    for (const Index& entry : list) {
      named += dims_of(entry);
      ellipses += entry.kind() == Index::Kind::ellipsis;
    }
    if (named > shape.dim()) {
      throw IndexError(std::string(op) + ": " + std::to_string(named) +
                       " indices are too many for shape " + shape.str());
    }
    if (ellipses > 1) throw IndexError(std::string(op) + ": more than one Ellipsis");
    for (const Index& entry : list) read(entry, shape.dim() - named);
    whole(shape.dim() - dim_);
  }
  const Selection& found() const { return found_; }

 private:
  static int dims_of(const Index& entry) {
    switch (entry.kind()) {
      case Index::Kind::number:
      case Index::Kind::slice: return 1;
      case Index::Kind::tensor:
        return entry.tensor().dtype() == DType::bool_ ? entry.tensor().shape().dim() : 1;
      default: return 0;
    }
  }

  void read(const Index& entry, int unnamed) {
    switch (entry.kind()) {
      case Index::Kind::number: number(entry.number()); break;
      case Index::Kind::slice: slice(entry.slice()); break;
      case Index::Kind::ellipsis: whole(unnamed); break;
      case Index::Kind::new_axis:
        found_.window.push_back(1, 0);
        found_.name = "UnsqueezeBackward0";
        break;
      case Index::Kind::tensor: tensor(entry.tensor()); break;
    }
  }

  void number(std::int64_t i) {
    const std::int64_t size = all_.sizes[dim_];
    found_.window.offset += wrap_index(op_, i, -size, dim_, size) * all_.stride(dim_);
    found_.window.rows = found_.window.rows && outermost_;
    found_.name = "SelectBackward0";
    ++dim_;
  }

  void slice(const Slice& s) {
    if (s.step < 1) {
      throw Error(std::string(op_) + ": the step of a slice must be positive, got " +
                  std::to_string(s.step) + "; flip(x, {dim}) reverses");
    }
    const std::int64_t size = all_.sizes[dim_];
    const auto bound = [size](std::int64_t i) {
      return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
    };
    const std::int64_t start = bound(s.start.value_or(0));
    const std::int64_t stop = std::max(start, bound(s.stop.value_or(size)));
    const std::int64_t length = stop == start ? 0 : 1 + (stop - start - 1) / s.step;
    const bool partial = length != size;
    found_.window.rows = found_.window.rows && (!partial || (outermost_ && s.step == 1));
    found_.window.offset += start * all_.stride(dim_);
    found_.window.push_back(length, all_.stride(dim_) * s.step);
    found_.name = "SliceBackward0";
    outermost_ = false;
    ++dim_;
  }

  void whole(int dims) {
    for (; dims > 0; --dims, ++dim_) {
      found_.window.push_back(all_.sizes[dim_], all_.stride(dim_));
      outermost_ = false;
    }
  }

  void tensor(const Tensor& index) {
    if (found_.tensor.defined()) throw IndexError(std::string(op_) + ": more than one tensor");
    if (index.dtype() != DType::bool_) check_int64(op_, index);
    found_.tensor = index;
    found_.at = found_.window.sizes.dim();
    found_.source_dim = dim_;
    const int covered = index.dtype() == DType::bool_ ? index.shape().dim() : 1;
    for (int d = 0; index.dtype() == DType::bool_ && d < covered; ++d) {
      if (index.shape()[d] == all_.sizes[dim_ + d]) continue;
      throw IndexError(std::string(op_) + ": a mask of shape " + index.shape().str() +
                       " does not match shape " + all_.sizes.str() + " from dim " +
                       std::to_string(dim_) + " on");
    }
    whole(covered);
  }

  const char* op_;
  Window all_;
  Selection found_{};
  int dim_ = 0;            // of x, next to be read
  bool outermost_ = true;  // only numbers so far
};

/// The rows of the window that the tensor of a selection takes.
Rows rows_of(const char* op, const Selection& s) {
  const Shape& sizes = s.window.sizes;
  const bool mask = s.tensor.dtype() == DType::bool_;
  const int covered = mask ? s.tensor.shape().dim() : 1;
  Rows rows{.blocks = {1, 1, 1}, .numbers = {}, .from = sizes, .to = {}};
  for (int d = 0; d < sizes.dim(); ++d) {
    rows.blocks[d < s.at ? 0 : d < s.at + covered ? 1 : 2] *= sizes[d];
  }
  if (mask) {
    std::vector<std::int64_t> numbers;
    const std::span<const bool> chosen = s.tensor.data<bool>();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) numbers.push_back(static_cast<std::int64_t>(i));
    }
    rows.numbers = xgrad::tensor(numbers);
  } else {
    rows.numbers = checked_numbers(op, s.tensor, -rows.blocks[1], s.source_dim, rows.blocks[1]);
  }
  for (int d = 0; d < s.at; ++d) rows.to.push_back(sizes[d]);
  for (std::int64_t size : mask ? rows.numbers.shape() : s.tensor.shape()) rows.to.push_back(size);
  for (int d = s.at + covered; d < sizes.dim(); ++d) rows.to.push_back(sizes[d]);
  return rows;
}

}  // namespace

Tensor index(const Tensor& x, std::initializer_list<Index> list) {
  const Selection s = ListReader("index", x.shape(), list).found();
  if (!s.tensor.defined()) return ops::part(x, s.window, s.name);
  const Rows rows = rows_of("index", s);
  const bool all = s.window.sizes == x.shape();
  return take_rows(all ? x : ops::part(x, s.window, s.name), rows, "IndexBackward0");
}

Tensor& Tensor::index_put_(std::initializer_list<Index> list, const Tensor& values) & {
  detail::check_in_place("index_put_", *this, values);
  const Selection s = ListReader("index_put_", shape(), list).found();
  const Rows rows = s.tensor.defined() ? rows_of("index_put_", s) : Rows{};
  const Shape& target = s.tensor.defined() ? rows.to : s.window.sizes;
  Shape from = values.shape();
  while (from.dim() > target.dim() && from[0] == 1) {
    from = Shape(std::span<const std::int64_t>(from.begin() + 1, from.end()));
  }
  if (detail::broadcast_shapes("index_put_", target, from) != target) {
    throw ShapeError("index_put_: values of shape " + values.shape().str() +
                     " do not stretch to the part of shape " + target.str());
  }
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
  detail::dispatch(dtype(), [&](auto t) {
    using T = decltype(t);
    const T* row = source.data<T>().data();
    T* to = region.mut<T>().data();
    each_row(rows, [&](std::int64_t whole, std::int64_t taken) {
      std::copy(row + taken, row + taken + rows.blocks[2], to + whole);
    });
  });
  if (!s.window.rows) ops::write(*this, s.window, region);
  return *this;
}

Tensor& Tensor::index_put_(std::initializer_list<Index> list, Scalar value) & {
  return index_put_(list, full({}, value, {.dtype = dtype()}));
}

}  // namespace xgrad
