#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

// What happens on one thread does not depend on what others do meanwhile.

namespace xg = xgrad;

namespace {

using xg::Tensor;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int products = 2;
#else
constexpr int products = 15;
#endif

/// Losses and final weights of a training run: random weights, data, dropout, order of batches.
std::vector<Tensor> trained(std::uint64_t seed) {
  xg::manual_seed(seed);
  auto net = xg::nn::Sequential(xg::nn::Linear(20, 64), xg::nn::BatchNorm1d(64), xg::nn::ReLU(),
                                xg::nn::Dropout(0.2), xg::nn::Linear(64, 32), xg::nn::LayerNorm(32),
                                xg::nn::Tanh(), xg::nn::Linear(32, 5));
  xg::optim::AdamW adam(net.parameters(), {.lr = 3e-3});
  const Tensor x = xg::randn({300, 20}), labels = xg::randint(5, {300});
  std::vector<Tensor> values;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Tensor order = xg::randperm(300);
    for (int start = 0; start < 300; start += 60) {
      const Tensor batch = order.narrow(0, start, 60);
      const Tensor loss =
          xg::cross_entropy(net(x.index_select(0, batch)), labels.index_select(0, batch));
      adam.zero_grad();
      loss.backward();
      adam.step();
      values.push_back(loss.detach());
    }
    const xg::NoGrad no_grad;
    net.eval();
    values.push_back(net(x));
    net.train();
  }
  for (const Tensor& p : net.parameters()) values.push_back(p.detach());
  return values;
}

TEST(Threads, X04EachTrainsItsOwnModelAsIfAlone) {
  const std::vector<std::vector<Tensor>> alone = {trained(1), trained(2), trained(3)};
  std::vector<std::vector<Tensor>> together(alone.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i) {
    threads.emplace_back([&together, i] { together[i] = trained(i + 1); });
  }
  // And here another that records nothing.
  const xg::NoGrad no_grad;
  xg::nn::Linear layer(20, 64);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(layer(xg::ones({30, 20})).requires_grad());
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(together[i].size(), alone[i].size());
    for (std::size_t v = 0; v < alone[i].size(); ++v) {
      EXPECT_TRUE(xg::equal(together[i][v], alone[i][v])) << "model " << i << ", value " << v;
    }
  }
}

TEST(Threads, X04ProductsOfManyAtOnce) {
  const Tensor eights = xg::full({999, 999}, 8.0F), fives = xg::full({999, 999}, 5.0F);
  const Tensor expected = xg::full({999, 999}, 39960.0F);
  std::vector<int> wrong(8);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < products; ++i) {
        // The product's memory is likely to be this, and is not read.
        xg::full({999, 999}, std::numeric_limits<float>::quiet_NaN());
        count += !xg::equal(xg::matmul(eights, fives), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

TEST(Threads, AnomalyModeIsPerThread) {
  const xg::AnomalyMode anomaly;
  const auto nan_gradient = [] {
    const Tensor x = xg::full({1}, -1.0, {.requires_grad = true});
    x.sqrt().backward();
  };
  std::thread([&] { EXPECT_NO_THROW(nan_gradient()); }).join();
  EXPECT_THROW(nan_gradient(), xg::GraphError);
}

TEST(Threads, EachStartsRecordingWithAFreshGenerator) {
  const xg::NoGrad no_grad;
  xg::manual_seed(5);
  xg::randn({3});
  Tensor first;
  bool records = false;
  std::thread([&] {
    first = xg::randn({4});
    records = (xg::ones({2}, {.requires_grad = true}) * 2).requires_grad();
  }).join();
  EXPECT_TRUE(records);
  xg::manual_seed(0);
  EXPECT_TRUE(xg::equal(first, xg::randn({4})));
}

TEST(Threads, TheNumberOfThreadsChangesWhileOthersMultiply) {
  const int before = xg::get_num_threads();
  xg::manual_seed(4);
  const Tensor a = xg::randint(9, {250, 190}).to(xg::float32);  // whole numbers: exact sums
  const Tensor b = xg::randint(9, {190, 310}).to(xg::float32);
  const Tensor expected = xg::matmul(a, b);
  std::thread other([] {
    for (int i = 0; i < 100; ++i) xg::set_num_threads(1 + i % 2);
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(xg::equal(xg::matmul(a, b), expected));
  other.join();
  xg::set_num_threads(before);
}

}  // namespace
