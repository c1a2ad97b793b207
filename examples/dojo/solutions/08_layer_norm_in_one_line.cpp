// LayerNorm in one line: direct, minus what the mean takes, minus what the variance takes.
#include "../dojo.hpp"

/// Given d.y (4, 6), write d.x (4, 6) with f.weight, f.xhat and f.rstd alone.
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  const xg::Tensor dxhat = d.y * f.weight;
  d.x = f.rstd * (dxhat - dxhat.mean(-1, true) - f.xhat * (dxhat * f.xhat).mean(-1, true));
}

int main() { return dojo::check(dojo::layer_norm_in_one_line(backward)); }
