// A training that may be stopped at any moment: started again, it goes on where it was, and ends as
// if nothing had happened.
#include <cstdio>
#include <filesystem>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

/// Three epochs, unless the plug is pulled after a step. Returns the loss of the last one.
double train(const std::string& folder, std::int64_t plug = -1) {
  xg::manual_seed(0);
  auto net = xg::nn::Sequential(xg::nn::Linear(64, 32), xg::nn::BatchNorm1d(32), xg::nn::ReLU(),
                                xg::nn::Dropout(0.1), xg::nn::Linear(32, 10));
  xg::optim::Adam adam(net.parameters(), {.lr = 0.01});
  xg::data::DataLoader loader(xg::data::digits_split().train, {.batch_size = 64, .shuffle = true});

  xg::Checkpoint run{.model = &net, .optimizer = &adam, .loader = &loader};
  if (xg::load_checkpoint(folder, run)) std::printf("goes on after step %d\n", int(run.step));
  double last = 0;
  while (loader.epoch() < 3) {
    for (const auto& [images, labels] : loader) {  // the rest of the epoch, after a load
      xg::Tensor loss = xg::cross_entropy(net(images), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      last = loss.item<double>();
      if (++run.step % 10 == 0) xg::save_checkpoint(folder, run);
      if (run.step == plug) return last;
    }
  }
  std::printf("%d steps in %d epochs\n", int(run.step), int(loader.epoch()));
  return last;
}

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "xgrad_checkpoint_example";
  std::filesystem::remove_all(folder);
  const double whole = train(folder / "whole");
  train(folder / "stopped", 34);
  const double resumed = train(folder / "stopped");
  std::printf("the same to the last bit: %s\n", resumed == whole ? "yes" : "no");
  std::filesystem::remove_all(folder);
}
