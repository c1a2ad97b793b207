#include <algorithm>
#include <utility>

#include "detail/check.hpp"
#include "ops/rows.hpp"
#include "ops/window.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::wrap_dim;

// ---- copies side by side ------------------------------------------------------------------------

/// `shape` as (sizes before d, times, the others), to add or sum over copies of dimension d.
static Shape blocks(const Shape& shape, int d, std::int64_t times) {
  return {shape.slice(0, d).numel(), times, shape.slice(d).numel()};
}

Tensor repeat(const Tensor& x, Shape repeats) {
  const int added = repeats.dim() - x.shape().dim();
  if (added < 0 || std::any_of(repeats.begin(), repeats.end(), [](auto n) { return n < 0; })) {
    throw ShapeError(message("repeat: repeats ", repeats,
                             " must be a number >= 0 for each dimension of shape ", x.shape()));
  }
  Shape once = x.shape();
  while (once.dim() < repeats.dim()) once = 1 + once;
  Shape total = once;  // known before anything is copied
  for (int d = 0; d < repeats.dim(); ++d) {
    throw_if<ShapeError>(__builtin_mul_overflow(once[d], repeats[d], &total[d]), "repeat: repeats ",
                         repeats, " of shape ", x.shape(), " have too many elements");
  }
  const bool none = detail::checked_bytes("repeat", total, x.dtype()) == 0;
  Shape shape = none ? total : once;
  Tensor out = none ? empty(total, {.dtype = x.dtype()}) : x.detach().clone();
  for (int d = 0; d < repeats.dim(); ++d) {
    if (repeats[d] == 1 || none) continue;
    out = expand(ops::alias(out, blocks(shape, d, 1)), blocks(shape, d, repeats[d]));
    shape[d] *= repeats[d];
  }
  return record(
      ops::alias(out, shape), "RepeatBackward0",
      [repeats, once, from = x.shape()](const Tensor& gradient) {
        Tensor g = gradient;
        Shape left = g.shape();
        for (int d = 0; d < repeats.dim(); ++d) {
          if (repeats[d] == 1) continue;
          left[d] = once[d];
          g = sum(reshape(g, blocks(left, d, repeats[d])), 1);
        }
        return reshape(g, from);
      },
      x);
}

// ---- several tensors into one -------------------------------------------------------------------

/// All in the type that holds the values of each.
static std::vector<Tensor> promoted(const char* op, const std::vector<Tensor>& xs) {
  throw_if<ShapeError>(xs.empty(), op, ": needs at least one tensor");
  DType dtype = xs[0].dtype();
  for (const Tensor& x : xs) dtype = promote_types(dtype, x.dtype());
  std::vector<Tensor> same;
  for (const Tensor& x : xs) same.push_back(x.to(dtype));
  return same;
}

/// A fresh tensor of that shape with each block at its place along dim.
static Tensor joined(const std::vector<Tensor>& blocks, const Shape& shape, int dim) {
  Tensor out = empty(shape, {.dtype = blocks[0].dtype()});
  std::int64_t start = 0;
  for (const Tensor& block : blocks) {
    const std::int64_t length = block.shape()[dim];
    ops::write(out, ops::slice(shape, dim, start, length), block);
    start += length;
  }
  return out;
}

