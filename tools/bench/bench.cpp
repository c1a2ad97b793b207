// Times the rows of rows.hpp in xgrad, in plain loops and, where installed, in libtorch and dlib.
// Each side is a program of its own, so that it has its own memory and environment; a round asks
// one after the other, so that what disturbs the machine disturbs all.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "process.hpp"
#include "report.hpp"

namespace fs = std::filesystem;

namespace bench {
namespace {

struct Options {
  std::string filter, json;
  bool quick = false, markdown = false;
  int threads = 1;
  int rounds() const { return quick ? 3 : 9; }
  double round_seconds() const { return quick ? 0.005 : 0.03; }
};

struct Side {
  std::string name, program;
  std::vector<std::string> variables;  // of its environment
};

std::string program(const std::string& side) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / ("xgrad-bench-" + side)).string();
}

std::vector<std::string> threads(int n) {
  // libtorch is quickest when BLAS alone has the threads: two pools fight.
  return {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=" + std::to_string(n)};
}

/// The row's program on one side: asked again and again, or run anew each time.
class Runner {
 public:
  Runner(const Side& side, std::size_t index, const Row& row, const Options& options)
      : side_(side), row_(row), wall_(options.threads > 1) {
    command_ = {side.program, std::to_string(index), wall_ ? "wall" : "cpu"};
    if (row.group == "compile") command_ = compilation();
  }

  bool knows() { return access(side_.program.c_str(), X_OK) == 0 && run(1).has_value(); }
  /// Seconds of so many calls.
  std::optional<double> run(long calls) {
    if (row_.group == "start" || row_.group == "compile") return run_anew();
    if (!process_) process_ = std::make_unique<Process>(command_, side_.variables);
    const auto answer = process_->ask(std::to_string(calls));
    double seconds = 0;
    if (!answer) return std::nullopt;
    std::istringstream(*answer) >> seconds >> readings.faults >> readings.note >> readings.kernel;
    return seconds / row_.per;
  }
  /// Doubles the calls until a round is long enough, which warms up too.
  void calibrate(double round_seconds) {
    if (row_.group == "start" || row_.group == "compile" || row_.group == "epoch") return;
    for (double spent = 0; spent < round_seconds && calls_ < (1L << 30);) {
      spent = run(calls_).value_or(round_seconds) * row_.per;
      if (spent < round_seconds) {
        const double factor = round_seconds / std::max(spent, round_seconds / 64);
        calls_ = static_cast<long>(std::ceil(static_cast<double>(calls_) * factor * 1.1));
      }
    }
  }
  void round() {
    const auto spent = run(calls_);
    if (!spent) throw std::runtime_error(side_.name + " died in: " + row_.name());
    readings.times.push_back(*spent / static_cast<double>(calls_));
  }
  const std::string& name() const { return side_.name; }
  Readings finish() {
    if (process_) readings.megabytes = process_->end().megabytes;
    return readings;
  }

  Readings readings;

 private:
  std::optional<double> run_anew() {
    Process process(command_, side_.variables);
    process.ask("1");
    const Process::Usage usage = process.end();
    if (usage.failed) return std::nullopt;
    readings.megabytes = usage.megabytes;
    return wall_ ? usage.wall : usage.seconds;
  }

  /// How this side compiles and links its MLP; for the floor, nothing but the standard headers that
  /// xgrad's include.
  std::vector<std::string> compilation() const {
    const fs::path source = XGRAD_SOURCE, binary = XGRAD_BINARY;
    const std::map<std::string, std::pair<fs::path, std::string>> all = {
        {"xgrad", {source / "examples/train_mlp.cpp", XGRAD_COMPILE}},
        {"floor", {binary / "standard_headers.cpp", ""}},
        {"libtorch", {source / "tools/bench/mlp_torch.cpp", TORCH_COMPILE}},
        {"dlib", {source / "tools/bench/side_dlib.cpp", DLIB_COMPILE}}};
    const auto& [file, options] = all.at(side_.name);
    if (side_.name == "floor") write_standard_headers(file);
    std::vector<std::string> words = {XGRAD_CXX, "-std=c++20",        "-O2", "-w",
                                      "-o",      binary / "compiled", file};
    std::istringstream rest(options);
    for (std::string word; std::getline(rest, word, ':');) words.push_back(word);
    return words;
  }

  static void write_standard_headers(const fs::path& path) {
    std::set<std::string> lines = {"#include <cstdio>"};
    for (const auto& file : fs::recursive_directory_iterator(fs::path(XGRAD_SOURCE) / "include")) {
      std::ifstream text(file.path());
      for (std::string line; std::getline(text, line);) {
        if (line.starts_with("#include <") && line.find('/') == line.npos) lines.insert(line);
      }
    }
    std::ofstream out(path);
    for (const std::string& line : lines) out << line << "\n";
    out << "int main() {}\n";
  }

  Side side_;
  Row row_;
  bool wall_;
  std::vector<std::string> command_;
  std::unique_ptr<Process> process_;
  long calls_ = 1;
};

Result measure(const std::vector<Side>& sides, std::size_t index, const Row& row,
               const Options& options) {
  std::vector<Runner> runners;
  for (const Side& side : sides) {
    const bool blas_only = side.name == "libtorch-default" || side.name == "xgrad-1-thread";
    if (blas_only && !row.blas()) continue;
    if (Runner runner(side, index, row, options); runner.knows()) {
      runner.calibrate(options.round_seconds());
      runners.push_back(std::move(runner));
    }
  }
  const bool slow = row.group == "epoch" || row.group == "compile";
  for (int i = 0; i < (slow ? (options.quick ? 1 : 3) : options.rounds()); ++i) {
    for (Runner& runner : runners) runner.round();
  }
  Result result{row, {}};
  for (Runner& runner : runners) result.sides[runner.name()] = runner.finish();
  return result;
}

/// The BLAS kernel a side ends up with.
std::string kernel_of(const Side& side) {
  if (access(side.program.c_str(), X_OK) != 0) return "";
  Process process({side.program, "0", "cpu"}, side.variables);
  const std::string answer = process.ask("1").value_or("");
  return answer.substr(answer.rfind(' ') + 1);
}

int run(const Options& options) {
  Setting how = setting(options.threads, options.rounds());
  std::vector<Side> sides = {{"xgrad", program("xgrad"), threads(options.threads)}};
  how.kernel = kernel_of(sides[0]);
  const auto add = [&](const char* name, const char* side, bool same_kernel, int n) {
    sides.push_back({name, program(side), threads(n)});
    if (same_kernel) sides.back().variables.push_back("OPENBLAS_CORETYPE=" + how.kernel);
  };
  add("floor", "floor", true, options.threads);
  add("libtorch", "torch", true, options.threads);
  add("libtorch-default", "torch", false, options.threads);
  if (how.peer_kernel = kernel_of(sides.back()); how.peer_kernel == how.kernel) {
    sides.pop_back();  // the same once more
  }
  add("dlib", "dlib", true, options.threads);
  if (options.threads > 1) add("xgrad-1-thread", "xgrad", false, 1);

  const std::vector<Row> all = rows();
  std::vector<std::size_t> chosen;
  const std::regex filter(options.filter);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::regex_search(all[i].name(), filter)) chosen.push_back(i);
  }
  if (chosen.empty()) throw std::runtime_error("no row's name has " + options.filter);
  std::vector<Result> results;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  for (const std::size_t i : chosen) {
    if (terminal) {
      fmt::print(stderr, "\r\033[K{}/{} {}", results.size() + 1, chosen.size(), all[i].name());
      std::fflush(stderr);
    }
    results.push_back(measure(sides, i, all[i], options));
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  fmt::print("{}", table(how, results, options.markdown));
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << to_json(how, results).dump(2) << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + options.json);
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app(
      "Times xgrad beside plain loops without a graph and, where installed, libtorch and dlib.",
      "xgrad-bench");
  app.add_option("--filter", options.filter, "Only rows whose name has this regular expression");
  app.add_flag("--quick", options.quick, "Short rounds, and few: for a first look");
  app.add_option("--threads", options.threads, "Threads of every side; above 1 by the wall clock")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write everything to this file")->type_name("FILE");
  app.add_flag("--markdown", options.markdown, "Print the table in Markdown");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "xgrad-bench: {}\n", e.what());
    return 1;
  }
}
