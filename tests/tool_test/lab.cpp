#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "lab_view.hpp"

namespace {

namespace teach = xgrad::teach;

TEST(LabView, DrawingHeatMapAndJsonShowTheSameDerivatives) {
  const std::vector<teach::LayerInfluence> layers =
      teach::compare_influence({.samples = 2, .features = 4, .seed = 5});
  tool::LabCommand command;
  command.samples = 2;
  command.features = 4;
  const tool::View view = tool::view_of(layers, command);
  ASSERT_EQ(layers.size(), 5U);
  ASSERT_EQ(view.charts.size(), layers.size());

  // The marks of the drawing, layer by layer: three in a band, each below its name.
  std::istringstream text(view.drawing);
  std::vector<std::string> marks(layers.size());
  std::vector<std::pair<std::size_t, std::size_t>> columns;  // layer, where it begins
  for (std::string line; std::getline(text, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    std::vector<std::pair<std::size_t, std::size_t>> named;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t at = line.find(layers[i].layer);
      if (at != line.npos) named.emplace_back(i, at);
    }
    if (!named.empty()) columns = named;
    if (!named.empty() || columns.empty()) continue;
    for (const auto& [i, at] : columns) {
      for (std::size_t c = at; c < at + 9 && c < line.size(); ++c) {
        if (line[c] != ' ') marks[i] += line[c];
      }
    }
  }
  std::string seen;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [caption, chart] = view.charts[i];
    EXPECT_EQ(caption.find(layers[i].layer + ": dy/dx with its sign"), 0U);
    const auto& cells = chart.spec["data"][0]["values"];
    const teach::Influence& map = layers[i].influence;
    const std::vector<double> exact = map.jacobian.to_vector<double>();
    ASSERT_EQ(cells.size(), exact.size());
    ASSERT_EQ(marks[i].size(), exact.size()) << view.drawing;
    const double large = 0.1 * std::max(map.within, map.across);
    for (std::size_t k = 0; k < exact.size(); ++k) {
      const double d = exact[k];
      EXPECT_EQ(cells[k]["v"].get<double>(), d);
      EXPECT_EQ(view.data["layers"][i]["jacobian"][k / 8][k % 8].get<double>(), d);
      const char mark = d == 0                ? '.'
                        : std::abs(d) < large ? (d > 0 ? '+' : '-')
                                              : (d > 0 ? '#' : '=');
      EXPECT_EQ(marks[i][k], mark) << layers[i].layer << " " << k << ": " << d;
      seen += mark;
    }
  }
  for (const char mark : {'.', '+', '-', '#', '='}) EXPECT_NE(seen.find(mark), seen.npos) << mark;
}

}  // namespace
