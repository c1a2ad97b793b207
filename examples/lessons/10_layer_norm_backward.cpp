// LayerNorm backward three ways: the graph, by hand step by step, the library.
#include "compare.hpp"

int main() {
  xg::manual_seed(0);
  const std::int64_t n = 6;
  xg::Tensor x = xg::randn({4, n}, {.dtype = xg::float64, .requires_grad = true});
  xg::Tensor weight = xg::randn({n}, {.dtype = xg::float64, .requires_grad = true});
  xg::Tensor bias = xg::randn({n}, {.dtype = xg::float64, .requires_grad = true});
  const xg::Tensor dy = xg::randn({4, n}, {.dtype = xg::float64});  // what arrives from above

  // ---- 1. Composed: every step is an operation, so the graph knows how to go back.
  const xg::Tensor mean = x.mean(-1, true);
  const xg::Tensor centred = x - mean;
  const xg::Tensor squared = centred * centred;
  const xg::Tensor var = squared.mean(-1, true);
  const xg::Tensor rstd = xg::rsqrt(var + 1e-5);
  const xg::Tensor xhat = centred * rstd;
  const xg::Tensor y = xhat * weight + bias;
  const auto graph =
      xg::grad(y, {bias, weight, xhat, rstd, var, squared, centred, mean, x}, {.grad_output = dy});

  // ---- 2. By hand, from the last line of the forward pass to its first.
  const xg::NoGrad no_grad;
  // y = xhat * weight + bias: both were stretched over the rows, so their gradients sum over them.
  const xg::Tensor dbias = dy.sum(0);
  const xg::Tensor dweight = (dy * xhat).sum(0);
  const xg::Tensor dxhat = dy * weight;
  // xhat = centred * rstd: rstd is one number per row, so its gradient sums over the row.
  const xg::Tensor drstd = (dxhat * centred).sum(-1, true);
  // rstd = (var + eps)^(-1/2)
  const xg::Tensor dvar = drstd * -0.5 * rstd * rstd * rstd;
  // var = sum(squared) / n: each square has the same share.
  const xg::Tensor dsquared = (dvar / double(n)).expand({4, n});
  // centred is used twice, in xhat and squared: the two gradients add up.
  const xg::Tensor dcentred = dxhat * rstd + dsquared * 2 * centred;
  // centred = x - mean
  const xg::Tensor dmean = -dcentred.sum(-1, true);
  // x is used twice as well, in centred and in mean = sum(x) / n.
  const xg::Tensor dx = dcentred + dmean / double(n);

  std::printf("by hand against the graph\n");
  compare("dbias", dbias, graph[0]);
  compare("dweight", dweight, graph[1]);
  compare("dxhat", dxhat, graph[2]);
  compare("drstd", drstd, graph[3]);
  compare("dvar", dvar, graph[4]);
  compare("dsquared", dsquared, graph[5]);
  compare("dcentred", dcentred, graph[6]);
  compare("dmean", dmean, graph[7]);
  compare("dx", dx, graph[8]);

  // All of it in one line: the direct term, minus what goes through the mean, minus what goes
  // through the variance.
  const xg::Tensor one_line =
      rstd * (dxhat - dxhat.mean(-1, true) - xhat * (dxhat * xhat).mean(-1, true));
  compare("dx, line", one_line, graph[8]);

  // ---- 3. The library.
  xg::nn::LayerNorm norm(n);
  norm.to(xg::float64);
  norm.weight.copy_(weight);
  norm.bias.copy_(bias);
  xg::Tensor library_y;
  {
    const xg::EnableGrad record;
    library_y = norm(x);
  }
  const auto library = xg::grad(library_y, {x, norm.weight, norm.bias}, {.grad_output = dy});
  std::printf("\nlibrary against by hand\n");
  compare("y", library_y, y);
  compare("dx", library[0], dx);
  compare("dweight", library[1], dweight);
  compare("dbias", library[2], dbias);
  std::printf("\nlibrary against the graph\n");
  compare("dx", library[0], graph[8]);
  compare("dweight", library[1], graph[1]);
  compare("dbias", library[2], graph[0]);
}
