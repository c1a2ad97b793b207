// OpenBLAS told, as it starts, that this processor is an old one: the library must make it choose
// again, keep its choice where the user made it, and go back should the new kernels multiply
// wrongly. Arguments: "cured", "kept" or "undone". Started with OPENBLAS_CORETYPE=Prescott.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

extern "C" [[gnu::weak]] char* openblas_get_corename(void);

static bool spoiled = false;

using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                      const float*, const int*, const float*, const int*, const float*, float*,
                      const int*);

/// Stands before OpenBLAS's own, which the check of the cure calls.
extern "C" void sgemm_(const char* ta, const char* tb, const int* n, const int* m, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b,
                       const int* ldb, const float* beta, float* c, const int* ldc) {
  reinterpret_cast<Gemm>(dlsym(RTLD_NEXT, "sgemm_"))(ta, tb, n, m, k, alpha, a, lda, b, ldb, beta,
                                                     c, ldc);
  if (spoiled) c[*n * *m - 1] += 1;
}

int main(int argc, char** argv) {
  const std::string expected = argc == 2 ? argv[1] : "";
  if (!openblas_get_corename || std::strcmp(openblas_get_corename(), "Prescott") != 0 ||
      !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::puts("skipped: this needs OpenBLAS with kernels for many processors, and one with AVX2");
    return 77;
  }
  if (expected != "kept") unsetenv("OPENBLAS_CORETYPE");
  spoiled = expected == "undone";
  const xg::Tensor product = xg::matmul(xg::full({70, 50}, 3.0F), xg::full({50, 90}, 2.0F));
  const std::string core = openblas_get_corename();
  std::puts(xg::show_config().c_str());
  const bool right = xg::equal(product, xg::full({70, 90}, 300.0F)) &&
                     (core == "Prescott") == (expected != "cured") &&
                     !(expected != "kept" && std::getenv("OPENBLAS_CORETYPE"));
  const char* said = expected == "cured"  ? "(instead of Prescott"
                     : expected == "kept" ? "(from OPENBLAS_CORETYPE)"
                                          : "multiplies wrongly";
  return right && xg::show_config().find(said) != std::string::npos ? 0 : 1;
}
