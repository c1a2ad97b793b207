#include <limits>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "kernels/softmax.hpp"
#include "ops/loss.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

// ---- classes as targets -------------------------------------------------------------------------

namespace {

/// The class of each position of an input (N, C, *), checked, and what the loss there counts.
struct Classes {
  Saved target;
  Tensor factor;  // of target's shape and input's dtype, 0 where the target is ignored
  Shape shape;    // of the input
  std::int64_t ignore_index;
  bool reduced;
  double total = 1;  // of the mean: the summed weights, by which `factor` is divided

  int dim() const { return shape.dim() == 1 ? 0 : 1; }
  std::int64_t count() const { return shape[dim()]; }
  const char* name() const { return shape.dim() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0"; }
  /// To be added to the sum over all positions: NaN for the mean over none.
  double nothing() const { return total == 0 ? std::numeric_limits<double>::quiet_NaN() : 0; }
};

std::string position(std::int64_t flat, const Shape& shape) {
  std::string text;
  for (int d = shape.dim() - 1; d >= 0; flat /= shape[d--]) {
    text = std::to_string(flat % shape[d]) + (text.empty() ? "" : ", ") + text;
  }
  return "(" + text + ")";
}

void check_weight(const std::string& op, const Tensor& weight, const Tensor& input,
                  std::int64_t classes) {
  if (!weight.defined()) return;
  if (weight.shape() != Shape(classes)) {
    throw ShapeError(message(op, ": weight has shape ", weight.shape(), ", expected ",
                             Shape(classes), ": one for each class of input, shape ",
                             input.shape()));
  }
  throw_if<DTypeError>(weight.dtype() != input.dtype(), op, ": weight is ", weight.dtype(),
                       ", but input is ", input.dtype());
}

/// Checks everything about classes as targets and gives each position its share of the loss.
Classes classes_for(const std::string& op, const Tensor& input, const Tensor& target,
                    const Tensor& weight, Reduction reduction, std::int64_t ignore_index) {
  detail::check_defined(op.c_str(), input, target);
  detail::check_floating(op.c_str(), input);
  ops::check_reduction(op.c_str(), reduction);
  throw_if<ShapeError>(input.dim() == 0, op, ": needs an input (N, C, *) or (C), got shape ()");
  Classes result{save(target), {}, input.shape(), ignore_index, reduction != Reduction::none};
  const std::int64_t classes = result.count();
  Shape expected;
  for (int d = 0; d < input.shape().dim(); ++d) {
    if (d != result.dim()) expected.push_back(input.shape()[d]);
  }
  throw_if<DTypeError>(target.dtype() != DType::int64, op, ": class labels must be int64, got ",
                       target.dtype(), " of shape ", target.shape(), " for input of shape ",
                       input.shape(), "; convert them with to(xg::int64)");
  if (target.shape() != expected) {
    throw ShapeError(
        message(op, ": input of shape ", input.shape(), " needs class labels of shape ", expected,
                ", got ", target.shape(),
                (target.numel() == expected.numel() ? ". reshape to that would fit." : "")));
  }
  check_weight(op, weight, input, classes);
  if (is_grad_enabled() && weight.defined() && weight.requires_grad()) {
    throw GraphError(message(op, ": the weight of shape ", weight.shape(),
                             " requires a gradient, but the loss is not differentiable by it. Pass "
                             "weight.detach()."));
  }
  const std::span<const std::int64_t> labels = target.data<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if ((labels[i] >= 0 && labels[i] < classes) || labels[i] == ignore_index) continue;
    throw IndexError(message(op, ": label ", labels[i], " at position ",
                             position(static_cast<std::int64_t>(i), target.shape()),
                             " is out of range for ", classes, " classes, input shape ",
                             input.shape()));
  }

  result.factor = zeros(target.shape(), {.dtype = input.dtype()});
  detail::dispatch_floating(input.dtype(), [&]<class T>(T) {
    const std::span<T> factor = result.factor.mut<T>();
    const auto each = [&](auto give) {
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] != ignore_index) give(factor[i], static_cast<std::size_t>(labels[i]));
      }
    };
    each([&](T& f, std::size_t label) { f = weight.defined() ? weight.data<T>()[label] : T(1); });
    if (reduction != Reduction::mean) return;
    result.total = 0;
    each([&](T& f, std::size_t) { result.total += static_cast<double>(f); });
    if (XGRAD_BUG(cross_entropy_mean_over_all)) result.total = static_cast<double>(labels.size());
    each([&](T& f, std::size_t) { f = static_cast<T>(static_cast<double>(f) / result.total); });
  });
  return result;
}

/// -factor x[class], summed if reduced; composed.
Tensor pick(const Tensor& x, const Classes& at) {
  const Tensor& target = at.target;
  const Tensor counts = target != at.ignore_index;
  const Tensor index = unsqueeze(where(counts, target, 0), at.dim());
  const Tensor picked = squeeze(gather(x, at.dim(), index), at.dim());
  const Tensor loss = where(counts, picked * -at.factor, 0);
  return at.reduced ? sum(loss) + at.nothing() : loss;
}

/// log_softmax, of zeros for the positions that are ignored: nothing there reaches the gradient.
Tensor log_probabilities(const Tensor& x, const Classes& at) {
  const Tensor ignored = unsqueeze(at.target == at.ignore_index, at.dim());
  return log_softmax(masked_fill(x, ignored, 0), at.dim());
}

}  // namespace

Tensor nll_loss(const Tensor& input, const Tensor& target, NllLossOptions options) {
  const Classes at = classes_for("nll_loss", input, target, options.weight, options.reduction,
                                 options.ignore_index);
  const Tensor loss = pick(input, at);
  return record(
      loss.detach(), at.name(), [](const Tensor& g) { return g; }, loss);
}

