#pragma once

/// The version these headers are of. CMakeLists.txt reads it here.
#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 1
#define XGRAD_VERSION_PATCH 0

namespace xgrad {

/// The version of the library that the program runs with, "0.1.0".
const char* version();

}  // namespace xgrad
