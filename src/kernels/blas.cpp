#include "kernels/blas.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "detail/xt.hpp"
#include "xtensor-blas/xblas.hpp"

namespace xgrad::kernels {

/// For integers, and for sizes beyond the 32 bits that BLAS counts with.
template <class T>
static void plain_gemm(bool transpose_a, bool transpose_b, std::int64_t n, std::int64_t m,
                       std::int64_t k, const T* a, const T* b, T* c) {
  const std::int64_t a_row = transpose_a ? 1 : k;
  const std::int64_t a_column = transpose_a ? n : 1;
  const std::int64_t b_row = transpose_b ? 1 : m;
  const std::int64_t b_column = transpose_b ? k : 1;
  for (std::int64_t i = 0; i < n; ++i, c += m) {
    for (std::int64_t p = 0; p < k; ++p) {
      const T factor = a[i * a_row + p * a_column];
      for (std::int64_t j = 0; j < m; ++j) c[j] += factor * b[p * b_row + j * b_column];
    }
  }
}

template <class T>
static auto matrix(T* data, std::int64_t rows, std::int64_t columns) {
  const std::array<std::size_t, 2> shape{static_cast<std::size_t>(rows),
                                         static_cast<std::size_t>(columns)};
  return xt::adapt(data, shape[0] * shape[1], xt::no_ownership(), shape);
}

template <class T>
void gemm(bool transpose_a, bool transpose_b, std::int64_t n, std::int64_t m, std::int64_t k,
          const T* a, const T* b, T beta, T* c) {
  const bool plain = !std::is_floating_point_v<T> ||
                     std::max({n, m, k}) > std::numeric_limits<xt::blas_index_t>::max();
  if (beta == 0 && (plain || k == 0)) std::fill(c, c + n * m, T(0));
  if (n == 0 || m == 0 || k == 0) return;
  if (plain) return plain_gemm(transpose_a, transpose_b, n, m, k, a, b, c);
  if constexpr (std::is_floating_point_v<T>) {
    prepare_product(static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(k));
    const auto left = transpose_a ? matrix(a, k, n) : matrix(a, n, k);
    const auto right = transpose_b ? matrix(b, m, k) : matrix(b, k, m);
    auto out = matrix(c, n, m);
    xt::blas::gemm(left, right, out, transpose_a, transpose_b, T(1), beta);
  }
}

template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const std::int64_t*,
                   const std::int64_t*, std::int64_t, std::int64_t*);
template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const float*, const float*,
                   float, float*);
template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const double*,
                   const double*, double, double*);

}  // namespace xgrad::kernels
