// One training step of a small net, timed beside the same step in libtorch where that is installed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "step.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

/// The step: 784-128-10, ReLU, cross-entropy, SGD with a rate too small to change the problem.
class Step {
 public:
  void run() {
    const xg::Tensor loss = xg::cross_entropy(net_(x_), labels_);
    sgd_.zero_grad();
    loss.backward();
    sgd_.step();
  }

 private:
  xg::nn::Sequential net_{xg::nn::Linear(784, 128), xg::nn::ReLU(), xg::nn::Linear(128, 10)};
  xg::optim::SGD sgd_{net_.parameters(), {.lr = 1e-7}};
  xg::Tensor x_ = xg::randn({64, 784});
  xg::Tensor labels_ = xg::randint(10, {64});
};

/// Microseconds per call over one round of calls.
template <class Work>
double round_time(Work& work) {
  constexpr int calls = 200;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work.run();
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const char* name, const std::vector<double>& times) {
  std::printf("%-10s %8.1f us  (%.1f to %.1f)\n", name, median(times),
              *std::min_element(times.begin(), times.end()),
              *std::max_element(times.begin(), times.end()));
}

}  // namespace

int main() {
  constexpr int rounds = 15;
  Step ours;
  std::vector<double> our_times;
  round_time(ours);  // warm up
#ifdef XGRAD_WITH_TORCH
  bench::TorchStep torch;
  std::vector<double> torch_times;
  std::vector<double> ratios;
  round_time(torch);
#endif
  for (int i = 0; i < rounds; ++i) {
    our_times.push_back(round_time(ours));
#ifdef XGRAD_WITH_TORCH
    torch_times.push_back(round_time(torch));
    ratios.push_back(our_times.back() / torch_times.back());
#endif
  }
  std::printf("training step 784-128-10, batch 64, SGD, 1 thread, median of %d rounds\n", rounds);
  report("xgrad", our_times);
#ifdef XGRAD_WITH_TORCH
  report("libtorch", torch_times);
  std::printf("%-10s %8.2f     (%.2f to %.2f), same processor, same BLAS kernel\n", "ratio",
              median(ratios), *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()));
#else
  std::printf("libtorch is not installed: nothing to compare with\n");
#endif
}
