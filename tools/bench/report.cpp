#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace bench {

Summary::Summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  median = (values[(n - 1) / 2] + values[n / 2]) / 2;
  low = values[n / 4];
  high = values[(3 * n - 1) / 4];
}

std::vector<double> Result::ratios(const std::string& side, const std::string& to) const {
  const auto a = sides.find(side), b = sides.find(to);
  std::vector<double> all;
  if (a == sides.end() || b == sides.end()) return all;
  for (std::size_t i = 0; i < std::min(a->second.times.size(), b->second.times.size()); ++i) {
    all.push_back(a->second.times[i] / b->second.times[i]);
  }
  return all;
}

Setting setting(int threads, int rounds) {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  std::string model;
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) processor = line.substr(line.find(':') + 2);
    if (line.starts_with("model\t")) model = line.substr(line.find(':') + 2);
    if (line.empty()) break;
  }
  if (!model.empty()) processor += " (model " + model + ")";
  const std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  return {date, processor, "", "", threads, rounds};
}

nlohmann::ordered_json to_json(const Setting& setting, const std::vector<Result>& results) {
  const auto summary = [](const std::vector<double>& values) {
    const Summary s(values);
    return nlohmann::ordered_json{{"median", s.median}, {"q1", s.low}, {"q3", s.high}};
  };
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Result& result : results) {
    nlohmann::ordered_json sides, ratios;
    for (const auto& [name, readings] : result.sides) {
      sides[name] = {{"seconds", summary(readings.times)},
                     {"page_faults", readings.faults},
                     {"peak_megabytes", readings.megabytes},
                     {"blas_kernel", readings.kernel}};
      if (readings.note >= 0) sides[name]["accuracy"] = readings.note;
      const auto ratio = result.ratios("xgrad", name);
      if (name != "xgrad" && !ratio.empty()) ratios[name] = summary(ratio);
    }
    rows.push_back({{"group", result.row.group},
                    {"name", result.row.name()},
                    {"sides", sides},
                    {"xgrad_over", ratios}});
  }
  return {{"date", setting.date},
          {"processor", setting.processor},
          {"blas_kernel", setting.kernel},
          {"libtorch_chooses", setting.peer_kernel},
          {"threads", setting.threads},
          {"rounds", setting.rounds},
          {"rows", rows}};
}

namespace {

/// "1.25 ms +- 3 %": the median and half the distance of the quartiles.
std::string time_text(const Summary& s) {
  const double t = s.median;
  const auto [unit, name] = t < 1e-6   ? std::pair{1e-9, "ns"}
                            : t < 1e-3 ? std::pair{1e-6, "us"}
                            : t < 1    ? std::pair{1e-3, "ms"}
                                       : std::pair{1.0, "s"};
  return fmt::format("{:.3g} {} +- {:.0f} %", t / unit, name, 50 * (s.high - s.low) / t);
}

std::string spread_text(const std::vector<double>& ratios) {
  if (ratios.empty()) return "";
  const Summary s(ratios);
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", s.median, s.low, s.high);
}

}  // namespace

std::string table(const Setting& setting, const std::vector<Result>& results, bool markdown) {
  const auto has = [&results](const char* side) {
    return std::any_of(results.begin(), results.end(),
                       [side](const Result& r) { return r.sides.contains(side); });
  };
  std::vector<std::pair<std::string, std::string>> others;  // side, head of its column
  for (const auto& [side, head] : {std::pair{"floor", "/ floor"},
                                   {"libtorch", "/ libtorch"},
                                   {"libtorch-default", "/ libtorch, its own BLAS choice"},
                                   {"dlib", "/ dlib"},
                                   {"xgrad-1-thread", "/ 1 thread"}}) {
    if (has(side)) others.emplace_back(side, head);
  }
  std::vector<std::vector<std::string>> lines = {{"work", "xgrad"}};
  for (const auto& other : others) lines[0].push_back(other.second);
  lines[0].push_back("peak memory, MB");
  for (const Result& result : results) {
    const auto ours = result.sides.find("xgrad");
    if (ours == result.sides.end()) continue;
    std::vector<std::string> line = {result.row.name(), time_text(Summary(ours->second.times))};
    for (const auto& other : others) {
      line.push_back(spread_text(result.ratios("xgrad", other.first)));
    }
    std::string memory = fmt::format("{:.0f}", ours->second.megabytes);
    if (const auto peer = result.sides.find("libtorch"); peer != result.sides.end()) {
      memory += fmt::format(", libtorch {:.0f}", peer->second.megabytes);
    }
    line.push_back(memory);
    if (ours->second.note >= 0) line[0] += fmt::format(" (accuracy {:.3f})", ours->second.note);
    lines.push_back(line);
  }

  std::string text = fmt::format(
      "{}, {}, {} thread{}, BLAS kernel {}{}. Medians of {} rounds in turn; ratios with their "
      "quartiles, below 1 where xgrad is faster.\n\n",
      setting.date, setting.processor, setting.threads, setting.threads > 1 ? "s" : "",
      setting.kernel, setting.peer_kernel == setting.kernel ? " (libtorch chooses the same)" : "",
      setting.rounds);
  std::string faults;
  for (const Result& result : results) {
    const auto ours = result.sides.find("xgrad");
    if (ours == result.sides.end() || ours->second.faults < 0.5) continue;
    faults += fmt::format("{}{} ({:.0f})", faults.empty() ? "" : ", ", result.row.name(),
                          ours->second.faults);
  }
  std::vector<std::size_t> width(lines[0].size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < width.size(); ++i) {
      text += markdown ? fmt::format("| {} ", lines[l][i])
                       : fmt::format("{:<{}}  ", lines[l][i], width[i]);
    }
    text += markdown ? "|\n" : "\n";
    if (markdown && l == 0) {
      for (std::size_t i = 0; i < width.size(); ++i) text += "| --- ";
      text += "|\n";
    }
  }
  return text + fmt::format("\nPage faults of xgrad per call, after the first calls: {}.\n",
                            faults.empty() ? "none" : faults);
}

}  // namespace bench
