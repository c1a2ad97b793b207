#include "detail/bug.hpp"
#include "ops/reduce.hpp"

namespace xgrad {

using ops::Axes, ops::axes_of;

// ---- prod ---------------------------------------------------------------------------------------

/// The product along dimension 1 of three, as a tree of multiplications: its derivative needs no
/// division, so it is right where elements are 0.
static Tensor product_tree(Tensor x) {
  Tensor rest;
  for (std::int64_t n = x.size(1); n > 1; n /= 2) {
    if (n % 2 == 1) {
      const Tensor last = narrow(x, 1, n - 1, 1);
      rest = rest.defined() ? rest * last : last;
    }
    x = narrow(x, 1, 0, n / 2) * narrow(x, 1, n / 2, n / 2);
  }
  return rest.defined() ? x * rest : x;
}

static Tensor product(const Tensor& x, Axes axes, bool keepdim, const char* node) {
  Tensor out = empty(ops::reduced_shape(x.shape(), axes, keepdim), {.dtype = ops::total_type(x)});
  const ops::Grouped in = ops::grouped(x, axes);  // one dimension or all: no copy
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    using Total = ops::Total<T>;
    using R = ops::TotalResult<T>;
    R* to = out.mut<R>().data();
    kernels::fold(
        in.groups, in.x.data<T>().data(), Total{1},
        [](Total a, T v, std::int64_t) { return a * static_cast<Total>(v); },
        [](Total a, Total b) { return a * b; },
        [to](std::int64_t o, Total total) { to[o] = static_cast<R>(total); });
  });
  return record(
      out, node,
      [x = save(x), at = in.groups](const Tensor& g) {
        if (x.get().numel() == 0) return zeros_like(x);
        const auto forward = [&](const std::vector<Tensor>& inputs) {
          return reshape(product_tree(reshape(inputs[0], {at.outer, at.reduced, at.inner})),
                         g.shape());
        };
        const bool recording = is_grad_enabled();
        const EnableGrad enable_grad;
        const Tensor dx = composed(forward, g, {x})[0];
        return recording ? dx : dx.detach();
      },
      x);
}

Tensor prod(const Tensor& x) { return product(x, ops::all_axes(x), false, "ProdBackward0"); }
Tensor prod(const Tensor& x, std::int64_t dim, bool keepdim) {
  return product(x, axes_of("prod", x, dim), keepdim, "ProdBackward1");
}

// ---- cumsum -------------------------------------------------------------------------------------

Tensor cumsum(const Tensor& x, std::int64_t dim) {
  const ops::Grouped in = ops::grouped(x, axes_of("cumsum", x, dim));
  const kernels::Groups& at = in.groups;
  Tensor out = empty(x.shape(), {.dtype = ops::total_type(x)});
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    using Total = ops::Total<T>;
    using R = ops::TotalResult<T>;
    const T* from = in.x.template data<T>().data();
    R* to = out.mut<R>().data();
    Total total[kernels::most_columns];
    kernels::each_block(at, [&](std::int64_t, std::int64_t first, std::int64_t width) {
      std::fill_n(total, width, Total{0});
      for (std::int64_t r = 0; r < at.reduced; ++r) {
        const T* row = from + first + r * at.inner;
        R* sums = to + first + r * at.inner;
        for (std::int64_t k = 0; k < width; ++k) {
          total[k] += static_cast<Total>(row[k]);
          sums[k] = static_cast<R>(total[k]);
        }
      }
    });
  });
  return record(
      out, "CumsumBackward0",
      [dim](const Tensor& g) {
        return XGRAD_BUG(cumsum_backward_not_reversed) ? cumsum(g, dim)
                                                       : flip(cumsum(flip(g, dim), dim), dim);
      },
      x);
}

}  // namespace xgrad
