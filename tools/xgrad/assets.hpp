#pragma once

#include <string_view>
#include <vector>

namespace tool {

/// A file of Debian's that pages carry: parts of Vega, KaTeX, its fonts. CMakeLists.txt lists them.
struct Asset {
  std::string_view name, bytes;
};
/// All of them, in the order of CMakeLists.txt: a part of Vega comes after those it needs.
const std::vector<Asset>& assets();

}  // namespace tool
