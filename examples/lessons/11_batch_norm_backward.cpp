// BatchNorm backward three ways, in train and in eval mode: the mode changes the gradient.
#include "compare.hpp"

/// Gradients by x, weight and bias.
struct Gradients {
  xg::Tensor x, weight, bias;
};

/// Train: the steps of lesson 10, taken down the columns (dim 0). Mean and variance depend on x, so
/// part of the gradient goes through them.
Gradients train_by_hand(const xg::Tensor& x, const xg::Tensor& weight, const xg::Tensor& dy) {
  const double n = double(x.size(0));
  const xg::Tensor centred = x - x.mean(0);
  const xg::Tensor rstd = xg::rsqrt((centred * centred).mean(0) + 1e-5);
  const xg::Tensor dxhat = dy * weight;
  const xg::Tensor drstd = (dxhat * centred).sum(0);
  const xg::Tensor dvar = drstd * -0.5 * rstd * rstd * rstd;
  const xg::Tensor dcentred = dxhat * rstd + dvar / n * 2 * centred;
  const xg::Tensor dmean = -dcentred.sum(0);
  return {dcentred + dmean / n, (dy * centred * rstd).sum(0), dy.sum(0)};
}

/// Eval: the running statistics are constants. Nothing goes through them, and what is left is a
/// scale per column.
Gradients eval_by_hand(const xg::Tensor& x, const xg::Tensor& weight, const xg::Tensor& dy,
                       const xg::Tensor& running_mean, const xg::Tensor& running_var) {
  const xg::Tensor rstd = xg::rsqrt(running_var + 1e-5);
  return {dy * weight * rstd, (dy * (x - running_mean) * rstd).sum(0), dy.sum(0)};
}

int main() {
  xg::manual_seed(0);
  xg::Tensor x = xg::randn({8, 3}, {.dtype = xg::float64, .requires_grad = true});
  const xg::Tensor dy = xg::randn({8, 3}, {.dtype = xg::float64});
  xg::nn::BatchNorm1d norm(3);
  norm.to(xg::float64);
  {
    const xg::NoGrad no_grad;
    norm.weight.copy_(xg::tensor({0.5, 1.5, -2.0}));
    norm.bias.copy_(xg::tensor({0.1, 0.0, -0.3}));
  }

  xg::Tensor dx_of_mode[2];
  for (const bool training : {true, false}) {
    norm.train(training);
    // 1. Composed. Before the module runs, since that moves the running statistics.
    const xg::Tensor mean = training ? x.mean(0) : norm.running_mean.clone();
    const xg::Tensor var =
        training ? x.var({.dim = 0, .unbiased = false}) : norm.running_var.clone();
    const xg::Tensor y = (x - mean) / xg::sqrt(var + 1e-5) * norm.weight + norm.bias;
    const auto graph = xg::grad(y, {x, norm.weight, norm.bias}, {.grad_output = dy});
    // 2. By hand.
    const Gradients hand = training ? train_by_hand(x.detach(), norm.weight.detach(), dy)
                                    : eval_by_hand(x.detach(), norm.weight.detach(), dy, mean, var);
    // 3. The library.
    const xg::Tensor library_y = norm(x);
    const auto library = xg::grad(library_y, {x, norm.weight, norm.bias}, {.grad_output = dy});

    std::printf("%s mode, by hand against the graph\n", training ? "train" : "eval");
    compare("dx", hand.x, graph[0]);
    compare("dweight", hand.weight, graph[1]);
    compare("dbias", hand.bias, graph[2]);
    std::printf("library against by hand\n");
    compare("y", library_y, y);
    compare("dx", library[0], hand.x);
    compare("dweight", library[1], hand.weight);
    compare("dbias", library[2], hand.bias);
    std::printf("\n");
    dx_of_mode[training] = library[0];
  }

  // In train mode nothing can be gained by moving a whole column, so its gradients sum to 0.
  const auto sum_of_columns = [](const xg::Tensor& dx) {
    return dx.sum(0).abs().max().item<double>();
  };
  std::printf("largest column sum of dx: train %.0e, eval %.2f\n", sum_of_columns(dx_of_mode[1]),
              sum_of_columns(dx_of_mode[0]));
}
