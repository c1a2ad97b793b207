#pragma once

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

struct RMSpropOptions {
  double lr = 1e-2;         ///< >= 0
  double alpha = 0.99;      ///< share of the past in the averages, [0, 1)
  double eps = 1e-8;        ///< >= 0
  double weight_decay = 0;  ///< >= 0
  double momentum = 0;      ///< >= 0
  bool centered = false;    ///< divide by the deviation from the mean gradient
  bool maximize = false;
};

struct RMSpropGroup {
  std::vector<Tensor> params{};
  std::optional<double> lr{}, alpha{}, eps{}, weight_decay{}, momentum{};
  std::optional<bool> centered{}, maximize{};
};

/// v = alpha v + (1 - alpha) g^2, where g includes weight_decay p; d = g / (sqrt(v) + eps),
/// centered g / (sqrt(v - m^2) + eps) with the average m of g; b = momentum b + d; p -= lr b.
/// Hinton 2012, lecture 6e; centered: Graves 2013, arXiv 1308.0850.
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(const std::vector<Tensor>& params, RMSpropOptions options = {});
  explicit RMSprop(const std::vector<RMSpropGroup>& groups, RMSpropOptions options = {});
  /// Parameters that join later; the state of the others is kept.
  void add_param_group(const RMSpropGroup& group);

 private:
  void update(Slot& slot, const Tensor& grad, std::size_t group, double lr,
              double momentum) override;
  RMSpropOptions defaults_;
  std::vector<RMSpropOptions> options_;  // of each group
};

}  // namespace xgrad::optim
