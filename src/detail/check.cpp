#include "detail/check.hpp"

#include <cstdio>
#include <limits>

#include "xgrad/autograd.hpp"

namespace xgrad::detail {

int wrap_dim(const char* op, std::int64_t dim, int rank) {
  const std::int64_t limit = rank == 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) {
    throw IndexError(message(op, ": dim ", dim, " is out of range for ", count(rank, "dimension"),
                             ", expected ", -limit, " to ", limit - 1));
  }
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

/// A dropped keepdim: `b` is one reduction of `a` along one dimension. Returns the shape with that
/// dimension back when exactly one place for it broadcasts.
static std::string keepdim_hint(const Shape& a, const Shape& b) {
  if (b.dim() + 1 != a.dim()) return "";
  int places = 0;
  Shape repaired;
  for (int at = 0; at < a.dim(); ++at) {
    if (a.slice(0, at) + a.slice(at + 1) != b) continue;
    ++places;
    repaired = b.slice(0, at) + 1 + b.slice(at);
  }
  if (places != 1) return "";
  return " " + b.str() + " would fit as " + repaired.str() +
         ": did you drop keepdim in a reduction?";
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.dim(), b.dim());
  Shape out;
  for (int i = 0; i < rank; ++i) out.push_back(1);
  for (int back = 1; back <= rank; ++back) {
    const std::int64_t sa = back <= a.dim() ? a[a.dim() - back] : 1;
    const std::int64_t sb = back <= b.dim() ? b[b.dim() - back] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      std::string hint = keepdim_hint(a, b);
      if (hint.empty()) hint = keepdim_hint(b, a);
      throw ShapeError(message(op, ": shapes ", a, " and ", b,
                               " do not broadcast: aligned from the right, dim -", back, " is ", sa,
                               " vs ", sb, ".", hint));
    }
    out[rank - back] = sa == 1 ? sb : sa;
  }
  return out;
}

bool stretches(const Shape& shape, const Shape& to) {
  const auto fits = [](std::int64_t from, std::int64_t size) { return from == size || from == 1; };
  const int added = to.dim() - shape.dim();
  return added >= 0 && std::equal(shape.begin(), shape.end(), to.begin() + added, fits);
}

std::size_t checked_bytes(const char* op, const Shape& shape, DType dtype) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = static_cast<std::uint64_t>(itemsize(dtype));
  bool empty = false;
  for (std::int64_t s : shape) {
    throw_if<ShapeError>(s < 0, op, ": shape ", shape, " has a negative size");
    empty = empty || s == 0;
    // Next to a 0, too: products of some of the sizes are formed.
    const std::uint64_t factor = s == 0 ? 1 : static_cast<std::uint64_t>(s);
    throw_if<ShapeError>(bytes > most / factor, op, ": shape ", shape, " has too many elements");
    bytes *= factor;
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

void check_floating(const char* op, const Tensor& x) {
  check_defined(op, x);
  throw_if<DTypeError>(!is_floating_point(x.dtype()), op, ": needs a floating point tensor, got ",
                       x.dtype(), " of shape ", x.shape(), "; convert it with to(xg::float32)");
}

void check_in_place(const char* op, const Tensor& target, const Tensor& source) {
  if (!is_grad_enabled()) return;
  const bool target_needs = target.requires_grad();
  if (!target_needs && !(source.defined() && source.requires_grad())) return;
  const std::string_view name = op;
  const bool has_twin = name == "add_" || name == "sub_" || name == "mul_" || name == "div_";
  const std::string instead =
      has_twin ? "Write x = " + std::string(name.substr(0, 3)) + "(x, ...)" : "Make a new tensor";
  throw GraphError(
      message(op, ": the ", (target_needs ? "tensor" : "source"), " of shape ",
              (target_needs ? target : source).shape(),
              " requires a gradient, and an in-place change would be hidden from the graph. ",
              instead, ", or change it inside a NoGrad scope."));
}

std::string piece(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace xgrad::detail
