#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "lab.hpp"
#include "page.hpp"

namespace tool {

/// What there is to see of one experiment, made once from its numbers; text, JSON and page are all
/// written from this.
struct View {
  std::string heading;
  std::string about;                  // what was done
  std::vector<std::string> formulas;  // TeX, for the page
  std::vector<std::pair<std::string, Table>> tables;
  std::string drawing{};  // of characters, for the terminal
  std::vector<std::pair<std::string, Chart>> charts{};
  int chart_width = 28;  // rem that a chart needs at least
  std::string seen;      // one sentence, whichever way the numbers came out
  nlohmann::ordered_json data;
};

View view_of(const xgrad::teach::Lab& lab, const xgrad::teach::RunningLaw& law,
             const LabCommand& command);
View view_of(const std::vector<xgrad::teach::LayerInfluence>& layers, const LabCommand& command);
View view_of(const std::vector<xgrad::teach::DetachRun>& runs, const LabCommand& command);
View view_of(const std::vector<xgrad::teach::ScaleCase>& cases, const LabCommand& command);

/// Four digits, "0" for an exact zero, "refused" for what a norm would not compute.
std::string digits(double x);
std::string digits(const std::optional<double>& x);

/// With a full stop, unless the text of an error has brought one.
std::string sentence(std::string text);

/// The steps that a table has room for: 1, 3, 10, 30 ... and the last.
std::vector<std::int64_t> columns_of(std::int64_t steps);
/// Indices of at most 400 of n points, evenly spaced, with the first and the last.
std::vector<std::size_t> thinned(std::size_t n);

}  // namespace tool
