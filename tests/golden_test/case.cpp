#include <cmath>
#include <cstdio>

#include "golden_test/golden.hpp"

namespace golden {

namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

xg::DType Case::dtype() const { return has("dtype") ? dtype_from(data_["dtype"]) : xg::float32; }

xg::Tensor Case::tensor(const Json& json) const {
  if (!json.at("values").is_null()) return tensor_from(json, dtype());
  const Json& fill = json.contains("fill") ? json["fill"] : data_.at("fill");
  const xg::DType type = json.contains("dtype") ? dtype_from(json["dtype"]) : dtype();
  return xg::full(shape_from(json.at("shape")), scalar(fill), {.dtype = type});
}

bool Case::close(double got, double expected, double rtol, double atol) const {
  return (std::isnan(got) && std::isnan(expected)) || got == expected ||
         std::abs(got - expected) <= atol + rtol * std::abs(expected);
}

void Case::expect(const std::string& what, const xg::Tensor& got, const Json& expected) {
  if (!got.defined()) return fail(what + ": expected a tensor, got none");
  const xg::Shape shape = shape_from(expected.at("shape"));
  if (got.shape() != shape) {
    return fail(what + ": expected shape " + shape.str() + ", got " + got.shape().str());
  }
  const xg::DType type = expected.contains("dtype") ? dtype_from(expected["dtype"]) : dtype();
  if (got.dtype() != type) {
    return fail(what + ": expected dtype " + xg::name(type) + ", got " + xg::name(got.dtype()));
  }
  const bool exact = !xg::is_floating_point(type);
  const double rtol = exact ? 0 : expected.value("rtol", rtol_);
  const double atol = exact ? 0 : expected.value("atol", atol_);
  const std::vector<double> values = got.to_vector<double>();
  std::string first;
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = number(expected["values"].at(i));
    if (close(values[i], value, rtol, atol) || wrong++ > 0) continue;
    first = what + " at " + xg::detail::index_of(shape, static_cast<std::int64_t>(i)).str() +
            ": expected " + digits(value) + ", got " + digits(values[i]);
  }
  if (wrong == 0) return;
  fail(first + " (" + std::to_string(wrong) + " of " + std::to_string(values.size()) +
       " wrong; rtol " + digits(rtol) + ", atol " + digits(atol) + ")");
}

void Case::expect(const std::string& what, double got, double expected) {
  if (close(got, expected, rtol_, atol_)) return;
  fail(what + ": expected " + digits(expected) + ", got " + digits(got));
}

void Case::expect_true(const std::string& what, bool holds) {
  if (!holds) fail(what + ": expected true, got false");
}

void Case::expect_text(const std::string& what, const std::string& got,
                       const std::string& expected) {
  if (got != expected) fail(what + ": expected\n" + expected + "\n  got\n" + got);
}

}  // namespace golden