[[noreturn]] static void fail_unequal(const char* op, const std::vector<Tensor>& xs, std::size_t at,
                                      const std::string& rule) {
  std::string shapes;
  for (const Tensor& x : xs) shapes += (shapes.empty() ? "" : ", ") + x.shape().str();
  throw ShapeError(message(op, ": ", rule, ", but tensor ", at, " differs: got shapes ", shapes));
}

Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim) {
  const std::vector<Tensor> xs = promoted("cat", tensors);
  const Shape nothing{0};  // a tensor of this shape fits everywhere
  Shape shape = nothing;
  for (const Tensor& x : xs) {
    if (shape == nothing) shape = x.shape();
  }
  throw_if<ShapeError>(shape.dim() == 0,
                       "cat: 0-d tensors have no dimension to join along; use stack");
  const int at = shape == nothing ? 0 : wrap_dim("cat", dim, shape.dim());
  shape[at] = 0;
  std::vector<Tensor> blocks{empty(shape, {.dtype = xs[0].dtype()})};
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    Shape other = xs[i].shape();
    shapes.push_back(other);
    if (other == nothing) continue;
    const std::int64_t length = at < other.dim() ? std::exchange(other[at], shape[at]) : 0;
    if (other != shape) {
      fail_unequal("cat", xs, i,
                   "all sizes but that of dim " + std::to_string(dim) + " must be equal");
    }
    shape[at] += length;
    blocks.push_back(xs[i]);
  }
  return record_list(
      joined(blocks, shape, at), "CatBackward0",
      [shapes, at](const Tensor& g, Needs needs) {
        std::vector<Tensor> results;
        std::int64_t start = 0;
        for (const Shape& own : shapes) {
          const std::int64_t length = own.numel() == 0 && own.dim() == 1 ? 0 : own[at];
          const bool wanted = needs[results.size()];
          results.push_back(!wanted       ? Tensor()
                            : length == 0 ? zeros(own, {.dtype = g.dtype()})
                                          : narrow(g, at, start, length));
          start += length;
        }
        return results;
      },
      xs);
}

Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim) {
  const std::vector<Tensor> xs = promoted("stack", tensors);
  Shape shape = xs[0].shape();
  const int at = wrap_dim("stack", dim, shape.dim() + 1);
  const Shape single = shape.slice(0, at) + 1 + shape.slice(at);
  std::vector<Tensor> blocks;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].shape() != shape) fail_unequal("stack", xs, i, "all shapes must be equal");
    blocks.push_back(ops::alias(xs[i], single));
  }
  shape = single;
  shape[at] = static_cast<std::int64_t>(xs.size());
  return record_list(
      joined(blocks, shape, at), "StackBackward0",
      [n = xs.size(), at](const Tensor& g, Needs needs) {
        std::vector<Tensor> results(n);
        for (std::size_t i = 0; i < n; ++i) {
          if (needs[i]) results[i] = select(g, at, static_cast<std::int64_t>(i));
        }
        return results;
      },
      xs);
}

// ---- one tensor into several --------------------------------------------------------------------

static std::vector<Tensor> pieces(const Tensor& x, int dim, const std::vector<std::int64_t>& sizes,
                                  const char* name) {
  std::vector<Tensor> result;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    result.push_back(ops::part(x, ops::slice(x.shape(), dim, start, size), name));
    start += size;
  }
  return result;
}

/// As many pieces of that size as it takes, the last perhaps smaller; one for no elements.
static std::vector<std::int64_t> equal_sizes(std::int64_t total, std::int64_t size) {
  std::vector<std::int64_t> sizes;
  std::int64_t left = total;
  do {
    sizes.push_back(std::min(left, size));
    left -= sizes.back();
  } while (left > 0);
  return sizes;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim) {
  const int at = ops::dim_with_size("split", x, dim);
  const std::int64_t total = x.shape()[at];
  throw_if<Error>(size < 0 || (size == 0 && total > 0),
                  "split: the size of the pieces must be positive, got ", size, " for shape ",
                  x.shape());
  return pieces(x, at, equal_sizes(total, size), "SplitBackward0");
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes,
                          std::int64_t dim) {
  const int at = ops::dim_with_size("split", x, dim);
  std::int64_t left = x.shape()[at];
  for (std::int64_t size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (left != 0) {
    std::string list;
    for (std::int64_t size : sizes) list += (list.empty() ? "" : ", ") + std::to_string(size);
    throw ShapeError(
        message("split: the sizes ", list, " do not add up to dim ", dim, " of shape ", x.shape()));
  }
  return pieces(x, at, sizes, "SplitWithSizesBackward0");
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim) {
  const int at = ops::dim_with_size("chunk", x, dim);
  throw_if<Error>(chunks < 1, "chunk: needs at least 1 chunk, got ", chunks);
  const std::int64_t total = x.shape()[at];
  if (total == 0) {
    throw_if<Error>(chunks > 1'000'000, "chunk: ", chunks, " empty pieces of shape ", x.shape());
    const std::vector<std::int64_t> none(static_cast<std::size_t>(chunks), 0);
    return pieces(x, at, none, "SplitWithSizesBackward0");
  }
  return pieces(x, at, equal_sizes(total, 1 + (total - 1) / chunks), "SplitBackward0");
}

}  // namespace xgrad
