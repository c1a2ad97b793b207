#pragma once

#include <memory>

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

/// Changes the learning rates of an optimizer, which must outlive it. Call step() after each epoch
/// (or batch). Rates are computed from the ones in force, as in PyTorch, so schedules can be
/// combined and a rate set by hand is respected.
class LRScheduler {
 public:
  virtual ~LRScheduler();
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// On to the next epoch: sets the rate of every group.
  void step();
  /// The rates that the last step() set, one per group.
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  std::int64_t last_epoch() const { return last_epoch_; }

  /// "last_epoch", "base_lrs" and "last_lr"; loading also sets the optimizer's rates, so the first
  /// step after it already uses the right one.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state);

 protected:
  explicit LRScheduler(Optimizer& optimizer);
  /// The rate at epoch last_epoch(), from the one before and that of the beginning. Each
  /// constructor calls step() for epoch 0 when its settings are in place.
  virtual double next(std::size_t group, double lr, double base_lr) const = 0;

  Optimizer& optimizer_;

 private:
  std::int64_t last_epoch_ = -1;
  std::vector<double> last_lr_;
};

struct StepLROptions {
  std::int64_t step_size = 1;  ///< >= 1
  double gamma = 0.1;
};
/// lr *= gamma every step_size epochs.
class StepLR final : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, StepLROptions options);

 private:
  double next(std::size_t group, double lr, double base_lr) const override;
  StepLROptions options_;
};

struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;  ///< >= 1
  double eta_min = 0;
};
/// eta_min + (base_lr - eta_min) (1 + cos(pi epoch / T_max)) / 2; past T_max it rises again.
/// Loshchilov, Hutter 2017, arXiv 1608.03983 (without the restarts).
class CosineAnnealingLR final : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, CosineAnnealingLROptions options);

 private:
  double next(std::size_t group, double lr, double base_lr) const override;
  CosineAnnealingLROptions options_;
};

/// base_lr * f(epoch), from epoch 0 on: `LambdaLR(opt, [](int epoch) { return 1.0 / (epoch + 1);
/// })`. One function for all groups, or one for each.
class LambdaLR final : public LRScheduler {
 public:
  template <class... F>
  requires(sizeof...(F) > 0 && (std::is_invocable_r_v<double, F&, int> &&
                                ...)) explicit LambdaLR(Optimizer& optimizer, F... f)
      : LRScheduler(optimizer) {
    (factors_.push_back(std::make_unique<FactorOf<F>>(std::move(f))), ...);
    check_and_step();
  }
  ~LambdaLR() override;

 private:
  struct Factor {  // instead of std::function, whose header every user's file would pay for
    virtual ~Factor() = default;
    virtual double at(int epoch) = 0;
  };
  template <class F>
  struct FactorOf final : Factor {
    F f;
    explicit FactorOf(F fn) : f(std::move(fn)) {}
    double at(int epoch) override { return static_cast<double>(f(epoch)); }
  };
  void check_and_step();
  double next(std::size_t group, double lr, double base_lr) const override;
  std::vector<std::unique_ptr<Factor>> factors_;
};

}  // namespace xgrad::optim
