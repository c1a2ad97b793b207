#include "xgrad/config.hpp"

#include "detail/check.hpp"
#include "kernels/blas.hpp"
#include "kernels/simd.hpp"
#include "xgrad/threads.hpp"

namespace xgrad {

/// The level that kernels are compiled for, or that the loader has picked.
static const char* simd_level() {
#ifdef XGRAD_CLONED
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  return "x86-64";
#elif defined(__AVX512VL__)
  return "x86-64-v4";
#elif defined(__AVX2__)
  return "x86-64-v3";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "generic";
#endif
}

std::string show_config() {
  const int threads = get_num_threads();
  return message("BLAS      ", kernels::describe_blas(), ", ", detail::count(threads, "thread"),
                 "\nSIMD      ", simd_level(), "\ncompiler  ",
#ifdef __clang__
                 "clang " __clang_version__
#else
                 "g++ " __VERSION__
#endif
  );
}

}  // namespace xgrad
