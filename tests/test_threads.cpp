// The number of threads changes no bit of any result.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "support/values.hpp"
#include "xgrad/threads.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

using Tensors = std::vector<Tensor>;

struct NumThreads : testing::Test {
  int before = xg::get_num_threads();
  ~NumThreads() override { xg::set_num_threads(before); }
};

void expect_same_bits(const Tensors& got, const Tensors& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto a = got[i].data<float>(), b = expected[i].data<float>();
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << what << ", tensor " << i;
  }
}

/// What `make` returns with one thread, and with others.
template <class F>
void expect_independent(const std::string& what, F make) {
  xg::set_num_threads(1);
  const Tensors expected = make();
  for (const int n : {2, 3}) {
    xg::set_num_threads(n);
    expect_same_bits(make(), expected, what + " with " + std::to_string(n) + " threads");
  }
}

/// f of x and its gradients. Odd sizes, and large enough for several threads.
void expect_operation(const char* what, std::function<Tensor(const Tensors&)> f) {
  xg::manual_seed(7);
  Tensors in = {xg::randn({1001, 803}), xg::randn({1001, 803}), xg::randn({803}), xg::randn({803})};
  for (Tensor& x : in) x.requires_grad_();
  const Tensor g = xg::randn(f(in).shape());
  expect_independent(what, [&] {
    const Tensor y = f(in);
    Tensors all = xg::grad(y, in, {.grad_output = g, .allow_unused = true});
    std::erase_if(all, [](const Tensor& x) { return !x.defined(); });
    all.push_back(y.detach());
    return all;
  });
}

}  // namespace

TEST_F(NumThreads, NumberIsChecked) {
  EXPECT_GE(before, 1);
  for (const int n : {3, 1}) {
    xg::set_num_threads(n);
    EXPECT_EQ(xg::get_num_threads(), n);
  }
  expect_error<xg::Error>([] { xg::set_num_threads(0); }, {"set_num_threads", "0"});
  EXPECT_EQ(xg::get_num_threads(), 1);
}

TEST_F(NumThreads, OperationsKeepEveryBit) {
  using X = const Tensors&;
  const Tensor labels = xg::randint(803, {1001});
  expect_operation("add", [](X x) { return x[0] + x[1]; });
  expect_operation("add bias", [](X x) { return x[0] + x[2]; });
  expect_operation("mul column", [](X x) { return x[0] * x[1].sum(1, true); });
  expect_operation("gelu", [](X x) { return xg::gelu(x[0]); });
  expect_operation("relu", [](X x) { return xg::relu(x[0]); });
  expect_operation("sum", [](X x) { return x[0].sum(0) + x[1].sum(0); });
  expect_operation("layer_norm", [](X x) { return xg::layer_norm(x[0], {803}, x[2], x[3]); });
  expect_operation("rms_norm", [](X x) { return xg::rms_norm(x[0], {803}, x[2]); });
  expect_operation("batch_norm", [](X x) {
    return xg::batch_norm(x[0], {}, {}, x[2], x[3], {.training = true});
  });
  expect_operation("softmax", [](X x) { return xg::softmax(x[0], 1); });
  expect_operation("log_softmax", [](X x) { return xg::log_softmax(x[0], 1); });
  expect_operation("cross_entropy", [labels](X x) { return xg::cross_entropy(x[0], labels); });
}

TEST_F(NumThreads, ProductsKeepEveryBit) {
  for (const auto& [batch, in, out] : std::vector<std::array<std::int64_t, 3>>{{512, 784, 256},
                                                                               {32, 784, 256},
                                                                               {128, 784, 128},
                                                                               {300, 200, 250},
                                                                               {1000, 67, 311},
                                                                               {47, 1030, 515},
                                                                               {1, 2000, 3000},
                                                                               {2000, 3000, 1}}) {
    xg::manual_seed(9);
    Tensors leaves = {xg::randn({batch, in}), xg::randn({out, in}), xg::randn({out})};
    for (Tensor& x : leaves) x.requires_grad_();
    const Tensor g = xg::randn({batch, out});
    expect_independent("linear " + xg::Shape{batch, in, out}.str(), [&] {
      const Tensor y = xg::linear(leaves[0], leaves[1], leaves[2]);
      Tensors all = xg::grad(y, leaves, {.grad_output = g});
      all.push_back(y.detach());
      return all;
    });
  }
}

TEST_F(NumThreads, TrainingKeepsEveryBit) {
  for (const bool adam : {false, true}) {
    expect_independent(adam ? "adam" : "sgd", [adam] {
      xg::manual_seed(11);
      auto net =
          xg::nn::Sequential(xg::nn::Linear(784, 256), xg::nn::LayerNorm(256), xg::nn::ReLU(),
                             xg::nn::Linear(256, 256), xg::nn::BatchNorm1d(256), xg::nn::ReLU(),
                             xg::nn::Linear(256, 10));
      std::unique_ptr<xg::optim::Optimizer> optimizer;
      if (adam) {
        optimizer = std::make_unique<xg::optim::Adam>(net.parameters());
      } else {
        optimizer = std::make_unique<xg::optim::SGD>(
            net.parameters(), xg::optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
      }
      for (int step = 0; step < 4; ++step) {
        optimizer->zero_grad();
        xg::cross_entropy(net(xg::randn({512, 784})), xg::randint(10, {512})).backward();
        optimizer->step();
      }
      Tensors parameters;
      for (const Tensor& p : net.parameters()) parameters.push_back(p.detach());
      return parameters;
    });
  }
}

// Two at once, for one set of workers.
TEST_F(NumThreads, UsedByTwoThreadsAtOnce) {
  xg::manual_seed(13);
  const Tensor x = xg::randn({1000, 900}), w = xg::randn({300, 900});
  const auto work = [&] { return Tensors{xg::softmax(xg::relu(x) + 1, 1), xg::linear(x, w)}; };
  xg::set_num_threads(1);
  const Tensors expected = work();
  xg::set_num_threads(3);
  const auto repeat = [&] {
    for (int i = 0; i < 10; ++i) expect_same_bits(work(), expected, "at once");
  };
  std::thread other(repeat);
  repeat();
  other.join();
}
