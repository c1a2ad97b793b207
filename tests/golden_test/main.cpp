#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "golden_test/golden.hpp"

namespace golden {

namespace {

const Kind kinds[] = {
    {"op", run_op, "op"},
    {"accumulate", run_accumulate},
    {"raises", run_raises},
    {"rng", run_rng},
    {"print", run_print},
    {"batch_norm_sequence", run_batch_norm_sequence},
    {"training", run_training},
    {"state", run_state},
    {"lesson_layernorm", run_lesson_layernorm},
    {"lesson_linear_relu", run_lesson_linear_relu},
    {"lesson_square", run_lesson_square},
    {"lesson_bn_ln", run_lesson_bn_ln},
    {"calculate_gain", run_calculate_gain},
    {"fan", run_fan},
    {"kaiming", run_kaiming},
    {"xavier", run_xavier},
    {"linear_default", run_linear_default},
    {"embedding_default", run_embedding_default},
    {"norm_default", run_norm_default},
    {"optimizer", run_optimizer, "optimizer"},
    {"scheduler", run_scheduler, "scheduler"},
    {"clip_grad_norm", run_clip_grad_norm},
    {"clip_grad_value", run_clip_grad_value},
};

const char help[] =
    "usage: golden_test [--allow-unknown] [--filter TEXT]\n"
    "Runs the golden cases of every JSON file in tests/golden, or in the folder that the\n"
    "environment variable XGRAD_GOLDEN_DIR names.\n"
    "  --allow-unknown  skip and count kinds and ops this program does not know;\n"
    "                   otherwise they are failures\n"
    "  --filter TEXT    only cases whose \"kind op name\" contains TEXT\n";

struct Options {
  std::filesystem::path folder = XGRAD_GOLDEN_DIR;
  bool allow_unknown = false;
  std::string filter;
};

struct Counts {
  int passed = 0, failed = 0, unknown = 0;
  void operator+=(const Counts& other) {
    passed += other.passed;
    failed += other.failed;
    unknown += other.unknown;
  }
};

enum class Outcome { passed, failed, unknown };

/// Whatever a case does ends here: an exception is a failure of that case.
Outcome run_case(const Kind* kind, Case& c, const Options& options) {
  try {
    if (!kind) throw Unknown{"kind"};
    kind->run(c);
  } catch (const Unknown& unknown) {
    if (options.allow_unknown && c.failures().empty()) return Outcome::unknown;
    c.fail("unknown " + unknown.what);
  } catch (const std::exception& error) {
    c.fail(std::string("threw ") + error.what());
  }
  for (const std::string& line : c.failures()) std::printf("FAILED %s\n", line.c_str());
  return c.failures().empty() ? Outcome::passed : Outcome::failed;
}

class Runner {
 public:
  explicit Runner(const Options& options) : options_(options) {}

  void file(const std::filesystem::path& path) {
    try {
      const Json json = Json::parse(std::ifstream(path));
      if (!json.contains("cases")) {
        one(json, path.stem().string(), json);
        return;
      }
      for (const Json& data : json["cases"]) one(data, data.at("name"), json);
    } catch (const Json::exception& error) {
      std::printf("FAILED %s: not readable: %s\n", path.c_str(), error.what());
      ++counts_["file"].failed;
    }
  }

  /// Prints the table and the last line.
  Counts summary() const {
    Counts total;
    std::printf("%-40s %8s %8s %8s\n", "kind and op", "passed", "failed", "unknown");
    for (const auto& [row, n] : counts_) {
      std::printf("%-40s %8d %8d %8d\n", row.c_str(), n.passed, n.failed, n.unknown);
      total += n;
    }
    std::printf("%d passed, %d failed", total.passed, total.failed);
    if (options_.allow_unknown) std::printf(", %d skipped", total.unknown);
    std::printf("\n");
    return total;
  }

 private:
  /// `file` holds the tolerance where the case has none.
  void one(const Json& data, const std::string& name, const Json& file) {
    // The file of random draws has no kinds.
    const std::string kind_name = data.value("kind", data.contains("draws") ? "rng" : "none");
    const Kind* kind = nullptr;
    for (const Kind& candidate : kinds) {
      if (kind_name == candidate.name) kind = &candidate;
    }
    std::string row = kind_name;
    if (kind && kind->variant) row += " " + data.value(kind->variant, "");
    if (!mentions(row + " " + name, options_.filter)) return;
    Case c(name, data, options_.folder, data.value("rtol", file.value("rtol", 0.0)),
           data.value("atol", file.value("atol", 0.0)));
    switch (run_case(kind, c, options_)) {
      case Outcome::passed: ++counts_[row].passed; break;
      case Outcome::failed: ++counts_[row].failed; break;
      case Outcome::unknown: ++counts_[row].unknown; break;
    }
  }

  const Options& options_;
  std::map<std::string, Counts> counts_;
};

int run(const Options& options) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder, missing)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "golden_test: no JSON files in %s\n", options.folder.c_str());
    return 2;
  }
  std::sort(files.begin(), files.end());
  Runner runner(options);
  for (const std::filesystem::path& path : files) runner.file(path);
  return runner.summary().failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace golden

int main(int argc, char** argv) {
  golden::Options options;
  if (const char* folder = std::getenv("XGRAD_GOLDEN_DIR")) options.folder = folder;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::fputs(golden::help, stdout);
      return 0;
    }
    if (argument == "--allow-unknown") {
      options.allow_unknown = true;
    } else if (argument == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      std::fprintf(stderr, "golden_test: unknown argument %s\n%s", argv[i], golden::help);
      return 2;
    }
  }
  return golden::run(options);
}
