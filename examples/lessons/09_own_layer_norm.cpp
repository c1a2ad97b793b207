// A LayerNorm module of your own: eps, scale and shift, compared with the library's.
#include <iostream>

#include "compare.hpp"

/// weight * (x - mean) / sqrt(var + eps) + bias over the last dimension.
struct MyLayerNorm : xg::nn::Module {
  double eps;
  xg::Tensor& scale;  // starts at 1 and
  xg::Tensor& shift;  // at 0, so that at first the module only normalizes

  explicit MyLayerNorm(std::int64_t size, double eps_value = 1e-5)
      : eps(eps_value),
        scale(register_parameter("scale", xg::ones({size}))),
        shift(register_parameter("shift", xg::zeros({size}))) {}

  xg::Tensor forward(const xg::Tensor& x) override {
    const xg::Tensor mean = x.mean({.dim = -1, .keepdim = true});
    const xg::Tensor var = x.var({.dim = -1, .unbiased = false, .keepdim = true});
    const xg::Tensor normalized = (x - mean) / xg::sqrt(var + eps);
    return scale * normalized + shift;
  }
};

int main() {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  xg::Tensor x = layer(batch).detach().requires_grad_();

  MyLayerNorm mine(6);
  xg::nn::LayerNorm theirs(6);
  std::cout << mine << " has\n";
  for (const auto& [name, parameter] : mine.named_parameters()) {
    std::cout << "  " << name << " " << parameter.shape() << "\n";
  }

  // Scale and shift as training might leave them: at 1 and 0 a mistake in them would not show.
  {
    const xg::NoGrad no_grad;
    mine.scale.copy_(xg::tensor({0.5, 1.5, -1.0, 2.0, 1.0, 0.1}));
    mine.shift.copy_(xg::tensor({0.0, -1.0, 0.3, 0.0, 2.0, 0.5}));
    theirs.weight.copy_(mine.scale);
    theirs.bias.copy_(mine.shift);
  }

  // The same upstream gradient through both: random numbers. With ones (and a scale of 1) a
  // wrong gradient by x would go unseen: a normalized row sums to 0 whatever x is.
  const xg::Tensor upstream = xg::randn({2, 6});
  const xg::Tensor my_out = mine(x);
  const xg::Tensor their_out = theirs(x);
  const auto my_grads = xg::grad(my_out, {x, mine.scale, mine.shift}, {.grad_output = upstream});
  const auto their_grads =
      xg::grad(their_out, {x, theirs.weight, theirs.bias}, {.grad_output = upstream});

  std::cout << "mine:\n" << my_out << "\ntheirs:\n" << their_out << "\n";
  compare("output", my_out, their_out);
  compare("d input", my_grads[0], their_grads[0]);
  compare("d scale", my_grads[1], their_grads[1]);
  compare("d shift", my_grads[2], their_grads[2]);
}
