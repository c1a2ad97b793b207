// Numerics: what the documentation's page of that name says, shown.
#include <iostream>

#include "xgrad/xgrad.hpp"
namespace xg = xgrad;

static xg::Tensor doubles(std::initializer_list<xg::detail::Nested> values) {
  return xg::tensor(values, {.dtype = xg::float64, .requires_grad = true});
}
static void print(const char* what, const xg::Tensor& value) {
  std::cout << what << ": " << value.detach().tolist() << "\n";
}

int main() {
  const xg::Tensor x = doubles({{1, 2, 3, 6}});
  print("variance, divided by n - 1", x.var(-1));
  print("variance, divided by n", x.var({.dim = -1, .unbiased = false}));
  const xg::Tensor unit = xg::layer_norm(x, {4}, {}, {}, 0);
  print("LayerNorm's output, divided by n", unit.var({.dim = -1, .unbiased = false}).round());

  xg::nn::BatchNorm1d norm(1, {.momentum = 0.25});
  norm.to(xg::float64);
  norm(x.t());
  print("running_mean, 0.75 * 0 + 0.25 * 3", norm.running_mean);
  print("running_var, 0.75 * 1 + 0.25 * 14 / 3", norm.running_var);

  const xg::Tensor equal = doubles({{2, 2}});
  const xg::Tensor spread = doubles({{-1, 1}});
  print("eps is added to the variance", xg::layer_norm(spread, {2}, {}, {}, 3));
  print("rows of equal values give 0", xg::layer_norm(equal, {2}));

  xg::Tensor w = doubles({4});
  xg::optim::SGD sgd({w}, {.lr = 1, .momentum = 0.5});
  for (int step = 0; step < 2; ++step) {  // the gradient is 1: moves by 1, then by 0.5 + 1
    w.set_grad(xg::ones_like(w));
    sgd.step();
    print("SGD with momentum", w);
  }
  xg::Tensor v = doubles({4});
  xg::optim::Adam adam({v}, {.lr = 1, .eps = 1});
  v.set_grad(xg::full_like(v, 3));
  adam.step();
  print("Adam, 4 - 3 / (sqrt(9) + eps)", v);

  const xg::Tensor tenths = xg::full({10'000'000}, 0.1F);
  std::cout << "ten million tenths in float32: " << tenths.sum().tolist() << "\n";
  print("integers wrap", xg::tensor({9223372036854775807, 1}).sum());

  const xg::Tensor kink = doubles({0, 0});
  xg::relu(kink).sum().backward();
  xg::abs(kink).sum().backward();
  print("relu and abs at 0", kink.grad());
  const xg::Tensor a = doubles({5, 5});
  a.amax().backward();
  print("amax shares among equals", a.grad());
  const xg::Tensor b = doubles({{7, 7}});
  b.max(1).values.sum().backward();
  print("max(dim) takes the index it returns", b.grad());
  const xg::Tensor c = doubles({0, 4});
  xg::where(c > 0, c.sqrt(), 0 * c).sum().backward();
  print("a branch not taken gives 0, not NaN", c.grad());
  const xg::Tensor d = doubles({0});
  d.sqrt().backward();
  print("sqrt at 0", d.grad());
}
