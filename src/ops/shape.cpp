#include <algorithm>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "ops/window.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::wrap_dim, ops::reshaped, ops::Window;

// ---- the same elements in other sizes: memory is shared -----------------------------------------

/// The shape with its -1 replaced by what is left of n elements.
static Shape inferred(const char* op, const Shape& from, Shape shape) {
  const auto fail = [&](const std::string& why) {
    throw ShapeError(message(op, ": shape ", from, " (", detail::count(from.numel(), "element"),
                             ") does not fit into ", shape, why));
  };
  std::int64_t* unknown = nullptr;
  std::int64_t known = 1;
  for (std::int64_t& s : shape) {
    if (s < -1) fail(": sizes must not be negative; one -1 is inferred");
    if (s == -1 && unknown) fail(": only one size can be inferred, give the others");
    if (s == -1) unknown = &s;
    if (s != -1 && __builtin_mul_overflow(known, s, &known)) fail("");
  }
  if (unknown && known == 0) fail(": the -1 could be any size next to a 0");
  if (unknown ? from.numel() % known != 0 : from.numel() != known) fail("");
  if (unknown) *unknown = from.numel() / known;
  return shape;
}

Tensor reshape(const Tensor& x, Shape shape) {
  return reshaped(x, inferred("reshape", x.shape(), shape), "ReshapeAliasBackward0");
}

Tensor Tensor::view(Shape shape) const {
  return reshaped(*this, inferred("view", this->shape(), shape), "ViewBackward0");
}

Tensor flatten(const Tensor& x, std::int64_t start_dim, std::int64_t end_dim) {
  const int rank = x.shape().dim();
  const int first = wrap_dim("flatten", start_dim, rank);
  const int last = wrap_dim("flatten", end_dim, rank);
  throw_if<ShapeError>(first > last, "flatten: start_dim ", start_dim, " comes after end_dim ",
                       end_dim, " in shape ", x.shape());
  if (first == last && rank > 0) return x;
  const Shape& s = x.shape();
  return reshaped(x, s.slice(0, first) + s.slice(first, last + 1).numel() + s.slice(last + 1),
                  "ReshapeAliasBackward0");
}

Tensor squeeze(const Tensor& x) {
  Shape shape;
  for (std::int64_t s : x.shape()) {
    if (s != 1) shape.push_back(s);
  }
  return reshaped(x, shape, "SqueezeBackward0");
}

Tensor squeeze(const Tensor& x, std::int64_t dim) {
  const int at = wrap_dim("squeeze", dim, x.shape().dim());
  const Shape& s = x.shape();
  const bool goes = s.dim() > 0 && s[at] == 1;
  return reshaped(x, goes ? s.slice(0, at) + s.slice(at + 1) : s, "SqueezeBackward1");
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  const int at = wrap_dim("unsqueeze", dim, x.shape().dim() + 1);
  return reshaped(x, x.shape().slice(0, at) + 1 + x.shape().slice(at), "UnsqueezeBackward0");
}

// ---- the same elements in another order ---------------------------------------------------------

static Tensor transposed(const Tensor& x, int a, int b, const char* name) {
  Window window(x.shape());
  std::swap(window.sizes[a], window.sizes[b]);
  std::swap(window.stride(a), window.stride(b));
  return record(
      ops::read(x, window), name, [a, b](const Tensor& g) { return transpose(g, a, b); }, x);
}

/// The dimensions counted from the front. Throws for a repeated one.
static std::vector<int> distinct(const char* op, const Dims& dims, int rank) {
  std::vector<int> result;
  for (std::int64_t d : dims) {
    const int at = wrap_dim(op, d, rank);
    throw_if<ShapeError>(std::find(result.begin(), result.end(), at) != result.end(), op, ": dim ",
                         d, " appears twice");
    result.push_back(at);
  }
  return result;
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  const int rank = x.shape().dim();
  return transposed(x, wrap_dim("transpose", dim0, rank), wrap_dim("transpose", dim1, rank),
                    "TransposeBackward0");
}

