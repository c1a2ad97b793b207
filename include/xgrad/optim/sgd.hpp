#pragma once

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

struct SGDOptions {
  std::optional<double> lr{};  ///< learning rate, >= 0; required here or in every group
  double momentum = 0;         ///< >= 0
  double dampening = 0;        ///< of the gradient's share in the momentum
  double weight_decay = 0;     ///< >= 0
  bool nesterov = false;       ///< needs momentum and no dampening
  bool maximize = false;
};

struct SGDGroup {
  std::vector<Tensor> params{};
  std::optional<double> lr{}, momentum{}, dampening{}, weight_decay{};
  std::optional<bool> nesterov{}, maximize{};
};

/// Stochastic gradient descent as PyTorch does it: d = g + weight_decay p;
/// b = momentum b + (1 - dampening) d (b = d at the first step); p -= lr b, or with Nesterov
/// p -= lr (d + momentum b), or without momentum p -= lr d.
class SGD final : public Optimizer {
 public:
  explicit SGD(const std::vector<Tensor>& params, SGDOptions options = {});
  explicit SGD(const std::vector<SGDGroup>& groups, SGDOptions options = {});
  /// Parameters that join later; the state of the others is kept.
  void add_param_group(const SGDGroup& group);

 private:
  void update(Slot& slot, const Tensor& grad, std::size_t group, double lr,
              double momentum) override;
  SGDOptions defaults_;
  std::vector<SGDOptions> options_;  // of each group
};

}  // namespace xgrad::optim
