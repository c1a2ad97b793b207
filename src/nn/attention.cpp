#include "xgrad/nn/attention.hpp"

#include "detail/check.hpp"
#include "xgrad/nn/init.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::nn {

/// Rows of a head, where the heads divide them; checked before anything is drawn or allocated.
static Shape in_proj_shape(std::int64_t embed_dim, std::int64_t num_heads) {
  if (num_heads > 0 && embed_dim > 0 && embed_dim % num_heads == 0) {
    return {3 * embed_dim, embed_dim};
  }
  throw Error(message("MultiheadAttention: embed_dim ", embed_dim,
                      " is not divisible by num_heads ", num_heads));
}

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t heads,
                                       MultiheadAttentionOptions with)
    : num_heads(heads),
      options(with),
      in_proj_weight(register_parameter("in_proj_weight", empty(in_proj_shape(embed_dim, heads)))),
      in_proj_bias(register_parameter("in_proj_bias", with.bias ? zeros(3 * embed_dim) : Tensor())),
      out_proj(register_module(
          "out_proj", NonDynamicallyQuantizableLinear(embed_dim, embed_dim, {.bias = with.bias}))) {
  init::xavier_uniform_(in_proj_weight);  // after out_proj has drawn its values, as in PyTorch
  if (with.bias) init::zeros_(out_proj.bias);
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value) {
  check_not_moved();
  xgrad::detail::check_defined("MultiheadAttention", query, key, value);
  const std::int64_t embed_dim = in_proj_weight.size(1);
  const std::int64_t rank = query.dim();
  const auto fits = [&](const Tensor& x) {
    return x.dim() == rank && (rank == 2 || (rank == 3 && x.size(0) == query.size(0))) &&
           x.size(-1) == embed_dim;
  };
  throw_if<ShapeError>(
      !fits(query) || !fits(key) || !fits(value) || key.size(-2) != value.size(-2),
      "MultiheadAttention: expected query (B, T, E), key and value (B, S, E) with E = ", embed_dim,
      ", or all without B, got ", query.shape(), ", ", key.shape(), " and ", value.shape());
  if (rank == 2) {
    return squeeze(forward(unsqueeze(query, 0), unsqueeze(key, 0), unsqueeze(value, 0)), 0);
  }
  const auto heads = [&](const Tensor& x, std::int64_t third) {  // (B, heads, T, features of one)
    const Tensor weight = in_proj_weight.narrow(0, third * embed_dim, embed_dim);
    const Tensor bias =
        options.bias ? in_proj_bias.narrow(0, third * embed_dim, embed_dim) : Tensor();
    return linear(x, weight, bias)
        .reshape({x.size(0), x.size(1), num_heads, embed_dim / num_heads})
        .transpose(1, 2);
  };
  const Tensor y = scaled_dot_product_attention(heads(query, 0), heads(key, 1), heads(value, 2),
                                                {.is_causal = options.is_causal});
  return out_proj(y.transpose(1, 2).reshape(query.shape()));
}

}  // namespace xgrad::nn
