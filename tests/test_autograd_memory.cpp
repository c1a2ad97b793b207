#include <pthread.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "support/values.hpp"

/// Long graphs, and what is alive when.

namespace {

namespace xg = xgrad;
using xg::Tensor;

constexpr int million = 1000000;

Tensor leaf(double value) {
  return xg::tensor(value, {.dtype = xg::float64, .requires_grad = true});
}

/// Calls f on a thread with this much stack: far less than the usual 8 MiB, so that one frame per
/// node of a long chain would not fit.
template <class F>
void on_small_stack(F f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20), 0);
  pthread_t thread;
  const auto call = [](void* function) -> void* {
    (*static_cast<F*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// What is alive, to be compared with what was alive before.
struct Alive {
  std::int64_t nodes = xg::live_nodes();
  std::int64_t bytes = xg::live_bytes();
  bool operator==(const Alive&) const = default;
};

std::ostream& operator<<(std::ostream& os, const Alive& alive) {
  return os << alive.nodes << " nodes, " << alive.bytes << " bytes";
}

/// A chain of 10^6 nodes from x, dropped once without and once after a backward pass.
template <class Step>
void expect_chain_comes_and_goes(Step step, int nodes_per_step, double derivative) {
  const int steps = million / nodes_per_step;
  on_small_stack([&] {
    const Alive before;
    {
      const Tensor x = leaf(1.0);
      {
        Tensor y = x;
        for (int i = 0; i < steps; ++i) y = step(y, x);
        EXPECT_GE(xg::live_nodes(), before.nodes + steps * nodes_per_step);
      }
      Tensor y = x;
      for (int i = 0; i < steps; ++i) y = step(y, x);
      y.backward();
      EXPECT_NEAR(x.grad().item<double>(), derivative, 1e-9 * derivative);
    }
    EXPECT_EQ(Alive(), before);
  });
}

TEST(LongChains, HeldByEdges) {
  expect_chain_comes_and_goes([](const Tensor& y, const Tensor&) { return y + 1; }, 1, 1);
}

TEST(LongChains, HeldBySavedTensors) {
  // Each node saves the output of the one before.
  expect_chain_comes_and_goes([](const Tensor& y, const Tensor& x) { return y * x; }, 1,
                              million + 1);
}

TEST(LongChains, HeldByOutputs) {
  // sqrt keeps its output; at 1 its slope is a half, which the factor makes up for.
  expect_chain_comes_and_goes([](const Tensor& y, const Tensor&) { return sqrt(y) * 2 - 1; }, 3, 1);
}

TEST(LongChains, A04RoundingOverManySteps) {
  on_small_stack([] {
    const Tensor x = leaf(1.0);
    Tensor y = x;
    for (int i = 0; i < 300000; ++i) y = y + 1e-6 * y;
    y.backward();
    EXPECT_NEAR(x.grad().item<double>(), 1.349858605, 1.4e-9);
  });
}

TEST(LongChains, A04AbandonedByAnException) {
  on_small_stack([] {
    const Alive before;
    EXPECT_THROW(
        {
          const Tensor x = leaf(1.0);
          Tensor y = x;
          for (int i = 0; i < 300000; ++i) {
            y = y + 1e-6 * y;
            if (i == 150000) reshape(y, {2});
          }
        },
        xg::ShapeError);
    EXPECT_EQ(Alive(), before);
  });
}

TEST(LongChains, AbandonedDuringBackward) {
  on_small_stack([] {
    const Alive before;
    {
      const Tensor x = leaf(1.0);
      Tensor y = x;
      for (int i = 0; i < 300000; ++i) {
        y = y * 1.0;
        if (i == 150000) y.register_hook([](const Tensor&) { throw std::runtime_error("stop"); });
      }
      EXPECT_THROW(y.backward(), std::runtime_error);
      EXPECT_FALSE(x.has_grad());
    }
    EXPECT_EQ(Alive(), before);
  });
}

TEST(LongChains, DifferentiatedTwice) {
  on_small_stack([] {
    const Alive before;
    {
      const Tensor x = leaf(1.0);
      Tensor y = x;
      for (int i = 0; i < 100000; ++i) y = y * x;
      const Tensor first = xg::grad(y, {x}, {.create_graph = true})[0];
      EXPECT_EQ(first.item<double>(), 100001);
      EXPECT_EQ(xg::grad(first, {x})[0].item<double>(), 100001.0 * 100000);
    }
    EXPECT_EQ(Alive(), before);
  });
}

// ---- nothing stays ------------------------------------------------------------------------------

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST(Memory, A12NothingIsLeftOfAnIteration) {
  const Tensor x = leaf(0.5);
  tanh(x).backward();
  const Alive before;
  [[maybe_unused]] const std::int64_t resident = resident_bytes();
  std::vector<double> losses;
  for (int i = 0; i < 10000; ++i) {
    {
      const Tensor y = tanh(x);
      y.backward();
      losses.push_back(y.item<double>());
      // The graph is gone while the loss still lives: only its own node and value are left.
      ASSERT_EQ(xg::live_nodes(), before.nodes + 1);
    }
    { const Tensor dropped = tanh(x); }
    ASSERT_EQ(Alive(), before);
  }
  EXPECT_FALSE(x.grad().requires_grad());
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory for a while
  EXPECT_LT(resident_bytes() - resident, 1 << 20);
#else
  (void)resident;
#endif
}

TEST(Memory, ActivationsAreFreedWhileTheLossLives) {
  const Tensor x = xg::ones({1000}, {.dtype = xg::float64, .requires_grad = true});
  x.set_grad(xg::zeros({1000}, {.dtype = xg::float64}));
  const Alive before;
  Tensor loss;
  {
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = tanh(y) * x;
    loss = y.sum();
  }
  EXPECT_GT(xg::live_bytes(), before.bytes + 10 * 8000);
  loss.backward();
  EXPECT_EQ(xg::live_nodes(), before.nodes + 1);
  EXPECT_LT(xg::live_bytes(), before.bytes + 1000);
}

TEST(Memory, ActivationsAreFreedAsBackwardGoes) {
  const Tensor x = xg::ones({1000}, {.dtype = xg::float64, .requires_grad = true});
  const Alive before;
  std::vector<std::int64_t> alive(10);
  Tensor y = x;
  for (std::int64_t& bytes : alive) {
    y = tanh(y);
    y.register_hook([&bytes](const Tensor&) { bytes = xg::live_bytes(); });
  }
  const Tensor loss = y.sum();
  y = Tensor();
  loss.backward();
  std::int64_t arrays = 2;  // two gradients, and the outputs of the layers up to this one
  for (const std::int64_t bytes : alive) EXPECT_LE(bytes, before.bytes + ++arrays * 8000 + 1000);
}

TEST(Memory, AGradientWithHistoryIsStoredWithoutIt) {
  const Alive before;
  {
    const Tensor x = leaf(2.0);
    x.set_grad(xg::grad(x * x, {x}, {.create_graph = true})[0]);
    EXPECT_FALSE(x.grad().requires_grad());
  }
  EXPECT_EQ(Alive(), before);
}

// ---- threads ------------------------------------------------------------------------------------

TEST(Threads, BackwardThroughSharedLeaves) {
  const Tensor w = xg::ones({64}, {.dtype = xg::float64, .requires_grad = true});
  constexpr int passes = 2000;
  const auto work = [&] {
    for (int i = 0; i < passes; ++i) (w * 2 + w * w).sum().backward();
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  expect_values(w.grad(), std::vector<double>(64, 4.0 * 2 * passes));
}

TEST(Threads, PassesThroughTheSameGraph) {
  const Tensor x = leaf(3.0);
  Tensor y = x;
  for (int i = 0; i < 50; ++i) y = y + x;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      const double got = xg::grad(y, {x}, {.retain_graph = true})[0].item<double>();
      if (got != 51) ADD_FAILURE() << got;
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
}

TEST(Threads, AGraphThatGrowsOnAnotherThread) {
  // The other thread has made nothing yet, so its own count of nodes is far behind.
  const Tensor x = leaf(2.0);
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y * x;
  Tensor z;
  std::thread([&] { z = y * y + x; }).join();
  z.backward();
  EXPECT_EQ(x.grad().item<double>(), 22 * std::pow(2.0, 21) + 1);
}

TEST(Threads, NoGradIsPerThread) {
  const xg::NoGrad no_grad;
  bool enabled = false;
  std::thread([&] { enabled = xg::is_grad_enabled(); }).join();
  EXPECT_TRUE(enabled);
  EXPECT_FALSE(xg::is_grad_enabled());
}

}  // namespace
