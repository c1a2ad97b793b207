#pragma once

#include <cmath>
#include <optional>

#include "xgrad/gradcheck.hpp"

namespace xgrad::detail {

/// One way backward went: by the inputs named in `asked`, weighted by one of the seeds.
struct Analytic {
  std::size_t seed = 0;
  bool create_graph = false;
  std::uint64_t asked = 0;          // of the inputs that require a gradient
  std::vector<Tensor> gradients{};  // by those; undefined: none arrived
};

/// One derivative as both found it, by the elements [first, first + count) of an input.
struct Record {
  std::size_t way = 0;  // which Analytic
  std::size_t input = 0, wanted = 0;
  std::int64_t first = 0, count = 1;
  double analytic = 0, numeric = 0, numeric_error = 0;
  double scale = 0, left = 0, right = 0;
  Verdict verdict = Verdict::correct;
  bool missing = false;
  double error() const { return std::abs(analytic - numeric); }
  double relative() const { return error() == 0 ? 0 : error() / scale; }
};

/// What a finished check hands to its report.
struct Findings {
  const GradcheckOptions& options;
  std::vector<Tensor> inputs;
  std::vector<std::size_t> wanted;
  std::vector<Analytic> ways;
  std::vector<std::string> seeds;  // in words
  std::vector<Record> records;     // the first way's come in the order of the elements
  double tolerance = 0;
  double noise = 0;  // greatest change of an output where the inputs move by their last digit
  int order = 1;

  std::string input_name(std::size_t input) const {
    return input < options.names.size() ? options.names[input] : "input " + std::to_string(input);
  }
};
GradcheckReport report_of(const Findings& findings);
/// For what ends a check before anything is compared.
GradcheckReport report_of(Verdict verdict, const std::string& what, int order);

/// Whether two inputs share what would then move with both of them.
std::optional<GradcheckReport> shared_memory(const std::vector<Tensor>& inputs, int order);

}  // namespace xgrad::detail
