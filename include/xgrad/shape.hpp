#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace xgrad {

/// Sizes of a tensor, outermost first; at most `max_dims` of them, kept without heap memory.
class Shape {
 public:
  static constexpr int max_dims = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  Shape(const std::vector<std::int64_t>& sizes) : Shape(std::span<const std::int64_t>(sizes)) {}
  explicit Shape(std::span<const std::int64_t> sizes);  // throws ShapeError beyond max_dims
  template <std::integral I>
  Shape(I size) : sizes_{static_cast<std::int64_t>(size)}, dim_(1) {}

  int dim() const { return dim_; }  ///< how many sizes
  /// Number of elements: the product of the sizes, 1 for no dimensions.
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t s : *this) n *= s;
    return n;
  }
  /// Size of a dimension; no check. `size()` of a tensor checks and takes negative dimensions.
  std::int64_t& operator[](int i) { return sizes_[i]; }
  std::int64_t operator[](int i) const { return sizes_[i]; }
  std::int64_t* begin() { return sizes_; }
  std::int64_t* end() { return sizes_ + dim_; }
  const std::int64_t* begin() const { return sizes_; }
  const std::int64_t* end() const { return sizes_ + dim_; }
  std::int64_t back() const { return sizes_[dim_ - 1]; }  ///< the last
  void push_back(std::int64_t size);                      ///< throws ShapeError beyond max_dims
  bool operator==(const Shape& other) const;
  /// `shape[begin:end]`, of dimensions counted from the front; `a + b` puts the sizes of b behind.
  Shape slice(int begin, int end = max_dims) const;
  friend Shape operator+(const Shape& a, const Shape& b);

  /// As in error messages: `(2, 6)`, `(2,)`, `()`.
  std::string str() const;

 private:
  std::int64_t sizes_[max_dims] = {};
  int dim_ = 0;
};

/// As PyTorch prints it: `torch.Size([2, 6])`.
std::ostream& operator<<(std::ostream& os, const Shape& shape);

/// One dimension, a list of them, or none named, which means all. Negative ones count from the end.
class Dims {
 public:
  Dims() = default;
  template <std::integral I>
  Dims(I dim) : dims_{static_cast<std::int64_t>(dim)}, named_(true) {}
  Dims(std::initializer_list<std::int64_t> dims) : dims_(dims), named_(true) {}
  Dims(const std::vector<std::int64_t>& dims)
      : dims_(std::span<const std::int64_t>(dims)), named_(true) {}

  /// Every dimension is meant.
  bool all() const { return !named_; }
  const std::int64_t* begin() const { return dims_.begin(); }
  const std::int64_t* end() const { return dims_.end(); }
  int count() const { return dims_.dim(); }  ///< how many are named

 private:
  Shape dims_;
  bool named_ = false;
};

namespace detail {
struct ByName {
  explicit ByName() = default;
};
}  // namespace detail

/// `x.mean({.dim = -1, .keepdim = true})`. Without `dim` the reduction is over all elements.
// The overloads for a list of dimensions are templates only so that this one is preferred: g++ also
// takes {.dim = 0, .keepdim = true} for the pointer and the length inside an initializer_list.
struct ReduceOptions {
  // Keeps `sum({0, 1})` from being read as dim 0, keepdim true.
  detail::ByName only_by_name = detail::ByName();
  Dims dim{};
  bool keepdim = false;
};

}  // namespace xgrad
