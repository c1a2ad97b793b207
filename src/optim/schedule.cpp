#include "xgrad/optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "xgrad/error.hpp"

namespace xgrad::optim {

LRScheduler::~LRScheduler() = default;
LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}

void LRScheduler::step() {
  ++last_epoch_;
  last_lr_.clear();
  for (auto& group : optimizer_.groups_) {
    if (!group.initial_lr) group.initial_lr = group.lr;
    group.lr = next(last_lr_.size(), group.lr, *group.initial_lr);
    last_lr_.push_back(group.lr);
  }
}

StateDict LRScheduler::state_dict() const {
  std::vector<double> base_lrs;
  for (const auto& group : optimizer_.groups_) {
    base_lrs.push_back(group.initial_lr.value_or(group.lr));
  }
  return {{"last_epoch", tensor(last_epoch_)},
          {"base_lrs", tensor(base_lrs, {.dtype = float64})},
          {"last_lr", tensor(last_lr_, {.dtype = float64})}};
}

void LRScheduler::load_state_dict(const StateDict& dict) {
  const auto values = [&](const char* key, DType dtype, const Shape& shape) {
    for (const auto& [name, value] : dict) {
      if (name == key && value.dtype() == dtype && value.shape() == shape) {
        return value.to_vector<double>();
      }
    }
    throw Error(std::string("load_state_dict: no ") + key + " of " + xgrad::name(dtype) + " " +
                shape.str() + " for a schedule of " + std::to_string(optimizer_.group_count()) +
                " groups");
  };
  const Shape groups(optimizer_.group_count());
  const double epoch = values("last_epoch", int64, {})[0];
  const std::vector<double> base_lrs = values("base_lrs", float64, groups);
  last_lr_ = values("last_lr", float64, groups);
  last_epoch_ = static_cast<std::int64_t>(epoch);
  for (std::size_t g = 0; g < last_lr_.size(); ++g) {
    optimizer_.groups_[g].initial_lr = base_lrs[g];
    optimizer_.groups_[g].lr = last_lr_[g];
  }
}

StepLR::StepLR(Optimizer& optimizer, StepLROptions options)
    : LRScheduler(optimizer), options_(options) {
  if (options.step_size < 1) {
    throw Error("StepLR: step_size must be at least 1, got " + std::to_string(options.step_size));
  }
  step();
}

double StepLR::next(std::size_t, double lr, double) const {
  return last_epoch() > 0 && last_epoch() % options_.step_size == 0 ? lr * options_.gamma : lr;
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, CosineAnnealingLROptions options)
    : LRScheduler(optimizer), options_(options) {
  if (options.T_max < 1) {
    throw Error("CosineAnnealingLR: T_max must be at least 1, got " +
                std::to_string(options.T_max));
  }
  step();
}

double CosineAnnealingLR::next(std::size_t, double lr, double base_lr) const {
  const auto height = [this](std::int64_t epoch) {
    return 1 + std::cos(std::numbers::pi * static_cast<double>(epoch) /
                        static_cast<double>(options_.T_max));
  };
  const auto [T_max, eta_min] = options_;
  if (last_epoch() == 0) return lr;
  // The ratio below is 0 / 0 just after the lowest point.
  if ((last_epoch() - 1 - T_max) % (2 * T_max) == 0) {
    return lr +
           (base_lr - eta_min) * (1 - std::cos(std::numbers::pi / static_cast<double>(T_max))) / 2;
  }
  return height(last_epoch()) / height(last_epoch() - 1) * (lr - eta_min) + eta_min;
}

LambdaLR::~LambdaLR() = default;
void LambdaLR::check_and_step() {
  if (factors_.size() != 1 && factors_.size() != optimizer_.group_count()) {
    throw Error("LambdaLR: " + std::to_string(factors_.size()) + " functions for " +
                std::to_string(optimizer_.group_count()) +
                " parameter groups. Give one for all, or one for each.");
  }
  step();
}

double LambdaLR::next(std::size_t group, double lr, double base_lr) const {
  if (factors_.size() == 1) return base_lr * factors_[0]->at(static_cast<int>(last_epoch()));
  if (group >= factors_.size()) return lr;  // a group that joined later
  return base_lr * factors_[group]->at(static_cast<int>(last_epoch()));
}

}  // namespace xgrad::optim
