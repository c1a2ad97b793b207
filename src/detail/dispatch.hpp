#pragma once

#include "detail/message.hpp"

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

/// Throws DTypeError for bool.
inline void check_number(const char* op, DType dtype) {
  throw_if<DTypeError>(dtype == DType::bool_, op,
                       ": not defined for bool tensors; convert with to(xg::int64)");
}

/// Everything but bool.
template <class F>
decltype(auto) dispatch_number(const char* op, DType dtype, F&& f) {
  check_number(op, dtype);
  return dtype == DType::int64 ? f(std::int64_t{}) : dispatch_floating(dtype, f);
}

}  // namespace xgrad::detail
