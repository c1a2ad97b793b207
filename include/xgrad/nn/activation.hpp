#pragma once

#include "xgrad/nn/module.hpp"
#include "xgrad/ops.hpp"

/// The functions of ops.hpp as modules, (*) -> (*).

namespace xgrad::nn {

namespace detail {
template <Tensor (*function)(const Tensor&)>
struct Of : Module {
  Tensor forward(const Tensor& x) override { return function(x); }
};
}  // namespace detail

struct ReLU : detail::Of<relu> {};
struct SiLU : detail::Of<silu> {};
struct Tanh : detail::Of<tanh> {};
struct Sigmoid : detail::Of<sigmoid> {};
struct LogSigmoid : detail::Of<logsigmoid> {};

/// `x`, or `negative_slope x` below 0.
struct LeakyReLU : Module {
  explicit LeakyReLU(double slope = 0.01) : negative_slope(slope) {}
  Tensor forward(const Tensor& x) override { return leaky_relu(x, negative_slope); }
  std::string extra_repr() const override;
  double negative_slope;
};

/// `x`, or `alpha (exp(x) - 1)` below 0.
struct ELU : Module {
  explicit ELU(double scale = 1.0) : alpha(scale) {}
  Tensor forward(const Tensor& x) override { return elu(x, alpha); }
  std::string extra_repr() const override;
  double alpha;
};

/// `GELU({.approximate = "tanh"})`
struct GELU : Module {
  explicit GELU(GeluOptions with = {});
  Tensor forward(const Tensor& x) override { return gelu(x, options); }
  std::string extra_repr() const override;
  GeluOptions options;
};

struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;
};
/// `log(1 + exp(beta x)) / beta`; `x` where `beta x > threshold`.
struct Softplus : Module {
  explicit Softplus(SoftplusOptions with = {}) : options(with) {}
  Tensor forward(const Tensor& x) override { return softplus(x, options.beta, options.threshold); }
  std::string extra_repr() const override;
  SoftplusOptions options;
};

/// `exp(x) / sum(exp(x))` along a dimension.
struct Softmax : Module {
  explicit Softmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x) override { return softmax(x, dim); }
  std::string extra_repr() const override { return "dim=" + std::to_string(dim); }
  std::int64_t dim;
};
/// The logarithm of Softmax.
struct LogSoftmax : Module {
  explicit LogSoftmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x) override { return log_softmax(x, dim); }
  std::string extra_repr() const override { return "dim=" + std::to_string(dim); }
  std::int64_t dim;
};

}  // namespace xgrad::nn
