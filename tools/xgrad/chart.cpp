#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tool {

using nlohmann::json;

namespace {

// Colours that differ between light and dark are those of the page's style.
constexpr const char* house_style = R"json({
  "autosize": {"type": "fit-x", "contains": "padding"}, "padding": 5,
  "config": {
    "axis": {"labelColor": "currentColor", "titleColor": "currentColor", "domainColor": "currentColor",
      "tickColor": "currentColor", "gridColor": "currentColor", "gridOpacity": 0.15,
      "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "labelOverlap": true},
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12,
      "titleFontSize": 13, "titleFontWeight": "normal", "labelLimit": 300, "orient": "bottom"}}})json";

constexpr const char* lines = R"json({
  "height": 260,
  "data": [{"name": "points"}],
  "scales": [
    {"name": "x", "type": "linear", "domain": {"data": "points", "field": "x"}, "range": "width", "zero": false},
    {"name": "y", "type": "linear", "domain": {"data": "points", "field": "y"}, "range": "height", "zero": false,
      "nice": true},
    {"name": "color", "type": "ordinal", "range": ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)",
      "var(--c6)", "var(--c7)", "var(--c8)"]
},
    {"name": "dash", "type": "ordinal",
      "range": [[1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 2], [7, 2, 2, 2]]}],
  "axes": [
    {"orient": "bottom", "scale": "x", "tickCount": {"signal": "ceil(width / 90)"}},
    {"orient": "left", "scale": "y", "grid": true, "tickCount": 6}],
  "marks": [{
    "type": "group", "from": {"facet": {"name": "one", "data": "points", "groupby": "s"}},
    "marks": [
      {"type": "line", "aria": false, "from": {"data": "one"}, "encode": {"update": {
        "x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": "y"},
        "defined": {"signal": "isValid(datum.y)"}, "stroke": {"scale": "color", "field": "s"},
        "strokeDash": {"scale": "dash", "field": "s"}, "strokeWidth": {"value": 2}}}},
      {"type": "symbol", "aria": false, "from": {"data": "one"}, "encode": {
        "enter": {"fill": {"scale": "color", "field": "s"}, "size": {"value": 50},
          "tooltip": {"signal": "datum.s + ': ' + datum.y + ' at ' + datum.x"}},
        "update": {"x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": "y"},
          "opacity": {"signal": "isValid(datum.y) && length(data('points')) < 40 ? 1 : 0"}},
        "hover": {"opacity": {"signal": "isValid(datum.y) ? 1 : 0"}}}}]}]
})json";

constexpr const char* cells = R"json({
  "data": [{"name": "cells"}],
  "scales": [
    {"name": "x", "type": "band", "range": "width", "padding": 0.03},
    {"name": "y", "type": "band", "range": "height", "padding": 0.03},
    {"name": "color", "type": "linear", "range": ["#2166ac", "#f7f7f7", "#d9650b"], "interpolate": "lab"}],
  "axes": [{"orient": "bottom", "scale": "x"}, {"orient": "left", "scale": "y"}],
  "legends": [{"fill": "color", "type": "gradient", "direction": "horizontal", "tickCount": 5,
    "gradientLength": {"signal": "min(width, 240)"
}
}],
  "marks": [
    {"type": "rect", "aria": false, "from": {"data": "cells"}, "encode": {"update": {
      "x": {"scale": "x", "field": "c"}, "y": {"scale": "y", "field": "r"},
      "width": {"scale": "x", "band": 1}, "height": {"scale": "y", "band": 1},
      "fill": {"signal":
        "!isValid(datum.v) ? '#000' : datum.v === 0 ? '#b4b4b4' : scale('color', datum.v)"},
      "tooltip": {"signal": "datum.r + ', ' + datum.c + ': ' + datum.exact"}}}},
    {"type": "text", "aria": false, "interactive": false, "from": {"data": "cells"}, "encode": {"update": {
      "x": {"scale": "x", "field": "c", "band": 0.5}, "y": {"scale": "y", "field": "r", "band": 0.5},
      "align": {"value": "center"}, "baseline": {"value": "middle"}, "text": {"field": "short"},
      "fontSize": {"signal": "clamp(bandwidth('x') / 4, 7, 12)"},
      "fill": {"signal":
        "isValid(datum.v) && (datum.v === 0 || luminance(scale('color', datum.v)) > 0.19) ? '#111' : '#fff'"}
    }}}]
})json";

