#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "xgrad/extend.hpp"
#include "xgrad/random.hpp"

namespace xgrad {

Tensor dropout(const Tensor& x, double p, bool training) {
  throw_if<Error>(!(p >= 0 && p <= 1), "dropout: p must be between 0 and 1, got ", p);
  detail::check_floating("dropout", x);
  if (!training || p == 0 || x.numel() == 0) return x;

  // PyTorch's way: one double for each element in order, kept where it is below 1 - p.
  const double keep = 1 - p;
  Tensor mask = zeros(x.shape(), {.dtype = x.dtype()});
  if (keep > 0) {
    detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
      const T scale = XGRAD_BUG(dropout_keeps_scale) ? T(1) : 1 / static_cast<T>(keep);
      for (T& m : mask.mut<T>()) m = default_generator().uniform<double>() < keep ? scale : T(0);
    });
  }
  return record(
      x.detach() * mask, "MulBackward0", [mask](const Tensor& g) { return g * mask; }, x);
}

}  // namespace xgrad
