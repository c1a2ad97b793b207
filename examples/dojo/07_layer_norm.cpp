// LayerNorm, all steps: from the gradient of the output to that of the input.
#include "dojo.hpp"

/// The whole forward pass of dojo::Forward, along each row. Given d.y (4, 6), write the nine
/// others.
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  d.bias = {};
  d.weight = {};
  d.xhat = {};
  d.rstd = {};
  d.var = {};
  d.squared = {};
  d.centred = {};
  d.mean = {};
  d.x = {};
}

int main() { return dojo::check(dojo::layer_norm(backward)); }