Tensor Tensor::t() const {
  throw_if<ShapeError>(dim() > 2, "t: needs at most 2 dimensions, got shape ", shape(),
                       ". transpose(-2, -1) exchanges the last two.");
  return transposed(*this, 0, dim() == 2 ? 1 : 0, "TBackward0");
}

Tensor permute(const Tensor& x, Dims dims) {
  const int rank = x.shape().dim();
  const std::vector<int> order = distinct("permute", dims, rank);
  if (static_cast<int>(order.size()) != rank) {
    throw ShapeError(message("permute: ", detail::count(dims.count(), "dim"), " given for shape ",
                             x.shape(), ", name each of its ", rank));
  }
  const Window all(x.shape());
  Window window;
  std::vector<std::int64_t> back(order.size());
  for (int d : order) {
    back[static_cast<std::size_t>(d)] = window.sizes.dim();
    window.push_back(x.shape()[d], all.stride(d));
  }
  return record(
      ops::read(x, window), "PermuteBackward0",
      [back](const Tensor& g) { return permute(g, back); }, x);
}

Tensor flip(const Tensor& x, Dims dims) {
  Window window(x.shape());
  for (int d : distinct("flip", dims, x.shape().dim())) {
    if (x.dim() == 0) continue;
    window.offset += (x.shape()[d] - 1) * window.stride(d);
    window.stride(d) = -window.stride(d);
  }
  return record(
      ops::read(x, window), "FlipBackward0", [dims](const Tensor& g) { return flip(g, dims); }, x);
}

// ---- more or fewer elements ---------------------------------------------------------------------

Tensor expand(const Tensor& x, Shape shape) {
  const Shape& from = x.shape();
  const int added = shape.dim() - from.dim();
  const Window all(from);
  Window window;
  const auto fail = [&](const auto&... why) {
    throw ShapeError(message("expand: shape ", from, " does not stretch to ", shape, ": ", why...));
  };
  if (added < 0) fail("it has more dimensions");
  for (int d = 0; d < shape.dim(); ++d) {
    const std::int64_t own = d < added ? 1 : from[d - added];
    const std::int64_t wanted = shape[d] == -1 && d >= added ? own : shape[d];
    if (wanted < 0) fail("dim ", d, " has no size to keep");
    if (own != wanted && own != 1) {
      fail("dim ", d, " is ", own, ", only 1 can be stretched");
    }
    window.push_back(wanted, own == wanted && d >= added ? all.stride(d - added) : 0);
  }
  return record_broadcast(
      ops::read(x, window), "ExpandBackward0", [](const Tensor& g) { return g; }, x);
}

/// Zeros outside the triangle of each matrix that lies below (above) its diagonal, with it.
static Tensor triangle(const char* op, const Tensor& x, std::int64_t diagonal, bool below) {
  const int rank = x.shape().dim();
  throw_if<ShapeError>(rank < 2, op, ": needs at least 2 dimensions, got shape ", x.shape());
  const std::int64_t rows = x.shape()[rank - 2];
  const std::int64_t columns = x.shape()[rank - 1];
  const std::int64_t first = std::clamp(diagonal, -rows, columns) + (below ? 1 : 0);
  Tensor out = zeros_like(x);
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const std::span<const T> from = x.data<T>();
    T* to = out.mut<T>().data();
    for (std::int64_t at = 0; at < x.numel(); at += columns) {
      const auto edge = at + std::clamp<std::int64_t>(at / columns % rows + first, 0, columns);
      const std::int64_t begin = below ? at : edge;
      const std::int64_t end = below ? edge : at + columns;
      std::copy(from.begin() + begin, from.begin() + end, to + begin);
    }
  });
  return record(
      out, below ? "TrilBackward0" : "TriuBackward0",
      [=](const Tensor& g) { return below ? tril(g, diagonal) : triu(g, diagonal); }, x);
}

Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, false); }

}  // namespace xgrad
