// Where transformers normalize: before and after the attention, and before the output layer.
// A block of GPT-2's kind, with one head, on three tokens of width 4.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// scaled_dot_product_attention from its parts: softmax(q k^T / sqrt(d)) v, where a token sees only
/// itself and those before it. (T, d) each.
xg::Tensor causal_attention(const xg::Tensor& q, const xg::Tensor& k, const xg::Tensor& v) {
  const std::int64_t tokens = q.size(0);
  const xg::Tensor scores = matmul(q, k.t()) / std::sqrt(double(q.size(-1)));
  const xg::Tensor future = xg::triu(xg::ones({tokens, tokens}), 1) == 1;
  return matmul(scores.masked_fill(future, -INFINITY).softmax(-1), v);
}

struct Block : xg::nn::Module {
  xg::nn::LayerNorm& norm1 = register_module("norm1", xg::nn::LayerNorm(4));
  xg::nn::Linear& q = register_module("q", xg::nn::Linear(4, 4));
  xg::nn::Linear& k = register_module("k", xg::nn::Linear(4, 4));
  xg::nn::Linear& v = register_module("v", xg::nn::Linear(4, 4));
  xg::nn::Linear& out = register_module("out", xg::nn::Linear(4, 4));
  xg::nn::LayerNorm& norm2 = register_module("norm2", xg::nn::LayerNorm(4));
  xg::nn::Linear& up = register_module("up", xg::nn::Linear(4, 16));
  xg::nn::Linear& down = register_module("down", xg::nn::Linear(16, 4));

  // "Pre-norm": each part reads a normalized copy and adds its result to x, which itself stays as
  // it is. So gradients have a way past every part.
  xg::Tensor forward(const xg::Tensor& x) override {
    const xg::Tensor h = norm1(x);
    const xg::Tensor attended = x + out(causal_attention(q(h), k(h), v(h)));
    return attended + down(xg::gelu(up(norm2(attended)), {.approximate = "tanh"}));
  }
};

int main() {
  xg::manual_seed(0);
  Block block;
  xg::nn::LayerNorm final_norm(4);
  xg::nn::Linear head(4, 5);  // scores for five possible next tokens
  std::cout << block << "\n\n";

  xg::Tensor x = (xg::randn({3, 4}) * 5).requires_grad_();
  const xg::Tensor hidden = block(x);
  const xg::Tensor logits = head(final_norm(hidden));
  std::cout << "x " << x.shape() << " -> block " << hidden.shape() << " -> logits "
            << logits.shape() << "\n"
            << logits << "\n";

  // Blocks add to x, so its scale wanders; each part still reads rows of one scale, because it
  // reads a normalized copy. What the final norm hands to the output layer has mean 0 and variance
  // 1 in each row.
  const auto statistics = [](const char* name, const xg::Tensor& t) {
    std::cout << name << " " << t.mean(-1).abs().tolist().fixed(2) << ", std "
              << t.std({.dim = -1, .unbiased = false}).tolist().fixed(2) << "\n";
  };
  statistics("out of the block, |mean|", hidden.detach());
  statistics("into the head, |mean|   ", final_norm(hidden).detach());

  // The library's function in its place.
  const xg::Tensor q = xg::randn({3, 4}), k = xg::randn({3, 4}), v = xg::randn({3, 4});
  const bool same = xg::allclose(causal_attention(q, k, v),
                                 xg::scaled_dot_product_attention(q, k, v, {.is_causal = true}));
  std::cout << "equals scaled_dot_product_attention: " << xg::to_string(same) << "\n";
  // Causal: the first token's output is the same without the others.
  const xg::Tensor alone = block(x.narrow(0, 0, 1));
  std::cout << "first token alone, largest difference below 1e-5: "
            << xg::to_string(xg::allclose(alone, hidden.narrow(0, 0, 1), 0, 1e-5)) << "\n\n";

  // Backward, through the final norm, the MLP, both norms and the attention.
  const xg::Tensor loss = xg::cross_entropy(logits, xg::tensor({1, 4, 0}));
  loss.backward();
  std::cout << "loss " << loss.detach() << "\ngradient by x\n" << x.grad() << "\n";
  // All parameters learn but k.bias: it adds the same to all scores of a row, which softmax
  // ignores.
  for (const auto& [name, parameter] : block.named_parameters()) {
    std::printf("%-12s gradient norm %.4f\n", name.c_str(), parameter.grad().norm().item<double>());
  }

  // The gradient by x, through all of it, against finite differences (in float64, where they say
  // something).
  block.to(xg::float64);
  final_norm.to(xg::float64);
  head.to(xg::float64);
  xg::Tensor x64 = x.detach().to(xg::float64).requires_grad_();
  const auto report = xg::gradcheck(
      [&](const std::vector<xg::Tensor>& in) {
        return cross_entropy(head(final_norm(block(in[0]))), xg::tensor({1, 4, 0}));
      },
      {x64});
  std::cout << "gradcheck: " << xg::to_string(report.ok) << "\n";
}
