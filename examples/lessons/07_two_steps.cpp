// Subtract the mean, divide by the standard deviation, then measure whether it worked.
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// (x - μ) / √σ² of each row, with its mean μ and variance σ², in the lesson's two steps.
xg::Tensor normalize(const xg::Tensor& out) {
  const xg::Tensor mean = out.mean({.dim = -1, .keepdim = true});
  const xg::Tensor var = (out - mean).pow(2).mean({.dim = -1, .keepdim = true});
  const xg::Tensor centred = out - mean;  // one number per row, taken from all of its features
  return centred / xg::sqrt(var);         // the standard deviation, stretched in the same way
}

int main() {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  const xg::Tensor out = layer(batch);
  std::cout << "Before:\n" << out << "\n";
  const xg::Tensor norm = normalize(out);
  const xg::Tensor deviation = xg::sqrt(out.var({.dim = -1, .unbiased = false}));
  std::cout << "sqrt(var) is std: "
            << xg::to_string(xg::allclose(deviation, out.std({.dim = -1, .unbiased = false})))
            << "\n";
  std::cout << "Normalized layer outputs:\n" << norm << "\n\n";

  // The same measurement as before, on the result: evidence instead of belief.
  const xg::Tensor norm_mean = norm.mean({.dim = -1, .keepdim = true});
  const xg::Tensor norm_var = (norm - norm_mean).pow(2).mean({.dim = -1, .keepdim = true});
  const xg::Tensor zero = xg::zeros({2, 1});
  // abs, because the sign of a rounding error is chance. Lesson 8 prints such a tensor itself.
  std::cout << "Mean:\n" << norm_mean.abs().tolist().fixed(4) << "\n";
  std::cout << "Variance:\n" << norm_var.tolist().fixed(4) << "\n";
  // Not exactly 0 and 1, but to six digits (rtol 0, atol 1e-6).
  std::cout << "mean near 0:     " << xg::to_string(xg::allclose(norm_mean, zero, 0, 1e-6)) << "\n";
  std::cout << "variance near 1: " << xg::to_string(xg::allclose(norm_var, zero + 1, 0, 1e-6))
            << "\n\n";

  // What changed: the spread is set now, and there are negative values again.
  std::cout << "negative before: " << (out < 0).sum().item<int>()
            << ", after: " << (norm < 0).sum().item<int>() << "\n\n";

  // Eight outputs instead of six: only the Linear layer changes. The statistics are taken along the
  // features, one per row, so their shape stays.
  xg::manual_seed(123);
  const xg::Tensor same_batch = xg::randn({2, 5});
  auto wider = xg::nn::Sequential(xg::nn::Linear(5, 8), xg::nn::ReLU());
  const xg::Tensor wide = normalize(wider(same_batch));
  const xg::Tensor wide_mean = wide.mean({.dim = -1, .keepdim = true});
  const xg::Tensor wide_var = wide.var({.dim = -1, .unbiased = false, .keepdim = true});
  std::cout << "eight outputs: " << wide.shape() << "\n";
  std::cout << "mean near 0: " << xg::to_string(xg::allclose(wide_mean, zero, 0, 1e-6))
            << ", variance " << wide_var.tolist().fixed(4) << "\n";
  std::cout << "norm_mean.shape: " << wide_mean.shape() << "\n";
}
