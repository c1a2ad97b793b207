// Two rows on two scales give one result, and no row looks at another, in either mode.
#include <cstdio>
#include <iostream>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

int main() {
  xg::nn::LayerNorm norm(3);
  const xg::Tensor x = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}});
  // The second row is the first times ten.
  std::cout << "times ten: " << xg::to_string(xg::equal(x[0] * 10, x[1])) << "\n";
  const xg::Tensor out = norm(x);
  std::cout << out.tolist().round(4) << "\n";

  // The rows agree to four decimals, not to the last digit: eps weighs more where the variance is
  // small. In float64, so that rounding has no part in it:
  norm.to(xg::float64);
  const xg::Tensor exact = norm(x.to(xg::float64));
  const double gap = (exact[0] - exact[1]).abs().max().item<double>();
  std::printf("the rows differ by %.1e before rounding to four decimals\n\n", gap);
  norm.to(xg::float32);

  // The first row, while 31 others hold anything at all: bit for bit the same, and so is its mean.
  xg::manual_seed(0);
  bool same = true;
  for (int i = 0; i < 1000; ++i) {
    const xg::Tensor others = xg::randn({31, 3}) * 100;
    const xg::Tensor batch = xg::cat({xg::tensor({{1.0, 2.0, 3.0}}), others});
    same = same && xg::equal(norm(batch)[0], out[0]);
    same = same && batch[0].mean().item<float>() == 2.0f;
  }
  std::cout << "Same whatever the other rows hold: " << xg::to_string(same) << "\n";

  // One row is a batch already, in both modes.
  const xg::Tensor row = xg::tensor({{2.0, 4.0, 6.0}});
  norm.train();
  const xg::Tensor first = norm(row);
  norm.eval();
  const xg::Tensor second = norm(row);
  std::cout << "Same for one row: " << xg::to_string(xg::equal(first, second)) << "\n\n";

  // There is nothing that a mode could switch: no statistics are kept from batch to batch.
  xg::nn::BatchNorm1d batch_norm(3);
  std::cout << "LayerNorm keeps " << norm.named_buffers() << "\n";
  std::cout << "BatchNorm keeps " << batch_norm.named_buffers() << "\n\n";

  // BatchNorm needs the column: one row has no spread down it.
  try {
    batch_norm(row);
  } catch (const xg::ShapeError& error) {
    std::cout << "BatchNorm of one row: " << error.what() << "\n";
  }
}
