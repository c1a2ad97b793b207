#include "ops/loss.hpp"

#include <cmath>
#include <limits>

#include "kernels/functions.hpp"
#include "kernels/sum.hpp"
#include "ops/elementwise.hpp"

/// Losses that compare input and target element by element.

namespace xgrad {

using ops::constant;

Reduction reduction_from(const std::string& name) {
  if (name == "none") return Reduction::none;
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "batchmean") return Reduction::batchmean;
  throw Error(message("reduction: \"", name,
                      "\" is none of \"none\", \"mean\", \"sum\" and \"batchmean\""));
}

void ops::check_reduction(const char* op, Reduction reduction) {
  if (reduction >= Reduction::none && reduction < Reduction::batchmean) return;
  throw_if<Error>(reduction == Reduction::batchmean, op,
                  ": reduction batchmean is for kl_div; use mean, sum or none");
  throw Error(message(op, ": there is no Reduction(", static_cast<int>(reduction), ")"));
}

namespace {

/// Throws unless the shapes are equal and the common type, which is returned, is a real one.
DType check_pair(const char* op, const Tensor& input, const Tensor& target) {
  detail::check_defined(op, input, target);
  if (input.shape() != target.shape()) {
    throw ShapeError(
        message(op, ": input of shape ", input.shape(), " and target of shape ", target.shape(),
                " must be equal; it does not broadcast.",
                (input.numel() == target.numel() ? " target.reshape(input.shape()) would fit."
                                                 : std::string())));
  }
  if (!is_floating_point(target.dtype())) detail::check_floating(op, input);
  return promote_types(input.dtype(), target.dtype());
}

/// Throws ShapeError unless the weights, if there are any, stretch to the shape of the input.
void check_stretches(const char* op, const char* what, const Tensor& weight, const Tensor& input) {
  if (!weight.defined() || detail::stretches(weight.shape(), input.shape())) return;
  throw ShapeError(message(op, ": ", what, " of shape ", weight.shape(),
                           " does not broadcast to the input's shape ", input.shape()));
}

void check_positive(const char* op, const char* what, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(message(op, ": ", what, " must be above 0 and finite, got ", value));
}

Tensor reduced(const Tensor& loss, Reduction reduction) {
  if (reduction == Reduction::none) return loss;
  return reduction == Reduction::mean ? mean(loss) : sum(loss);
}

/// The gradient `formula(g, x, t)` of a loss: on tensors while recording, else in one pass.
template <class F>
Tensor slope(const Tensor& g, double share, const Tensor& input, const Tensor& target, F formula) {
  if (is_grad_enabled()) return formula(g * share, input, target);
  return detail::dispatch_floating(g.dtype(), [&](auto type) {
    using T = decltype(type);
    const Tensor x = input.to(g.dtype());
    const Tensor t = target.to(g.dtype());
    if (g.dim() == 0) {
      const T h = static_cast<T>(g.item<double>() * share);
      return ops::map2_as<T, T>("", x, t, [=](T u, T v) { return formula(h, u, v); });
    }
    Tensor out = empty(x.shape(), {.dtype = g.dtype()});
    const std::span<T> to = out.mut<T>();
    const T *h = g.data<T>().data(), *u = x.data<T>().data(), *v = t.data<T>().data();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = formula(h[i], u[i], v[i]);
    return out;
  });
}

/// A loss(x, t) of each pair of numbers, reduced. The rules by_input(g, x, t) and by_target are
/// written once for numbers and for tensors, see ops::chain.
template <class F, class G, class H>
Tensor pairwise(const char* op, const char* node, const Tensor& input, const Tensor& target,
                Reduction reduction, F loss, G by_input, H by_target) {
  const DType type = check_pair(op, input, target);
  ops::check_reduction(op, reduction);
  const Tensor a = input.detach().to(type);
  const Tensor b = target.detach().to(type);
  const double share = reduction == Reduction::mean ? 1 / static_cast<double>(a.numel()) : 1.0;
  const Tensor out = detail::dispatch_floating(type, [&]<class T>(T) {
    if (reduction == Reduction::none) return ops::map2_as<T, T>(op, a, b, loss);
    const T *x = a.data<T>().data(), *y = b.data<T>().data();
    const auto term = [=](std::int64_t i) { return loss(x[i], y[i]); };
    return tensor(kernels::sum<T>(a.numel(), term) * share, {.dtype = type});
  });
  return record_broadcast(
      out, node,
      [x = save(input), t = save(target), share, by_input, by_target](const Tensor& g,
                                                                      Needs needs) {
        return grads(needs[0] ? slope(g, share, x, t, by_input) : Tensor(),
                     needs[1] ? slope(g, share, x, t, by_target) : Tensor());
      },
      input, target);
}

/// The same for an even loss(d) of the difference, with the rule formula(g, d).
template <class F, class G>
Tensor of_difference(const char* op, const char* node, const Tensor& input, const Tensor& target,
                     Reduction reduction, F loss, G formula) {
  return pairwise(
      op, node, input, target, reduction, [=](auto x, auto t) { return loss(x - t); },
      [=](const auto& g, const auto& x, const auto& t) { return formula(g, x - t); },
      [=](const auto& g, const auto& x, const auto& t) { return formula(g, t - x); });
}

// Functions of numbers for the formulas; of tensors they are xgrad's.
using kernels::sigmoid, std::log, std::log1p;

template <std::floating_point T>
T clamp(T v, double low, double high = std::numeric_limits<double>::infinity()) {
  return v < constant(v, low) ? constant(v, low) : v > constant(v, high) ? constant(v, high) : v;
}

template <std::floating_point T>
T where(bool choice, T a, T b) {
  return choice ? a : b;
}

/// incline (|d| - bound / 2) outside of the bound, and within it the parabola that meets it.
/// PyTorch's slope for a bound of 0 is -1 at 0.
Tensor huber(const char* op, const char* node, const Tensor& input, const Tensor& target,
             double bound, double incline, Reduction reduction) {
  const double unit = bound / incline;
  return of_difference(
      op, node, input, target, reduction,
      [=](auto d) {
        const auto size = std::abs(d);
        const auto b = constant(d, bound);
        return size < b ? d * d / 2 / constant(d, unit) : constant(d, incline) * (size - b / 2);
      },
      [=](const auto& g, const auto& d) {
        const auto most = g * constant(d, incline);
        return where(d <= constant(d, -bound), -most,
                     where(d >= constant(d, bound), most, g * d / constant(d, unit)));
      });
}

/// Weights each element of an unreduced loss and reduces it, as one node of that name.
Tensor weighted(const char* node, const Tensor& loss, const Tensor& weight, Reduction reduction) {
  const Tensor out = reduced(weight.defined() ? loss * weight : loss, reduction);
  return record(
      out.detach(), node, [](const Tensor& g) { return g; }, out);
}

}  // namespace

