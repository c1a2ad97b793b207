#include "xgrad/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "ops/elementwise.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using detail::Ref, detail::TensorImpl;

TensorImpl::TensorImpl() noexcept = default;
TensorImpl::~TensorImpl() = default;
void TensorImpl::destroy(TensorImpl* impl) noexcept { delete impl; }

void Tensor::throw_undefined() { throw Error("this tensor is undefined (default-constructed)"); }

std::int64_t Tensor::size(std::int64_t dim) const {
  throw_if<IndexError>(this->dim() == 0, "size: a 0-d tensor has no dimensions");
  return shape()[detail::wrap_dim("size", dim, shape().dim())];
}

// ---- access -------------------------------------------------------------------------------------

const void* Tensor::raw(DType expected) const {
  const TensorImpl& t = impl();
  throw_if<DTypeError>(t.dtype != expected, "data: the tensor is ", t.dtype, ", asked for ",
                       expected);
  return t.storage->data() + t.offset * itemsize(t.dtype);
}

void* Tensor::raw_mut(DType expected) {
  detail::check_in_place("mut", *this);
  const void* data = raw(expected);
  // Two threads that write at once are the program's own race, so the count need not be locked.
  std::atomic<std::uint32_t>& version = impl().storage->version;
  version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return const_cast<void*>(data);
}

