#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "xgrad/xgrad.hpp"

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Compares all elements, row-major; NaN matches NaN and an infinity itself.
inline void expect_values(const xgrad::Tensor& got, const std::vector<double>& expected,
                          double tolerance = 1e-12) {
  ASSERT_TRUE(got.defined());
  ASSERT_EQ(got.numel(), static_cast<std::int64_t>(expected.size()));
  const std::vector<double> values = got.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]))) continue;
    EXPECT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

/// Compares all elements, row-major, each within the tolerance.
inline void expect_near(const xgrad::Tensor& got, const std::vector<double>& expected,
                        double tolerance = 1e-8) {
  const std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
  }
}

inline void expect_close(const xgrad::Tensor& a, const xgrad::Tensor& b, double tolerance = 1e-12) {
  ASSERT_EQ(a.shape(), b.shape());
  expect_near(a, b.to_vector<double>(), tolerance);
}

/// 0, 1, 2 ... as float64.
inline xgrad::Tensor counting(const xgrad::Shape& shape) {
  return xgrad::arange(shape.numel(), {.dtype = xgrad::float64}).reshape(shape);
}

/// Calls f, which must throw an E, and returns the text of the error.
template <class E, class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an error of another type: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Each of the words is in the text.
inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
  }
}

/// Calls f, which must throw an E with all of the words in its text.
template <class E, class F>
void expect_error(F f, const std::vector<std::string>& words) {
  expect_words(error_of<E>(f), words);
}