json spec_of(const char* text, std::string description) {
  json spec = json::parse(house_style);
  spec.update(json::parse(text));
  spec["description"] = std::move(description);
  return spec;
}

std::string number(double x) { return fmt::format("{}", x); }

/// A row for each x, a column for each series; evenly thinned out when it is long.
Table numbers_of(const Axes& axes, const std::vector<Series>& series) {
  constexpr std::size_t most = 100;
  Table table{{axes.x}, {}};
  std::map<double, std::vector<std::string>> rows;
  for (std::size_t s = 0; s < series.size(); ++s) {
    table.header.push_back(series[s].name);
    for (std::size_t i = 0; i < series[s].x.size(); ++i) {
      auto& row = rows[series[s].x[i]];
      row.resize(series.size());
      row[s] = number(series[s].y[i]);
    }
  }
  const std::size_t stride = rows.size() / most + 1;
  std::size_t i = 0;
  for (auto& [x, row] : rows) {
    if (i++ % stride != 0 && i != rows.size()) continue;
    row.insert(row.begin(), number(x));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Chart line_chart(const Axes& axes, const std::vector<Series>& series) {
  json spec = spec_of(lines, fmt::format("Line chart of {} over {}", axes.y, axes.x));
  json &values = spec["data"][0]["values"] = json::array(), names = json::array();
  for (const Series& s : series) {
    names.push_back(s.name);
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      const bool shown = std::isfinite(s.y[i]) && (!axes.log || s.y[i] > 0);
      values.push_back({{"s", s.name}, {"x", s.x[i]}, {"y", shown ? json(s.y[i]) : json()}});
    }
  }
  if (axes.log) {
    spec["scales"][1]["type"] = "log";
    spec["axes"][1]["format"] = "~g";
  }
  spec["scales"][2]["domain"] = spec["scales"][3]["domain"] = names;
  spec["axes"][0]["title"] = axes.x;
  spec["axes"][1]["title"] = axes.y;
  Chart chart{std::move(spec), numbers_of(axes, series)};
  for (std::size_t i = 0; i < series.size() && series.size() > 1; ++i) {
    const json& dash = chart.spec["scales"][3]["range"][i % 8];
    std::string lengths = dash.dump();  // [7,3]
    chart.legend.push_back({series[i].name, fmt::format("var(--c{})", i % 8 + 1),
                            lengths.substr(1, lengths.size() - 2)});
  }
  return chart;
}

Chart heat_map(const Grid& grid) {
  json spec = spec_of(cells, fmt::format("Heat map of {} by {} and {}", grid.value_title,
                                         grid.row_title, grid.column_title));
  json& values = spec["data"][0]["values"] = json::array();
  double largest = 0;
  bool negative = false;
  Table numbers{{grid.row_title}, {}};
  numbers.header.insert(numbers.header.end(), grid.columns.begin(), grid.columns.end());
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    auto& row = numbers.rows.emplace_back(1, grid.rows[r]);
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const double v = grid.values[r][c];
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
      negative = negative || v < 0;
      row.push_back(number(v));
      values.push_back(
          {{"r", grid.rows[r]},
           {"c", grid.columns[c]},
           {"v", std::isfinite(v) ? json(v) : json()},
           {"short", v == std::round(v) && std::abs(v) < 1e5 ? fmt::format("{:.0f}", v)
                                                             : fmt::format("{:.2g}", v)},
           {"exact", row.back()}});
    }
  }
  const std::size_t side = 420 / std::max<std::size_t>(grid.rows.size(), 1);
  spec["height"] = grid.rows.size() * std::clamp<std::size_t>(side, 6, 30);
  spec["scales"][0]["domain"] = grid.columns;
  spec["scales"][1]["domain"] = grid.rows;
  json& colour = spec["scales"][2];
  colour["domain"] = {-largest, 0, largest};
  if (!negative) {  // counts, say: no blue in the legend
    colour["domain"].erase(0);
    colour["range"].erase(0);
  }
  spec["axes"][0]["title"] = grid.column_title;
  spec["axes"][1]["title"] = grid.row_title;
  spec["legends"][0]["title"] = grid.value_title;
  if (largest == 0) spec.erase("legends");
  if (grid.columns.size() > 14 || grid.rows.size() > 20)
    spec["marks"].erase(1);  // no room for text
  return {std::move(spec), std::move(numbers)};
}

}  // namespace tool
