#pragma once

/// What the gradient through the mean and through the variance is worth: LayerNorm whose backward
/// pass takes one or both for constants.

#include "xgrad/teach/lab.hpp"

namespace xgrad::teach {

struct DetachOptions {
  double eps = 1e-5;
  bool mean = false;  ///< treat the mean as a constant
  bool var = false;   ///< treat the variance as a constant
};

/// LayerNorm over the last dimension, forward the same whatever is detached; both detached it is
/// the DetachNorm of Xu, Sun, Zhang, Zhao, Lin 2019, arXiv 1911.07013. Its input's gradient, with
/// h = g weight and r = 1 / sqrt(var + eps), is
///   r (h - mean(h) - xhat mean(h xhat))
/// without the second term where the mean, without the third where the variance is detached.
class DetachNorm : public nn::Module {
 public:
  explicit DetachNorm(std::int64_t features, DetachOptions options = {});
  Tensor forward(const Tensor& x) override;

  DetachOptions options;
  Tensor& weight;
  Tensor& bias;
};

/// One step of a training.
struct DetachStep {
  double loss = 0;           ///< of the batch
  double test_accuracy = 0;  ///< after the step
  double gradient = 0;       ///< norm of the gradient of the first layer's weight
};
/// One training.
struct DetachRun {
  bool mean = false, var = false;  ///< what was detached
  std::uint64_t seed = 0;
  std::vector<DetachStep> steps{};
  std::string ended{};  ///< why before the last step; empty: it was not
};

/// Trains the same net with neither, mean, variance and both detached, from `seeds` seeds each
/// (seed, seed + 1, ...); four runs of the first seed come first.
std::vector<DetachRun> detach_experiment(const data::Split& data, const LabOptions& options,
                                         std::int64_t seeds, const Watch& watch = go_on);

}  // namespace xgrad::teach
