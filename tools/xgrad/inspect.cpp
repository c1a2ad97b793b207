#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "weights.hpp"

namespace tool {

namespace {

using nlohmann::ordered_json;
using xgrad::Tensor;

/// Of the finite elements; NaN where there are none.
struct Summary {
  double norm = 0, min = 0, max = 0, mean = 0;
  std::int64_t nans = 0, infinities = 0;

  explicit Summary(const Tensor& x) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    constexpr double inf = std::numeric_limits<double>::infinity();
    std::int64_t finite = 0;
    double largest = 0;
    double sum = 0;  // both of elements divided by the largest
    double squares = 0;
    const std::vector<double> values = x.to_vector<double>();
    min = inf, max = -inf;
    for (double v : values) {
      nans += std::isnan(v) ? 1 : 0;
      infinities += std::isinf(v) ? 1 : 0;
      if (!std::isfinite(v)) continue;
      ++finite;
      min = std::min(min, v);
      max = std::max(max, v);
      largest = std::max(largest, std::abs(v));
    }
    for (double v : values) {
      if (!std::isfinite(v) || largest == 0) continue;
      sum += v / largest;
      squares += v / largest * (v / largest);
    }
    mean = largest * (sum / static_cast<double>(finite));
    norm = largest * std::sqrt(squares);
    if (finite == 0) norm = min = max = mean = none;
  }
};

std::string number(double value) { return std::isnan(value) ? "-" : fmt::format("{:.5g}", value); }

void print_text(const std::string& path, const Weights& weights) {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::size_t width = 4;
  std::size_t shape_width = 5;
  for (const auto& [name, x] : weights.tensors) {
    elements += x.numel();
    bytes += x.numel() * xgrad::itemsize(x.dtype());
    width = std::max(width, std::min<std::size_t>(printable(name).size(), 60));
    shape_width = std::max(shape_width, x.shape().str().size());
  }
  fmt::print("{}: {}, {} tensor{}, {} elements, {} bytes\n", path, weights.format,
             weights.tensors.size(), weights.tensors.size() == 1 ? "" : "s", elements, bytes);
  for (const auto& [key, value] : weights.metadata) {
    fmt::print("  {}: {}\n", printable(key), printable(value));
  }
  if (weights.tensors.empty()) return;
  fmt::print("\n{:{}}  {:{}}  {:7} {:>10} {:>11} {:>11} {:>11} {:>11}\n", "name", width, "shape",
             shape_width, "dtype", "bytes", "norm", "min", "mean", "max");
  std::int64_t bad = 0;
  for (const auto& [name, x] : weights.tensors) {
    const Summary s(x);
    bad += s.nans + s.infinities;
    std::string note;
    if (s.nans > 0) note += fmt::format("  {} NaN", s.nans);
    if (s.infinities > 0) note += fmt::format("  {} infinite", s.infinities);
    fmt::print("{:{}}  {:{}}  {:7} {:>10} {:>11} {:>11} {:>11} {:>11}{}\n", printable(name), width,
               x.shape().str(), shape_width, xgrad::name(x.dtype()),
               x.numel() * xgrad::itemsize(x.dtype()), number(s.norm), number(s.min),
               number(s.mean), number(s.max), note);
  }
  fmt::print("\n{}\n", bad == 0 ? "All elements are finite."
                                : fmt::format("Not finite: {} (left out of the columns).", bad));
}

void print_json(const std::string& path, const Weights& weights) {
  ordered_json out{
      {"file", path}, {"format", weights.format}, {"metadata", ordered_json::object()}};
  for (const auto& [key, value] : weights.metadata) out["metadata"][key] = value;
  out["tensors"] = ordered_json::array();
  for (const auto& [name, x] : weights.tensors) {
    const Summary s(x);  // JSON has no NaN: null
    out["tensors"].push_back(
        {{"name", name},
         {"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
         {"dtype", xgrad::name(x.dtype())},
         {"bytes", x.numel() * xgrad::itemsize(x.dtype())},
         {"norm", s.norm},
         {"min", s.min},
         {"mean", s.mean},
         {"max", s.max},
         {"nan", s.nans},
         {"infinite", s.infinities}});
  }
  fmt::print("{}\n", out.dump());
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  const Weights weights = read_weights(options.path);
  (options.format == "json" ? print_json : print_text)(options.path, weights);
  return 0;
}

}  // namespace tool
