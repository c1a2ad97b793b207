#pragma once

#include "detail/check.hpp"
#include "xgrad/optim/schedule.hpp"

/// What constructors of optimizers and schedules check; each throws an Error.

namespace xgrad::optim::detail {

/// "StepLR: gamma must be at least 0, got -1", unless it holds.
void require(bool holds, const std::string& op, const std::string& what, const char* range,
             double value);

/// Each milestone is at least `first` and no smaller than the one before.
void check_rising(const char* op, const std::vector<std::int64_t>& milestones, std::int64_t first);

/// The text is one of two.
void check_choice(const char* op, const char* what, const std::string& value, const char* one,
                  const char* other);

/// One number for all groups or one for each, in [0, below).
void check_per_group(const char* op, const char* what, const PerGroup& numbers,
                     const Optimizer& optimizer, double below);

}  // namespace xgrad::optim::detail
