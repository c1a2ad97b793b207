#pragma once

#include <cstdint>
#include <type_traits>

namespace xgrad {

/// Element type of a tensor, known at run time. The order is that of PyTorch's promotion: the
/// common type of two is the greater one.
enum class DType : std::uint8_t { bool_, int64, float32, float64 };

inline constexpr DType bool_ = DType::bool_;      ///< C++ bool
inline constexpr DType int64 = DType::int64;      ///< std::int64_t
inline constexpr DType float32 = DType::float32;  ///< the default
inline constexpr DType float64 = DType::float64;  ///< double

/// `float32`, `float64`, `int64` or `bool`.
constexpr const char* name(DType dtype) {
  switch (dtype) {
    case DType::bool_: return "bool";
    case DType::int64: return "int64";
    case DType::float32: return "float32";
    default: return "float64";
  }
}

/// Float32 or float64.
constexpr bool is_floating_point(DType dtype) { return dtype >= DType::float32; }

/// Bytes of one element.
constexpr std::int64_t itemsize(DType dtype) {
  return dtype == DType::bool_ ? 1 : dtype == DType::float32 ? 4 : 8;
}

/// The type that holds values of both (`torch.promote_types`).
constexpr DType promote_types(DType a, DType b) { return a > b ? a : b; }

namespace detail {
template <class T>
concept Element = std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, float> || std::is_same_v<T, double>;
}  // namespace detail

/// The element type stored as the C++ type T: bool, std::int64_t, float or double.
template <class T>
requires detail::Element<std::remove_cv_t<T>>
inline constexpr DType dtype_of = std::is_same_v<std::remove_cv_t<T>, bool>           ? DType::bool_
                                  : std::is_same_v<std::remove_cv_t<T>, std::int64_t> ? DType::int64
                                  : std::is_same_v<std::remove_cv_t<T>, float> ? DType::float32
                                                                               : DType::float64;

namespace detail {
/// static_cast that is defined for every number: NaN and what int64 cannot hold become the least
/// int64, as they do on x86.
template <class To, class From>
constexpr To cast(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    constexpr auto bound = static_cast<From>(0x1p63);
    const bool fits = value >= -bound && value < bound;
    return static_cast<To>(fits ? static_cast<std::int64_t>(value) : INT64_MIN);
  } else {
    return static_cast<To>(value);
  }
}
}  // namespace detail

/// A C++ number as an operand. Its kind (bool < integer < floating point) takes part in promotion,
/// its size does not: `int64 tensor * 2.5` is float32, `float32 tensor * 2.5` stays float32.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T v)
      : real_(static_cast<double>(v)),
        whole_(std::is_floating_point_v<T> ? 0 : static_cast<std::int64_t>(v)),
        kind_(std::is_same_v<T, bool>       ? DType::bool_
              : std::is_floating_point_v<T> ? DType::float32
                                            : DType::int64) {}

  /// bool_, int64 or float32 (the default floating type): what it counts as in promotion.
  constexpr DType dtype() const { return kind_; }
  template <class T>
  constexpr T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return real_ != 0;
    else if constexpr (std::is_integral_v<T>)
      return kind_ == DType::float32 ? detail::cast<T>(real_) : static_cast<T>(whole_);
    else
      return static_cast<T>(real_);
  }

 private:
  double real_;
  std::int64_t whole_;
  DType kind_;
};

}  // namespace xgrad