// ---- distances ----------------------------------------------------------------------------------

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return of_difference(
      "mse_loss", "MseLossBackward0", input, target, reduction, [](auto d) { return d * d; },
      [](const auto& g, const auto& d) { return g * 2 * d; });
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  const DType type = check_pair("l1_loss", input, target);
  ops::check_reduction("l1_loss", reduction);
  return reduced(abs(input.to(type) - target.to(type)), reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, SmoothL1LossOptions options) {
  constexpr const char* op = "smooth_l1_loss";
  constexpr const char* node = "SmoothL1LossBackward0";
  if (options.beta != 0) check_positive(op, "beta", options.beta);
  return huber(op, node, input, target, options.beta, 1, options.reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, HuberLossOptions options) {
  check_positive("huber_loss", "delta", options.delta);
  return huber("huber_loss", "HuberLossBackward0", input, target, options.delta, options.delta,
               options.reduction);
}

// ---- probabilities ------------------------------------------------------------------------------

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, BCELossOptions options) {
  constexpr const char* op = "binary_cross_entropy";
  constexpr const char* node = "BinaryCrossEntropyBackward0";
  check_pair(op, input, target);
  ops::check_reduction(op, options.reduction);
  check_stretches(op, "weight", options.weight, input);
  const Tensor outside = logical_not((input >= 0) * (input <= 1));  // NaN is outside, too
  if (sum(outside).item<std::int64_t>() > 0) {
    const std::int64_t at = argmax(outside.to(int64)).item<std::int64_t>();
    throw Error(
        message(op, ": ", input.detach().reshape({-1}).select(0, at).item<double>(),
                " in the input of shape ", input.shape(),
                " is outside [0, 1]. For logits there is binary_cross_entropy_with_logits."));
  }
  const auto loss = [&](Reduction reduction) {
    return pairwise(
        op, node, input, target, reduction,
        [](auto x, auto t) { return (t - 1) * clamp(log1p(-x), -100) - t * clamp(log(x), -100); },
        [](const auto& g, const auto& x, const auto& t) {
          return g * (x - t) / clamp((1 - x) * x, 1e-12f);  // PyTorch's least, too, is a float
        },
        [](const auto& g, const auto& x, const auto&) {
          return ops::times(g, log1p(-x) - log(x));
        });
  };
  if (!options.weight.defined()) return loss(options.reduction);
  return weighted(node, loss(Reduction::none), options.weight, options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        BCEWithLogitsLossOptions options) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  constexpr const char* node = "BinaryCrossEntropyWithLogitsBackward0";
  const DType type = check_pair(op, input, target);
  ops::check_reduction(op, options.reduction);
  check_stretches(op, "weight", options.weight, input);
  check_stretches(op, "pos_weight", options.pos_weight, input);
  const auto loss = [&](Reduction reduction) {
    return pairwise(
        op, node, input, target, reduction,
        [](auto x, auto t) {  // neither overflows nor cancels
          return (x < 0 ? -x * t : x * (1 - t)) + log1p(kernels::exp(-std::abs(x)));
        },
        [](const auto& g, const auto& x, const auto& t) { return g * (sigmoid(x) - t); },
        [](const auto& g, const auto& x, const auto&) { return -g * x; });
  };
  if (!options.weight.defined() && !options.pos_weight.defined()) return loss(options.reduction);
  Tensor each = loss(Reduction::none);
  if (options.pos_weight.defined()) {
    each = each - (options.pos_weight - 1) * target * logsigmoid(input.to(type));
  }
  return weighted(node, each, options.weight, options.reduction);
}

Tensor kl_div(const Tensor& input, const Tensor& target, KLDivLossOptions options) {
  check_pair("kl_div", input, target);
  const Reduction reduction = options.reduction;
  if (reduction != Reduction::batchmean) ops::check_reduction("kl_div", reduction);
  throw_if<ShapeError>(reduction == Reduction::batchmean && input.dim() == 0,
                       "kl_div: batchmean needs a batch, got shape ()");
  const Tensor loss = options.log_target
                          ? exp(target) * (target - input)
                          : ops::times(target, log(target)) - target * input;  // 0 log 0 is 0
  const Tensor out = reduced(loss, reduction);
  return reduction == Reduction::batchmean ? out / input.size(0) : out;
}

}  // namespace xgrad
