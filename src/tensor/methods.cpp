#include "xgrad/ops.hpp"

/// The methods of Tensor that are free functions of ops.hpp; those of sum and its like stand in
/// ops/reduce.cpp.

namespace xgrad {

Tensor Tensor::add(const Tensor& other) const { return xgrad::add(*this, other); }
Tensor Tensor::sub(const Tensor& other) const { return xgrad::sub(*this, other); }
Tensor Tensor::mul(const Tensor& other) const { return xgrad::mul(*this, other); }
Tensor Tensor::div(const Tensor& other) const { return xgrad::div(*this, other); }
Tensor Tensor::pow(Scalar exponent) const { return xgrad::pow(*this, exponent); }
Tensor Tensor::pow(const Tensor& exponent) const { return xgrad::pow(*this, exponent); }
Tensor Tensor::maximum(const Tensor& other) const { return xgrad::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return xgrad::minimum(*this, other); }
Tensor Tensor::eq(const Tensor& other) const { return xgrad::eq(*this, other); }
Tensor Tensor::eq(Scalar other) const { return xgrad::eq(*this, other); }
Tensor Tensor::ne(const Tensor& other) const { return xgrad::ne(*this, other); }
Tensor Tensor::ne(Scalar other) const { return xgrad::ne(*this, other); }
Tensor Tensor::lt(const Tensor& other) const { return xgrad::lt(*this, other); }
Tensor Tensor::lt(Scalar other) const { return xgrad::lt(*this, other); }
Tensor Tensor::le(const Tensor& other) const { return xgrad::le(*this, other); }
Tensor Tensor::le(Scalar other) const { return xgrad::le(*this, other); }
Tensor Tensor::gt(const Tensor& other) const { return xgrad::gt(*this, other); }
Tensor Tensor::gt(Scalar other) const { return xgrad::gt(*this, other); }
Tensor Tensor::ge(const Tensor& other) const { return xgrad::ge(*this, other); }
Tensor Tensor::ge(Scalar other) const { return xgrad::ge(*this, other); }
Tensor Tensor::logical_not() const { return xgrad::logical_not(*this); }
Tensor Tensor::isfinite() const { return xgrad::isfinite(*this); }
Tensor Tensor::neg() const { return xgrad::neg(*this); }
Tensor Tensor::exp() const { return xgrad::exp(*this); }
Tensor Tensor::expm1() const { return xgrad::expm1(*this); }
Tensor Tensor::log() const { return xgrad::log(*this); }
Tensor Tensor::log1p() const { return xgrad::log1p(*this); }
Tensor Tensor::sqrt() const { return xgrad::sqrt(*this); }
Tensor Tensor::rsqrt() const { return xgrad::rsqrt(*this); }
Tensor Tensor::reciprocal() const { return xgrad::reciprocal(*this); }
Tensor Tensor::square() const { return xgrad::square(*this); }
Tensor Tensor::abs() const { return xgrad::abs(*this); }
Tensor Tensor::sign() const { return xgrad::sign(*this); }
Tensor Tensor::floor() const { return xgrad::floor(*this); }
Tensor Tensor::ceil() const { return xgrad::ceil(*this); }
Tensor Tensor::round() const { return xgrad::round(*this); }
Tensor Tensor::sin() const { return xgrad::sin(*this); }
Tensor Tensor::cos() const { return xgrad::cos(*this); }
Tensor Tensor::tanh() const { return xgrad::tanh(*this); }
Tensor Tensor::erf() const { return xgrad::erf(*this); }
Tensor Tensor::sigmoid() const { return xgrad::sigmoid(*this); }
Tensor Tensor::relu() const { return xgrad::relu(*this); }
Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  return xgrad::clamp(*this, min, max);
}
Tensor Tensor::masked_fill(const Tensor& mask, Scalar value) const {
  return xgrad::masked_fill(*this, mask, value);
}
Tensor Tensor::var(std::int64_t dim, bool unbiased, bool keepdim) const {
  return xgrad::var(*this, dim, unbiased, keepdim);
}
Tensor Tensor::var(VarOptions options) const { return xgrad::var(*this, options); }
Tensor Tensor::std(std::int64_t dim, bool unbiased, bool keepdim) const {
  return xgrad::std(*this, dim, unbiased, keepdim);
}
Tensor Tensor::std(VarOptions options) const { return xgrad::std(*this, options); }
Tensor Tensor::norm() const { return xgrad::norm(*this); }
Tensor Tensor::norm(NormOptions options) const { return xgrad::norm(*this, options); }
Tensor Tensor::max() const { return xgrad::max(*this); }
Tensor Tensor::min() const { return xgrad::min(*this); }
ValuesAndIndices Tensor::max(std::int64_t dim, bool keepdim) const {
  return xgrad::max(*this, dim, keepdim);
}
ValuesAndIndices Tensor::min(std::int64_t dim, bool keepdim) const {
  return xgrad::min(*this, dim, keepdim);
}
Tensor Tensor::any() const { return xgrad::any(*this); }
Tensor Tensor::any(std::int64_t dim, bool keepdim) const { return xgrad::any(*this, dim, keepdim); }
Tensor Tensor::all() const { return xgrad::all(*this); }
Tensor Tensor::all(std::int64_t dim, bool keepdim) const { return xgrad::all(*this, dim, keepdim); }
Tensor Tensor::argmax() const { return xgrad::argmax(*this); }
Tensor Tensor::argmax(std::int64_t dim, bool keepdim) const {
  return xgrad::argmax(*this, dim, keepdim);
}
Tensor Tensor::argmin() const { return xgrad::argmin(*this); }
Tensor Tensor::argmin(std::int64_t dim, bool keepdim) const {
  return xgrad::argmin(*this, dim, keepdim);
}
Tensor Tensor::prod() const { return xgrad::prod(*this); }
Tensor Tensor::prod(std::int64_t dim, bool keepdim) const {
  return xgrad::prod(*this, dim, keepdim);
}
Tensor Tensor::cumsum(std::int64_t dim) const { return xgrad::cumsum(*this, dim); }
Tensor Tensor::softmax(std::int64_t dim) const { return xgrad::softmax(*this, dim); }
Tensor Tensor::log_softmax(std::int64_t dim) const { return xgrad::log_softmax(*this, dim); }
Tensor Tensor::logsumexp(Dims dim, bool keepdim) const {
  return xgrad::logsumexp(*this, dim, keepdim);
}
Tensor Tensor::reshape(Shape shape) const { return xgrad::reshape(*this, shape); }
Tensor Tensor::flatten(std::int64_t start_dim, std::int64_t end_dim) const {
  return xgrad::flatten(*this, start_dim, end_dim);
}
Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  return xgrad::transpose(*this, dim0, dim1);
}
Tensor Tensor::permute(Dims dims) const { return xgrad::permute(*this, dims); }
Tensor Tensor::squeeze() const { return xgrad::squeeze(*this); }
Tensor Tensor::squeeze(std::int64_t dim) const { return xgrad::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(std::int64_t dim) const { return xgrad::unsqueeze(*this, dim); }
Tensor Tensor::expand(Shape shape) const { return xgrad::expand(*this, shape); }
Tensor Tensor::repeat(Shape repeats) const { return xgrad::repeat(*this, repeats); }
Tensor Tensor::flip(Dims dims) const { return xgrad::flip(*this, dims); }
Tensor Tensor::tril(std::int64_t diagonal) const { return xgrad::tril(*this, diagonal); }
Tensor Tensor::triu(std::int64_t diagonal) const { return xgrad::triu(*this, diagonal); }
Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  return xgrad::select(*this, dim, index);
}
Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return xgrad::narrow(*this, dim, start, length);
}
Tensor Tensor::index(std::initializer_list<Index> index) const {
  return xgrad::index(*this, index);
}
Tensor Tensor::index_select(std::int64_t dim, const Tensor& index) const {
  return xgrad::index_select(*this, dim, index);
}
Tensor Tensor::gather(std::int64_t dim, const Tensor& index) const {
  return xgrad::gather(*this, dim, index);
}
std::vector<Tensor> Tensor::split(std::int64_t size, std::int64_t dim) const {
  return xgrad::split(*this, size, dim);
}
std::vector<Tensor> Tensor::split(const std::vector<std::int64_t>& sizes, std::int64_t dim) const {
  return xgrad::split(*this, sizes, dim);
}
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t dim) const {
  return xgrad::chunk(*this, chunks, dim);
}
Tensor Tensor::matmul(const Tensor& other) const { return xgrad::matmul(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return xgrad::bmm(*this, other); }
Tensor Tensor::outer(const Tensor& other) const { return xgrad::outer(*this, other); }

}  // namespace xgrad
