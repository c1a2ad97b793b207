#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "bugs.hpp"

/// The ordinary tests, linked against a library with planted bugs. Without XGRAD_BUG this program
/// starts itself once for each bug, and wants the tests to fail and to say where.

// What src/detail/bug.hpp asks for.
namespace xgrad::detail {
bool is_planted(const char* bug) {
  static const char* const planted = std::getenv("XGRAD_BUG");
  return planted && std::strcmp(planted, bug) == 0;
}
}  // namespace xgrad::detail

namespace {

using museum::Bug;

const char* const usage =
    "museum_test             for each planted bug, the tests that are to notice it\n"
    "museum_test --all       for each planted bug, all tests\n"
    "museum_test --list      what the bugs are\n"
    "museum_test --show BUG  the whole output of the tests with that bug\n"
    "museum_test --gtest_... the tests without a bug, or with the one named in XGRAD_BUG\n";

struct Outcome {
  int status;  ///< 0: all passed; 1: tests failed; all else is a crash
  std::string output;
};

/// Runs the tests of this program; `bug` is null for none.
Outcome run_tests(const std::string& program, const char* bug, const std::string& filter) {
  const std::string command = (bug ? "XGRAD_BUG=" + std::string(bug) + " " : "") + "'" + program +
                              "' --gtest_brief=1 --gtest_filter='" + filter + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {-1, "popen failed"};
  Outcome outcome{};
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof part, pipe))
    outcome.output.append(part, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// What stands in the text between `mark` and the next of `ends`, in lines that also hold `rest`.
/// (Not std::regex, of which g++ 12 warns under sanitizers.)
std::vector<std::string> marked(const std::string& text, const std::string& mark, const char* ends,
                                const char* rest = "") {
  std::vector<std::string> found;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::string line = text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
    if (line.find(rest) != std::string::npos) {
      found.push_back(line.substr(0, line.find_first_of(ends)));
    }
  }
  return found;
}

/// What the failing tests are called, each once.
std::vector<std::string> failures(const std::string& output) {
  return marked(output, "[  FAILED  ] ", " ,", " ms)");
}

/// How the bug was killed; `killed` says whether it was.
std::string verdict(const Bug& bug, const Outcome& outcome, bool& killed) {
  const std::vector<std::string> failed = failures(outcome.output);
  killed = false;
  if (outcome.status == 0) return "SURVIVED";
  if (outcome.status != 1 || failed.empty()) return "CRASHED";
  for (const char* word : {bug.layer, bug.quantity}) {
    if (outcome.output.find(word) == std::string::npos) {
      return std::string("UNNAMED: no \"") + word + "\" in what failed";
    }
  }
  killed = true;
  const std::string more =
      failed.size() > 1 ? " and " + std::to_string(failed.size() - 1) + " more" : "";
  return failed[0] + more;
}

/// The bugs of the library's sources, which must be those of the table.
bool table_is_complete() {
  std::set<std::string> planted, listed;
  for (const Bug& bug : museum::bugs()) listed.insert(bug.name);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(XGRAD_SOURCE_DIR "/src")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const std::string& name : marked(text, "XGRAD_BUG(", ")")) planted.insert(name);
  }
  for (const std::string& name : planted) {
    if (!listed.contains(name)) std::cout << name << " is not in tests/museum/bugs.cpp\n";
  }
  for (const std::string& name : listed) {
    if (!planted.contains(name)) std::cout << name << " is nowhere in src/\n";
  }
  return planted == listed;
}

void list() {
  for (const Bug& bug : museum::bugs()) {
    std::cout << bug.name << "\n  breaks   " << bug.breaks << "\n  seen     " << bug.origin
              << "\n  tests    " << bug.filter << "\n  must say " << bug.layer << ", "
              << bug.quantity << "\n  because  " << bug.explanation << "\n";
  }
}

int visit(const std::string& program, bool everything) {
  bool good = table_is_complete();
  std::string all_filters = "*-OpTableRandom.*";
  if (!everything) {
    all_filters.clear();
    for (const Bug& bug : museum::bugs()) all_filters += std::string(bug.filter) + ":";
  }
  const Outcome correct = run_tests(program, nullptr, all_filters);
  std::cout << "no bug: " << (correct.status == 0 ? "all tests pass\n\n" : correct.output);
  good = good && correct.status == 0;
  std::size_t kills = 0;
  for (const Bug& bug : museum::bugs()) {
    bool killed = false;
    const Outcome outcome = run_tests(program, bug.name, everything ? all_filters : bug.filter);
    std::cout << bug.name << ": " << bug.breaks << "\n  killed by  "
              << verdict(bug, outcome, killed) << "\n  because    " << bug.explanation << std::endl;
    kills += killed;
  }
  std::cout << "\n" << kills << " of " << museum::bugs().size() << " bugs killed\n";
  return good && kills == museum::bugs().size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string first = argc > 1 ? argv[1] : "";
  // Only gtest's flags, which are gone by now, or a bug in the environment: run the tests.
  if (std::getenv("XGRAD_BUG") || (argc == 1 && testing::GTEST_FLAG(brief))) return RUN_ALL_TESTS();
  const std::string program = std::filesystem::canonical("/proc/self/exe").string();
  if (first == "--list") return list(), 0;
  if (first == "--show" && argc == 3) {
    std::cout << run_tests(program, argv[2], "*").output;
    return 0;
  }
  if (first.empty() || first == "--all") return visit(program, first == "--all");
  std::cerr << usage;
  return 2;
}
