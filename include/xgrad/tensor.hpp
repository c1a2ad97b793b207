#pragma once

#if __cplusplus < 202002L
#error "xgrad needs C++20: compile with -std=c++20"
#endif

#include <optional>

#include "xgrad/detail/function.hpp"
#include "xgrad/dtype.hpp"
#include "xgrad/shape.hpp"

namespace xgrad {

class Node;
class Tensor;
class NestedList;
class Index;
class HookHandle;

namespace detail {

/// Whoever owns elements that a storage has adopted: deleted with it.
struct Owner {
  virtual ~Owner() = default;
};

/// Memory of one or more tensors: this header, then the elements at a 64-byte boundary, or
/// elsewhere with an owner of their own.
struct alignas(64) Storage : RefCounted {
  std::atomic<std::uint32_t> version{0};  // moves with every write through Tensor::mut
  std::size_t bytes = 0;
  std::byte* elements = reinterpret_cast<std::byte*>(this + 1);
  Owner* owner = nullptr;

  std::byte* data() { return elements; }
  static Ref<Storage> make(std::size_t bytes);  // uninitialised
  static Ref<Storage> adopt(void* elements, std::size_t bytes, Owner* owner);
  static void destroy(Storage*) noexcept;
};

/// What a Tensor handle points to: a dense row-major window on a storage, and its place in the
/// graph.
struct TensorImpl : RefCounted {
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t offset = 0;  // in elements
  Ref<Storage> storage;
  Ref<Node> node;  // null: no gradient; a leaf node: a leaf; otherwise the op that made it
  bool is_parameter = false;  // of a module

  TensorImpl() noexcept;
  ~TensorImpl();
  static void destroy(TensorImpl*) noexcept;
  static void* operator new(std::size_t);
  static void operator delete(void*, std::size_t) noexcept;
};

}  // namespace detail

/// How a new tensor is made: `zeros({2, 3}, {.dtype = xg::float64, .requires_grad = true})`.
/// Without `dtype`: float32, or for integer and bool values the type that holds them.
struct TensorOptions {
  std::optional<DType> dtype = std::nullopt;
  bool requires_grad = false;
};

/// Handle of an n-dimensional array that can take part in a graph. Copying a Tensor copies the
/// handle: both names mean the same elements and the same gradient. `clone()` copies the elements.
///
/// Elements are dense and row-major. `reshape` and its kin, `detach` and slices of whole rows
/// (dimension 0, step 1) share memory with their source, and `to` returns its source where the type
/// is right; every other operation returns memory of its own.
///
/// A default-constructed Tensor is undefined: `defined()` is false, anything else throws.
class Tensor {
 public:
  Tensor() = default;

  // ---- what it is -------------------------------------------------------------------------------
  bool defined() const { return static_cast<bool>(impl_); }
  const Shape& shape() const { return impl().shape; }
  /// Size of one dimension; negative counts from the end. Throws IndexError.
  std::int64_t size(std::int64_t dim) const;
  std::int64_t dim() const { return impl().shape.dim(); }
  std::int64_t numel() const { return impl().shape.numel(); }
  DType dtype() const { return impl().dtype; }
  /// Both are handles of the same tensor.
  bool is(const Tensor& other) const { return impl_ == other.impl_; }

  // ---- its values -------------------------------------------------------------------------------
  /// The elements, row-major. T must be the dtype's C++ type: throws DTypeError otherwise. Valid as
  /// long as a tensor with this memory lives, so not of a temporary.
  template <class T>
  std::span<const T> data() const& {
    return {static_cast<const T*>(raw(dtype_of<T>)), static_cast<std::size_t>(numel())};
  }
  template <class T>
  std::span<const T> data() const&& = delete;
  /// The elements for writing. Counts as an in-place change: outside NoGrad the tensor must not
  /// require a gradient, and a graph that saved it will refuse to go backward.
  template <class T>
  std::span<T> mut() & {
    return {static_cast<T*>(raw_mut(dtype_of<T>)), static_cast<std::size_t>(numel())};
  }
  /// The one element, converted to T. Throws ShapeError when there is not exactly one.
  template <class T>
  T item() const {
    return item_scalar().to<T>();
  }
  /// A copy of the elements, row-major, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  /// The values as nested lists that print as Python's: `[[-1.2247, 0.0], [1.5, 2.0]]`.
  NestedList tolist() const;
  /// The truth of the one element. Throws ShapeError when there is not exactly one.
  explicit operator bool() const;

