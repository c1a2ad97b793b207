#include "text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace tool {

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string percent(double share) {
  return std::isnan(share) ? "none" : fmt::format("{:.2f} %", 100 * share);
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out(indent, ' ');
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column + end - at > width && column > indent) {
      out.back() = '\n';
      out.append(indent, ' ');
      column = indent;
    }
    out.append(text.substr(at, end - at)).push_back(' ');
    column += end - at + 1;
    at = end + 1;
  }
  out.back() = '\n';
  return out;
}

std::string text_of(const Table& table, std::size_t indent, std::size_t width,
                    std::string_view style) {
  std::vector<std::size_t> widths;
  const auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(table.header);
  for (const auto& row : table.rows) widen(row);
  std::string text;
  for (std::size_t begin = 1, end = 1; begin == 1 || begin < widths.size(); begin = end) {
    std::size_t used = indent + widths.at(0);
    while (end < widths.size() && (end == begin || used + 2 + widths[end] <= width)) {
      used += 2 + widths[end++];
    }
    const auto line = [&](const std::vector<std::string>& row) {
      std::string words = std::string(indent, ' ') + fmt::format("{:<{}}", row[0], widths[0]);
      for (std::size_t i = begin; i < std::min(end, row.size()); ++i) {
        words += fmt::format("  {:>{}}", row[i], widths[i]);
      }
      words.erase(words.find_last_not_of(' ') + 1);
      return words;
    };
    if (begin > 1) text += "\n";
    const std::string header = line(table.header);
    text += style.empty() ? header + "\n" : fmt::format("\033[{}m{}\033[0m\n", style, header);
    for (const auto& row : table.rows) text += line(row) + "\n";
    if (widths.size() == 1) break;
  }
  return text;
}

}  // namespace tool
