#include "xgrad/teach/explain.hpp"

#include <algorithm>
#include <cmath>

#include "autograd/differences.hpp"
#include "detail/check.hpp"
#include "xgrad/extend.hpp"

namespace xgrad::teach {

Norm::Norm(const nn::LayerNorm& n)
    : normalized_shape(n.normalized_shape), eps(n.options.eps), weight(n.weight), bias(n.bias) {}
Norm::Norm(const nn::BatchNorm& n)
    : kind(batch),
      training(!n.options.track_running_stats || (n.is_training() && !n.is_frozen())),
      eps(n.options.eps),
      weight(n.weight),
      bias(n.bias),
      running_mean(n.running_mean),
      running_var(n.running_var) {}
Norm::Norm(const nn::RMSNorm& n)
    : kind(rms), normalized_shape(n.normalized_shape), eps(n.options.eps), weight(n.weight) {}
Norm::Norm(const nn::GroupNorm& n)
    : kind(group), groups(n.num_groups), eps(n.options.eps), weight(n.weight), bias(n.bias) {}

Comparison compare(const Tensor& a, const Tensor& b, double scale, double tolerance) {
  throw_if<ShapeError>(a.shape() != b.shape(), "compare: shapes ", a.shape(), " and ", b.shape(),
                       " differ");
  const std::vector<double> left = a.to_vector<double>(), right = b.to_vector<double>();
  if (scale == 0) scale = detail::largest(right, 0);
  if (tolerance == 0) tolerance = b.dtype() == float64 ? 1e-9 : 1e-5;
  Comparison result{true, true, 0};
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    const double by = std::abs(left[i] - right[i]);
    result.exact = false;
    result.approximate = result.approximate && by <= tolerance * scale;
    if (!(by <= result.largest)) result.largest = by;  // NaN is the largest of all
  }
  return result;
}

const Step& Explanation::step(const std::string& name) const {
  for (const Step& s : steps) {
    if (s.name == name) return s;
  }
  throw Error("explain: there is no step \"" + name + "\"");
}

namespace {

/// The library's own operation.
Tensor apply(const Norm& n, const Tensor& x) {
  switch (n.kind) {
    case Norm::layer: return layer_norm(x, n.normalized_shape, n.weight, n.bias, *n.eps);
    case Norm::rms: return rms_norm(x, n.normalized_shape, n.weight, *n.eps);
    case Norm::group: return group_norm(x, n.groups, n.weight, n.bias, *n.eps);
    case Norm::batch: break;
  }
  return batch_norm(x, n.training ? Tensor() : n.running_mean,
                    n.training ? Tensor() : n.running_var, n.weight, n.bias,
                    {.training = n.training, .eps = *n.eps});
}

/// x seen so that the values which share a mean are whole dimensions of it.
struct View {
  Shape x;       // (N, groups, C / groups, *) for group norm, else x's own
  Dims shared;   // the dimensions of a mean
  Shape weight;  // broadcasts to x
  Shape mean;    // as it is shown
};

/// Copies what it was given, fills in what was left out, and lets the operation check all of it.
void complete(Norm& n, const Tensor& x, const Tensor& upstream) {
  detail::check_defined("explain", x, upstream);
  detail::check_floating("explain", x);
  throw_if<ShapeError>(x.dim() == 0 || x.numel() == 0, "explain: x of shape ", x.shape(),
                       " has no values to normalize");
  throw_if<ShapeError>(upstream.shape() != x.shape(), "explain: upstream has shape ",
                       upstream.shape(), ", expected that of x, ", x.shape());
  throw_if<DTypeError>(upstream.dtype() != x.dtype(), "explain: upstream is ", upstream.dtype(),
                       ", but x is ", x.dtype());
  const bool rows = n.kind == Norm::layer || n.kind == Norm::rms;
  throw_if<ShapeError>(!rows && x.dim() < 2, "explain: needs x of shape (N, C, *), got ",
                       x.shape());
  throw_if<Error>(n.kind == Norm::rms && n.bias.defined(), "explain: rms norm has no bias");
  if (rows && n.normalized_shape.dim() == 0) n.normalized_shape = x.shape().back();
  const double least = x.dtype() == float64 ? std::numeric_limits<double>::epsilon()
                                            : std::numeric_limits<float>::epsilon();
  if (!n.eps) n.eps = n.kind == Norm::rms ? least : 1e-5;
  const Shape parameter = rows ? n.normalized_shape : Shape(x.size(1));
  const auto fill = [&](Tensor& part, double value, bool used) {
    if (!used) part = {};
    if (used && !part.defined()) part = full(parameter, value, {.dtype = x.dtype()});
    if (part.defined()) part = part.detach().clone();
  };
  fill(n.weight, 1, true);
  fill(n.bias, 0, n.kind != Norm::rms);
  fill(n.running_mean, 0, n.kind == Norm::batch && !n.training);
  fill(n.running_var, 1, n.kind == Norm::batch && !n.training);
  // Whatever its values are: a training batch may be refused for these, but not here.
  Norm checked = n;
  if (n.kind == Norm::batch && n.training) {
    checked.training = false;
    checked.running_mean = checked.running_var = full(parameter, 1, {.dtype = x.dtype()});
  }
  apply(checked, x.detach());
}

View view_of(const Norm& n, const Shape& x) {
  View view{x, {}, n.weight.shape(), x};
  std::vector<std::int64_t> shared;
  if (n.kind == Norm::batch) {
    view.weight = Shape(x[1]);
    for (int d = 2; d < x.dim(); ++d) view.weight.push_back(1);
  } else if (n.kind == Norm::group) {
    view.weight = Shape{n.groups, x[1] / n.groups};
    for (int d = 2; d < x.dim(); ++d) view.weight.push_back(1);
    view.x = Shape{x[0], n.groups, x[1] / n.groups} + x.slice(2);
    view.mean = Shape{x[0], n.groups};
  }
  const int last = view.x.dim() - n.normalized_shape.dim();
  for (int d = 0; d < view.x.dim(); ++d) {
    const bool is_shared = n.kind == Norm::batch   ? d != 1
                           : n.kind == Norm::group ? d > 1
                                                   : d >= last;
    if (!is_shared) continue;
    shared.push_back(d);
    if (n.kind != Norm::group) view.mean[d] = 1;
  }
  view.shared = shared;
  return view;
}

Tensor kernel_gradient(const Norm& n, const Tensor& x, const Tensor& upstream) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  return grad(apply(n, leaf), {leaf}, {.grad_output = upstream})[0];
}

