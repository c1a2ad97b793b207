#pragma once

/// Losses as functions, with their derivatives to second order, as all of ops.hpp; nn/loss.hpp has
/// them as modules.

#include "xgrad/tensor.hpp"

namespace xgrad {

/// What a loss does with the values of the single elements. `batchmean`, of kl_div alone, is the
/// sum divided by the size of dimension 0.
enum class Reduction { none, mean, sum, batchmean };
/// By PyTorch's name ("mean" ...); throws Error for anything else.
Reduction reduction_from(const std::string& name);

/// The losses down to kl_div compare input and target of one shape element by element: they throw
/// ShapeError for unequal shapes and never broadcast. A weight stretches to that shape.

/// (input - target)^2
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
/// |input - target|; gradient 0 where they are equal.
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);

struct SmoothL1LossOptions {
  Reduction reduction = Reduction::mean;
  double beta = 1.0;  ///< >= 0; 0 is l1_loss
};
/// d^2 / (2 beta) where |d| = |input - target| < beta, |d| - beta / 2 elsewhere.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, SmoothL1LossOptions options = {});

struct HuberLossOptions {
  Reduction reduction = Reduction::mean;
  double delta = 1.0;  ///< > 0
};
/// d^2 / 2 where |d| = |input - target| < delta, delta (|d| - delta / 2) elsewhere.
Tensor huber_loss(const Tensor& input, const Tensor& target, HuberLossOptions options = {});

struct BCELossOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
};
/// -(target log(input) + (1 - target) log(1 - input)) for probabilities; each log is at least -100.
/// Throws Error for an input outside [0, 1].
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, BCELossOptions options = {});

struct BCEWithLogitsLossOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
  Tensor pos_weight = {};  ///< factor of the first of the two terms
};
/// The same of sigmoid(input), without overflow and without a limit.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        BCEWithLogitsLossOptions options = {});

struct KLDivLossOptions {
  Reduction reduction = Reduction::mean;  ///< batchmean gives the divergence of mathematics
  bool log_target = false;                ///< target holds logarithms, as input always does
};
/// target (log(target) - input), 0 where target is 0.
Tensor kl_div(const Tensor& input, const Tensor& target, KLDivLossOptions options = {});

struct CrossEntropyOptions {
  Tensor weight = {};  ///< (C): weight of each class
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;  ///< targets with this value take no part
  double label_smoothing = 0.0;      ///< share of the target spread evenly over all classes, [0, 1]
};
/// -log softmax(input)[target]: input (N, C), (N, C, *) or (C); target int64 classes (N), (N, *) or
/// (), or probabilities of input's shape. The mean divides by the summed weights of the targets.
/// Throws IndexError for a class outside [0, C), naming value and position, and GraphError for a
/// weight of classes that requires a gradient: there is none.
Tensor cross_entropy(const Tensor& input, const Tensor& target, CrossEntropyOptions options = {});

struct NllLossOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;
};
/// -input[target] for log-probabilities: the second half of cross_entropy.
Tensor nll_loss(const Tensor& input, const Tensor& target, NllLossOptions options = {});

/// Share of the rows of `logits` (N, C) whose greatest entry is at the row's label (N), in [0, 1].
double accuracy(const Tensor& logits, const Tensor& labels);

}  // namespace xgrad