  // ---- copies and conversions -------------------------------------------------------------------
  /// The same values as another type; itself when it already is.
  Tensor to(DType dtype) const;
  Tensor clone() const;
  /// The same memory outside the graph.
  Tensor detach() const;

  // ---- gradients --------------------------------------------------------------------------------
  bool requires_grad() const { return static_cast<bool>(impl().node); }
  /// Made by the user or outside the graph, not by a recorded operation.
  bool is_leaf() const;
  /// Makes this leaf collect gradients (or stop). Throws DTypeError for int64 and bool, GraphError
  /// when it is not a leaf. Returns itself.
  Tensor requires_grad_(bool on = true) const;
  /// PyTorch's name of the operation that made it (`AddmmBackward0`); empty for a leaf.
  std::string grad_fn() const;
  /// The accumulated gradient; undefined when there is none yet. Throws GraphError for a tensor
  /// that an operation made, unless retain_grad() was called on it.
  Tensor grad() const;
  /// Replaces the gradient; an undefined tensor clears it. Throws unless shape and dtype are those
  /// of the tensor.
  void set_grad(const Tensor& grad) const;
  bool has_grad() const;
  /// A module's parameter: prints as PyTorch's `Parameter containing:`.
  bool is_parameter() const { return impl().is_parameter; }
  /// Keeps the gradient of a tensor that an operation made.
  void retain_grad() const;
  /// Derivative of this scalar by every leaf below it, added to their `grad()`.
  void backward(bool retain_graph = false) const;
  /// The same for any shape, from the gradient by this tensor's elements.
  void backward(const Tensor& gradient, bool retain_graph = false) const;
  /// `hook(g)` sees the gradient of this tensor before it goes further down; what it returns, if
  /// anything, replaces it. It must not write into g, which others may hold: `g.clone()` is its
  /// own.
  HookHandle register_hook(detail::Function<Tensor(const Tensor& g)> hook) const;

  // ---- in place (never on a temporary; where a gradient is needed only under NoGrad) ------------
  Tensor& add_(const Tensor& other, Scalar alpha = 1) &;
  Tensor& add_(Scalar other) &;
  Tensor& sub_(const Tensor& other, Scalar alpha = 1) &;
  Tensor& sub_(Scalar other) &;
  Tensor& mul_(const Tensor& other) &;
  Tensor& mul_(Scalar other) &;
  Tensor& div_(const Tensor& other) &;
  Tensor& div_(Scalar other) &;
  Tensor& zero_() &;
  Tensor& fill_(Scalar value) &;
  /// Copies the values, converting and broadcasting.
  Tensor& copy_(const Tensor& source) &;
  /// `x.index_put_({1, Slice(0, 2)}, values)`: writes values, broadcast, into that part.
  Tensor& index_put_(std::initializer_list<Index> index, const Tensor& values) &;
  Tensor& index_put_(std::initializer_list<Index> index, Scalar value) &;
  Tensor& operator+=(const Tensor& other) & { return add_(other); }
  Tensor& operator+=(Scalar other) & { return add_(other); }
  Tensor& operator-=(const Tensor& other) & { return sub_(other); }
  Tensor& operator-=(Scalar other) & { return sub_(other); }
  Tensor& operator*=(const Tensor& other) & { return mul_(other); }
  Tensor& operator*=(Scalar other) & { return mul_(other); }
  Tensor& operator/=(const Tensor& other) & { return div_(other); }
  Tensor& operator/=(Scalar other) & { return div_(other); }

  // ---- operations (documented in ops.hpp, where each is a free function too) --------------------
  Tensor add(const Tensor& other) const;
  Tensor sub(const Tensor& other) const;
  Tensor mul(const Tensor& other) const;
  Tensor div(const Tensor& other) const;
  Tensor pow(Scalar exponent) const;
  Tensor pow(const Tensor& exponent) const;
  Tensor maximum(const Tensor& other) const;
  Tensor minimum(const Tensor& other) const;
  Tensor eq(const Tensor& other) const;
  Tensor eq(Scalar other) const;
  Tensor ne(const Tensor& other) const;
  Tensor ne(Scalar other) const;
  Tensor lt(const Tensor& other) const;
  Tensor lt(Scalar other) const;
  Tensor le(const Tensor& other) const;
  Tensor le(Scalar other) const;
  Tensor gt(const Tensor& other) const;
  Tensor gt(Scalar other) const;
  Tensor ge(const Tensor& other) const;
  Tensor ge(Scalar other) const;
  Tensor logical_not() const;
  Tensor isfinite() const;
  Tensor neg() const;
  Tensor exp() const;
  Tensor expm1() const;
  Tensor log() const;
  Tensor log1p() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor reciprocal() const;
  Tensor square() const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor round() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor erf() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = std::nullopt) const;
  Tensor masked_fill(const Tensor& mask, Scalar value) const;

