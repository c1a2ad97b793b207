#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "kernels/parallel.hpp"
#include "kernels/simd.hpp"
#include "xgrad/shape.hpp"

namespace xgrad::kernels {

/// How N operands of different shapes walk over one output: dimensions that all of them step
/// through alike are merged, so most cases come down to one or two long loops. A stride of 0
/// repeats.
template <std::size_t N>
struct Plan {
  int dims = 0;
  std::array<std::int64_t, Shape::max_dims> sizes{1};  // a single element is one row of 1
  std::array<std::array<std::int64_t, Shape::max_dims>, N> strides{};

  Plan(const Shape& out, const std::array<Shape, N>& operands) {
    std::array<std::int64_t, N> step;
    step.fill(1);
    // From the innermost dimension out; sizes[0] is the innermost.
    for (int back = 1; back <= out.dim(); ++back) {
      const std::int64_t size = out[out.dim() - back];
      std::array<std::int64_t, N> stride{};
      for (std::size_t k = 0; k < N; ++k) {
        const Shape& s = operands[k];
        const std::int64_t own = back <= s.dim() ? s[s.dim() - back] : 1;
        stride[k] = own == 1 ? 0 : step[k];
        step[k] *= own;
      }
      push(size, stride);
    }
  }
  Plan() = default;

  /// Adds the next dimension outwards, merged with the last one where all operands allow it.
  void push(std::int64_t size, const std::array<std::int64_t, N>& stride) {
    if (size == 1) return;
    bool merges = dims > 0;
    for (std::size_t k = 0; k < N && merges; ++k) {
      const auto last = static_cast<std::size_t>(dims - 1);
      merges = stride[k] == strides[k][last] * sizes[last];
    }
    if (merges) {
      sizes[static_cast<std::size_t>(dims - 1)] *= size;
    } else {
      sizes[static_cast<std::size_t>(dims)] = size;
      for (std::size_t k = 0; k < N; ++k) strides[k][static_cast<std::size_t>(dims)] = stride[k];
      ++dims;
    }
  }

  /// Leaves dimension d to the caller's own loop.
  void remove(int d) {
    const auto close_gap = [d](auto& list) {
      std::copy(list.begin() + d + 1, list.end(), list.begin() + d);
    };
    close_gap(sizes);
    for (auto& list : strides) close_gap(list);
    --dims;
  }

  /// Calls row(offsets, first output element) for each run along the innermost dimension.
  template <class Row>
  void each_row(Row row) const {
    std::array<std::int64_t, Shape::max_dims> at{};
    std::array<std::int64_t, N> offset{};
    std::int64_t rows = 1;
    for (int d = 1; d < dims; ++d) rows *= sizes[static_cast<std::size_t>(d)];
    for (std::int64_t r = 0; r < rows; ++r) {
      row(offset, r * sizes[0]);
      for (std::size_t d = 1; d < static_cast<std::size_t>(dims); ++d) {
        for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][d];
        if (++at[d] < sizes[d]) break;
        for (std::size_t k = 0; k < N; ++k) offset[k] -= strides[k][d] * sizes[d];
        at[d] = 0;
      }
    }
  }
};

/// Rows of a and b, and the distances between their rows and between elements in a row (0 or 1).
struct Grid {
  std::int64_t rows, cols;
  std::array<std::int64_t, 2> row_step, step;
};

template <class T, class R, class F>
XGRAD_INLINE void map_rows(const Grid& at, const T* a, const T* b, R* to, F f) {
  const std::int64_t n = at.cols;
  for (std::int64_t r = 0; r < at.rows; ++r, a += at.row_step[0], b += at.row_step[1], to += n) {
    const T u = *a;
    const T v = *b;
    if (at.step[0] != 0 && at.step[1] != 0) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(a[i], b[i]));
    } else if (at.step[0] != 0) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(a[i], v));
    } else if (at.step[1] != 0) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(u, b[i]));
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(u, v));
    }
  }
}
template <class T, class R, class F>
[[gnu::flatten]] XGRAD_CLONES static void map_rows_cloned(const Grid& at, const T* a, const T* b,
                                                          R* to, F f) {
  map_rows(at, a, b, to, f);
}
template <class T, class R, class F>
[[gnu::flatten]] XGRAD_CLONES static void map_cloned(std::int64_t n, const T* x, R* to, F f) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(x[i]));
}

/// Elements that take longer than waking a thread.
constexpr std::int64_t worth_a_thread = std::int64_t{1} << 17;

/// to = f(x) for n elements.
template <class T, class R, class F>
void map(std::int64_t n, const T* x, R* to, F f) {
  if constexpr (std::is_same_v<T, float>) {  // clones of all would make programs large
    parallel(n, worth_a_thread, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      map_cloned(end - first, x + first, to + first, f);
    });
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(x[i]));
  }
}
/// to = f(a, b) along a grid, which is not empty.
template <class T, class R, class F>
void map(const Grid& at, const T* a, const T* b, R* to, F f) {
  if constexpr (std::is_same_v<T, float>) {
    // One row is cut, many are dealt out.
    const bool cut = at.rows == 1;
    const std::array<std::int64_t, 2> step = cut ? at.step : at.row_step;
    const std::int64_t each = cut ? 1 : at.cols;
    const std::int64_t least = (worth_a_thread + each - 1) / each;
    parallel(cut ? at.cols : at.rows, least, [&](std::int64_t, std::int64_t i, std::int64_t end) {
      Grid part = at;
      (cut ? part.cols : part.rows) = end - i;
      map_rows_cloned(part, a + i * step[0], b + i * step[1], to + i * each, f);
    });
  } else {
    map_rows(at, a, b, to, f);
  }
}

/// to = f(a, b), element by element along the plan.
template <class T, class R, class F>
void broadcast(const Plan<2>& plan, const T* a, const T* b, R* to, F f) {
  const auto& [a_step, b_step] = plan.strides;
  Grid at{1, plan.sizes[0], {}, {a_step[0], b_step[0]}};
  if (plan.dims == 2) {
    at.rows = plan.sizes[1];
    at.row_step = {a_step[1], b_step[1]};
    return map(at, a, b, to, f);
  }
  plan.each_row([&](const auto& start, std::int64_t first) {
    map(at, a + start[0], b + start[1], to + first, f);
  });
}

}  // namespace xgrad::kernels
