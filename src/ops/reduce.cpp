#include "ops/reduce.hpp"
#include "detail/bug.hpp"

#include <functional>
#include <limits>

namespace xgrad {

using ops::all_axes, ops::Axes, ops::axes_of, ops::Grouped, ops::grouped, ops::reduced_count,
    ops::reduced_shape;

// ---- dimensions ---------------------------------------------------------------------------------

static bool has(Axes axes, int d) { return ((axes >> d) & 1U) != 0; }

/// The braces of `sum({0, 1})`; empty ones are more often a mistake than a wish.
static Dims listed(const char* op, std::initializer_list<std::int64_t> dims) {
  throw_if<Error>(dims.size() == 0, op,
                  ": an empty list of dimensions; to reduce over all of them call ", op,
                  "() without one");
  return dims;
}

Axes ops::axes_of(const char* op, const Tensor& x, const Dims& dims) {
  Axes axes = 0;
  for (std::int64_t dim : dims) {
    const Axes bit = Axes{1} << detail::wrap_dim(op, dim, x.shape().dim());
    throw_if<ShapeError>((axes & bit) != 0, op, ": dim ", dim, " is named twice for shape ",
                         x.shape());
    axes |= bit;
  }
  return dims.count() == 0 ? all_axes(x) : axes & all_axes(x);
}

Shape ops::reduced_shape(const Shape& shape, Axes axes, bool keepdim) {
  Shape out;
  for (int d = 0; d < shape.dim(); ++d) {
    if (!has(axes, d)) {
      out.push_back(shape[d]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

std::int64_t ops::reduced_count(const Shape& shape, Axes axes) {
  std::int64_t n = 1;
  for (int d = 0; d < shape.dim(); ++d) n *= has(axes, d) ? shape[d] : 1;
  return n;
}

Grouped ops::grouped(const Tensor& x, Axes axes) {
  const Shape& shape = x.shape();
  const std::int64_t count = reduced_count(shape, axes);
  kernels::Groups groups;
  int phase = 0;  // 0 before, 1 inside, 2 behind the reduced dimensions
  for (int d = 0; d < shape.dim(); ++d) {
    if (shape[d] == 1) continue;
    if (has(axes, d) != (phase == 1)) ++phase;
    std::int64_t& size = phase == 0 ? groups.outer : phase == 1 ? groups.reduced : groups.inner;
    size *= shape[d];
  }
  if (phase <= 2) return {x, groups};
  std::vector<std::int64_t> order;
  for (const bool wanted : {false, true}) {
    for (int d = 0; d < shape.dim(); ++d) {
      if (has(axes, d) == wanted) order.push_back(d);
    }
  }
  const std::int64_t outer = reduced_shape(shape, axes, false).numel();
  return {permute(x.detach(), order), {outer, count, 1}};
}

Tensor ops::with_kept(const Tensor& y, const Shape& shape, Axes axes) {
  const Shape kept = reduced_shape(shape, axes, true);
  return y.shape() == kept ? y : reshape(y, kept);
}

Tensor ops::share(const Tensor& g, const Tensor& mask, Axes axes) {
  if (XGRAD_BUG(max_counts_ties_twice)) return mask * with_kept(g, mask.shape(), axes);
  return mask * (with_kept(g, mask.shape(), axes) / sum(mask, axes, true, ""));
}

// ---- sum, mean ----------------------------------------------------------------------------------

/// Each output's value at all places that were reduced to it: the reverse rule of a sum.
static Tensor spread(const Tensor& g, const Shape& shape, Axes axes) {
  return expand(ops::with_kept(g, shape, axes), shape);
}

Tensor ops::sum(const Tensor& x, Axes axes, bool keepdim, const char* node) {
  Tensor out = empty(reduced_shape(x.shape(), axes, keepdim), {.dtype = total_type(x)});
  const Grouped in = grouped(x, axes);
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = in.x.data<T>().data();
    auto* to = out.mut<TotalResult<T>>().data();
    if constexpr (std::is_floating_point_v<T>) {
      kernels::sums(in.groups, from, nullptr, 1, to);
    } else {
      kernels::fold(
          in.groups, from, std::int64_t{0}, [](std::int64_t a, T v, std::int64_t) { return a + v; },
          std::plus<>(), [to](std::int64_t o, std::int64_t total) { to[o] = total; });
    }
  });
  return record(
      out, node, [shape = x.shape(), axes](const Tensor& g) { return spread(g, shape, axes); }, x);
}

Tensor ops::mean(const Tensor& x, Axes axes, bool keepdim, const char* node) {
  detail::check_floating("mean", x);
  const auto n = static_cast<double>(reduced_count(x.shape(), axes));
  Tensor out = reduced(x, axes, keepdim, [n](const auto& at, const auto* from, auto* to) {
    kernels::sums(at, from, nullptr, n, to);
  });
  return record(
      out, node,
      [shape = x.shape(), axes, n](const Tensor& g) {
        const bool all = XGRAD_BUG(mean_divides_by_all);
        return spread(g / (all ? static_cast<double>(shape.numel()) : n), shape, axes);
      },
      x);
}

Tensor sum_to(const Tensor& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  const int added = g.shape().dim() - shape.dim();
  Axes axes = 0;
  for (int d = 0; d < g.shape().dim(); ++d) {
    if (d < added || (shape[d - added] == 1 && g.shape()[d] != 1)) axes |= Axes{1} << d;
  }
  return reshape(ops::sum(g, axes, false, "SumBackward1"), shape);
}

// ---- amax, amin ---------------------------------------------------------------------------------

Tensor ops::extreme(const char* op, const Tensor& x, Axes axes, bool keepdim, bool greatest) {
  const Shape shape = reduced_shape(x.shape(), axes, keepdim);
  throw_if<IndexError>(reduced_count(x.shape(), axes) == 0, op, ": over no elements: shape ",
                       x.shape(), " has size 0 in a reduced dimension");
  Tensor out = empty(shape, {.dtype = x.dtype()});
  const Grouped in = grouped(x, axes);
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = in.x.data<T>().data();
    T* to = out.mut<T>().data();
    if constexpr (std::is_floating_point_v<T>) {
      kernels::extremes(in.groups, from, greatest, to);
    } else {
      const auto better = [greatest](T a, T b) { return (greatest ? a < b : b < a) ? b : a; };
      const T start = greatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      kernels::fold(
          in.groups, from, start, [better](T a, T v, std::int64_t) { return better(a, v); }, better,
          [to](std::int64_t o, T total) { to[o] = total; });
    }
  });
  return out;
}

// ---- the ways to call them, as functions and as methods -----------------------------------------

static Tensor sum_over(const Tensor& x, const Dims& dims, bool keepdim) {
  return ops::sum(x, axes_of("sum", x, dims), keepdim, "SumBackward1");
}
static Tensor mean_over(const Tensor& x, const Dims& dims, bool keepdim) {
  return ops::mean(x, axes_of("mean", x, dims), keepdim, "MeanBackward1");
}

/// The gradient goes in equal parts to all elements that equal the extreme.
static Tensor shared_extreme(const char* op, const char* node, const Tensor& x, Axes axes,
                             bool keepdim, bool greatest) {
  return record(
      ops::extreme(op, x, axes, keepdim, greatest), node,
      [x = save(x), axes](const Tensor& g, const Tensor& y) {
        const Tensor& in = x;
        return ops::share(g, in == ops::with_kept(y, in.shape(), axes), axes);
      },
      x);
}
static Tensor amax_over(const Tensor& x, const Dims& dims, bool keepdim) {
  return shared_extreme("amax", "AmaxBackward0", x, axes_of("amax", x, dims), keepdim, true);
}
static Tensor amin_over(const Tensor& x, const Dims& dims, bool keepdim) {
  return shared_extreme("amin", "AminBackward0", x, axes_of("amin", x, dims), keepdim, false);
}

Tensor sum(const Tensor& x) { return ops::sum(x, all_axes(x), false, "SumBackward0"); }
Tensor mean(const Tensor& x) { return ops::mean(x, all_axes(x), false, "MeanBackward0"); }
Tensor amax(const Tensor& x) { return amax_over(x, {}, false); }
Tensor amin(const Tensor& x) { return amin_over(x, {}, false); }

#define XGRAD_REDUCTION(f)                                                                         \
  Tensor f(const Tensor& x, std::int64_t dim, bool keepdim) { return f##_over(x, dim, keepdim); }  \
  Tensor f(const Tensor& x, ReduceOptions o) { return f##_over(x, o.dim, o.keepdim); }             \
  template <class>                                                                                 \
  Tensor f(const Tensor& x, std::initializer_list<std::int64_t> dims, bool keepdim) {              \
    return f##_over(x, listed(#f, dims), keepdim);                                                 \
  }                                                                                                \
  template Tensor f<void>(const Tensor&, std::initializer_list<std::int64_t>, bool);               \
  Tensor Tensor::f() const { return xgrad::f(*this); }                                             \
  Tensor Tensor::f(std::int64_t dim, bool keepdim) const { return f##_over(*this, dim, keepdim); } \
  Tensor Tensor::f(ReduceOptions options) const { return xgrad::f(*this, options); }               \
  template <class>                                                                                 \
  Tensor Tensor::f(std::initializer_list<std::int64_t> dims, bool keepdim) const {                 \
    return xgrad::f(*this, dims, keepdim);                                                         \
  }                                                                                                \
  template Tensor Tensor::f<void>(std::initializer_list<std::int64_t>, bool) const;

XGRAD_REDUCTION(sum)
XGRAD_REDUCTION(mean)
XGRAD_REDUCTION(amax)
XGRAD_REDUCTION(amin)
#undef XGRAD_REDUCTION

}  // namespace xgrad
