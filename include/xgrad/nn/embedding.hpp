#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx{};  ///< a row of zeros that gets no gradient
};

/// A table of vectors looked up by number: int64 (*) -> (*, embedding_dim). `weight` is
/// (num_embeddings, embedding_dim) and starts standard normal.
class Embedding : public Module {
 public:
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options = {});
  Tensor forward(const Tensor& indices) override;
  std::string extra_repr() const override;

  Tensor& weight;
  EmbeddingOptions options;
};

}  // namespace xgrad::nn
