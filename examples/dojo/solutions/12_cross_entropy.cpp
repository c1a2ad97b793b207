// Softmax and cross-entropy at once: the shortest gradient of all.
#include "../dojo.hpp"

/// loss = mean over the samples of -log(softmax(logits)[target]). From the logits (4, 6) and the
/// targets, the right class of each sample (4,), return dlogits (4, 6).
xg::Tensor dlogits(const xg::Tensor& logits, const xg::Tensor& targets) {
  const xg::Tensor right = (xg::arange(6) == targets.unsqueeze(-1)).to(xg::float64);  // one-hot
  return (logits.softmax(-1) - right) / double(logits.size(0));
}

int main() { return dojo::check(dojo::cross_entropy(dlogits)); }
