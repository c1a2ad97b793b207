#pragma once

#include "xgrad/nn/module.hpp"
#include "xgrad/ops.hpp"

/// The functions of ops.hpp as modules, (*) -> (*).

namespace xgrad::nn {

struct ReLU : Module {
  Tensor forward(const Tensor& x) override;
};

struct SiLU : Module {
  Tensor forward(const Tensor& x) override;
};

struct Tanh : Module {
  Tensor forward(const Tensor& x) override;
};

struct Sigmoid : Module {
  Tensor forward(const Tensor& x) override;
};

struct LeakyReLU : Module {
  explicit LeakyReLU(double slope = 0.01) : negative_slope(slope) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  double negative_slope;
};

/// `GELU({.approximate = "tanh"})`
struct GELU : Module {
  explicit GELU(GeluOptions gelu_options = {}) : options(std::move(gelu_options)) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  GeluOptions options;
};

struct ELU : Module {
  explicit ELU(double scale = 1.0) : alpha(scale) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  double alpha;
};

struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;
};
struct Softplus : Module {
  explicit Softplus(SoftplusOptions softplus_options = {}) : options(softplus_options) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  SoftplusOptions options;
};

struct Softmax : Module {
  explicit Softmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  std::int64_t dim;
};

struct LogSoftmax : Module {
  explicit LogSoftmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  std::int64_t dim;
};

}  // namespace xgrad::nn