  Tensor sum() const;
  Tensor sum(std::int64_t dim, bool keepdim = false) const;
  template <class = void>
  Tensor sum(std::initializer_list<std::int64_t> dims, bool keepdim = false) const;
  Tensor sum(ReduceOptions options) const;
  Tensor sum(std::same_as<bool> auto, bool = false) const = delete;
  Tensor mean() const;
  Tensor mean(std::int64_t dim, bool keepdim = false) const;
  template <class = void>
  Tensor mean(std::initializer_list<std::int64_t> dims, bool keepdim = false) const;
  Tensor mean(ReduceOptions options) const;
  Tensor mean(std::same_as<bool> auto, bool = false) const = delete;
  Tensor amax() const;
  Tensor amax(std::int64_t dim, bool keepdim = false) const;
  template <class = void>
  Tensor amax(std::initializer_list<std::int64_t> dims, bool keepdim = false) const;
  Tensor amax(ReduceOptions options) const;
  Tensor amax(std::same_as<bool> auto, bool = false) const = delete;
  Tensor amin() const;
  Tensor amin(std::int64_t dim, bool keepdim = false) const;
  template <class = void>
  Tensor amin(std::initializer_list<std::int64_t> dims, bool keepdim = false) const;
  Tensor amin(ReduceOptions options) const;
  Tensor amin(std::same_as<bool> auto, bool = false) const = delete;
  /// Unbiased (divides by n - 1) unless told otherwise, as in PyTorch.
  Tensor var(struct VarOptions options) const;
  Tensor var(std::int64_t dim, bool unbiased = true, bool keepdim = false) const;
  template <std::same_as<bool> B = bool>  // no number: that would be a dimension
  Tensor var(B unbiased = true) const;
  Tensor std(struct VarOptions options) const;
  Tensor std(std::int64_t dim, bool unbiased = true, bool keepdim = false) const;
  template <std::same_as<bool> B = bool>
  Tensor std(B unbiased = true) const;
  Tensor norm() const;
  Tensor norm(struct NormOptions options) const;
  Tensor max() const;
  Tensor min() const;
  struct ValuesAndIndices max(std::int64_t dim, bool keepdim = false) const;
  struct ValuesAndIndices min(std::int64_t dim, bool keepdim = false) const;
  Tensor any() const;
  Tensor any(std::int64_t dim, bool keepdim = false) const;
  Tensor any(std::same_as<bool> auto, bool = false) const = delete;
  Tensor all() const;
  Tensor all(std::int64_t dim, bool keepdim = false) const;
  Tensor all(std::same_as<bool> auto, bool = false) const = delete;
  Tensor argmax() const;
  Tensor argmax(std::int64_t dim, bool keepdim = false) const;
  Tensor argmin() const;
  Tensor argmin(std::int64_t dim, bool keepdim = false) const;
  Tensor prod() const;
  Tensor prod(std::int64_t dim, bool keepdim = false) const;
  Tensor cumsum(std::int64_t dim) const;
  Tensor softmax(std::int64_t dim) const;
  Tensor log_softmax(std::int64_t dim) const;
  Tensor logsumexp(Dims dim, bool keepdim = false) const;

  Tensor reshape(Shape shape) const;
  Tensor view(Shape shape) const;
  Tensor flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1) const;
  Tensor t() const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor permute(Dims dims) const;
  Tensor squeeze() const;
  Tensor squeeze(std::int64_t dim) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor expand(Shape shape) const;
  Tensor repeat(Shape repeats) const;
  Tensor flip(Dims dims) const;
  Tensor tril(std::int64_t diagonal = 0) const;
  Tensor triu(std::int64_t diagonal = 0) const;
  Tensor select(std::int64_t dim, std::int64_t index) const;
  /// `x[1]`: select(0, 1). More of Python's indexing: `index`.
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  Tensor index(std::initializer_list<Index> index) const;
  Tensor index_select(std::int64_t dim, const Tensor& index) const;
  Tensor gather(std::int64_t dim, const Tensor& index) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t dim = 0) const;
  std::vector<Tensor> split(const std::vector<std::int64_t>& sizes, std::int64_t dim = 0) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  Tensor matmul(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  Tensor outer(const Tensor& other) const;
  // ---- for the library and extend.hpp -----------------------------------------------------------
  explicit Tensor(detail::Ref<detail::TensorImpl> impl) : impl_(std::move(impl)) {}
  /// Throws Error for an undefined tensor.
  detail::TensorImpl& impl() const {
    if (!impl_) throw_undefined();
    return *impl_;
  }
  /// Nobody else can see or change these elements.
  bool sole_owner() const;

 private:
  [[noreturn]] static void throw_undefined();
  const void* raw(DType expected) const;
  void* raw_mut(DType expected);
  Scalar item_scalar() const;

  detail::Ref<detail::TensorImpl> impl_;
};

