#pragma once

#include <string>

#include "detail/message.hpp"
#include "xgrad/dtype.hpp"

namespace xgrad::detail {

/// Calls f(T{}) with the C++ type of the dtype.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_: return f(bool{});
    case DType::int64: return f(std::int64_t{});
    case DType::float32: return f(float{});
    default: return f(double{});
  }
}

/// The same for floating point alone; the caller has checked.
template <class F>
decltype(auto) dispatch_floating(DType dtype, F&& f) {
  return dtype == DType::float64 ? f(double{}) : f(float{});
}

/// Everything but bool; throws DTypeError for bool.
template <class F>
decltype(auto) dispatch_number(const char* op, DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_: throw DTypeError(message(op, ": not defined for bool tensors"));
    case DType::int64: return f(std::int64_t{});
    case DType::float32: return f(float{});
    default: return f(double{});
  }
}

}  // namespace xgrad::detail
