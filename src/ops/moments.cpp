#include <cmath>

#include "kernels/exp.hpp"
#include "ops/reduce.hpp"

namespace xgrad {

using ops::all_axes, ops::Axes, ops::axes_of, ops::Grouped, ops::grouped, ops::over,
    ops::reduced_shape, ops::with_kept;

// ---- var, std -----------------------------------------------------------------------------------

namespace {

double degrees_of_freedom(const Tensor& x, Axes axes, bool unbiased) {
  const std::int64_t n = ops::reduced_count(x.shape(), axes) - (unbiased ? 1 : 0);
  return static_cast<double>(std::max<std::int64_t>(n, 0));
}

/// The mean of each group, as first element plus mean distance from it: so the mean of equal
/// elements is exactly their value, and their variance 0.
template <class T>
void means(const kernels::Groups& at, const T* x, double* out) {
  const auto add_first = [=](std::int64_t output, std::int64_t first, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) out[output + j] += static_cast<double>(x[first + j]);
  };
  std::fill_n(out, at.outer * at.inner, 0.0);
  if (at.reduced > 0) kernels::each_block(at, add_first);
  kernels::sums(at, x, out, static_cast<double>(at.reduced), out);
  if (at.reduced > 0) kernels::each_block(at, add_first);
}

Tensor variance(const char* op, const Tensor& x, Axes axes, bool unbiased, bool keepdim) {
  detail::check_floating(op, x);
  Tensor out = empty(reduced_shape(x.shape(), axes, keepdim), {.dtype = x.dtype()});
  Tensor center = empty(out.shape(), {.dtype = float64});
  double* mean = center.mut<double>().data();
  const Grouped in = grouped(x, axes);
  const double divisor = degrees_of_freedom(x, axes, unbiased);
  detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
    const T* from = in.x.data<T>().data();
    means(in.groups, from, mean);
    kernels::squares(in.groups, from, mean, divisor, out.mut<T>().data());
  });
  return out;
}

/// The reverse rule of the variance.
Tensor away_from_mean(const Tensor& g, const Tensor& x, Axes axes, double divisor) {
  return with_kept(g * (2 / divisor), x.shape(), axes) *
         (x - ops::mean(x, axes, true, "MeanBackward1"));
}

Tensor var_over(const Tensor& x, Axes axes, bool unbiased, bool keepdim) {
  const double divisor = degrees_of_freedom(x, axes, unbiased);
  return record(
      variance("var", x, axes, unbiased, keepdim), "VarBackward0",
      [x = save(x), axes, divisor](const Tensor& g) { return away_from_mean(g, x, axes, divisor); },
      x);
}

Tensor std_over(const Tensor& x, Axes axes, bool unbiased, bool keepdim) {
  const double divisor = degrees_of_freedom(x, axes, unbiased);
  Tensor out = sqrt(variance("std", x, axes, unbiased, keepdim));
  return record(
      out, "StdBackward0",
      [x = save(x), axes, divisor](const Tensor& g, const Tensor& y) {
        const Tensor by_variance = where(y == 0, 0, over(g, y * 2));
        return away_from_mean(by_variance, x, axes, divisor);
      },
      x);
}

}  // namespace

Tensor var(const Tensor& x, bool unbiased) { return var_over(x, all_axes(x), unbiased, false); }
Tensor var(const Tensor& x, VarOptions options) {
  return var_over(x, axes_of("var", x, options.dim), options.unbiased, options.keepdim);
}
Tensor std(const Tensor& x, bool unbiased) { return std_over(x, all_axes(x), unbiased, false); }
Tensor std(const Tensor& x, VarOptions options) {
  return std_over(x, axes_of("std", x, options.dim), options.unbiased, options.keepdim);
}

// ---- norm ---------------------------------------------------------------------------------------

namespace {

Tensor norm_of(const Tensor& x, Axes axes, bool keepdim, double p) {
  if (p == 2) {
    Tensor out = empty(reduced_shape(x.shape(), axes, keepdim), {.dtype = x.dtype()});
    const Grouped in = grouped(x, axes);
    detail::dispatch_floating(x.dtype(), [&]<class T>(T) {
      kernels::squares(in.groups, in.x.data<T>().data(), nullptr, 1, out.mut<T>().data());
    });
    return sqrt(out);
  }
  const auto total = [&](const Tensor& terms) { return ops::sum(terms, axes, keepdim, ""); };
  if (p == 0) return total(x != 0).to(x.dtype());
  if (p == 1) return total(abs(x));
  if (ops::reduced_count(x.shape(), axes) == 0) {
    return zeros(reduced_shape(x.shape(), axes, keepdim), {.dtype = x.dtype()});
  }
  if (std::isinf(p)) return ops::extreme("norm", abs(x), axes, keepdim, p > 0);
  return pow(total(pow(abs(x), p)), 1 / p);
}

/// d norm / dx, weighted by g: sign(x) |x|^(p-1) / norm^(p-1), and 0 for a norm of 0.
Tensor norm_rule(const Tensor& g, const Tensor& x, const Tensor& y, Axes axes, double p) {
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

Tensor norm_over(const Tensor& x, Axes axes, bool keepdim, double p) {
  detail::check_floating("norm", x);
  const Tensor input = x.detach();
  return record(
      norm_of(input, axes, keepdim, p), "NormBackward1",
      [x = save(x), axes, p](const Tensor& g, const Tensor& y) {
        return norm_rule(g, x, y, axes, p);
      },
      x);
}

}  // namespace

Tensor norm(const Tensor& x) { return norm_over(x, all_axes(x), false, 2); }
Tensor norm(const Tensor& x, NormOptions options) {
  return norm_over(x, axes_of("norm", x, options.dim), options.keepdim, options.p);
}

// ---- logsumexp ----------------------------------------------------------------------------------

Tensor logsumexp(const Tensor& x, Dims dim, bool keepdim) {
  const Axes axes = axes_of("logsumexp", x, dim);
  const Tensor input = ops::as_floating(x);
  Tensor out = empty(reduced_shape(x.shape(), axes, keepdim), {.dtype = input.dtype()});
  const Grouped in = grouped(input, axes);
  detail::dispatch_floating(input.dtype(), [&]<class T>(T) {
    const T* from = in.x.data<T>().data();
    T* to = out.mut<T>().data();
    kernels::extremes(in.groups, from, true, to);
    for (T& greatest : out.mut<T>()) {
      if (std::isinf(greatest)) greatest = 0;  // inf - inf would be NaN
    }
    kernels::fold(
        in.groups, from, 0.0,
        [to](double a, T v, std::int64_t o) {
          return a + static_cast<double>(kernels::exp(v - to[o]));
        },
        [](double a, double b) { return a + b; },
        [to](std::int64_t o, double total) { to[o] += static_cast<T>(std::log(total)); });
  });
  return record(
      out, "LogsumexpBackward0",
      [x = save(x), axes](const Tensor& g, const Tensor& y) {
        const Tensor& in_x = x;
        const Tensor softmax = exp(in_x - with_kept(y, in_x.shape(), axes));
        return with_kept(g, in_x.shape(), axes) * softmax;
      },
      x);
}

}  // namespace xgrad
