#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

/// Cells of text, no row longer than the header; columns of numbers are set right.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// A picture drawn by Vega, with the numbers it shows for those who cannot see it.
struct Chart {
  nlohmann::json spec;  // its "description" is what a screen reader says
  Table numbers;
  /// What is not in the picture, since there it would not wrap: the lines' names and looks.
  struct Key {
    std::string name, colour, dashes;
  };
  std::vector<Key> legend{};
};

/// One line of a chart. A y that is not finite leaves a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;
};
struct Axes {
  std::string x, y;  // their titles
  bool log = false;  // of y: values up to 0 leave a gap
};
/// Lines over a common axis, told apart by colour and dashes, with a legend below.
Chart line_chart(const Axes& axes, const std::vector<Series>& series);

struct Grid {
  std::string row_title, column_title, value_title;
  std::vector<std::string> rows, columns;   // labels, all different
  std::vector<std::vector<double>> values;  // a vector for each row
};
/// A rectangle for each value, orange above 0 and blue below. An exact 0 is grey, so that it
/// differs from what is merely small; what is not finite is black. Few cells have their value
/// written in them.
Chart heat_map(const Grid& grid);

}  // namespace tool
