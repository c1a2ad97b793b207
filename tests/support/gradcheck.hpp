#pragma once

#include "support/leaves.hpp"
#include "xgrad/testing.hpp"

/// Rules to check, and what is expected of a check.

/// x * x with a rule of one's own.
template <class Rule>
xgrad::Tensor squared(const xgrad::Tensor& x, Rule rule) {
  return xgrad::record(
      x.detach() * x.detach(), "SquaredBackward0",
      [rule, x = xgrad::save(x)](const xgrad::Tensor& g) { return rule(g, x.get()); }, x);
}

inline void expect_verdict(const xgrad::GradcheckReport& report, xgrad::Verdict verdict,
                           const std::vector<std::string>& words = {}) {
  EXPECT_EQ(report.verdict, verdict) << report;
  EXPECT_EQ(report.ok, verdict <= xgrad::Verdict::null_direction);
  expect_words(report.message, words);
  expect_words(report.message, {xgrad::name(verdict)});
}
