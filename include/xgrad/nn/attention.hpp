#pragma once

#include "xgrad/nn/linear.hpp"

namespace xgrad::nn {

struct MultiheadAttentionOptions {
  bool bias = true;        ///< have in_proj_bias and out_proj.bias (zeros)
  bool is_causal = false;  ///< position i sees positions j <= i
};

/// PyTorch's name of a Linear that belongs to an attention.
struct NonDynamicallyQuantizableLinear : Linear {
  using Linear::Linear;
};

/// Attention of num_heads heads, each on its own embed_dim / num_heads features: batch first,
/// (B, T, E) or (T, E) -> the same. q, k and v are x W^T + b with the thirds of in_proj_weight (3E,
/// E; xavier_uniform_) and in_proj_bias (3E; zeros); out_proj mixes the heads. Throws Error unless
/// num_heads divides embed_dim. Vaswani et al. 2017, arXiv 1706.03762.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                     MultiheadAttentionOptions options = {});
  /// Every position looks at all others.
  Tensor forward(const Tensor& x) override { return forward(x, x, x); }
  /// Positions of the query (B, T, E) look at those of key and value (B, S, E).
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value);

  std::int64_t num_heads;
  MultiheadAttentionOptions options;
  Tensor& in_proj_weight;
  Tensor& in_proj_bias;
  Linear& out_proj;
};

}  // namespace xgrad::nn
