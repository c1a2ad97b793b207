// What watching a training costs: epochs of the net that `xgrad train` trains by default, one with
// a teach::Observer that records every 10 steps and one without in turn, and the ratio of
// neighbours.
#include <algorithm>

#include "worker.hpp"
#include "xgrad/teach/observer.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace nn = xgrad::nn;

namespace {

struct Training {
  nn::Sequential net{nn::Linear(64, 64), nn::LayerNorm(64), nn::ReLU(),        nn::Linear(64, 32),
                     nn::LayerNorm(32),  nn::ReLU(),        nn::Linear(32, 10)};
  xg::optim::Adam optimizer{net.parameters(), {.lr = 0.003}};
  xg::data::DataLoader loader{xg::data::digits_split().train, {.batch_size = 32, .shuffle = true}};

  double epoch(xg::teach::Observer* observer) {
    const double start = bench::seconds(false);
    for (const xg::data::Batch& batch : loader) {
      const xg::Tensor loss = xg::cross_entropy(net(batch.inputs), batch.labels);
      optimizer.zero_grad();
      loss.backward();
      observer ? observer->step(optimizer, loss) : optimizer.step();
    }
    return bench::seconds(false) - start;
  }
};

}  // namespace

int main(int argc, char** argv) {
  xg::set_num_threads(1);
  Training plain, watched;
  xg::teach::Observer observer(watched.net, {.every = argc > 1 ? std::atol(argv[1]) : 10});
  std::vector<double> ratios;
  for (int round = 0; round < 220; ++round) {
    const double without = plain.epoch(nullptr);
    const double with = watched.epoch(&observer);
    if (round >= 20) ratios.push_back(with / without);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("an epoch on the digits with an observer, / without: %.3f (%.3f-%.3f)\n", ratios[100],
              ratios[50], ratios[150]);
}