Scalar Tensor::item_scalar() const {
  if (numel() != 1) {
    throw ShapeError(message("item: needs exactly one element, got ",
                             detail::count(numel(), "element"), " of shape ", shape()));
  }
  return detail::dispatch(dtype(), [&](auto t) { return Scalar(data<decltype(t)>()[0]); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  return detail::dispatch(dtype(), [&](auto t) {
    const auto values = data<decltype(t)>();
    std::vector<T> out(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = detail::cast<T>(values[i]);
    return out;
  });
}
template std::vector<bool> Tensor::to_vector<bool>() const;
template std::vector<int> Tensor::to_vector<int>() const;
template std::vector<std::int64_t> Tensor::to_vector<std::int64_t>() const;
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;

Tensor::operator bool() const {
  if (numel() != 1) {
    throw ShapeError(message(
        "if (tensor): the truth of ", detail::count(numel(), "element"), " of shape ", shape(),
        " is ambiguous. Compare whole tensors with equal(a, b) or allclose(a, b)."));
  }
  return item<bool>();
}

bool Tensor::sole_owner() const {
  return impl_.unique() && impl().storage.unique() &&
         impl().storage->bytes == static_cast<std::size_t>(numel() * itemsize(dtype()));
}

// ---- copies -------------------------------------------------------------------------------------

Tensor Tensor::detach() const {
  const TensorImpl& t = impl();
  auto* alias = new TensorImpl;
  alias->dtype = t.dtype;
  alias->shape = t.shape;
  alias->offset = t.offset;
  alias->storage = t.storage;
  return Tensor(Ref<TensorImpl>(alias));
}

Tensor Tensor::to(DType wanted) const {
  if (dtype() == wanted) return *this;
  Tensor out = detail::dispatch(dtype(), [&](auto from) {
    return detail::dispatch(wanted, [&](auto to) {
      return ops::map_as<decltype(from), decltype(to)>(
          *this, [](auto v) { return detail::cast<decltype(to)>(v); });
    });
  });
  if (!is_floating_point(wanted)) return out;  // no gradient passes through integers
  return record(
      out, "ToCopyBackward0", [from = dtype()](const Tensor& g) { return g.to(from); }, *this);
}

Tensor Tensor::clone() const {
  Tensor out = empty(shape(), {.dtype = dtype()});
  detail::dispatch(dtype(), [&]<class T>(T) {
    const std::span<const T> from = data<T>();
    if (!from.empty()) std::memcpy(out.mut<T>().data(), from.data(), from.size_bytes());
  });
  return record(
      out, "CloneBackward0", [](const Tensor& g) { return g; }, *this);
}

// ---- in place -----------------------------------------------------------------------------------

/// An in-place result keeps the target's dtype, so it must not be of a higher kind.
static void check_kind(const char* op, DType target, DType source) {
  const auto kind = [](DType t) { return is_floating_point(t) ? 2 : t == DType::int64 ? 1 : 0; };
  throw_if<DTypeError>(kind(source) > kind(target), op, ": a ", source,
                       " result does not fit into a ", target, " tensor");
}

/// target = f(target, source) for every element, source (a tensor, broadcast to target's shape, or
/// a number) converted to target's type first.
template <class F>
static Tensor& update(const char* op, Tensor& target, const Tensor& source, F f) {
  detail::check_in_place(op, target, source);
  check_kind(op, target.dtype(), source.dtype());
  const NoGrad no_grad;
  Tensor values = (source.shape() == target.shape() ? source : expand(source, target.shape()))
                      .to(target.dtype());
  const TensorImpl& from_impl = values.impl();
  if (from_impl.storage == target.impl().storage && from_impl.offset != target.impl().offset) {
    values = values.clone();  // overlapping windows: read everything before the first write
  }
  detail::dispatch(target.dtype(), [&]<class T>(T) {
    const T* from = values.data<T>().data();
    const std::span<T> to = target.mut<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(f(to[i], from[i]));
  });
  return target;
}
template <class F>
static Tensor& update(const char* op, Tensor& target, Scalar scalar, F f) {
  detail::check_in_place(op, target);
  check_kind(op, target.dtype(), scalar.dtype());
  const NoGrad no_grad;
  detail::dispatch(target.dtype(), [&]<class T>(T) {
    const T value = scalar.to<T>();
    for (T& element : target.mut<T>()) element = static_cast<T>(f(element, value));
  });
  return target;
}

/// f(target, alpha * source).
template <class F>
static Tensor& update_scaled(const char* op, Tensor& target, const Tensor& source, Scalar alpha,
                             F f) {
  check_kind(op, target.dtype(), alpha.dtype());
  if (alpha.to<double>() == 1) return update(op, target, source, f);
  return update(op, target, source, [alpha, f](auto a, auto b) {
    return f(a, static_cast<decltype(a)>(alpha.to<decltype(a)>() * b));
  });
}

Tensor& Tensor::add_(const Tensor& other, Scalar alpha) & {
  return update_scaled("add_", *this, other, alpha, std::plus<>());
}
Tensor& Tensor::add_(Scalar other) & { return update("add_", *this, other, std::plus<>()); }
Tensor& Tensor::sub_(const Tensor& other, Scalar alpha) & {
  detail::check_number("sub_", dtype());
  return update_scaled("sub_", *this, other, alpha, std::minus<>());
}
Tensor& Tensor::sub_(Scalar other) & {
  detail::check_number("sub_", dtype());
  return update("sub_", *this, other, std::minus<>());
}
Tensor& Tensor::mul_(const Tensor& other) & {
  return update("mul_", *this, other, std::multiplies<>());
}
Tensor& Tensor::mul_(Scalar other) & { return update("mul_", *this, other, std::multiplies<>()); }
Tensor& Tensor::div_(const Tensor& other) & {
  check_kind("div_", dtype(), float32);  // true division
  return update("div_", *this, other, std::divides<>());
}
Tensor& Tensor::div_(Scalar other) & {
  check_kind("div_", dtype(), float32);
  return update("div_", *this, other, std::divides<>());
}
Tensor& Tensor::zero_() & {
  detail::check_in_place("zero_", *this);
  return fill_(0);
}
Tensor& Tensor::fill_(Scalar value) & {
  detail::check_in_place("fill_", *this);
  const NoGrad no_grad;
  detail::dispatch(dtype(), [&]<class T>(T) { std::ranges::fill(mut<T>(), value.to<T>()); });
  return *this;
}
Tensor& Tensor::copy_(const Tensor& source) & {
  detail::check_in_place("copy_", *this, source);
  const NoGrad no_grad;
  return update("copy_", *this, source.to(dtype()), [](auto, auto b) { return b; });
}

}  // namespace xgrad
