#pragma once

#include <map>
#include <nlohmann/json.hpp>

#include "rows.hpp"

namespace bench {

/// Median, first and third quartile.
struct Summary {
  double median = 0, low = 0, high = 0;
  explicit Summary(std::vector<double> values);
};

/// What one side took for a row, one time per round, in seconds.
struct Readings {
  std::vector<double> times;
  double faults = 0;        // page faults per call, in the last round
  double megabytes = 0;     // peak memory of the whole program
  double note = -1;         // an accuracy
  std::string kernel = "";  // of OpenBLAS
};

struct Result {
  Row row;
  std::map<std::string, Readings> sides;

  /// Time of one side over that of another, round by round.
  std::vector<double> ratios(const std::string& side, const std::string& to) const;
};

/// Of one run: when, on what, how.
struct Setting {
  std::string date, processor, kernel;
  std::string peer_kernel = "";  // what libtorch's OpenBLAS chooses by itself
  int threads = 1, rounds = 0;
};
Setting setting(int threads, int rounds);

nlohmann::ordered_json to_json(const Setting& setting, const std::vector<Result>& results);
/// The table as text for a terminal, or in Markdown.
std::string table(const Setting& setting, const std::vector<Result>& results, bool markdown);

}  // namespace bench
