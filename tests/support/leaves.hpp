#pragma once

#include "support/values.hpp"

/// Tensors to differentiate by, and gradients by them.

inline constexpr xgrad::TensorOptions f64{.dtype = xgrad::float64};

/// A copy of x.
inline xgrad::Tensor leaf(const xgrad::Tensor& x) { return x.detach().clone().requires_grad_(); }
/// Of float64.
inline xgrad::Tensor leaf(std::initializer_list<xgrad::detail::Nested> values) {
  return xgrad::tensor(values, {.dtype = xgrad::float64, .requires_grad = true});
}
inline xgrad::Tensor leaf(const std::vector<double>& values) {
  return xgrad::tensor(values, {.dtype = xgrad::float64, .requires_grad = true});
}
inline xgrad::Tensor leaf(const std::vector<double>& values, const xgrad::Shape& shape) {
  return xgrad::tensor(values, f64).reshape(shape).requires_grad_();
}
/// Standard normal, the same for the same seed.
inline xgrad::Tensor random_leaf(xgrad::Shape shape, std::uint64_t seed = 1) {
  xgrad::Generator generator(seed);
  return xgrad::randn(shape, generator, {.dtype = xgrad::float64, .requires_grad = true});
}
/// Different values without ties, neither sorted nor symmetric.
inline xgrad::Tensor scattered(const xgrad::Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(std::sin(static_cast<double>(i * i + 1)) * 2 + 0.1);
  }
  return leaf(values, shape);
}

/// Derivative of the sum of y by x.
inline xgrad::Tensor slope(const xgrad::Tensor& y, const xgrad::Tensor& x) {
  return grad(sum(y), {x})[0];
}

/// Gradients of sum(y * g) by the leaves, on the path of the fused kernels.
inline std::vector<xgrad::Tensor> fused_grads(const xgrad::Tensor& y,
                                              const std::vector<xgrad::Tensor>& leaves,
                                              const xgrad::Tensor& g) {
  return grad(y, leaves, {.grad_output = g, .retain_graph = true});
}
/// The same on the path that records.
inline std::vector<xgrad::Tensor> recorded_grads(const xgrad::Tensor& y,
                                                 const std::vector<xgrad::Tensor>& leaves,
                                                 const xgrad::Tensor& g) {
  return grad(y, leaves, {.grad_output = g, .create_graph = true});
}
inline void expect_paths_agree(const xgrad::Tensor& y, const xgrad::Tensor& x,
                               const xgrad::Tensor& g, double tolerance) {
  const xgrad::Tensor recorded = recorded_grads(y, {x}, g)[0];
  EXPECT_TRUE(recorded.requires_grad());
  expect_close(fused_grads(y, {x}, g)[0], recorded, tolerance);
}