Tensor numeric_gradient(Norm n, const Tensor& x, const Tensor& upstream, double scale) {
  for (Tensor* part : {&n.weight, &n.bias, &n.running_mean, &n.running_var}) {
    if (part->defined()) *part = part->to(float64);
  }
  Tensor leaf = x.detach().to(float64).clone().requires_grad_();
  const CheckedFunction f = [n](const Tensor& at) { return apply(n, at); };
  detail::Differences differences{f, {leaf}};
  differences.base = differences.outputs();
  Generator generator;
  differences.measure_noise(generator);
  differences.add_seed({-1, upstream.to_vector<double>()});
  Tensor dx = empty(x.shape(), {.dtype = float64});
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    dx.mut<double>()[detail::index(i)] = differences.slopes({0, i, 1, {1}}, {scale}, 1e-9)[0].value;
  }
  return dx;
}

/// The greatest finite |element|; 0 of none.
double largest(const Tensor& x) {
  if (!x.defined()) return 0;
  return detail::largest(x.to_vector<double>(), 0);
}

}  // namespace

Explanation explain(Norm norm, const Tensor& x_in, const Tensor& upstream_in,
                    const ExplainOptions& options) {
  const EnableGrad recording;
  complete(norm, x_in, upstream_in);
  const View view = view_of(norm, x_in.shape());
  const bool own = norm.own_statistics(), centres = norm.centred();
  const double eps = *norm.eps;
  const auto mean_of = [&](const Tensor& t) {
    return mean(t, {.dim = view.shared, .keepdim = true});
  };
  const auto sum_of = [&](const Tensor& t) {
    return sum(t, {.dim = view.shared, .keepdim = true});
  };

  // ---- forward, recorded ----
  const Tensor x = x_in.detach().clone().requires_grad_();
  const Tensor weight = norm.weight.clone().requires_grad_();
  const Tensor bias = norm.bias.defined() ? norm.bias.clone().requires_grad_() : Tensor();
  const Tensor v = reshape(x, view.x), w = reshape(weight, view.weight);
  Tensor center, moved, centred = v;
  if (centres && own) {
    // The mean of what is left of x after a constant near it: far from 0, the mean itself is
    // rounded too coarsely for the distances from it. The derivatives are the same.
    const Tensor near = mean_of(v.detach());
    moved = mean_of(v - near);
    center = near + moved;
    centred = (v - near) - moved;
  } else if (centres) {
    center = reshape(norm.running_mean, view.weight);
    centred = v - center;
  }
  const Tensor variance = own ? mean_of(square(centred)) : reshape(norm.running_var, view.weight);
  const Tensor std = sqrt(variance + eps), rstd = 1 / std;
  const Tensor x_hat = centred * rstd;
  const Tensor y = bias.defined() ? x_hat * w + reshape(bias, view.weight) : x_hat * w;

  // ---- backward by autograd ----
  const Tensor g = reshape(upstream_in.detach().clone(), view.x);
  std::vector<Tensor> auto_grads;
  {
    std::vector<Tensor> wanted;
    const std::vector<Tensor> all = {x, weight, bias, moved, centred, variance, std, rstd, x_hat};
    const auto takes = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
    std::copy_if(all.begin(), all.end(), std::back_inserter(wanted), takes);
    auto next = grad(y, wanted, {.grad_output = g});
    auto it = next.begin();
    for (const Tensor& t : all) auto_grads.push_back(takes(t) ? *it++ : Tensor());
  }

  // ---- backward by hand ----
  const NoGrad no_grad;
  const std::int64_t values = v.numel() / variance.numel();
  const auto n = static_cast<double>(values);
  const Tensor h = g * w;
  Tensor d_center, d_variance, d_std, d_rstd, d_centred = h * rstd;
  if (own) {
    d_rstd = sum_of(h * centred);
    d_std = -d_rstd * square(rstd);
    d_variance = d_std * rstd * 0.5;
    d_centred = d_centred + centred * d_variance * (2 / n);
    if (centres) d_center = -sum_of(d_centred);
  }
  const Tensor d_x = d_center.defined() ? d_centred + d_center / n : d_centred;

  // ---- the three terms ----
  const auto whole = [&](const Tensor& t) { return reshape(t.detach().clone(), x.shape()); };
  const Tensor direct = rstd * h, none = zeros_like(v);
  Explanation e{.norm = norm,
                .x = whole(x),
                .upstream = whole(g),
                .count = static_cast<std::int64_t>(n),
                .direct = whole(direct),
                .through_mean = whole(own && centres ? none - mean_of(direct) : none),
                .through_variance = whole(own ? -(x_hat * rstd) * mean_of(h * x_hat) : none)};
  e.sum = e.direct + e.through_mean + e.through_variance;
  const Tensor sizes = e.direct.abs() + e.through_mean.abs() + e.through_variance.abs();
  const double scale = largest(sizes);

  // `size`: of what is added up to the gradient, by which rounding is measured.
  const auto add = [&](const char* name, const Tensor& value, const Tensor& by_hand,
                       const Tensor& by_autograd, const Tensor& size, const Shape& shape) {
    const auto as = [&](const Tensor& t) {
      return t.defined() ? reshape(t.detach().clone(), shape) : t;
    };
    Step step{name, as(value), as(by_hand), as(by_autograd), {}};
    if (by_hand.defined()) {
      step.comparison = compare(step.gradient, step.autograd, largest(size));
    }
    e.steps.push_back(std::move(step));
  };
  const Tensor moment = own ? sum_of((h * centred).abs()) : Tensor();
  const Shape &all = x.shape(), &one = view.mean;
  add("x", v, d_x, auto_grads[0], sizes, all);
  if (centres) {
    add("mean", center, d_center, auto_grads[3], own ? sum_of(d_centred.abs()) : moment, one);
    add("centred", centred, d_centred, auto_grads[4], sizes, all);
  }
  add(centres ? "variance" : "mean_square", variance, d_variance, auto_grads[5],
      own ? moment * square(rstd) * rstd : moment, one);
  add(centres ? "std" : "rms", std, d_std, auto_grads[6], own ? moment * square(rstd) : moment,
      one);
  add(centres ? "rstd" : "rrms", rstd, d_rstd, auto_grads[7], moment, one);
  add("x_hat", x_hat, h, auto_grads[8], h, all);
  const Shape& parameter = weight.shape();
  add("weight", weight, sum_to(g * x_hat, view.weight), auto_grads[1],
      sum_to((g * x_hat).abs(), view.weight), parameter);
  if (bias.defined()) {
    add("bias", bias, sum_to(g, view.weight), auto_grads[2], sum_to(g.abs(), view.weight),
        parameter);
  }
  add("y", y, g, g, g, all);

  // ---- dx from elsewhere ----
  const auto check = [&](const char* name, double tolerance, const auto& f) {
    Check c{name, {}, {}, {}};
    try {
      const EnableGrad enable;
      c.gradient = f();
      c.comparison = compare(c.gradient, e.sum, scale, tolerance);
    } catch (const Error& error) {  // the operation refuses the values
      c.refusal = error.what();
    }
    e.checks.push_back(std::move(c));
  };
  check("kernel", 0, [&] { return kernel_gradient(norm, e.x, e.upstream); });
  check("autograd", 0, [&] { return auto_grads[0]; });
  check("numeric", x.dtype() == float64 ? 1e-6 : 1e-5, [&] {
    throw_if<Error>(x.numel() > options.numeric, "left out for ", x.numel(),
                    " elements (more than ", options.numeric, ")");
    return numeric_gradient(norm, e.x, e.upstream, scale);
  });

  // ---- identities ----
  const auto identity = [&](const char* name, const Tensor& left, const Tensor& right,
                            const Tensor& size) {
    const Tensor a = reshape(left, one), b = reshape(right, one);
    e.identities.push_back({name, a, b, compare(a, b, largest(size))});
  };
  const Tensor dx = reshape(e.sum, view.x), size_of_dx = reshape(sizes, view.x);
  if (own && centres) identity("sum(dx)", sum_of(dx), zeros_like(variance), sum_of(size_of_dx));
  if (own) {
    identity("sum(dx * x_hat)", sum_of(dx * x_hat),
             rstd * sum_of(h * x_hat) * (eps / (variance + eps)), sum_of(size_of_dx * x_hat.abs()));
  }
  return e;
}

}  // namespace xgrad::teach
