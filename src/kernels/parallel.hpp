#pragma once

#include <algorithm>
#include <cstdint>

namespace xgrad::kernels {

/// call(f, 0) ... call(f, parts - 1), in any order and on as many threads as set_num_threads
/// allows: the caller and workers that sleep in between. One such run at a time: inside another
/// one, and while another thread has the workers, the caller does all parts. They must not throw.
void run_parts(std::int64_t parts, void (*call)(const void* f, std::int64_t part), const void* f);
template <class F>
void run_parts(std::int64_t parts, const F& f) {
  if (parts == 1) return f(std::int64_t{0});
  run_parts(
      parts, [](const void* g, std::int64_t part) { (*static_cast<const F*>(g))(part); }, &f);
}

/// Into how many equal parts [0, n) is cut, so that each has at least `least`. That depends on
/// sizes alone, and so the results do not depend on the number of threads.
inline std::int64_t parts_of(std::int64_t n, std::int64_t least) {
  return std::max<std::int64_t>(n / least, 1);
}
/// f(part, first, end) for each of these parts.
template <class F>
void parallel(std::int64_t n, std::int64_t least, const F& f) {
  if (n < 2 * least) return f(std::int64_t{0}, std::int64_t{0}, n);
  const std::int64_t parts = parts_of(n, least);
  run_parts(parts, [&](std::int64_t part) { f(part, n * part / parts, n * (part + 1) / parts); });
}

/// How many rows are worth a thread of their own.
inline std::int64_t enough_rows(std::int64_t cols) {
  return std::max<std::int64_t>((std::int64_t{1} << 16) / std::max<std::int64_t>(cols, 1), 1);
}

}  // namespace xgrad::kernels
