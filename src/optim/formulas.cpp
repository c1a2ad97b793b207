#include <algorithm>
#include <cmath>
#include <numbers>

#include "detail/message.hpp"
#include "optim/check.hpp"

/// Schedules that are a formula.

namespace xgrad::optim {

using detail::require;

// ---- checks -------------------------------------------------------------------------------------

static double real(std::int64_t n) { return static_cast<double>(n); }

static void at_least_1(const char* op, const char* what, std::int64_t n) {
  require(n >= 1, op, what, "at least 1", real(n));
}
static void not_negative(const char* op, const char* what, double v) {
  require(v >= 0 && std::isfinite(v), op, what, "finite and at least 0", v);
}
static void in_0_1(const char* op, const char* what, double v, bool with_0) {
  require((v > 0 || (with_0 && v == 0)) && v <= 1, op, what, with_0 ? "in [0, 1]" : "in (0, 1]", v);
}

void detail::require(bool holds, const std::string& op, const std::string& what, const char* range,
                     double value) {
  if (holds) return;
  throw Error(message(op, ": ", what, " must be ", range, ", got ", value));
}

void detail::check_rising(const char* op, const std::vector<std::int64_t>& milestones,
                          std::int64_t first) {
  for (std::int64_t m : milestones) {
    require(m >= first, op, "milestones", ("rising from " + std::to_string(first)).c_str(),
            real(m));
    first = m;
  }
}

void detail::check_choice(const char* op, const char* what, const std::string& value,
                          const char* one, const char* other) {
  if (value == one || value == other) return;
  throw Error(
      message(op, ": ", what, " must be \"", one, "\" or \"", other, "\", got \"", value, "\""));
}

void detail::check_per_group(const char* op, const char* what, const PerGroup& numbers,
                             const Optimizer& optimizer, double below) {
  const std::size_t n = numbers.values.size();
  throw_if<Error>(n != 1 && n != optimizer.group_count(), op, ": ", what,
                  " needs one number, or one for each of ", optimizer.group_count(),
                  " groups, got ", n);
  for (double v : numbers.values) {
    require(v >= 0 && v < below, op, what,
            below == 1 ? "at least 0 and below 1" : "finite and at least 0", v);
  }
}

// ---- steps --------------------------------------------------------------------------------------

void StepLROptions::check(const Optimizer&) const {
  at_least_1("StepLR", "step_size", step_size);
  not_negative("StepLR", "gamma", gamma);
}
double StepLROptions::rate(const ScheduleAt& at) const {
  return at.epoch > 0 && at.epoch % step_size == 0 ? at.lr * gamma : at.lr;
}

void MultiStepLROptions::check(const Optimizer&) const {
  detail::check_rising("MultiStepLR", milestones, 0);
  not_negative("MultiStepLR", "gamma", gamma);
}
double MultiStepLROptions::rate(const ScheduleAt& at) const {
  return at.lr * std::pow(gamma, std::count(milestones.begin(), milestones.end(), at.epoch));
}

void ExponentialLROptions::check(const Optimizer&) const {
  not_negative("ExponentialLR", "gamma", gamma);
}
double ExponentialLROptions::rate(const ScheduleAt& at) const {
  return at.epoch > 0 ? at.lr * gamma : at.lr;
}

// ---- up to total_iters --------------------------------------------------------------------------

void ConstantLROptions::check(const Optimizer&) const {
  in_0_1("ConstantLR", "factor", factor, false);
  at_least_1("ConstantLR", "total_iters", total_iters);
}
double ConstantLROptions::rate(const ScheduleAt& at) const {
  if (at.epoch == 0) return at.lr * factor;
  return at.epoch == total_iters ? at.lr * (1 / factor) : at.lr;
}

void LinearLROptions::check(const Optimizer&) const {
  in_0_1("LinearLR", "start_factor", start_factor, false);
  in_0_1("LinearLR", "end_factor", end_factor, true);
  at_least_1("LinearLR", "total_iters", total_iters);
}
double LinearLROptions::rate(const ScheduleAt& at) const {
  if (at.epoch == 0) return at.lr * start_factor;
  if (at.epoch > total_iters) return at.lr;
  const double rise = end_factor - start_factor;
  const double before = real(total_iters) * start_factor + real(at.epoch - 1) * rise;
  return std::max(at.lr * (1 + rise / before), 0.0);  // rounding may pass an end of 0
}

void PolynomialLROptions::check(const Optimizer&) const {
  at_least_1("PolynomialLR", "total_iters", total_iters);
  not_negative("PolynomialLR", "power", power);
}
double PolynomialLROptions::rate(const ScheduleAt& at) const {
  if (at.epoch == 0 || at.epoch > total_iters) return at.lr;
  const auto rest = [this](std::int64_t epoch) { return 1 - real(epoch) / real(total_iters); };
  return at.lr * std::pow(rest(at.epoch) / rest(at.epoch - 1), power);
}

// ---- cosines ------------------------------------------------------------------------------------

/// 2 at the beginning of a period, 0 at its end.
static double height(double epoch, double period) {
  return 1 + std::cos(std::numbers::pi * epoch / period);
}

void CosineAnnealingLROptions::check(const Optimizer&) const {
  at_least_1("CosineAnnealingLR", "T_max", T_max);
  not_negative("CosineAnnealingLR", "eta_min", eta_min);
}
double CosineAnnealingLROptions::rate(const ScheduleAt& at) const {
  if (at.epoch == 0) return at.lr;
  if ((at.epoch - 1 - T_max) % (2 * T_max) == 0) {  // here the ratio below would be 0 / 0
    return at.lr + (at.base_lr - eta_min) * (1 - std::cos(std::numbers::pi / real(T_max))) / 2;
  }
  return height(real(at.epoch), real(T_max)) / height(real(at.epoch - 1), real(T_max)) *
             (at.lr - eta_min) +
         eta_min;
}

void CosineAnnealingWarmRestartsOptions::check(const Optimizer&) const {
  at_least_1("CosineAnnealingWarmRestarts", "T_0", T_0);
  at_least_1("CosineAnnealingWarmRestarts", "T_mult", T_mult);
  not_negative("CosineAnnealingWarmRestarts", "eta_min", eta_min);
}
double CosineAnnealingWarmRestartsOptions::rate(const ScheduleAt& at) const {
  double period = real(T_0);
  double now = real(at.epoch);
  if (T_mult == 1) now = std::fmod(now, period);
  for (; now >= period; period *= real(T_mult)) now -= period;
  return eta_min + (at.base_lr - eta_min) * height(now, period) / 2;
}

// ---- OneCycleLR ---------------------------------------------------------------------------------

std::int64_t OneCycleLROptions::total() const {
  return total_steps ? *total_steps : epochs.value_or(0) * steps_per_epoch.value_or(0);
}

void OneCycleLROptions::check(const Optimizer& optimizer) const {
  const char* op = "OneCycleLR";
  if (!total_steps) {
    at_least_1(op, "total_steps, or epochs and steps_per_epoch,",
               std::min(epochs.value_or(0), steps_per_epoch.value_or(0)));
  }
  at_least_1(op, "total_steps", total());
  in_0_1(op, "pct_start", pct_start, true);
  require(div_factor > 0, op, "div_factor", "above 0", div_factor);
  require(final_div_factor > 0, op, "final_div_factor", "above 0", final_div_factor);
  detail::check_choice(op, "anneal_strategy", anneal_strategy, "cos", "linear");
  detail::check_per_group(op, "max_lr", max_lr, optimizer, INFINITY);
  if (!cycle_momentum) return;
  detail::check_per_group(op, "base_momentum", base_momentum, optimizer, 1);
  detail::check_per_group(op, "max_momentum", max_momentum, optimizer, 1);
  throw_if<Error>(!optimizer.momentum(),
                  "OneCycleLR: the optimizer has no momentum to cycle; set cycle_momentum = false");
}

/// From start to peak, with three phases back to start, and on to the end.
double OneCycleLROptions::anneal(const ScheduleAt& at, double start, double peak,
                                 double end) const {
  const double steps = real(total());
  struct Phase {
    double last_step, value;
  };
  const Phase up{pct_start * steps - 1, peak};
  const Phase down{2 * pct_start * steps - 2, start};
  const Phase out{steps - 1, end};
  Phase from{0, start};
  Phase to = up;
  const double step = real(at.epoch);
  if (step > to.last_step) from = std::exchange(to, three_phase ? down : out);
  if (three_phase && step > to.last_step) from = std::exchange(to, out);
  const double length = to.last_step - from.last_step;
  const double share = length != 0 ? (step - from.last_step) / length : 1;
  if (anneal_strategy == "linear") return (to.value - from.value) * share + from.value;
  return to.value + (from.value - to.value) / 2 * height(share, 1);
}

double OneCycleLROptions::rate(const ScheduleAt& at) const {
  require(at.epoch <= total(), "OneCycleLR", "the number of steps", "at most total_steps",
          real(at.epoch));
  const double first = base_lr(at.group);
  return anneal(at, first, max_lr[at.group], first / final_div_factor);
}

std::optional<double> OneCycleLROptions::momentum(const ScheduleAt& at) const {
  if (!cycle_momentum) return std::nullopt;
  const double most = max_momentum[at.group];
  return anneal(at, most, base_momentum[at.group], most);
}

}  // namespace xgrad::optim
