#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace tool {

/// Adds the command `xgrad explain`: what happens to values and gradients in one normalization,
/// step by step, as text, JSON or a page. It runs when `app` has parsed it.
CLI::App* add_explain(CLI::App& app, int& status);

}  // namespace tool
