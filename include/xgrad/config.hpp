#pragma once

#include <string>

namespace xgrad {

/// What speed depends on, a line each: the BLAS library with its kernel and threads, the level of
/// the processor that other kernels run on, the compiler. As torch.__config__.show().
std::string show_config();

}  // namespace xgrad
