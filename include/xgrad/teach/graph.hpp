#pragma once

#include <string>

#include "xgrad/state_dict.hpp"

namespace xgrad::teach {

struct DotOptions {
  /// Tensors known by name, wherever they stand in the graph: `net.named_parameters()`, an input,
  /// the loss.
  StateDict names = {};
  /// Show values: of named tensors, and of those operations that keep their output, which all do
  /// that are recorded while a KeepValues lives.
  bool values = false;
  /// Show gradients: of leaves, and of operations recorded while a KeepValues lives. To be there
  /// they need a `backward(true)` before: with the graph retained.
  bool gradients = false;
  std::int64_t numbers = 16;    ///< tensors of more elements show mean, std, min and max
  std::size_t max_nodes = 500;  ///< those nearest to y are shown, then how many more there are
};

/// The graph of y as Graphviz text: a box for each recorded operation, by PyTorch's name without
/// its "Backward0" (which is the tooltip), and for each leaf that collects a gradient; arrows from
/// inputs to outputs. Inputs without gradient have no node in the graph. Where y has no graph, the
/// text is a picture that says so. The same graph gives the same text.
///
///   std::ofstream("net.dot") << to_dot(loss, {.names = net.named_parameters()});
///   $ dot -Tsvg net.dot -o net.svg
std::string to_dot(const Tensor& y, const DotOptions& options = {});

}  // namespace xgrad::teach
