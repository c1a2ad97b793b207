#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "golden_test/golden.hpp"

namespace golden {

xg::DType dtype_from(const std::string& name) {
  for (xg::DType dtype : {xg::bool_, xg::int64, xg::float32, xg::float64}) {
    if (name == xg::name(dtype)) return dtype;
  }
  throw std::runtime_error("unknown dtype '" + name + "'");
}

double number(const Json& json) {
  if (!json.is_string()) return json.is_boolean() ? json.get<bool>() : json.get<double>();
  const std::string text = json;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("'" + text + "' is no number");
}

xg::Scalar scalar(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return number(json);
}

xg::Shape shape_from(const Json& json) { return json.get<std::vector<std::int64_t>>(); }

xg::Dims dims_from(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_number()) return json.get<std::int64_t>();
  return json.get<std::vector<std::int64_t>>();
}

xg::Tensor tensor_from(const Json& json, xg::DType dtype) {
  if (json.contains("dtype")) dtype = dtype_from(json["dtype"]);
  const xg::Shape shape = shape_from(json.at("shape"));
  const Json& values = json.at("values");
  if (static_cast<std::int64_t>(values.size()) != shape.numel()) {
    throw std::runtime_error(std::to_string(values.size()) + " values for shape " + shape.str());
  }
  xg::Tensor x = xg::empty(shape, {.dtype = dtype});
  const auto fill = [&]<class T>(T) {
    T* to = x.mut<T>().data();
    for (const Json& v : values) {
      if constexpr (std::is_same_v<T, std::int64_t>) {
        *to++ = v.get<std::int64_t>();
      } else {
        *to++ = static_cast<T>(number(v));
      }
    }
  };
  switch (dtype) {
    case xg::DType::bool_: fill(bool{}); break;
    case xg::DType::int64: fill(std::int64_t{}); break;
    case xg::DType::float32: fill(float{}); break;
    case xg::DType::float64: fill(double{}); break;
  }
  return x;
}

const Json& named(const Json& list, const std::string& name) {
  static const Json none;
  for (const Json& entry : list) {
    if (entry.value("name", "") == name || entry.value("input", "") == name) return entry;
  }
  return none;
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> found;
  const char* at = text.c_str();
  while (*at != '\0') {
    const bool in_word = at != text.c_str() && (std::isalpha(at[-1]) != 0 || at[-1] == '_');
    char* end = nullptr;
    const double value =
        std::isdigit(*at) != 0 || *at == '-' || *at == '.' ? std::strtod(at, &end) : 0;
    if (end == nullptr || end == at) {
      ++at;
      continue;
    }
    if (!in_word) found.push_back(value);
    at = end;
  }
  return found;
}

bool mentions(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace golden
