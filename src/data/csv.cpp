#include "xgrad/data/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "data/file.hpp"
#include "detail/message.hpp"

namespace xgrad::data {

namespace {

/// Takes what stands before the next separator off the front of the text.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Without spaces around it, then without quotes around it.
std::string_view trimmed(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t\r");
  if (first == cell.npos) return {};
  cell = cell.substr(first, cell.find_last_not_of(" \t\r") - first + 1);
  const bool quoted = cell.size() > 1 && cell.front() == '"' && cell.back() == '"';
  return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

class CsvParser {
 public:
  CsvParser(const std::string& path, std::string_view text, const CsvOptions& options)
      : path_(path), text_(text), options_(options) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // a byte order mark
  }

  Dataset parse() {
    throw_if<Error>(!options_.header && !options_.label.empty(), "read_csv: the label column \"",
                    options_.label, "\" needs header = true");
    if (options_.header && next_line()) read_names();
    while (next_line()) read_numbers();
    if (labels_.empty()) fail(0, "no rows");
    const auto rows = static_cast<std::int64_t>(labels_.size());
    return {.inputs = tensor(inputs_).reshape({rows, static_cast<std::int64_t>(columns_) - 1}),
            .labels = tensor(labels_),
            .classes = *std::max_element(labels_.begin(), labels_.end()) + 1};
  }

 private:
  /// The next line that is not empty, cut into cells.
  bool next_line() {
    cells_.clear();
    while (!text_.empty() && cells_.empty()) {
      ++line_;
      std::string_view rest = take(text_, '\n');
      if (trimmed(rest).empty()) continue;
      for (bool more = true; more;) {
        more = rest.find(options_.separator) != rest.npos;
        cells_.push_back(trimmed(take(rest, options_.separator)));
      }
      if (columns_ == 0) {
        columns_ = cells_.size();
        label_ = columns_ - 1;
      }
      if (columns_ < 2) fail(1, "one column; labels and inputs need two");
      if (cells_.size() != columns_) {
        fail(std::min(cells_.size(), columns_) + 1, cells_.size(), " cells, the first line has ",
             columns_);
      }
    }
    return !cells_.empty();
  }

  void read_names() {
    if (options_.label.empty()) return;
    const auto at = std::find(cells_.begin(), cells_.end(), options_.label);
    if (at == cells_.end()) fail(0, "no column is named \"", options_.label, "\"");
    label_ = static_cast<std::size_t>(at - cells_.begin());
  }

  void read_numbers() {
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::string_view cell = cells_[i];
      double value = 0;
      const char* end = cell.data() + cell.size();
      const auto [stop, error] = std::from_chars(cell.data(), end, value);
      if (error != std::errc() || stop != end || !std::isfinite(static_cast<float>(value))) {
        fail(i + 1, "\"", cell, "\" is not a number",
             (line_ == 1 ? "; a line of names needs header = true" : ""));
      }
      if (i != label_) {
        inputs_.push_back(static_cast<float>(value));
      } else if (value >= 0 && value < 0x1p53 && value == std::floor(value)) {
        labels_.push_back(static_cast<std::int64_t>(value));
      } else {
        fail(i + 1, "label ", cell, " is not a whole number from 0 up");
      }
    }
  }

  template <class... What>
  [[noreturn]] void fail(std::size_t column, const What&... what) const {
    throw FileError(message("read_csv: ", path_, (line_ ? ", line " + std::to_string(line_) : ""),
                            (column ? ", column " + std::to_string(column) : ""), ": ", what...));
  }

  const std::string& path_;
  std::string_view text_;  // what is still to be read
  const CsvOptions& options_;
  std::size_t line_ = 0;
  std::vector<std::string_view> cells_;
  std::size_t columns_ = 0;
  std::size_t label_ = 0;  // the column of the labels
  std::vector<float> inputs_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

Dataset parse_csv(const std::string& path, const std::string& text, const CsvOptions& options) {
  return CsvParser(path, text, options).parse();
}

Dataset read_csv(const std::string& path, CsvOptions options) {
  return parse_csv(path, read_file("read_csv", path), options);
}

}  // namespace xgrad::data
