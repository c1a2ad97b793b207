#include "xgrad/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "detail/message.hpp"
#include "optim/check.hpp"

/// What all schedules share, and those that are more than a formula.

namespace xgrad::optim {

using detail::require;

LRScheduler::~LRScheduler() = default;
LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}

double LRScheduler::rate(const ScheduleAt& at) const { return at.lr; }
std::optional<double> LRScheduler::momentum(const ScheduleAt&) const { return std::nullopt; }

void LRScheduler::set_base_lr(std::size_t group, double lr) {
  base_lrs_[group] = lr;
  optimizer_.groups_[group].initial_lr = lr;
}

/// Those of groups that joined later too.
std::vector<double> LRScheduler::base_lrs() const {
  std::vector<double> all = base_lrs_;
  for (std::size_t g = all.size(); g < optimizer_.groups_.size(); ++g) {
    all.push_back(optimizer_.groups_[g].initial_lr.value_or(optimizer_.groups_[g].lr));
  }
  return all;
}

void LRScheduler::advance(std::int64_t epoch) {
  const std::vector<double> bases = base_lrs();
  std::vector<std::pair<double, std::optional<double>>> next;
  for (const auto& group : optimizer_.groups_) {
    const ScheduleAt at{epoch, next.size(), group.lr, bases[next.size()]};
    next.emplace_back(rate(at), momentum(at));
    const double lr = next.back().first;
    // The step after the last of a linear OneCycleLR falls below 0, as in PyTorch.
    throw_if<Error>(!std::isfinite(lr), "schedule: the rate at epoch ", epoch,
                    " must be finite, got ", lr);
  }
  for (std::size_t g = 0; g < next.size(); ++g) {
    auto& group = optimizer_.groups_[g];
    group.lr = next[g].first;
    if (next[g].second) group.momentum = next[g].second;
    if (!group.initial_lr) group.initial_lr = bases[g];
  }
  base_lrs_ = bases;
}

void LRScheduler::go_to(std::int64_t epoch) {
  advance(epoch);
  last_epoch_ = epoch;
  last_lr_.clear();
  for (const auto& group : optimizer_.groups_) last_lr_.push_back(group.lr);
}

void LRScheduler::step() { go_to(last_epoch_ + 1); }

/// Epoch 0 again, from this schedule's base rates; as the first of a sequence, as in PyTorch, from
/// the optimizer's, which a OneCycleLR made since has changed.
void LRScheduler::restart(bool first) {
  const std::vector<double> bases = base_lrs();
  std::vector<double> before;
  for (auto& group : optimizer_.groups_) {
    const double base = bases[before.size()];
    before.push_back(std::exchange(group.lr, first ? group.initial_lr.value_or(base) : base));
  }
  try {
    go_to(0);
  } catch (...) {
    for (std::size_t g = 0; g < before.size(); ++g) optimizer_.groups_[g].lr = before[g];
    throw;
  }
}

StateDict LRScheduler::state_dict() const {
  std::vector<double> last_lr = last_lr_;
  for (std::size_t g = last_lr.size(); g < optimizer_.groups_.size(); ++g) {
    last_lr.push_back(optimizer_.groups_[g].lr);  // it joined later
  }
  StateDict dict{{"last_epoch", tensor(last_epoch_)},
                 {"base_lrs", tensor(base_lrs(), {.dtype = float64})},
                 {"last_lr", tensor(last_lr, {.dtype = float64})}};
  for (const auto& [name, value] : counters_) {
    dict.emplace_back(name, tensor(*value, {.dtype = float64}));
  }
  std::size_t index = 0;
  for (const LRScheduler* part : parts_) {
    const std::string prefix = std::to_string(index++) + ".";
    for (auto& [name, value] : part->state_dict()) dict.emplace_back(prefix + name, value);
  }
  return dict;
}

void LRScheduler::load_state_dict(const StateDict& dict) {
  const StateDict own = state_dict();
  for (const auto& entry : dict) {
    const auto same_name = [&](const auto& e) { return e.first == entry.first; };
    throw_if<Error>(std::none_of(own.begin(), own.end(), same_name),
                    "load_state_dict: ", entry.first, " is nothing that this schedule has");
  }
  load(dict, "", true);
  load(dict, "", false);
}

void LRScheduler::load(const StateDict& dict, const std::string& prefix, bool check_only) {
  const auto values = [&](const char* key, DType dtype, const Shape& shape, double least) {
    for (const auto& [name, value] : dict) {
      if (name != prefix + key || value.dtype() != dtype || value.shape() != shape) continue;
      const std::vector<double> numbers = value.to_vector<double>();
      for (double v : numbers) {
        require(v >= least && (least == -INFINITY || std::isfinite(v)), "load_state_dict", name,
                message("finite and at least ", least).c_str(), v);
      }
      return numbers;
    }
    throw Error(message("load_state_dict: no ", prefix, key, " of ", dtype, " ", shape,
                        " for a schedule of ", optimizer_.group_count(), " groups"));
  };
  const Shape groups(optimizer_.group_count());
  const double lowest = std::numeric_limits<double>::lowest();
  const double epoch = values("last_epoch", int64, {}, prefix.empty() ? 0 : -1)[0];
  const std::vector<double> base_lrs = values("base_lrs", float64, groups, 0);
  const std::vector<double> last_lr = values("last_lr", float64, groups, lowest);
  for (const auto& [name, value] : counters_) {
    const double number = values(name, float64, {}, -INFINITY)[0];
    if (!check_only) *value = number;
  }
  std::size_t index = 0;
  for (LRScheduler* part : parts_) {
    part->load(dict, prefix + std::to_string(index++) + ".", check_only);
  }
  const auto last_epoch = static_cast<std::int64_t>(epoch);
  if (check_only) {
    for (std::size_t g = 0; g < last_lr.size() && last_epoch >= 0; ++g) {
      rate({last_epoch, g, last_lr[g], base_lrs[g]});  // throws past the end of OneCycleLR
    }
    return;
  }
  last_epoch_ = last_epoch;
  last_lr_ = last_lr;
  base_lrs_ = base_lrs;
}

