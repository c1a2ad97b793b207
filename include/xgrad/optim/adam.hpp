#pragma once

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

struct AdamOptions {
  double lr = 1e-3;                             ///< >= 0
  std::pair<double, double> betas{0.9, 0.999};  ///< each in [0, 1)
  double eps = 1e-8;                            ///< >= 0
  std::optional<double> weight_decay{};         ///< >= 0; without: 0, for AdamW 0.01
  bool amsgrad = false;                         ///< divide by the greatest v so far
  bool maximize = false;
};

struct AdamGroup {
  std::vector<Tensor> params{};
  std::optional<double> lr{};
  std::optional<std::pair<double, double>> betas{};
  std::optional<double> eps{}, weight_decay{};
  std::optional<bool> amsgrad{}, maximize{};
};

/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps), where g includes weight_decay p.
/// Kingma, Ba 2015, arXiv 1412.6980; amsgrad: Reddi, Kale, Kumar 2018.
class Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<Tensor>& params, AdamOptions options = {});
  explicit Adam(const std::vector<AdamGroup>& groups, AdamOptions options = {});
  /// Parameters that join later; the state of the others is kept.
  void add_param_group(const AdamGroup& group);

 protected:
  Adam(const char* name, bool decoupled, const std::vector<AdamGroup>& groups, AdamOptions options);

 private:
  void update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double beta1) override;
  AdamOptions defaults_;
  std::vector<AdamOptions> options_;  // of each group
  bool decoupled_;
};

/// Adam whose decay is decoupled from the gradient: p *= 1 - lr weight_decay before the step.
/// Loshchilov, Hutter 2019, arXiv 1711.05101.
class AdamW final : public Adam {
 public:
  explicit AdamW(const std::vector<Tensor>& params, AdamOptions options = {});
  explicit AdamW(const std::vector<AdamGroup>& groups, AdamOptions options = {});
};

}  // namespace xgrad::optim
