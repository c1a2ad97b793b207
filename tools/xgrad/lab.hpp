#pragma once

#include <string>
#include <vector>

#include "xgrad/teach/detach.hpp"
#include "xgrad/teach/influence.hpp"
#include "xgrad/teach/lab.hpp"
#include "xgrad/teach/scale.hpp"

namespace CLI {
class App;
}

namespace tool {

struct LabCommand {
  std::string data = "digits";
  xgrad::teach::LabOptions lab;
  std::int64_t seeds = 3;    // of the detach experiment
  std::int64_t samples = 3;  // of the influence experiment
  std::int64_t features = 6;
  std::vector<std::string> only;  // empty: all
  std::string format = "text";    // text, json
  std::string html;               // file
};

/// The names of the experiments, in order.
const std::vector<std::string>& lab_experiments();

/// `xgrad lab`: the experiments on normalization, in text or JSON, and as a page. Returns the exit
/// status.
int run_lab(const LabCommand& command);

}  // namespace tool
