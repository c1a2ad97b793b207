#pragma once

#include <memory>
#include <string>

#include "xgrad/optim/optimizer.hpp"

namespace xgrad::optim {

/// Where a schedule stands when it is asked for a rate.
struct ScheduleAt {
  std::int64_t epoch;
  std::size_t group;
  double lr;       ///< in force, from the epoch before
  double base_lr;  ///< when the first schedule came, or what OneCycleLR began with
};

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
  std::int64_t last_epoch() const { return last_epoch_; }  ///< how often step() was called

  /// "last_epoch", "base_lrs", "last_lr" and what else the schedule counts. The rates in force are
  /// in the optimizer's state: to go on, make both, then load both. Throws Error, with nothing
  /// changed, for entries that are missing, unknown, misshapen or out of range.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state);  ///< what state_dict() gave

 protected:
  explicit LRScheduler(Optimizer& optimizer);
  /// The rate of a group at an epoch, by default the one in force. Each constructor calls step()
  /// for epoch 0 when its settings are in place.
  virtual double rate(const ScheduleAt& at) const;
  virtual std::optional<double> momentum(const ScheduleAt& at) const;  ///< by default left as it is
  /// Sets everything for this epoch, or throws with nothing changed.
  virtual void advance(std::int64_t epoch);
  /// What later schedules start from.
  void set_base_lr(std::size_t group, double lr);
  Optimizer& optimizer_;
  // What else there is to save, and the schedules that this one is made of.
  std::vector<std::pair<const char*, double*>> counters_;
  std::vector<LRScheduler*> parts_;

 private:
  friend class SequentialLR;
  std::vector<double> base_lrs() const;
  void go_to(std::int64_t epoch);
  void restart(bool first);
  void load(const StateDict& state, const std::string& prefix, bool check_only);

  std::int64_t last_epoch_ = -1;
  std::vector<double> last_lr_, base_lrs_;
};

/// A schedule given by its options: `options.check(optimizer)` throws for what is out of range,
/// `options.rate(at)` is the formula, `options.momentum(at)`, if there is one, that of the
/// momentum, and `options.base_lr(group)` what takes the place of the base_lr.
template <class Options>
class ScheduleOf final : public LRScheduler {
 public:
  explicit ScheduleOf(Optimizer& optimizer, Options options = {})
      : LRScheduler(optimizer), options_(std::move(options)) {
    options_.check(optimizer);
    step();
    if constexpr (requires { options_.base_lr(0); }) {
      for (std::size_t g = 0; g < optimizer.group_count(); ++g) set_base_lr(g, options_.base_lr(g));
    }
  }

 private:
  double rate(const ScheduleAt& at) const override { return options_.rate(at); }
  std::optional<double> momentum(const ScheduleAt& at) const override {
    if constexpr (requires { options_.momentum(at); }) return options_.momentum(at);
    return std::nullopt;
  }
  Options options_;
};

