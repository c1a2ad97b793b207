#pragma once

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

struct AdagradOptions {
  double lr = 1e-2;                      ///< >= 0
  double lr_decay = 0;                   ///< >= 0
  double weight_decay = 0;               ///< >= 0
  double initial_accumulator_value = 0;  ///< >= 0
  double eps = 1e-10;                    ///< >= 0
  bool maximize = false;
};

struct AdagradGroup {
  std::vector<Tensor> params{};
  std::optional<double> lr{}, lr_decay{}, weight_decay{}, initial_accumulator_value{}, eps{};
  std::optional<bool> maximize{};
};

/// v += g^2, where g includes weight_decay p; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(v) + eps).
/// Duchi, Hazan, Singer 2011, JMLR 12.
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const std::vector<Tensor>& params, AdagradOptions options = {});
  explicit Adagrad(const std::vector<AdagradGroup>& groups, AdagradOptions options = {});
  /// Parameters that join later; the state of the others is kept.
  void add_param_group(const AdagradGroup& group);

 private:
  void update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double) override;
  AdagradOptions defaults_;
  std::vector<AdagradOptions> options_;  // of each group
};

}  // namespace xgrad::optim
