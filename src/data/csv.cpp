#include "data/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace xgrad::data {

namespace {

constexpr std::uint64_t longest_line = 1 << 19;
constexpr std::uint64_t piece = 1 << 16;  // that is read at once
constexpr int most_classes = 1'000'000;   // tables are made that have a place for each

/// Without spaces around it, then without quotes around it.
std::string_view trimmed(std::string_view cell) {
  const std::size_t first = std::min(cell.find_first_not_of(" \t\r"), cell.size());
  cell = cell.substr(first, cell.find_last_not_of(" \t\r") - first + 1);
  const bool quoted = cell.size() > 1 && cell.front() == '"' && cell.back() == '"';
  return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

class CsvParser {
 public:
  CsvParser(detail::Reader& file, const CsvOptions& options) : file_(file), options_(options) {
    ahead_.reserve(std::min(file.size(), longest_line + piece));
  }

  Dataset parse() {
    bool more = next_row();
    const bool named = options_.header || (options_.find_header && no_numbers());
    throw_if<Error>(!named && !options_.label.empty(), "read_csv: the label column \"",
                    options_.label, "\" needs header = true");
    if (more && named) {
      read_names();
      more = next_row();
    }
    for (; more; more = next_row()) read_numbers();
    if (inputs_.empty()) fail(0, "no rows");
    const auto width = static_cast<std::int64_t>(columns_) - (options_.has_labels ? 1 : 0);
    Dataset all{.inputs = tensor(inputs_).reshape({-1, width}), .labels = {}};
    if (options_.has_labels) {
      all.labels = tensor(labels_);
      all.classes = *std::max_element(labels_.begin(), labels_.end()) + 1;
    }
    return all;
  }

 private:
  bool next_line() {
    std::size_t end = 0;
    at_ += std::min(line_.size() + 1, ahead_.size() - at_);
    while ((end = ahead_.find('\n', at_)) == ahead_.npos && file_.left() > 0) {
      ahead_.erase(0, std::exchange(at_, 0));
      const std::size_t size = ahead_.size();
      line_ = ahead_;
      if (size > longest_line) fail(0, "a line of more than ", longest_line, " bytes");
      ahead_.resize(size + std::min(file_.left(), piece));
      file_.read(std::span(ahead_).subspan(size));
    }
    line_ = std::string_view(ahead_).substr(at_, end - at_);
    const bool is_one = at_ < ahead_.size();
    number_ += is_one ? 1 : 0;
    return is_one;
  }

  /// The next line that is not empty, cut into cells.
  bool next_row() {
    cells_.clear();
    while (cells_.empty() && next_line()) {
      std::string_view rest = line_;
      const bool marked = number_ == 1 && rest.starts_with("\xef\xbb\xbf");  // byte order
      if (marked) rest.remove_prefix(3);
      if (trimmed(rest).empty()) continue;
      std::size_t end = 0;
      do {
        end = rest.find(options_.separator);
        cells_.push_back(trimmed(rest.substr(0, end)));
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      } while (end != rest.npos && (columns_ == 0 || cells_.size() <= columns_));
      if (columns_ == 0) {
        columns_ = cells_.size();
        label_ = options_.has_labels ? columns_ - 1 : columns_;
      }
      if (columns_ < 2 && options_.has_labels) fail(1, "one column; labels and inputs need two");
      if (cells_.size() != columns_) {
        const char* kind = cells_.size() < columns_ ? "only " : "at least ";
        fail(std::min(cells_.size(), columns_) + 1, kind, cells_.size(),
             " cells, the first line has ", columns_);
      }
    }
    return !cells_.empty();
  }

  bool no_numbers() const {
    return std::all_of(cells_.begin(), cells_.end(), [](std::string_view cell) {
      double value = 0;
      const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      return error == std::errc::invalid_argument || stop != cell.data() + cell.size();
    });
  }

  void read_names() {
    const bool guessed = options_.label.empty() && options_.find_header && options_.has_labels;
    if (options_.label.empty() && !guessed) return;
    const auto at = std::find(cells_.begin(), cells_.end(), guessed ? "label" : options_.label);
    if (at == cells_.end() && guessed) return;
    if (at == cells_.end()) fail(0, "no column is named \"", options_.label, "\"");
    label_ = static_cast<std::size_t>(at - cells_.begin());
  }

  void read_numbers() {
    for (std::size_t i = 0; i < columns_; ++i) {
      std::string_view cell = cells_[i];
      double value = 0;
      if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
      const char* end = cell.data() + cell.size();
      const auto [stop, error] = std::from_chars(cell.data(), end, value);
      if (error != std::errc() || stop != end || !std::isfinite(static_cast<float>(value))) {
        const bool perhaps_name = number_ == 1 && !options_.find_header;
        fail(i + 1, "\"", detail::shown(cell), "\" is not a finite float32 number",
             (perhaps_name ? "; a line of names needs header = true" : ""));
      }
      if (i != label_) {
        inputs_.push_back(static_cast<float>(value));
      } else if (value >= 0 && value < most_classes && value == std::floor(value)) {
        labels_.push_back(static_cast<std::int64_t>(value));
      } else {
        fail(i + 1, "label ", detail::shown(cell), " is not a whole number from 0 to ",
             most_classes - 1);
      }
    }
  }

  /// At a column of the line, or (0, or one too many) at its start.
  template <class... What>
  [[noreturn]] void fail(std::size_t column, const What&... what) const {
    const char* place = column - 1 < cells_.size() ? cells_[column - 1].data() : line_.data();
    const std::uint64_t unread = ahead_.size() - static_cast<std::size_t>(place - ahead_.data());
    file_.fail(file_.offset() - unread, "line ", number_,
               (column ? ", column " + std::to_string(column) : ""), ": ", what...);
  }

  detail::Reader& file_;
  const CsvOptions& options_;
  std::string ahead_;      // of the file, read ahead
  std::size_t at_ = 0;     // where the line starts in it
  std::string_view line_;  // the one that is looked at
  std::size_t number_ = 0;
  std::vector<std::string_view> cells_;
  std::size_t columns_ = 0;
  std::size_t label_ = 0;  // the column of the labels
  std::vector<float> inputs_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

Dataset parse_csv(detail::Reader file, const CsvOptions& options) {
  file.unpack();
  return CsvParser(file, options).parse();
}

Dataset read_csv(const std::string& path, CsvOptions options) {
  return parse_csv({"read_csv", path}, options);
}

}  // namespace xgrad::data
