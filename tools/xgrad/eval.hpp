#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

struct EvalOptions {
  std::string model;       // checkpoint folder or file, safetensors file
  std::string data;        // empty: what the net was trained on
  std::string part;        // train, test, all; empty: see rows_of
  std::string activation;  // for files that do not name it
  std::string format = "text";
  std::string rows;  // predict: "0,5-9"; empty: all
};

/// `xgrad eval`: loss, accuracy and confusion of a saved net. Returns the exit status.
int run_eval(const EvalOptions& options);

/// `xgrad predict`: class and probabilities of each row.
int run_predict(const EvalOptions& options);

}  // namespace tool
