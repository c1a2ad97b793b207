#include "kernels/blas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "detail/xt.hpp"
#include "kernels/parallel.hpp"
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

/// The width of the columns of c that OpenBLAS's kernels for small products take at once; 0 where
/// they are no help. They multiply without a copy of both factors, up to three times as fast where
/// a batch is small. For a transposed b they take 1200 elements of c at most.
static std::int64_t piece(bool transpose_b, std::int64_t n, std::int64_t m, std::int64_t k) {
  const double most = 1e6 / (static_cast<double>(n) * static_cast<double>(k));
  const auto fits = [=](double columns) { return static_cast<std::int64_t>(columns) / 16 * 16; };
  if (!transpose_b) return most < static_cast<double>(m) && most >= 64 ? fits(most) : 0;
  if (n > 48 || k < 32 || n * m <= 1200) return 0;
  return fits(std::min(most, 1200.0 / static_cast<double>(n)));
}

/// Fewer multiplications than this are not worth another thread, and the way of what it reads and
/// writes from one processor's cache to the other's.
constexpr double worth_a_thread = 4e6;

template <class T>
void gemm(bool transpose_a, bool transpose_b, std::int64_t n, std::int64_t m, std::int64_t k,
          const T* a, const T* b, T beta, T* c) {
  const bool plain = !std::is_floating_point_v<T> ||
                     std::max({n, m, k}) > std::numeric_limits<xt::blas_index_t>::max();
  if (beta == 0 && (plain || k == 0)) std::fill(c, c + n * m, T(0));
  if (n == 0 || m == 0 || k == 0) return;
  if (plain) return plain_gemm(transpose_a, transpose_b, n, m, k, a, b, c);
  if constexpr (std::is_floating_point_v<T>) {
    using cxxblas::Transpose, xt::blas_index_t;
    const auto turned = [](bool yes) { return yes ? Transpose::Trans : Transpose::NoTrans; };
    const auto index = [](std::int64_t i) { return static_cast<blas_index_t>(i); };
    // Rows i to i_end and columns j to j_end of c.
    const auto part = [&](std::int64_t i, std::int64_t i_end, std::int64_t j, std::int64_t j_end) {
      cxxblas::gemm<blas_index_t>(cxxblas::StorageOrder::RowMajor, turned(transpose_a),
                                  turned(transpose_b), index(i_end - i), index(j_end - j), index(k),
                                  T(1), a + i * (transpose_a ? 1 : k), index(transpose_a ? n : k),
                                  b + j * (transpose_b ? k : 1), index(transpose_b ? k : m), beta,
                                  c + i * m + j, index(m));
    };
    const Blas blas = prepare_product();
    const auto times = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(k);
    if (std::is_same_v<T, float> && blas.likes_pieces) {
      if (const std::int64_t width = piece(transpose_b, n, m, k)) {
        const std::int64_t pieces = (m + width - 1) / width;
        const auto some = std::ceil(worth_a_thread / times * static_cast<double>(pieces));
        return parallel(pieces, static_cast<std::int64_t>(some), [&](auto, auto first, auto end) {
          for (std::int64_t p = first; p < end; ++p) {
            part(0, n, p * width, std::min(m, (p + 1) * width));
          }
        });
      }
    }
    const auto most = static_cast<std::int64_t>(times / worth_a_thread);
    const std::int64_t parts = std::clamp<std::int64_t>(most, 1, blas.threads);
    const std::int64_t size = std::max(n, m);
    run_parts(parts, [&](std::int64_t p) {
      const auto edge = [=](std::int64_t q) { return q == parts ? size : size * q / parts & -64; };
      if (size == n)
        part(edge(p), edge(p + 1), 0, m);
      else
        part(0, n, edge(p), edge(p + 1));
    });
  }
}

template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const std::int64_t*,
                   const std::int64_t*, std::int64_t, std::int64_t*);
template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const float*, const float*,
                   float, float*);
template void gemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, const double*,
                   const double*, double, double*);

}  // namespace xgrad::kernels
