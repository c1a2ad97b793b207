#include <cmath>
#include <functional>

#include "detail/bug.hpp"
#include "kernels/exp.hpp"
#include "ops/reduce.hpp"

namespace xgrad {

using ops::Axes, ops::axes_of, ops::over, ops::with_kept;

// ---- var, std -----------------------------------------------------------------------------------

static double degrees_of_freedom(const Tensor& x, Axes axes, bool unbiased) {
  const std::int64_t n = ops::reduced_count(x.shape(), axes) - (unbiased ? 1 : 0);
  return static_cast<double>(std::max<std::int64_t>(n, 0));
}

/// The mean of each group, as first element plus mean distance from it: so the mean of equal
/// elements is exactly their value, and their variance 0.
template <class T>
static void means(const kernels::Groups& at, const T* x, double* out) {
  const auto add_first = [=](std::int64_t output, std::int64_t first, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) out[output + j] += static_cast<double>(x[first + j]);
  };
  std::fill_n(out, at.outer * at.inner, 0.0);
  if (at.reduced > 0) kernels::each_block(at, add_first);
  kernels::sums(at, x, out, static_cast<double>(at.reduced), out);
  if (at.reduced > 0) kernels::each_block(at, add_first);
}

/// The variance or, for std, its root: taken in double, where squares of floats do not overflow.
static Tensor variance(const char* op, const Tensor& x, Axes axes, const VarOptions& options,
                       bool root) {
  detail::check_floating(op, x);
  const double divisor = degrees_of_freedom(x, axes, options.unbiased);
  return ops::reduced(x, axes, options.keepdim, [&](const auto& at, const auto* from, auto* to) {
    std::vector<double> mean(static_cast<std::size_t>(at.outer * at.inner));
    means(at, from, mean.data());
    kernels::squares(at, from, mean.data(), divisor, root, to);
  });
}

/// The reverse rule of the variance.
static Tensor away_from_mean(const Tensor& g, const Tensor& x, Axes axes, double divisor) {
  return with_kept(g * (2 / divisor), x.shape(), axes) *
         (x - ops::mean(x, axes, true, "MeanBackward1"));
}

Tensor var(const Tensor& x, VarOptions options) {
  const Axes axes = axes_of("var", x, options.dim);
  const double divisor = degrees_of_freedom(x, axes, options.unbiased);
  return record(
      variance("var", x, axes, options, false), "VarBackward0",
      [x = save(x), axes, divisor](const Tensor& g) { return away_from_mean(g, x, axes, divisor); },
      x);
}

Tensor std(const Tensor& x, VarOptions options) {
  const Axes axes = axes_of("std", x, options.dim);
  const double divisor = degrees_of_freedom(x, axes, options.unbiased);
  return record(
      variance("std", x, axes, options, true), "StdBackward0",
      [x = save(x), axes, divisor](const Tensor& g, const Tensor& y) {
        const Tensor over_y =
            XGRAD_BUG(std_of_dead_row_is_nan) ? g / y : where(y == 0, 0, over(g, y));
        return away_from_mean(over_y, x, axes, 2 * divisor);  // dy = d(y^2) / 2 y
      },
      x);
}

Tensor var(const Tensor& x, std::int64_t dim, bool unbiased, bool keepdim) {
  return var(x, {.dim = dim, .unbiased = unbiased, .keepdim = keepdim});
}
Tensor std(const Tensor& x, std::int64_t dim, bool unbiased, bool keepdim) {
  return std(x, {.dim = dim, .unbiased = unbiased, .keepdim = keepdim});
}

// ---- norm ---------------------------------------------------------------------------------------

static Tensor norm_of(const Tensor& x, Axes axes, bool keepdim, double p) {
  if (p == 2) {
    return ops::reduced(x, axes, keepdim, [](const auto& at, const auto* from, auto* to) {
      kernels::squares(at, from, nullptr, 1, true, to);
    });
  }
  const auto total = [&](const Tensor& terms) { return ops::sum(terms, axes, keepdim, ""); };
  if (p == 0) return total(x != 0).to(x.dtype());
  if (p == 1) return total(abs(x));
  if (ops::reduced_count(x.shape(), axes) == 0) return total(x);
  if (std::isinf(p)) return ops::extreme("norm", abs(x), axes, keepdim, p > 0);
  return pow(total(pow(abs(x), p)), 1 / p);
}

/// d norm / dx, weighted by g: sign(x) |x|^(p-1) / norm^(p-1), and 0 for a norm of 0.
static Tensor norm_rule(const Tensor& g, const Tensor& x, const Tensor& y, Axes axes, double p) {
  if (p == 0) return zeros_like(x);
  if (p == 1) return with_kept(g, x.shape(), axes) * sign(x);
  if (std::isinf(p)) {
    const Tensor largest = (abs(x) == with_kept(y, x.shape(), axes)) + (x != x);
    return sign(x) * ops::share(g, largest, axes);
  }
  const Tensor scale = where(y == 0, 0, over(g, p == 2 ? y : pow(y, p - 1)));
  const Tensor direction = p == 2 ? x : where(x == 0, 0, sign(x) * pow(abs(x), p - 1));
  return direction * with_kept(scale, x.shape(), axes);
}

Tensor norm(const Tensor& x, NormOptions options) {
  detail::check_floating("norm", x);
  const Axes axes = axes_of("norm", x, options.dim);
  return record(
      norm_of(x.detach(), axes, options.keepdim, options.p), "NormBackward1",
      [x = save(x), axes, p = options.p](const Tensor& g, const Tensor& y) {
        return norm_rule(g, x, y, axes, p);
      },
      x);
}
Tensor norm(const Tensor& x) { return norm(x, NormOptions()); }

// ---- logsumexp ----------------------------------------------------------------------------------

Tensor logsumexp(const Tensor& x, Dims dim, bool keepdim) {
  const Axes axes = axes_of("logsumexp", x, dim);
  const auto kernel = []<class T>(const kernels::Groups& at, const T* from, T* to) {
    kernels::extremes(at, from, true, to);
    for (std::int64_t o = 0; o < at.outer * at.inner; ++o) {
      if (std::isinf(to[o])) to[o] = 0;  // inf - inf would be NaN
    }
    kernels::fold(
        at, from, 0.0,
        [to](double a, T v, std::int64_t o) {
          return a + static_cast<double>(kernels::exp(v - to[o]));
        },
        std::plus<>(),
        [to](std::int64_t o, double total) { to[o] += static_cast<T>(std::log(total)); });
  };
  return record(
      ops::reduced(ops::as_floating(x), axes, keepdim, kernel), "LogsumexpBackward0",
      [x = save(x), axes](const Tensor& g, const Tensor& y) {
        const Tensor& in_x = x;
        const Tensor softmax = exp(in_x - with_kept(y, in_x.shape(), axes));
        return with_kept(g, in_x.shape(), axes) * softmax;
      },
      x);
}

}  // namespace xgrad
