#pragma once

/// For tests with GoogleTest:
///
///   EXPECT_GRADIENTS(my_op, {x, weight});     // first derivatives; options may follow
///   EXPECT_GRADIENTS2(my_op, {x, weight});    // second ones
///   EXPECT_TENSOR_NEAR(a, b, 1e-6);           // same shape, every |a - b| <= 1e-6
///   EXPECT_TENSOR_EQUAL(a, b);                // same shape, type and values
///
/// In the place of my_op: what gradcheck takes, a module too. NaN is near and equal to NaN alone.

#include <gtest/gtest.h>

#include <cmath>

#include "xgrad/gradcheck.hpp"

#define EXPECT_GRADIENTS(...) EXPECT_TRUE(::xgrad::testing::gradients(__VA_ARGS__))
#define EXPECT_GRADIENTS2(...) EXPECT_TRUE(::xgrad::testing::gradients2(__VA_ARGS__))
#define EXPECT_TENSOR_NEAR(a, b, tolerance) \
  EXPECT_TRUE(::xgrad::testing::near(#a, #b, a, b, tolerance))
#define EXPECT_TENSOR_EQUAL(a, b) EXPECT_TRUE(::xgrad::testing::equal(#a, #b, a, b))

namespace xgrad::testing {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

/// F is a callable, or a module.
template <class F>
AssertionResult gradients(F&& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {}) {
  const GradcheckReport report = gradcheck(f, inputs, options);
  return (report ? AssertionSuccess() : AssertionFailure()) << report.message;
}
/// To second order.
template <class F>
AssertionResult gradients2(F&& f, const std::vector<Tensor>& inputs,
                           const GradcheckOptions& options = {}) {
  const GradcheckReport report = gradgradcheck(f, inputs, options);
  return (report ? AssertionSuccess() : AssertionFailure()) << report.message;
}

/// EXPECT_TENSOR_NEAR.
inline AssertionResult near(const char* a_text, const char* b_text, const Tensor& a,
                            const Tensor& b, double tolerance) {
  AssertionResult failure = AssertionFailure() << a_text << " and " << b_text << ": ";
  if (!a.defined() || !b.defined())
    return failure << (a.defined() ? b_text : a_text) << " is undefined";
  if (a.shape() != b.shape()) {
    return failure << "shapes " << a.shape().str() << " and " << b.shape().str();
  }
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  std::size_t wrong = 0, worst = 0;
  double furthest = -1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(x[i] - y[i]);
    if (x[i] == y[i] || d <= tolerance || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    ++wrong;
    if (!(d <= furthest) && !std::isnan(furthest)) {  // a NaN is the worst of all
      furthest = d;
      worst = i;
    }
  }
  if (wrong == 0) return AssertionSuccess();
  const Shape index = detail::index_of(a.shape(), static_cast<std::int64_t>(worst));
  failure.operator<<(wrong) << " of " << x.size() << " elements of shape " << a.shape().str()
                            << " are further apart than " << tolerance;
  return failure << "; the furthest at " << index.str() << ": "
                 << ::testing::PrintToString(x[worst]) << " and "
                 << ::testing::PrintToString(y[worst]) << ", apart by " << furthest;
}

/// EXPECT_TENSOR_EQUAL.
inline AssertionResult equal(const char* a_text, const char* b_text, const Tensor& a,
                             const Tensor& b) {
  if (a.defined() && b.defined() && a.dtype() != b.dtype()) {
    return AssertionFailure() << a_text << " is " << name(a.dtype()) << ", " << b_text << " is "
                              << name(b.dtype());
  }
  return near(a_text, b_text, a, b, 0);
}

}  // namespace xgrad::testing
