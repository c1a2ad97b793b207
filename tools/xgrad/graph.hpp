#pragma once

#include "mlp.hpp"

namespace tool {

struct GraphOptions {
  Mlp::Options net{.hidden = {5, 4}};
  std::int64_t inputs = 2, classes = 2, batch_size = 3;
  std::string op{};  // instead of the net
  std::vector<std::int64_t> shape{};
  std::uint64_t seed = 0;
  bool values = false, gradients = false;
  std::int64_t max_nodes = 500;
  std::string svg{}, html{};  // files; without: the text on stdout
};

/// Draws the graph of a net's loss, or of an operation. The exit status.
int run_graph(const GraphOptions& options);

}  // namespace tool
