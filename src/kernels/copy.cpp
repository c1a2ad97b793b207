#include "kernels/copy.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/broadcast.hpp"

namespace xgrad::kernels {

Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int d = shape.dim() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = step;
    step *= shape[d];
  }
  return strides;
}

/// to[j * to_stride + i] = from[i * from_stride + j], in tiles that stay in the cache on both
/// sides.
template <class T>
static void transpose(std::int64_t n, std::int64_t m, T* to, std::int64_t to_stride, const T* from,
                      std::int64_t from_stride) {
  constexpr std::int64_t tile = 16;
  for (std::int64_t j0 = 0; j0 < m; j0 += tile) {
    const std::int64_t j1 = std::min(m, j0 + tile);
    for (std::int64_t i0 = 0; i0 < n; i0 += tile) {
      const std::int64_t i1 = std::min(n, i0 + tile);
      for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t i = i0; i < i1; ++i) to[j * to_stride + i] = from[i * from_stride + j];
      }
    }
  }
}

template <class T>
void copy(const Shape& sizes, T* to, const Strides& to_strides, const T* from,
          const Strides& from_strides) {
  if (sizes.numel() == 0) return;
  Plan<2> plan;
  for (int d = sizes.dim() - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    plan.push(sizes[d], {to_strides[at], from_strides[at]});
  }
  const std::int64_t n = plan.sizes[0];
  const std::int64_t step_to = n == 1 ? 1 : plan.strides[0][0];
  const std::int64_t step_from = n == 1 ? 1 : plan.strides[1][0];

  if (step_to == 1 && step_from == 1) {
    plan.each_row([&](const auto& at, std::int64_t) {
      std::memcpy(to + at[0], from + at[1], static_cast<std::size_t>(n) * sizeof(T));
    });
    return;
  }
  for (int d = 1; d < plan.dims && step_to == 1; ++d) {
    const auto at_d = static_cast<std::size_t>(d);
    if (plan.strides[1][at_d] != 1) continue;
    const std::int64_t m = plan.sizes[at_d];
    const std::int64_t row = plan.strides[0][at_d];
    plan.remove(d);
    plan.each_row([&](const auto& at, std::int64_t) {
      transpose(n, m, to + at[0], row, from + at[1], step_from);
    });
    return;
  }
  plan.each_row([&](const auto& at, std::int64_t) {
    T* out = to + at[0];
    const T* in = from + at[1];
    if (step_from == 0) {
      for (std::int64_t i = 0; i < n; ++i) out[i * step_to] = *in;
    } else if (step_to == 1) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * step_from];
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[i * step_to] = in[i * step_from];
    }
  });
}

template void copy(const Shape&, bool*, const Strides&, const bool*, const Strides&);
template void copy(const Shape&, std::int64_t*, const Strides&, const std::int64_t*,
                   const Strides&);
template void copy(const Shape&, float*, const Strides&, const float*, const Strides&);
template void copy(const Shape&, double*, const Strides&, const double*, const Strides&);

}  // namespace xgrad::kernels
