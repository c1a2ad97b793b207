#pragma once

namespace tool {

/// Becomes the program museum_test that lies beside this one, with that flag (or null).
/// Returns only where there is none: 2, after saying so.
int run_museum(const char* flag);

}  // namespace tool
