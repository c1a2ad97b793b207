#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>

#include "xgrad/xgrad.hpp"

/// Calls that once went wrong: each must be refused, or give the right value.

namespace xg = xgrad;
using xg::Tensor;

TEST(Misuse, ARuleReturnsOneGradientForEachInput) {
  const Tensor x = xg::ones({2}, {.requires_grad = true});
  const Tensor two = xg::record(
      x.detach() * 2, "TwoBackward", [](const Tensor& g) { return xg::grads(g, g); }, x);
  EXPECT_THROW(two.sum().backward(), xg::GraphError);
  const std::vector<Tensor> inputs = {x};
  const Tensor nine = xg::record_list(
      x.detach() * 2, "NineBackward", [](const Tensor& g) { return std::vector<Tensor>(9, g); },
      inputs);
  EXPECT_THROW(nine.sum().backward(), xg::GraphError);
  EXPECT_FALSE(x.has_grad());
}

TEST(Misuse, RecordNeedsAFreshOutputAndAName) {
  const Tensor x = xg::ones({2}, {.requires_grad = true});
  const auto rule = [](const Tensor& g) { return g; };
  EXPECT_THROW(xg::record(x, "SameBackward", rule, x), xg::GraphError);
  EXPECT_TRUE(x.is_leaf());
  EXPECT_THROW(xg::record(x.detach(), "", rule, x), xg::Error);
}

TEST(Misuse, GradLeavesTheGraphBelowItsInputs) {
  const Tensor x = xg::tensor({1.0, 2.0}, {.requires_grad = true});
  const Tensor m = x * x;
  EXPECT_EQ(xg::grad(m.sum(), {m})[0].to_vector<int>(), (std::vector<int>{1, 1}));
  (m * 2).sum().backward();
  EXPECT_EQ(x.grad().to_vector<int>(), (std::vector<int>{4, 8}));
}

TEST(Misuse, AFailedPassLeavesNoNameBehind) {
  const Tensor x = xg::ones({2}, {.requires_grad = true});
  const Tensor y = xg::record(
      x.detach() * 2, "ThrowingBackward",
      [](const Tensor&) -> Tensor { throw xg::Error("on purpose"); }, x);
  EXPECT_THROW(y.sum().backward(), xg::Error);
  Tensor changed = xg::ones({2});
  const xg::Saved saved = xg::save(changed);
  changed += 1;
  try {
    static_cast<void>(saved.get());
    FAIL() << "the change went unnoticed";
  } catch (const xg::GraphError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("backward: ", 0), 0U) << e.what();
  }
}

TEST(Misuse, WholeNumbersStayExact) {
  const std::int64_t big = std::int64_t{1} << 53;
  EXPECT_EQ(xg::arange(big + 1, big + 4).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{big + 1, big + 2, big + 3}));
  EXPECT_EQ(xg::arange(1.5, {.dtype = xg::int64}).numel(), 1);
  EXPECT_EQ(xg::arange(7, 0, -3).to_vector<int>(), (std::vector<int>{7, 4, 1}));
  EXPECT_EQ(xg::tensor(big + 1).item<long long>(), big + 1);
}

TEST(Misuse, BracesAreShapes) {
  const Tensor x = xg::randint(2, {5}, {.dtype = xg::float32, .requires_grad = true});
  EXPECT_EQ(x.shape(), (xg::Shape{5}));
  EXPECT_EQ(xg::randint(2, {5}, {.requires_grad = false}).shape(), (xg::Shape{5}));
  EXPECT_EQ(xg::randint(-3, 4, {2, 5}).shape(), (xg::Shape{2, 5}));
}

TEST(Misuse, ANaNBoundIsNotIgnored) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = xg::tensor({0.5, 2.0});
  EXPECT_FALSE(xg::isfinite(clamp(x, nan, 1)).to(xg::int64).sum().item<bool>());
  EXPECT_FALSE(xg::isfinite(clamp(x, 0, nan)).to(xg::int64).sum().item<bool>());
}

TEST(Misuse, InPlaceRefusesWhatTheOutOfPlaceFormRefuses) {
  Tensor whole = xg::tensor({1, 2});
  EXPECT_THROW(whole.add_(whole, 0.5), xg::DTypeError);
  Tensor mask = xg::tensor({true, false});
  EXPECT_THROW(mask -= mask, xg::DTypeError);
  EXPECT_EQ(whole.to_vector<int>(), (std::vector<int>{1, 2}));
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program instead
TEST(Misuse, OutOfMemoryIsAnError) { EXPECT_THROW(xg::zeros({std::int64_t{1} << 46}), xg::Error); }
#endif

TEST(Misuse, AnEpochOfOneHugeBatch) {
  xg::data::DataLoader loader({xg::ones({3, 2}), xg::tensor({0, 1, 0}), 2},
                              {.batch_size = std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(loader.size(), 1);
}

TEST(Misuse, AnOptimizerChecksEverythingBeforeItsStep) {
  struct Two : xg::nn::Module {
    Tensor& a = register_parameter("a", xg::zeros({2}));
    Tensor& b = register_parameter("b", xg::zeros({3}));
  } two;
  xg::optim::SGD sgd(two.parameters(), {.lr = 1.0, .momentum = 0.9});
  const auto backward = [&] { (two.a.sum() + two.b.sum()).backward(); };
  backward();
  sgd.step();
  const std::vector<float> before = two.a.to_vector<float>();
  {
    const xg::NoGrad no_grad;
    two.b.set_grad({});
  }
  two.to(xg::float64);
  backward();
  EXPECT_THROW(sgd.step(), xg::DTypeError);
  EXPECT_EQ(two.a.to_vector<float>(), before);
}

TEST(Misuse, SavingFollowsLinksAndSparesDevices) {
  EXPECT_THROW(xg::save_safetensors("/dev/null", {{"w", xg::ones({2})}}), xg::FileError);
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));

  const std::string base = "/tmp/xgrad_links_" + std::to_string(getpid());
  const std::string file = base + ".safetensors", link = base + ".link";
  std::ofstream(file).put('x');
  chmod(file.c_str(), 0600);
  ASSERT_EQ(symlink(file.c_str(), link.c_str()), 0);
  xg::save_safetensors(link, {{"w", xg::ones({2})}});
  EXPECT_EQ(xg::load_safetensors(file).size(), 1U);
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  std::remove(link.c_str());
  std::remove(file.c_str());
}
