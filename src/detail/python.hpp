#pragma once

#include <string>

namespace xgrad::detail {

/// Python's repr of a float: the fewest digits that read back as v, with a point or an exponent
/// (`1e-05`, `1e+16`) below 1e-4 and from 1e16 on.
std::string python_repr(double v);

}  // namespace xgrad::detail