// ---- cross_entropy ------------------------------------------------------------------------------

/// Softmax, logarithm and choice of the class in one pass, which leaves the gradient as well.
static Tensor fused_cross_entropy(const Tensor& input, const Classes& at) {
  // The kernel wants the classes of a position side by side: (N, C, *) turns to (N, *, C).
  const bool turns = at.shape.dim() > 2;
  const DType dtype = input.dtype();
  Tensor x = input.detach();
  if (turns) {
    const std::int64_t inner = at.shape[0] == 0 ? 0 : at.factor.numel() / at.shape[0];
    x = transpose(reshape(x, {at.shape[0], at.count(), inner}), 1, 2);
  }
  const bool wanted = is_grad_enabled() && input.requires_grad();
  Tensor dx = wanted ? empty(x.shape(), {.dtype = dtype}) : Tensor();
  Tensor out = zeros(at.reduced ? Shape() : at.factor.shape(), {.dtype = dtype});
  detail::dispatch_floating(dtype, [&]<class T>(T) {
    T* losses = out.mut<T>().data();
    double total = 0;
    if (x.numel() > 0) {
      const kernels::Softmax<T> rows{.rows = at.factor.numel(),
                                     .cols = at.count(),
                                     .x = x.data<T>().data(),
                                     .out = wanted ? dx.mut<T>().data() : nullptr,
                                     .target = at.target.get().data<std::int64_t>().data(),
                                     .ignore_index = at.ignore_index,
                                     .factor = at.factor.data<T>().data(),
                                     .losses = at.reduced ? nullptr : losses};
      total = rows.cross_entropy();
    }
    if (at.reduced) *losses = static_cast<T>(total + at.nothing());
  });
  if (wanted && turns) dx = reshape(transpose(dx, 1, 2), at.shape);
  return record(
      out, at.name(),
      [input = save(input), at, dx](const Tensor& g) {
        if (!is_grad_enabled()) return dx * (at.reduced ? g : unsqueeze(g, at.dim()));
        const auto forward = [&](const std::vector<Tensor>& in) {
          return pick(log_probabilities(in[0], at), at);
        };
        return composed(forward, g, {input})[0];
      },
      input);
}

/// x weighted by class, whose dimension is `dim`.
static Tensor weighted(const Tensor& x, const Tensor& weight, int dim) {
  if (!weight.defined()) return x;
  Shape shape = weight.shape();
  while (shape.dim() < x.shape().dim() - dim) shape.push_back(1);
  return x * weight.reshape(shape);
}

/// Targets are probabilities of input's shape.
static Tensor soft_cross_entropy(const Tensor& input, const Tensor& target,
                                 const CrossEntropyOptions& options) {
  detail::check_floating("cross_entropy", input);
  ops::check_reduction("cross_entropy", options.reduction);
  const int dim = input.dim() == 1 ? 0 : 1;
  const std::int64_t classes = input.shape()[dim];
  check_weight("cross_entropy", options.weight, input, classes);
  throw_if<Error>(options.ignore_index >= 0, "cross_entropy: ignore_index ", options.ignore_index,
                  " has no meaning where the targets are probabilities, shape ", target.shape());
  const double share = options.label_smoothing;
  const Tensor mixed =
      share > 0 ? target * (1 - share) + share / static_cast<double>(classes) : target;
  const Tensor loss = weighted(log_softmax(input, dim) * mixed, options.weight, dim);
  if (options.reduction == Reduction::none) return -sum(loss, dim);
  if (options.reduction == Reduction::sum) return -sum(loss);
  const Tensor total = -sum(loss);
  const double rows = static_cast<double>(input.numel()) / static_cast<double>(classes);
  return record(
      total.detach() / rows, "DivBackward1", [rows](const Tensor& g) { return g / rows; }, total);
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, CrossEntropyOptions options) {
  detail::check_defined("cross_entropy", input, target);
  const double share = options.label_smoothing;
  throw_if<Error>(!(share >= 0 && share <= 1),
                  "cross_entropy: label_smoothing must be between 0 and 1, got ", share);
  if (is_floating_point(target.dtype()) && target.shape() == input.shape() && input.dim() > 0) {
    return soft_cross_entropy(input, target, options);
  }
  const Classes at = classes_for("cross_entropy", input, target, options.weight, options.reduction,
                                 options.ignore_index);
  if (share == 0) return fused_cross_entropy(input, at);
  const int dim = at.dim();
  const Tensor log_p = log_probabilities(input, at);
  Tensor even = masked_fill(-sum(weighted(log_p, options.weight, dim), dim),
                            target == options.ignore_index, 0);
  if (at.reduced) even = sum(even) / at.total;
  return pick(log_p, at) * (1 - share) + even * (share / static_cast<double>(at.count()));
}

double accuracy(const Tensor& logits, const Tensor& labels) {
  throw_if<ShapeError>(logits.dim() != 2 || labels.shape() != Shape(logits.shape()[0]),
                       "accuracy: needs logits (N, C) and labels (N), got shapes ", logits.shape(),
                       " and ", labels.shape());
  throw_if<DTypeError>(labels.dtype() != DType::int64, "accuracy: labels must be int64, got ",
                       labels.dtype());
  throw_if<ShapeError>(labels.numel() == 0, "accuracy: there are no rows in logits of shape ",
                       logits.shape());
  const Tensor hits = argmax(logits.detach(), 1) == labels;
  return static_cast<double>(sum(hits).item<std::int64_t>()) / static_cast<double>(labels.numel());
}

}  // namespace xgrad
