#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

struct GradcheckOptions {
  std::string op{};  // empty: all of them
  std::vector<std::int64_t> shape{};
  std::uint64_t seed = 11;
  bool json = false;
};

/// Checks the derivatives of the operations and prints the worst error of each. The exit status.
int run_gradcheck(const GradcheckOptions& options);

}  // namespace tool
