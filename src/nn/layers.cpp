#include <cmath>

#include "detail/message.hpp"
#include "detail/python.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/nn/activation.hpp"
#include "xgrad/nn/container.hpp"
#include "xgrad/nn/dropout.hpp"
#include "xgrad/nn/embedding.hpp"
#include "xgrad/nn/init.hpp"
#include "xgrad/nn/linear.hpp"

/// The layers whose forward is one call.

namespace xgrad::nn {

using xgrad::detail::python_repr;

static Shape weight_shape(const char* layer, std::int64_t rows, std::int64_t cols) {
  if (rows < 0 || cols < 0) {
    throw Error(message(layer, ": sizes must not be negative, got weight ", Shape{rows, cols}));
  }
  return {rows, cols};
}

Linear::Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options)
    : weight(
          register_parameter("weight", empty(weight_shape("Linear", out_features, in_features)))),
      bias(register_parameter("bias", options.bias ? zeros(out_features) : Tensor())) {
  init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  const double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  if (options.bias) init::uniform_(bias, -bound, bound);
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }
std::string Linear::extra_repr() const {
  return message("in_features=", weight.size(1), ", out_features=", weight.size(0),
                 ", bias=", bias.defined() ? "True" : "False");
}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions with)
    : weight(register_parameter("weight",
                                empty(weight_shape("Embedding", num_embeddings, embedding_dim)))),
      options(with) {
  init::normal_(weight);
  if (!options.padding_idx) return;
  std::int64_t& row = *options.padding_idx;
  throw_if<IndexError>(row < -num_embeddings || row >= num_embeddings, "Embedding: padding_idx ",
                       row, " is no row of num_embeddings = ", num_embeddings);
  row += row < 0 ? num_embeddings : 0;
  const NoGrad no_grad;
  weight.index_put_({row}, 0);
}
Tensor Embedding::forward(const Tensor& indices) {
  return embedding(indices, weight, options.padding_idx);
}
std::string Embedding::extra_repr() const {
  return std::to_string(weight.size(0)) + ", " + std::to_string(weight.size(1)) +
         (options.padding_idx ? ", padding_idx=" + std::to_string(*options.padding_idx) : "");
}

Tensor Flatten::forward(const Tensor& x) { return flatten(x, start_dim, end_dim); }
std::string Flatten::extra_repr() const {
  return message("start_dim=", start_dim, ", end_dim=", end_dim);
}

std::string LeakyReLU::extra_repr() const {
  return "negative_slope=" + python_repr(negative_slope);
}
GELU::GELU(GeluOptions with) : options(std::move(with)) {
  gelu(zeros({}), options);  // throws for an unknown approximation
}
std::string GELU::extra_repr() const { return "approximate='" + options.approximate + "'"; }
std::string ELU::extra_repr() const { return "alpha=" + python_repr(alpha); }
std::string Softplus::extra_repr() const {
  const auto text = [](double v) {  // PyTorch's defaults are the integers 1 and 20
    const std::string repr = python_repr(v);
    return repr.ends_with(".0") ? repr.substr(0, repr.size() - 2) : repr;
  };
  return "beta=" + text(options.beta) + ", threshold=" + text(options.threshold);
}

Dropout::Dropout(double probability) : p(probability) {
  if (!(p >= 0 && p <= 1)) throw Error(message("Dropout: p must be 0 to 1, got ", python_repr(p)));
}
Tensor Dropout::forward(const Tensor& x) { return dropout(x, p, is_training()); }
std::string Dropout::extra_repr() const { return "p=" + python_repr(p) + ", inplace=False"; }

Module& ModuleList::operator[](std::int64_t i) const {
  if (i < -size() || i >= size()) {
    throw IndexError(message(type_name(), ": index ", i, " of ", size(), " modules"));
  }
  return child(i < 0 ? i + size() : i);
}
void ModuleList::throw_other_type(std::int64_t i) const {
  throw Error(message(type_name(), ": module ", i, " is a ", (*this)[i].type_name()));
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (Module& layer : *this) y = layer(y);
  return y;
}

}  // namespace xgrad::nn
