// BatchNorm in train and eval mode: what is kept from batch to batch, how, and what stops it.
// LayerNorm beside it keeps nothing.
#include <cstdio>
#include <iostream>
#include <optional>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  xg::nn::BatchNorm1d norm(2);  // momentum 0.1
  std::cout << "start: running mean " << norm.running_mean.tolist() << ", running var "
            << norm.running_var.tolist() << "\n\n";

  // Three batches of four rows. The running statistics move a tenth of the way to each batch's.
  xg::manual_seed(1);
  xg::Tensor mean = xg::zeros({2});
  xg::Tensor var = xg::ones({2});
  xg::Tensor batch;
  xg::Tensor train_out;
  for (int step = 1; step <= 3; ++step) {
    batch = xg::randn({4, 2}) * 3 + 10;
    const xg::Tensor biased = batch.var({.dim = 0, .unbiased = false});  // divided by n = 4
    const xg::Tensor unbiased = batch.var({.dim = 0});                   // divided by n - 1 = 3
    train_out = norm(batch);
    mean = mean * 0.9 + batch.mean(0) * 0.1;
    var = var * 0.9 + unbiased * 0.1;

    std::cout << "batch " << step << ": mean " << batch.mean(0).tolist().fixed(4) << "\n";
    std::cout << "  variance biased " << biased.tolist().fixed(4) << ", unbiased "
              << unbiased.tolist().fixed(4) << "\n";
    std::cout << "  running mean " << norm.running_mean.tolist().fixed(4) << ", by hand "
              << mean.tolist().fixed(4) << "\n";
    std::cout << "  running var  " << norm.running_var.tolist().fixed(4) << ", by hand "
              << var.tolist().fixed(4) << "\n";
    // The batch itself is normalized with its biased variance, as in LayerNorm.
    const xg::Tensor by_hand = (batch - batch.mean(0)) / xg::sqrt(biased + 1e-5);
    std::cout << "  output uses the biased one: "
              << xg::to_string(xg::allclose(train_out, by_hand, 1e-4, 1e-6)) << "\n";
  }

  // After training the batch has no say: each row is rescaled by the running statistics.
  norm.eval();
  const xg::Tensor eval_out = norm(batch);
  const xg::Tensor by_running = (batch - norm.running_mean) / xg::sqrt(norm.running_var + 1e-5);
  std::cout << "\ntrain mode, first row: " << train_out[0].tolist().fixed(4) << "\n";
  std::cout << "eval mode, first row:  " << eval_out[0].tolist().fixed(4) << "\n";
  std::cout << "eval is (x - running_mean) / sqrt(running_var + eps): "
            << xg::to_string(xg::allclose(eval_out, by_running)) << "\n";
  std::cout << "one row alone in eval: " << norm(batch.narrow(0, 0, 1)).tolist().fixed(4) << "\n\n";

  // What stops the running statistics, and what does not.
  const auto moves = [&](const char* what) {
    const xg::Tensor old = norm.running_mean.clone();
    norm(batch + 1);
    std::cout << what << (xg::equal(old, norm.running_mean) ? ": frozen\n" : ": moving\n");
  };
  moves("eval()");
  norm.train();
  moves("train()");
  {
    const xg::NoGrad no_grad;
    moves("train(), NoGrad");
  }
  norm.requires_grad_(false);
  moves("train(), requires_grad_(false)");
  norm.requires_grad_(true);
  norm.freeze();  // a method that PyTorch does not have
  norm.train();
  moves("freeze(), then train()");
  norm.unfreeze();
  moves("unfreeze()");
  std::cout << "\n";

  // Momentum is the weight of the new batch. None: the plain average of all batches so far. The
  // running mean after batches whose means are 10, 20 and 60:
  for (const std::optional<double> momentum :
       {std::optional(0.5), std::optional(1.0), std::optional<double>()}) {
    xg::nn::BatchNorm1d other(1, {.momentum = momentum});
    std::cout << other << ":";
    for (const double value : {10.0, 20.0, 60.0}) {
      other(xg::tensor({{value - 1}, {value + 1}}));
      std::cout << " " << other.running_mean.tolist().round(4);
    }
    std::cout << "\n";
  }

  // LayerNorm: no buffers, so nothing to move, to freeze or to forget to save, and no second mode.
  xg::nn::LayerNorm layer_norm(2);
  const xg::Tensor in_train = layer_norm(batch);
  layer_norm.eval();
  std::cout << "\nLayerNorm keeps " << layer_norm.named_buffers()
            << ", train equals eval: " << xg::to_string(xg::equal(in_train, layer_norm(batch)))
            << "\n";
}
