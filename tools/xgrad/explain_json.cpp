#include <fmt/format.h>

#include <cmath>

#include "explain_view.hpp"

namespace tool {

namespace {

using nlohmann::ordered_json;
using xgrad::Shape;
using xgrad::Tensor;
using xgrad::teach::Comparison;
using xgrad::teach::Explanation;

ordered_json value(double v) {
  if (std::isfinite(v)) return v;
  return fmt::format("{}", v);  // JSON has no such numbers
}

ordered_json nested(const std::vector<double>& values, const Shape& shape, std::size_t& at,
                    int dim = 0) {
  if (dim == shape.dim()) return value(values[at++]);
  ordered_json list = ordered_json::array();
  for (std::int64_t i = 0; i < shape[dim]; ++i) list.push_back(nested(values, shape, at, dim + 1));
  return list;
}

ordered_json nested(const Tensor& x) {
  if (!x.defined()) return nullptr;
  std::size_t at = 0;
  return nested(elements(x), x.shape(), at);
}

void add(ordered_json& to, const Comparison& c) {
  to["exact"] = c.exact;
  to["approximate"] = c.approximate;
  to["largest_difference"] = value(c.largest);
}

}  // namespace

std::vector<double> elements(const Tensor& x) {
  std::vector<double> values = x.to_vector<double>();
  for (double& v : values) {
    if (x.dtype() == xgrad::float32) v = std::stod(fmt::format("{}", static_cast<float>(v)));
    if (v == 0 || std::isnan(v)) v = std::abs(v);
  }
  return values;
}

std::string explain_json(const Explanation& e, const ExplainView& view) {
  ordered_json json;
  for (const auto& [name, what] : view.settings) json["settings"][name] = what;
  json["count"] = e.count;
  for (const auto& step : e.steps) {
    ordered_json s = {
        {"name", step.name}, {"value", nested(step.value)}, {"gradient", nested(step.gradient)}};
    if (step.gradient.defined()) {
      s["autograd"] = nested(step.autograd);
      add(s, step.comparison);
    }
    json["steps"].push_back(std::move(s));
  }
  json["upstream"] = nested(e.upstream);
  json["dx"] = {{"direct", nested(e.direct)},
                {"through_mean", nested(e.through_mean)},
                {"through_variance", nested(e.through_variance)},
                {"sum", nested(e.sum)}};
  json["checks"] = ordered_json::array();
  for (const auto& check : e.checks) {
    ordered_json c = {{"name", check.name}, {"dx", nested(check.gradient)}};
    if (check.gradient.defined()) add(c, check.comparison);
    if (!check.gradient.defined()) c["refusal"] = check.refusal;
    json["checks"].push_back(std::move(c));
  }
  json["identities"] = ordered_json::array();
  for (const auto& identity : e.identities) {
    ordered_json i = {{"name", identity.name},
                      {"left", nested(identity.left)},
                      {"right", nested(identity.right)}};
    add(i, identity.comparison);
    json["identities"].push_back(std::move(i));
  }
  return json.dump() + "\n";
}

}  // namespace tool