/// lr *= gamma every step_size epochs.
struct StepLROptions {
  std::int64_t step_size = 1;  ///< >= 1
  double gamma = 0.1;          ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using StepLR = ScheduleOf<StepLROptions>;

/// lr *= gamma at each of the milestones; one listed twice counts twice.
struct MultiStepLROptions {
  std::vector<std::int64_t> milestones{};  ///< rising
  double gamma = 0.1;                      ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using MultiStepLR = ScheduleOf<MultiStepLROptions>;

/// lr *= gamma every epoch.
struct ExponentialLROptions {
  double gamma = 0.1;  ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using ExponentialLR = ScheduleOf<ExponentialLROptions>;

/// lr * factor until epoch total_iters.
struct ConstantLROptions {
  double factor = 1.0 / 3;       ///< (0, 1]
  std::int64_t total_iters = 5;  ///< >= 1
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using ConstantLR = ScheduleOf<ConstantLROptions>;

/// lr times a factor that goes in a straight line from start_factor to end_factor at total_iters.
struct LinearLROptions {
  double start_factor = 1.0 / 3;  ///< (0, 1]
  double end_factor = 1.0;        ///< [0, 1]
  std::int64_t total_iters = 5;   ///< >= 1
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using LinearLR = ScheduleOf<LinearLROptions>;

/// base_lr (1 - epoch / total_iters)^power, then 0.
struct PolynomialLROptions {
  std::int64_t total_iters = 5;  ///< >= 1
  double power = 1.0;            ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using PolynomialLR = ScheduleOf<PolynomialLROptions>;

/// eta_min + (base_lr - eta_min) (1 + cos(pi epoch / T_max)) / 2; past T_max it rises again.
/// Loshchilov, Hutter 2017, arXiv 1608.03983 (without the restarts).
struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;  ///< >= 1
  double eta_min = 0;      ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using CosineAnnealingLR = ScheduleOf<CosineAnnealingLROptions>;

/// The same with restarts: after T_0 epochs, then after T_mult times as many, and so on.
struct CosineAnnealingWarmRestartsOptions {
  std::int64_t T_0 = 1;     ///< >= 1
  std::int64_t T_mult = 1;  ///< >= 1
  double eta_min = 0;       ///< >= 0
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
};
using CosineAnnealingWarmRestarts = ScheduleOf<CosineAnnealingWarmRestartsOptions>;

/// One number for all groups, or one for each.
struct PerGroup {
  PerGroup(double value) : values{value} {}
  PerGroup(std::vector<double> of_each) : values(std::move(of_each)) {}
  PerGroup(std::initializer_list<double> of_each) : values(of_each) {}
  double operator[](std::size_t group) const { return values[group < values.size() ? group : 0]; }
  std::vector<double> values;
};

/// The rate rises from max_lr / div_factor to max_lr in the first share pct_start of the steps, and
/// falls to 1 / final_div_factor of the first one; the momentum falls and rises. With three_phase
/// it falls as it rose, and then on. Call step() after each batch. Smith, Topin 2018, arXiv
/// 1708.07120.
struct OneCycleLROptions {
  PerGroup max_lr = std::vector<double>();    ///< >= 0
  std::optional<std::int64_t> total_steps{};  ///< >= 1; or the product of the next two
  std::optional<std::int64_t> epochs{}, steps_per_epoch{};
  double pct_start = 0.3;               ///< [0, 1]
  std::string anneal_strategy = "cos";  ///< or "linear"
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.85, max_momentum = 0.95;  ///< [0, 1)
  double div_factor = 25, final_div_factor = 1e4;      ///< > 0
  bool three_phase = false;
  void check(const Optimizer&) const;
  double rate(const ScheduleAt& at) const;
  std::optional<double> momentum(const ScheduleAt& at) const;
  double base_lr(std::size_t group) const { return max_lr[group] / div_factor; }

 private:
  std::int64_t total() const;
  double anneal(const ScheduleAt& at, double start, double peak, double end) const;
};
using OneCycleLR = ScheduleOf<OneCycleLROptions>;

/// base_lr * f(epoch), from epoch 0 on: `LambdaLR(opt, [](int epoch) { return 1.0 / (epoch + 1);
/// })`. One function for all groups, or one for each. A factor must be finite and at least 0.
class LambdaLR final : public LRScheduler {
 public:
  /// With functions of the epoch.
  template <class... F>
  requires(sizeof...(F) > 0 && (std::is_invocable_r_v<double, F&, int> &&
                                ...)) explicit LambdaLR(Optimizer& optimizer, F... f)
      : LRScheduler(optimizer) {
    (factors_.push_back(std::move(f)), ...);
    check_and_step();
  }

 private:
  void check_and_step();
  double rate(const ScheduleAt& at) const override;
  std::vector<xgrad::detail::Function<double(int epoch)>> factors_;
};

struct SequentialLROptions {
  std::vector<LRScheduler*> schedulers{};  ///< of the same optimizer; must outlive this one; not
                                           ///< ReduceLROnPlateau
  std::vector<std::int64_t> milestones{};  ///< rising, >= 1: where the second begins, the third ...
};
/// One schedule after the other, each from its own epoch 0 and the rates of the beginning.
class SequentialLR final : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, SequentialLROptions options);

 private:
  void advance(std::int64_t epoch) override;
  std::vector<std::int64_t> milestones_;
};

struct ReduceLROnPlateauOptions {
  std::string mode = "min";            ///< or "max": what is better
  double factor = 0.1;                 ///< [0, 1)
  std::int64_t patience = 10;          ///< >= 0
  double threshold = 1e-4;             ///< >= 0: a change that counts
  std::string threshold_mode = "rel";  ///< or "abs"
  std::int64_t cooldown = 0;           ///< >= 0
  PerGroup min_lr = 0.0;               ///< >= 0
  double eps = 1e-8;                   ///< >= 0: smaller changes of the rate are left out
};
/// lr *= factor when the metric has not become better for more than `patience` epochs; then as many
/// as `cooldown` do not count.
class ReduceLROnPlateau final : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions options = {});
  void step(double metric);  ///< after an epoch, with its loss

 private:
  void advance(std::int64_t epoch) override;
  ReduceLROnPlateauOptions options_;
  std::optional<double> metric_;
  double best_, num_bad_epochs_ = 0, cooldown_counter_ = 0;
};

}  // namespace xgrad::optim