// ---- making tensors -----------------------------------------------------------------------------

namespace detail {
/// A number or a list of these: what `tensor({{1, 2}, {3, 4}})` is read as.
class Nested {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Nested(T value) : scalar_(value) {}
  Nested(std::initializer_list<Nested> list) : scalar_(0), list_(list), is_list_(true) {}

  bool is_list() const { return is_list_; }
  Scalar scalar() const { return scalar_; }
  std::initializer_list<Nested> list() const { return list_; }

 private:
  Scalar scalar_;
  std::initializer_list<Nested> list_;  // lives until the end of the caller's full expression
  bool is_list_ = false;
};

template <class T>
Tensor from_values(std::span<const T> values, const Shape& shape, TensorOptions options);
Tensor adopt(void* elements, const Shape& shape, DType dtype, Owner* owner);
}  // namespace detail

/// `tensor({{1.0, 2.0}, {3.0, 4.0}})`: float32 of shape (2, 2); integers give int64, bools bool.
/// Throws ShapeError for a ragged list, naming the row.
Tensor tensor(std::initializer_list<detail::Nested> values, TensorOptions options = {});
/// A 0-d tensor.
Tensor tensor(Scalar value, TensorOptions options = {});
/// A 1-d tensor; float and double values give float32 unless told otherwise, as torch.tensor does.
template <class T>
Tensor tensor(const std::vector<T>& values, TensorOptions options = {}) {
  if constexpr (detail::Element<T> && !std::is_same_v<T, bool>) {
    return detail::from_values<T>(values, {static_cast<std::int64_t>(values.size())}, options);
  } else {  // int, short ... and std::vector<bool>, which is no array of bool
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    const std::vector<Wide> wide(values.begin(), values.end());
    if (std::is_same_v<T, bool> && !options.dtype) options.dtype = DType::bool_;
    return detail::from_values<Wide>(wide, {static_cast<std::int64_t>(wide.size())}, options);
  }
}

Tensor zeros(Shape shape, TensorOptions options = {});  ///< of 0
Tensor ones(Shape shape, TensorOptions options = {});   ///< of 1
/// The dtype is that of the value unless given.
Tensor full(Shape shape, Scalar value, TensorOptions options = {});
/// Uninitialised.
Tensor empty(Shape shape, TensorOptions options = {});
/// With the shape of x, and its dtype unless given.
Tensor zeros_like(const Tensor& x, TensorOptions options = {});
Tensor ones_like(const Tensor& x, TensorOptions options = {});                ///< see zeros_like
Tensor full_like(const Tensor& x, Scalar value, TensorOptions options = {});  ///< see zeros_like
Tensor empty_like(const Tensor& x, TensorOptions options = {});  ///< see zeros_like, uninitialised
Tensor arange(Scalar end, TensorOptions options = {});           ///< 0, 1, ... below `end`
/// start, start + step, ... before `end`; int64 when all three are integers. Others, and
/// linspace's, have the bits of PyTorch's AVX2 kernels on one thread.
Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {});
/// `steps` evenly spaced values from start to end, both included.
Tensor linspace(double start, double end, std::int64_t steps, TensorOptions options = {});
/// Ones on the diagonal of an n by m (by default n) matrix.
Tensor eye(std::int64_t n, std::optional<std::int64_t> m = std::nullopt,
           TensorOptions options = {});

// ---- comparing ----------------------------------------------------------------------------------

/// Same shape, same dtype and every element equal (`torch.equal`); NaN equals nothing.
bool equal(const Tensor& a, const Tensor& b);
/// Every |a - b| <= atol + rtol |b|, after broadcasting. NaN matches NaN only with `equal_nan`.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);

}  // namespace xgrad
