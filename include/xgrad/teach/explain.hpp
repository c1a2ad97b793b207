#pragma once

#include "xgrad/nn/norm.hpp"

/// How the gradient passes through a normalization, number by number:
///
///   const auto lens = xg::teach::explain(net.norm, x, upstream);
///   lens.through_mean;   // the part of dx that flows through the mean

namespace xgrad::teach {

/// A normalization as a formula: `y = (x - mean) / sqrt(variance + eps) * weight + bias`.
struct Norm {
  /// Of which layer.
  enum Kind { layer, batch, rms, group };
  Kind kind = layer;
  Shape normalized_shape{};                  ///< layer, rms; empty: the last dimension of x
  std::int64_t groups = 1;                   ///< group
  bool training = true;                      ///< batch: its own statistics, or the running ones
  std::optional<double> eps = std::nullopt;  ///< without: 1e-5, for rms the dtype's epsilon
  Tensor weight{}, bias{};                   ///< undefined: ones, zeros; rms has no bias
  Tensor running_mean{}, running_var{};      ///< batch in eval; undefined: zeros, ones

  Norm() = default;
  Norm(const nn::LayerNorm& layer);
  Norm(const nn::BatchNorm& layer);  ///< in its present mode; its running statistics stay unchanged
  Norm(const nn::RMSNorm& layer);
  Norm(const nn::GroupNorm& layer);

  /// The values normalized together have a mean and a variance of their own, through which
  /// gradient flows; without: constants.
  bool own_statistics() const { return kind != batch || training; }
  bool centred() const { return kind != rms; }  ///< the mean is subtracted
};

/// How far two tensors of one shape agree. NaN equals NaN here.
struct Comparison {
  bool exact = false;        ///< every element
  bool approximate = false;  ///< every element up to `tolerance` times `scale`
  double largest = 0;        ///< difference
};
/// Without a scale: the largest finite |b|; without a tolerance: 1e-9, for float32 1e-5. Throws
/// ShapeError for two shapes.
Comparison compare(const Tensor& a, const Tensor& b, double scale = 0, double tolerance = 0);

/// A named value on the way from x to y with the gradient of the loss `sum(upstream * y)` by it:
/// found by hand, one step of the chain rule at a time, and by autograd.
struct Step {
  std::string name;
  Tensor value;
  Tensor gradient{};  ///< undefined for a constant: no gradient flows into it
  Tensor autograd{};
  Comparison comparison{};
};

/// dx from another source, compared with the sum of the terms.
struct Check {
  std::string name;
  Tensor gradient{};      ///< undefined where the source refused
  std::string refusal{};  ///< ... and why
  Comparison comparison{};
};

/// Two sides that are equal by theory, computed apart.
struct Identity {
  std::string name;
  Tensor left, right;
  Comparison comparison{};  ///< scaled by the sum of what is added up
};

/// One normalization, forward and backward, number by number.
struct Explanation {
  Norm norm;  ///< with everything filled in that was left out
  Tensor x, upstream;
  std::int64_t count = 0;  ///< of values that share a mean and a variance
  /// x, mean, centred, variance, std, rstd, x_hat, weight, bias, y (rms: x, mean_square, rms, rrms,
  /// x_hat, weight, y). Values that x's groups share have the shape of x with 1 for what they are
  /// shared over; those of group norm (N, groups).
  std::vector<Step> steps{};
  /// dx = direct + through_mean + through_variance, element by element:
  ///   direct = rstd * h with h = upstream * weight
  ///   through_mean = -rstd * mean(h)                     0 for rms, and for constants
  ///   through_variance = -rstd * x_hat * mean(h * x_hat)  0 for constants
  Tensor direct, through_mean, through_variance, sum{};
  std::vector<Check> checks{};  ///< "kernel", "autograd", "numeric"
  /// "sum(dx)" over each group is 0 (not for rms); "sum(dx * x_hat)" is what eps leaves,
  /// rstd * sum(h * x_hat) * eps / (variance + eps). None with running statistics.
  std::vector<Identity> identities{};

  const Step& step(const std::string& name) const;  ///< throws Error without one
};

struct ExplainOptions {
  std::int64_t numeric = 1000;  ///< no numeric gradient for more elements than that
};

/// Takes the gradient of `sum(upstream * norm(x))` apart. The checks of dx are the gradient of the
/// library's fused operation ("kernel"), that of the steps composed of small operations
/// ("autograd"), and difference quotients of the fused operation in float64 ("numeric"). Works in
/// the dtype of x, float32 or float64; changes none of its arguments. Where the operation refuses
/// its values (a training batch with NaN, or with one row), its check says so and the rest stands.
///
/// Throws ShapeError, DTypeError or Error as the operation does for shapes, dtypes and eps.
Explanation explain(Norm norm, const Tensor& x, const Tensor& upstream,
                    const ExplainOptions& options = {});

}  // namespace xgrad::teach
