// What beginners get wrong, each with what it prints.
#include <cmath>
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  const xg::Tensor out = layer(batch).detach();
  const xg::Tensor mean = out.mean({.dim = -1, .keepdim = true});
  const xg::Tensor var = out.var({.dim = -1, .unbiased = false, .keepdim = true});
  const xg::Tensor norm = (out - mean) / xg::sqrt(var);

  std::cout << "1. The mean over all elements: one number, so no row gets mean 0.\n";
  std::cout << out.mean() << " instead of " << mean.tolist().fixed(4) << "\n";
  const xg::Tensor global = (out - out.mean()) / out.std({.unbiased = false});
  std::cout << "row means after it: " << global.mean(-1).tolist().fixed(4) << "\n\n";

  std::cout << "2. keepdim dropped: the statistic does not line up with the rows any more.\n";
  std::cout << out.mean(-1).shape() << " instead of " << mean.shape() << "\n";
  try {
    out - out.mean(-1);
  } catch (const xg::ShapeError& error) {
    std::cout << error.what() << "\n";
  }
  std::cout << "With as many rows as features there is no error, but row j's mean is taken from\n"
               "column j. Wrong, then right:\n";
  const xg::Tensor square = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}, {7.0, 8.0, 9.0}});
  std::cout << (square - square.mean(-1)).tolist() << "\n";
  std::cout << (square - square.mean(-1, true)).tolist() << "\n\n";

  std::cout
      << "3. Expecting no negatives because ReLU left none: subtracting the mean makes some.\n"
         "Check the mean and the variance instead of the sign (lesson 7).\n";
  std::cout << norm << "\n";
  std::cout << "negative: " << (out < 0).sum().item<int>() << " before, "
            << (norm < 0).sum().item<int>() << " after\n\n";

  std::cout << "4. Expecting a mean of exactly 0: -5.9605e-08 is rounding, not a bug.\n";
  // Two rows of three features, centred and added up again, one by one, so that the rounding is the
  // same on any machine. A mean would be a third of these sums.
  const xg::Tensor a = xg::tensor({{0.2}, {0.1}});
  const xg::Tensor b = xg::tensor({{0.8}, {0.2}});
  const xg::Tensor c = xg::tensor({{1.0}, {0.3}});
  const xg::Tensor middle = (a + b + c) / 3;
  const xg::Tensor rounding = (a - middle) + (b - middle) + (c - middle);
  std::cout << "as it prints:\n" << rounding << "\n";
  xg::set_printoptions({.sci_mode = false});
  std::cout << "with sci_mode=False:\n" << rounding << "\n";
  xg::set_printoptions({.profile = "default"});
  std::cout << "near 0: " << xg::to_string(xg::allclose(rounding, xg::zeros({2, 1}), 0, 1e-6))
            << "; the next float32 after 1 is " << std::nextafter(1.0f, 2.0f) - 1.0f << " away\n\n";

  std::cout << "5. Checking the numbers of a drawing. Four decimals give a variance near 1; a\n"
               "drawing's single decimal does not. Measure the tensor itself.\n";
  for (const double scale : {10.0, 10000.0}) {
    const xg::Tensor drawn = (norm * scale).round() / scale;
    std::cout << (scale == 10 ? "one decimal:   " : "four decimals: ")
              << drawn.var({.dim = -1, .unbiased = false}).tolist().fixed(4) << "\n";
  }
  std::cout << "the tensor:    " << norm.var({.dim = -1, .unbiased = false}).tolist().fixed(4)
            << "\n\n";

  std::cout << "6. The unbiased variance (the default of var) divides by 5 where the norm divided\n"
               "by 6, so a check with it prints 6/5.\n";
  std::cout << norm.var({.dim = -1, .keepdim = true}) << "\n\n";

  std::cout << "7. A row of zeros, all of its ReLUs dead, has variance 0.\n";
  const xg::Tensor dead = xg::zeros({1, 6});
  const xg::Tensor dead_centred = dead - dead.mean(-1, true);
  std::cout << "without eps: " << dead_centred / xg::sqrt(dead_centred.square().mean(-1, true))
            << "\n";
  std::cout << "with eps:    "
            << dead_centred / xg::sqrt(dead_centred.square().mean(-1, true) + 1e-5) << "\n";
}
