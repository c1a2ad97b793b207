#pragma once

#include <cstdint>
#include <string>

namespace xgrad::kernels {

/// c = op(a) op(b) + beta c, all dense and row-major: op(a) is (n, k), op(b) is (k, m), c is (n,
/// m). A transposed operand lies in memory the other way round: a as (k, n), b as (m, k). beta is 0
/// (the old c is not read) or 1. T is float, double or, in a plain loop, std::int64_t.
template <class T>
void gemm(bool transpose_a, bool transpose_b, std::int64_t n, std::int64_t m, std::int64_t k,
          const T* a, const T* b, T beta, T* c);

/// How the BLAS library is best called.
struct Blas {
  bool likes_pieces;  ///< has kernels for float32 products of at most 10^6 multiplications
  int threads;        ///< that may call it at the same time
};
/// Asked before every product; the first time cures OpenBLAS's wrong guess of the processor.
Blas prepare_product();

/// Which BLAS library there is, for show_config().
std::string describe_blas();

}  // namespace xgrad::kernels
