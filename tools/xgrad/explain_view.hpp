#pragma once

#include <string>
#include <utility>
#include <vector>
#include <xgrad/teach/explain.hpp>

#include "page.hpp"

namespace tool {

struct ExplainView {
  std::vector<std::pair<std::string, std::string>> settings{};  ///< where the numbers come from
  int digits = 6;  ///< significant ones; 17: as many as tell the number from its neighbours
  int show = 8;    ///< rows and columns of a table, at most
  bool colour = false;
  std::size_t width = 80;  ///< of the terminal; wider tables continue below
};

/// The same account three times. Text and page have the same tables, cell by cell; JSON has all
/// numbers with all their digits.
std::string explain_text(const xgrad::teach::Explanation& e, const ExplainView& view);
Page explain_page(const xgrad::teach::Explanation& e, const ExplainView& view);
std::string explain_json(const xgrad::teach::Explanation& e, const ExplainView& view);

/// The elements as all three show them: a float32 as the shortest decimal number that names it, and
/// no sign for 0 and NaN.
std::vector<double> elements(const xgrad::Tensor& x);

}  // namespace tool
