#pragma once

/// Texts, above all of errors: words, numbers, shapes and dtypes side by side.

#include <string>

#include "xgrad/dtype.hpp"
#include "xgrad/error.hpp"
#include "xgrad/shape.hpp"

namespace xgrad {

namespace detail {

inline std::string_view piece(std::string_view words) { return words; }
inline std::string_view piece(DType dtype) { return name(dtype); }
inline std::string piece(const Shape& shape) { return shape.str(); }
template <std::integral I>
std::string piece(I number) {
  return std::to_string(number);
}
/// As "-1e-05", "1.5".
std::string piece(double number);

}  // namespace detail

template <class... Pieces>
[[gnu::cold]] std::string message(const Pieces&... pieces) {
  std::string text;
  (text.append(detail::piece(pieces)), ...);
  return text;
}

/// For a check with cheap arguments: they are evaluated whether it fails or not.
template <class E, class... Pieces>
void throw_if(bool failed, const Pieces&... pieces) {
  if (failed) [[unlikely]]
    throw E(message(pieces...));
}

}  // namespace xgrad
