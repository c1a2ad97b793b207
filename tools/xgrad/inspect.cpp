#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "text.hpp"
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
  std::int64_t elements = 0, bytes = 0, bad = 0;
  Table table{{"name", "shape", "dtype", "bytes", "norm", "min", "mean", "max"}, {}};
  for (const auto& [name, x] : weights.tensors) {
    const Summary s(x);
    const std::int64_t size = x.numel() * xgrad::itemsize(x.dtype());
    elements += x.numel();
    bytes += size;
    bad += s.nans + s.infinities;
    auto& row = table.rows.emplace_back(std::vector<std::string>{
        printable(name), x.shape().str(), xgrad::name(x.dtype()), std::to_string(size),
        number(s.norm), number(s.min), number(s.mean), number(s.max)});
    if (s.nans + s.infinities == 0) continue;
    table.header.resize(9, "not finite");
    row.push_back(fmt::format("{} NaN, {} infinite", s.nans, s.infinities));
  }
  fmt::print("{}: {}, {} tensor{}, {} elements, {} bytes\n", path, weights.format,
             weights.tensors.size(), weights.tensors.size() == 1 ? "" : "s", elements, bytes);
  for (const auto& [key, value] : weights.metadata) {
    fmt::print("  {}: {}\n", printable(key), printable(value));
  }
  if (weights.tensors.empty()) return;
  // A line for each tensor where a program reads them.
  const std::size_t width = isatty(STDOUT_FILENO) == 1 ? terminal_width() : std::string::npos;
  fmt::print("\n{}\n{}\n", text_of(table, 0, width),
             bad == 0 ? "All elements are finite."
                      : fmt::format("Not finite: {} (left out of the other columns).", bad));
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
