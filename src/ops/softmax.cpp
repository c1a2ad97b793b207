#include "kernels/softmax.hpp"

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

/// What the kernel makes of x, and of the gradient g where it takes one, along dim; unrecorded.
template <class Kernel>
static Tensor along(const Tensor& x, const Tensor& g, int dim, Kernel kernel) {
  const NoGrad no_grad;
  if (dim < x.dim() - 1) {
    const Tensor turned_g = g.defined() ? transpose(g, dim, -1) : g;
    const int last = x.shape().dim() - 1;
    return transpose(along(transpose(x, dim, -1), turned_g, last, kernel), dim, -1);
  }
  Tensor out = empty(x.shape(), {.dtype = x.dtype()});
  if (out.numel() == 0) return out;
  const std::int64_t cols = x.dim() == 0 ? 1 : x.shape().back();
  detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    kernel(kernels::Softmax<T>{.rows = x.numel() / cols,
                               .cols = cols,
                               .x = x.data<T>().data(),
                               .g = g.defined() ? g.data<T>().data() : nullptr,
                               .out = out.mut<T>().data()});
  });
  return out;
}

Tensor softmax(const Tensor& x, std::int64_t dim) {
  const int d = detail::wrap_dim("softmax", dim, x.shape().dim());
  detail::check_floating("softmax", x);
  return record(
      along(x, {}, d, [](const auto& rows) { rows.softmax(); }), "SoftmaxBackward0",
      [d](const Tensor& g, const Tensor& y) {
        if (!is_grad_enabled()) {
          if (XGRAD_BUG(softmax_drops_sum_term)) return g * y;
          return along(y, g, d, [](const auto& rows) { rows.softmax_backward(); });
        }
        const Tensor gy = g * y;
        return gy - y * sum(gy, d, true);
      },
      x);
}

Tensor log_softmax(const Tensor& x, std::int64_t dim) {
  const int d = detail::wrap_dim("log_softmax", dim, x.shape().dim());
  detail::check_floating("log_softmax", x);
  return record(
      along(x, {}, d, [](const auto& rows) { rows.log_softmax(); }), "LogSoftmaxBackward0",
      [d](const Tensor& g, const Tensor& y) {
        if (!is_grad_enabled()) {
          return along(y, g, d, [](const auto& rows) { rows.log_softmax_backward(); });
        }
        return g - exp(y) * sum(g, XGRAD_BUG(log_softmax_sums_next_axis) ? d - 1 : d, true);
      },
      x);
}

}  // namespace xgrad
