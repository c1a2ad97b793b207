#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chart.hpp"

namespace tool {

/// A self-contained HTML page: everything it needs is inside the file, and nothing that it does not
/// use (KaTeX only with formulas, Vega only with charts). All text is escaped; `code` in backticks
/// and formulas in \( and \) are set as such, in table cells and captions, too.
class Page {
 public:
  Page(std::string title, const std::string& lead);

  void section(std::string_view heading);
  void subsection(std::string_view heading);
  void text(std::string_view text);
  void code(std::string_view text);
  /// A formula in TeX on a line of its own.
  void formula(std::string_view tex);
  void table(std::string_view caption, const Table& table);
  void chart(std::string_view caption, const Chart& chart);
  /// What `content` adds, charts above all, stands side by side where each has that many rem.
  void beside(int width, const std::function<void()>& content);
  /// A drawing; what stands before its <svg (XML's declarations) is left out.
  void svg(std::string_view caption, std::string_view svg);
  /// What `content` adds stands in a box that the reader opens.
  void details(std::string_view summary, const std::function<void()>& content);

  std::string html() const;
  /// All or nothing (xgrad::write_file). Throws FileError.
  void write(const std::string& path) const;

 private:
  std::string markup(std::string_view text);

  std::string title_, body_;
  std::vector<std::string> sections_;
  bool formulas_ = false;
  int charts_ = 0;
};

}  // namespace tool
