#include "ops/reduce.hpp"

namespace xgrad {

using ops::all_axes, ops::Axes, ops::axes_of, ops::with_kept;

/// Where the reduced elements first equal `values`, the extremes (one dimension or all reduced).
/// NaN was let through as an extreme, so a NaN is a match.
static Tensor first_indices(const Tensor& x, Axes axes, const Tensor& values) {
  Tensor out = full(values.shape(), -1);
  std::int64_t* index = out.mut<std::int64_t>().data();
  const ops::Grouped in = ops::grouped(x, axes);
  const kernels::Groups& at = in.groups;
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = in.x.template data<T>().data();
    const T* best = values.data<T>().data();
    for (std::int64_t o = 0; o < at.outer; ++o, index += at.inner, best += at.inner) {
      std::int64_t missing = at.inner;
      for (std::int64_t r = 0; r < at.reduced && missing > 0; ++r) {
        const T* row = from + (o * at.reduced + r) * at.inner;
        for (std::int64_t j = 0; j < at.inner; ++j) {
          if (index[j] < 0 && (row[j] == best[j] || row[j] != row[j])) index[j] = r, --missing;
        }
      }
    }
  });
  return out;
}

/// Extreme along a dimension; the whole gradient goes to the element at the index.
static ValuesAndIndices along(const char* op, const Tensor& x, std::int64_t dim, bool keepdim) {
  const bool greatest = op[1] == 'a';
  const Axes axes = axes_of(op, x, dim);
  const Tensor values = ops::extreme(op, x, axes, keepdim, greatest);
  const Tensor indices = first_indices(x, axes, values);
  Tensor out = record(
      values, greatest ? "MaxBackward0" : "MinBackward0",
      [shape = x.shape(), axes, indices = save(indices)](const Tensor& g) {
        Shape line;  // 1 but for the reduced dimension
        for (int d = 0; d < shape.dim(); ++d) line.push_back((axes >> d & 1U) != 0 ? shape[d] : 1);
        const Tensor positions = reshape(arange(line.numel()), line);
        const Tensor chosen = positions == with_kept(indices, shape, axes);
        return where(chosen, with_kept(g, shape, axes), 0);
      },
      x);
  return {out, indices};
}

/// Extreme of all elements; ties, or all NaN, share the gradient evenly.
static Tensor of_all(const char* op, const Tensor& x) {
  const bool greatest = op[1] == 'a';
  const Axes axes = all_axes(x);
  return record(
      ops::extreme(op, x, axes, false, greatest), greatest ? "MaxBackward1" : "MinBackward1",
      [x = save(x), axes](const Tensor& g, const Tensor& y) {
        const Tensor& in = x;
        return ops::share(g, (in == y) + (in != in), axes);
      },
      x);
}

static Tensor index_of(const char* op, const Tensor& x, Axes axes, bool keepdim) {
  detail::check_number(op, x.dtype());
  return first_indices(x, axes, ops::extreme(op, x, axes, keepdim, op[4] == 'a'));
}

Tensor max(const Tensor& x) { return of_all("max", x); }
Tensor min(const Tensor& x) { return of_all("min", x); }
ValuesAndIndices max(const Tensor& x, std::int64_t dim, bool keepdim) {
  return along("max", x, dim, keepdim);
}
ValuesAndIndices min(const Tensor& x, std::int64_t dim, bool keepdim) {
  return along("min", x, dim, keepdim);
}

Tensor argmax(const Tensor& x) { return index_of("argmax", x, all_axes(x), false); }
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim) {
  return index_of("argmax", x, axes_of("argmax", x, dim), keepdim);
}
Tensor argmin(const Tensor& x) { return index_of("argmin", x, all_axes(x), false); }
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim) {
  return index_of("argmin", x, axes_of("argmin", x, dim), keepdim);
}

Tensor any(const Tensor& x) { return sum(x != 0) != 0; }
Tensor any(const Tensor& x, std::int64_t dim, bool keepdim) {
  return ops::sum(x != 0, axes_of("any", x, dim), keepdim, "") != 0;
}
Tensor all(const Tensor& x) { return sum(x == 0) == 0; }
Tensor all(const Tensor& x, std::int64_t dim, bool keepdim) {
  return ops::sum(x == 0, axes_of("all", x, dim), keepdim, "") == 0;
}

}  // namespace xgrad
