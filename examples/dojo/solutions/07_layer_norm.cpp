// LayerNorm, all steps: from the gradient of the output to that of the input.
#include "../dojo.hpp"

/// The whole forward pass of dojo::Forward, along each row. Given d.y (4, 6), write the nine
/// others.
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  d.bias = d.y.sum(0);
  d.weight = (d.y * f.xhat).sum(0);
  d.xhat = d.y * f.weight;
  d.rstd = (d.xhat * f.centred).sum(-1, true);
  d.var = d.rstd * -0.5 * f.rstd.pow(3);
  d.squared = (d.var / f.n).expand({4, 6});
  d.centred = d.xhat * f.rstd + d.squared * 2 * f.centred;
  d.mean = -d.centred.sum(-1, true);
  d.x = d.centred + d.mean / f.n;
}

int main() { return dojo::check(dojo::layer_norm(backward)); }
