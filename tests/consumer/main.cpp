#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

int main() {
  xg::manual_seed(0);
  xg::nn::LayerNorm norm(3);
  const xg::Tensor y = norm(xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}}));
  return xg::allclose(y.mean(-1), xg::zeros({2}), 0, 1e-6) ? 0 : 1;
}
