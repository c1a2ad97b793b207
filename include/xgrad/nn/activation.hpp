#pragma once

#include "xgrad/nn/module.hpp"
#include "xgrad/ops.hpp"

/// The functions of ops.hpp as modules, (*) -> (*).

namespace xgrad::nn {

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double negative_slope_;
};

/// `GELU({.approximate = "tanh"})`
class GELU : public Module {
 public:
  explicit GELU(GeluOptions options = {}) : options_(std::move(options)) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  GeluOptions options_;
};

class SiLU : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  double alpha_;
};

struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;
};
class Softplus : public Module {
 public:
  explicit Softplus(SoftplusOptions options = {}) : options_(options) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  SoftplusOptions options_;
};

class Softmax : public Module {
 public:
  explicit Softmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  std::int64_t dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

 private:
  std::int64_t dim_;
};

}  // namespace xgrad::nn
