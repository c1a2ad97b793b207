#pragma once

#include <string>
#include <xgrad/teach/explain.hpp>

namespace tool {

/// How a step of a normalization is computed, and its gradient from those above it on the way back:
/// for the terminal, and in TeX.
struct Words {
  const char *forward, *forward_tex, *backward, *backward_tex;
};
Words words_of(const std::string& step, const xgrad::teach::Norm& norm);

}  // namespace tool
