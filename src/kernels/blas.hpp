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

/// Before every product of that many multiplications: the first one cures OpenBLAS's wrong guess of
/// the processor, each decides between one thread and all allowed.
void prepare_product(double multiplications);

/// Which BLAS library there is, for show_config().
std::string describe_blas();

}  // namespace xgrad::kernels
