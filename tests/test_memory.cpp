#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "support/values.hpp"
#include "xgrad/memory.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

namespace memory = xg::memory;
using xg::Tensor;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif
constexpr std::int64_t MiB = 1 << 20;

/// Restores the limit.
struct Limit {
  std::int64_t before = memory::stats().limit;
  ~Limit() { memory::set_limit(before); }
};

std::int64_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, pages = 0;
  statm >> total >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(MemoryPool, CountsWhatLivesAndWhatIsKept) {
  memory::trim();
  memory::reset_peak();
  const memory::Stats before = memory::stats();
  EXPECT_EQ(before.allocated, xg::live_bytes());
  EXPECT_EQ(before.peak, before.allocated);
  EXPECT_EQ(before.cached, 0);
  { const Tensor a = xg::empty({3 * MiB / 4}), b = xg::empty({MiB / 4}); }
  const memory::Stats after = memory::stats();
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_EQ(after.peak, before.allocated + 4 * MiB);
  EXPECT_EQ(after.cached >= 4 * MiB && after.cached <= 5 * MiB + 1000, pooled) << after.cached;
  memory::trim();
  EXPECT_EQ(memory::stats().cached, 0);
}

TEST(MemoryPool, KeepsNoMoreThanItsLimit) {
  const Limit limit;
  memory::trim();
  memory::set_limit(3 * MiB);
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 8; ++i) many.push_back(xg::empty({MiB / 4}));
  }
  EXPECT_LE(memory::stats().cached, 3 * MiB);
  EXPECT_EQ(memory::stats().cached > 0, pooled);
  memory::set_limit(0);
  EXPECT_EQ(memory::stats().cached, 0);
  { const Tensor x = xg::empty({MiB}); }
  EXPECT_EQ(memory::stats().cached, 0);
  expect_error<xg::Error>([] { memory::set_limit(-1); }, {"set_limit", "-1"});
}

TEST(MemoryPool, TrimReturnsPagesToTheSystem) {
  if (!pooled) GTEST_SKIP() << "nothing is kept under sanitizers";
  const Limit limit;
  memory::set_limit(256 * MiB);
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 64; ++i) many.push_back(xg::ones({MiB / 4}));
  }
  const std::int64_t full = resident();
  memory::trim();
  EXPECT_LT(resident(), full - 60 * MiB);
}

// What a training loop needs it has after its first steps. Of several counts the least is judged: a
// thread's first product takes pages for its packed operand once, whenever the thread first gets
// one.
TEST(MemoryPool, AStepTakesNoFreshPages) {
  if (!pooled) GTEST_SKIP() << "every block is fresh under sanitizers";
  xg::manual_seed(1);
  auto net = xg::nn::Sequential(xg::nn::Linear(200, 300), xg::nn::LayerNorm(300), xg::nn::ReLU(),
                                xg::nn::Linear(300, 10));
  xg::optim::Adam adam(net.parameters(), {.lr = 1e-3});
  const Tensor x = xg::randn({500, 200}), labels = xg::randint(10, {500});
  const auto step = [&](bool set_to_none) {
    const Tensor loss = xg::cross_entropy(net(x), labels);
    adam.zero_grad({.set_to_none = set_to_none});
    loss.backward();
    adam.step();
  };
  const auto faults = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  for (const bool set_to_none : {true, false}) {
    for (int i = 0; i < 3; ++i) step(set_to_none);
    const memory::Stats kept = memory::stats();
    long least = 1000;
    for (int count = 0; count < 5; ++count) {
      const long before = faults();
      for (int i = 0; i < 10; ++i) step(set_to_none);
      least = std::min(least, faults() - before);
    }
    EXPECT_LE(least, 5);  // the tensors of one step are 1000 pages
    EXPECT_EQ(memory::stats().allocated, kept.allocated);
    EXPECT_EQ(memory::stats().cached, kept.cached);
  }
}

TEST(MemoryPool, RefusesWhatNoMachineHas) {
  if (!pooled) GTEST_SKIP() << "sanitizers end the program";
  for (const std::int64_t size : {std::int64_t{1} << 50, (std::int64_t{1} << 61) - 1}) {
    expect_error<xg::Error>([&] { xg::empty({size}); }, {"out of memory", "bytes"});
  }
}

TEST(MemoryPool, IsEmptiedBeforeAnAllocationFails) {
  if (!pooled) GTEST_SKIP() << "sanitizers reserve all addresses";
  // In a process of its own, which may have only a little more memory than it keeps.
  const pid_t child = fork();
  if (child == 0) {
    { const Tensor x = xg::empty({50 * MiB}); }  // 200 MiB
    rlimit most{};
    std::ifstream statm("/proc/self/statm");
    statm >> most.rlim_cur;
    most.rlim_cur = most.rlim_cur * 4096 + 50 * MiB;
    most.rlim_max = most.rlim_cur;
    setrlimit(RLIMIT_AS, &most);
    const bool kept = memory::stats().cached > 100 * MiB;
    try {
      const Tensor x = xg::empty({30 * MiB});  // 120 MiB, another class
      _exit(kept ? 0 : 2);
    } catch (const xg::Error&) {
      _exit(1);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST(MemoryPool, ThreadsTakeAndReturnEachOthersBlocks) {
  std::vector<std::thread> threads;
  std::vector<Tensor> handed(4);
  const memory::Stats before = memory::stats();
  for (std::size_t t = 0; t < handed.size(); ++t) {
    threads.emplace_back([&handed, t] {
      for (int i = 0; i < 2000; ++i) {
        handed[t] = xg::full({1 + i % 700}, static_cast<double>(t));
        if (i % 500 == 0) memory::trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < handed.size(); ++t) {
    EXPECT_TRUE(xg::equal(handed[t], xg::full_like(handed[t], static_cast<double>(t))));
  }
  handed.clear();  // made by threads that have ended
  EXPECT_EQ(memory::stats().allocated, before.allocated);
}

}  // namespace