// ---- LambdaLR -----------------------------------------------------------------------------------

void LambdaLR::check_and_step() {
  throw_if<Error>(factors_.size() != 1 && factors_.size() != optimizer_.group_count(),
                  "LambdaLR: ", factors_.size(), " functions for ", optimizer_.group_count(),
                  " parameter groups. Give one for all, or one for each.");
  step();
}

double LambdaLR::rate(const ScheduleAt& at) const {
  if (factors_.size() > 1 && at.group >= factors_.size()) return at.lr;  // it joined later
  const double factor = factors_[factors_.size() == 1 ? 0 : at.group](static_cast<int>(at.epoch));
  require(factor >= 0 && std::isfinite(factor), "LambdaLR",
          message("the factor at epoch ", at.epoch), "finite and at least 0", factor);
  return at.base_lr * factor;
}

// ---- SequentialLR -------------------------------------------------------------------------------

SequentialLR::SequentialLR(Optimizer& optimizer, SequentialLROptions options)
    : LRScheduler(optimizer), milestones_(std::move(options.milestones)) {
  parts_ = std::move(options.schedulers);
  throw_if<Error>(parts_.empty() || parts_.size() != milestones_.size() + 1,
                  "SequentialLR: ", parts_.size(), " schedulers need one milestone fewer, got ",
                  milestones_.size());
  detail::check_rising("SequentialLR", milestones_, 1);
  for (const LRScheduler* part : parts_) {
    throw_if<Error>(!part || &part->optimizer_ != &optimizer,
                    "SequentialLR: every scheduler must be of the same optimizer");
    throw_if<Error>(dynamic_cast<const ReduceLROnPlateau*>(part),
                    "SequentialLR: ReduceLROnPlateau needs a metric and cannot be a part");
  }
  step();
  for (LRScheduler* part : parts_) part->last_epoch_ = part == parts_[0] ? 0 : -1;
}

void SequentialLR::advance(std::int64_t epoch) {
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch);
  LRScheduler& part = *parts_[static_cast<std::size_t>(next - milestones_.begin())];
  if (epoch == 0 || (next != milestones_.begin() && next[-1] == epoch)) {
    part.restart(epoch == 0);
  } else {
    part.step();
  }
}

// ---- ReduceLROnPlateau --------------------------------------------------------------------------

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions options)
    : LRScheduler(optimizer),
      options_(std::move(options)),
      best_(options_.mode == "max" ? -INFINITY : INFINITY) {
  const char* op = "ReduceLROnPlateau";
  const ReduceLROnPlateauOptions& o = options_;
  detail::check_choice(op, "mode", o.mode, "min", "max");
  detail::check_choice(op, "threshold_mode", o.threshold_mode, "rel", "abs");
  require(o.factor >= 0 && o.factor < 1, op, "factor", "in [0, 1)", o.factor);
  require(o.patience >= 0, op, "patience", "at least 0", static_cast<double>(o.patience));
  require(o.cooldown >= 0, op, "cooldown", "at least 0", static_cast<double>(o.cooldown));
  require(o.threshold >= 0, op, "threshold", "at least 0", o.threshold);
  require(o.eps >= 0, op, "eps", "at least 0", o.eps);
  detail::check_per_group(op, "min_lr", o.min_lr, optimizer, INFINITY);
  counters_ = {{"best", &best_},
               {"num_bad_epochs", &num_bad_epochs_},
               {"cooldown_counter", &cooldown_counter_}};
  LRScheduler::step();
}

void ReduceLROnPlateau::step(double metric) {
  metric_ = metric;
  LRScheduler::step();
  metric_.reset();
}

void ReduceLROnPlateau::advance(std::int64_t epoch) {
  if (epoch == 0) return;
  throw_if<Error>(!metric_, "ReduceLROnPlateau: step needs the metric: step(loss)");
  const bool relative = options_.threshold_mode == "rel";
  const double sign = options_.mode == "max" ? 1 : -1;
  const double bar =
      relative ? best_ * (1 + sign * options_.threshold) : best_ + sign * options_.threshold;
  if (sign * *metric_ > sign * bar) {
    best_ = *metric_;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ <= static_cast<double>(options_.patience)) return;
  cooldown_counter_ = static_cast<double>(options_.cooldown);
  num_bad_epochs_ = 0;
  for (std::size_t g = 0; g < optimizer_.group_count(); ++g) {
    const double lr = optimizer_.lr(g);
    const double lower = std::max(lr * options_.factor, options_.min_lr[g]);
    if (lr - lower > options_.eps) optimizer_.set_lr(g, lower);
  }
}

}  // namespace xgrad::optim
