#pragma once

#include "xgrad/autograd.hpp"
#include "xgrad/state_dict.hpp"

namespace xgrad::optim {

/// What all optimizers share. Parameters stand in groups, each with its own settings; what a group
/// leaves out is taken from the options of the constructor:
///
///   optim::AdamW opt({{.params = weights}, {.params = norms, .weight_decay = 0.0}}, {.lr = 1e-3});
///
/// Refused with an Error: an empty list, a tensor listed twice, one that is no leaf, and settings
/// outside their range.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;  // a schedule points here
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that has a gradient. One without is left as it is and gets no
  /// state; a gradient of zeros is a gradient.
  void step();
  /// Fills the gradients with zeros where they lie, or takes them away.
  void zero_grad(ZeroGradOptions options = {});
  void zero_grad(bool set_to_none) { zero_grad({.set_to_none = set_to_none}); }

  const char* name() const { return name_; }                  ///< "AdamW"
  std::size_t group_count() const { return groups_.size(); }  ///< at least 1
  /// Learning rate of a group. Throws IndexError.
  double lr(std::size_t group = 0) const;
  /// Sets it for every group, or for one.
  void set_lr(double lr);
  void set_lr(std::size_t group, double lr);
  /// Momentum of a group, the first beta of Adam; std::nullopt where the optimizer knows none.
  std::optional<double> momentum(std::size_t group = 0) const;

  /// Everything needed to go on later: "state.0.exp_avg" (parameters are numbered through all
  /// groups), "state.0.step", "param_groups.0.lr", "param_groups.0.momentum" (for Adam the first
  /// beta) ... Copies.
  StateDict state_dict() const;
  /// Throws Error, with nothing changed, unless the entries fit the parameters, are in range and
  /// are all there; a parameter that made no step has none.
  void load_state_dict(const StateDict& state);

 protected:
  /// A parameter and what is kept of it.
  struct Slot {
    Tensor param;
    std::int64_t step = 0;      // updates so far
    std::vector<Tensor> state;  // in the order of state_names_; may be undefined
  };
  Optimizer(const char* name, std::vector<const char*> state_names,
            std::optional<double> momentum_below = std::nullopt);

  /// Appends a group; the settings have been checked. `kept` says which of the state_names every
  /// step of it leaves behind.
  void add_group(const std::vector<Tensor>& params, double lr, std::vector<bool> kept = {},
                 std::optional<double> momentum = std::nullopt);
  /// The group's own setting, else that of the options. Throws Error unless 0 <= setting < below,
  /// which is infinity where none is given.
  double setting(const char* name, std::optional<double> own, std::optional<double> fallback,
                 std::optional<double> below = std::nullopt) const;
  /// One update of one parameter, under NoGrad; slot.step already counts it. `momentum` is that of
  /// add_group, or what a schedule made of it.
  virtual void update(Slot& slot, const Tensor& grad, std::size_t group, double lr,
                      double momentum) = 0;

  const char* name_;

 private:
  friend class LRScheduler;
  struct Group {
    std::vector<Slot> slots;
    double lr = 0;
    std::vector<bool> kept{};
    std::optional<double> momentum = std::nullopt;
    std::optional<double> initial_lr = std::nullopt;  // the rate when the first schedule came
  };
  const Group& group(std::size_t index) const;

  /// Calls f(key, value, like, needed) for all there is to save. `value` is undefined where there
  /// is nothing; what f makes of it, of the type and shape of `like`, goes back into the groups.
  template <class F>
  void each_entry(std::vector<Group>& groups, F f) const;

  std::vector<const char*> state_names_;
  std::optional<double> momentum_below_;
  std::vector<Group> groups_;
};

}  // namespace xgrad::optim
