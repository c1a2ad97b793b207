#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<double>;

void expect_near(const Values& got, const Values& wanted, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

// The golden file rng.json has many more of these.
TEST(Random, SeedGivesTheNumbersOfPyTorch) {
  xg::manual_seed(7);
  EXPECT_EQ(xg::randperm(7).to_vector<std::int64_t>(), (Integers{5, 0, 3, 1, 2, 6, 4}));
  expect_near(xg::rand(2, {.dtype = xg::float64}).to_vector<double>(),
              {0.6566884305882014, 0.9225293674529872}, 0);
  xg::manual_seed(7);
  // 19 is no multiple of 16: the last 16 are drawn twice. Below, the second normal number of a pair
  // outlives the uniform draw.
  const Values block = xg::randn({19}).to_vector<double>();
  expect_near({block.end() - 3, block.end()},
              {-0.866701602935791, -0.5640066862106323, -2.056462526321411});
  expect_near(xg::randn({1, 1}).to_vector<double>(), {-0.7923216819763184});
  expect_near(xg::rand({1}).to_vector<double>(), {0.19525814056396484}, 0);
  expect_near(xg::randn({1}).to_vector<double>(), {-1.524890661239624});
  expect_near(xg::randn({3}, {.dtype = xg::float64}).to_vector<double>(),
              {1.77915501934496, -0.9179307346473358, -0.45781890986397766}, 1e-14);
}

TEST(Random, WideIntegerRangesUseTwoWords) {
  xg::manual_seed(5);
  EXPECT_EQ(xg::randint(-10'000'000'000'000, 10'000'000'000'000, {3}).to_vector<std::int64_t>(),
            (Integers{1218741643470, 5962503177917, 5331020233846}));
}

TEST(Random, OnlyTheLow32BitsOfTheSeedCount) {
  EXPECT_EQ(xg::Generator(9).next_u64(), xg::Generator((std::uint64_t{1} << 32) + 9).next_u64());
  EXPECT_NE(xg::Generator(9).next_u64(), xg::Generator(10).next_u64());
}

TEST(Random, StateResumesInTheMiddleOfAPair) {
  xg::Generator generator(11);
  const xg::Tensor first = xg::randn({5}, generator);  // odd: one normal number is kept
  const xg::Generator::State state = generator.state();
  ASSERT_TRUE(state.kept_normal.has_value());
  const xg::Tensor next = xg::randn({40}, generator);
  const xg::Tensor last = xg::randn({2}, generator);
  EXPECT_FALSE(generator.state() == state);

  xg::Generator other(12);
  other.set_state(state);
  EXPECT_TRUE(xg::equal(xg::randn({40}, other), next));
  EXPECT_TRUE(xg::equal(xg::randn({2}, other), last));
  EXPECT_FALSE(xg::equal(xg::randn({5}, other), first));
}

TEST(Random, SeedingForgetsTheKeptNumber) {
  xg::manual_seed(3);
  const xg::Tensor first = xg::randn({3});
  xg::manual_seed(3);
  EXPECT_TRUE(xg::equal(xg::randn({3}), first));
}

TEST(Random, PermutationHasEveryNumberOnce) {
  xg::Generator generator(1);
  Integers order = xg::randperm(101, generator).to_vector<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, xg::arange(101).to_vector<std::int64_t>());
  EXPECT_EQ(xg::randperm(0).numel(), 0);
  EXPECT_THROW(xg::randperm(-1), xg::Error);
}

TEST(Random, UniformStaysBelowOneAndIntegersInTheirRange) {
  xg::Generator generator(4);
  for (float v : xg::rand({999}, generator).to_vector<float>()) {
    EXPECT_TRUE(v >= 0 && v < 1) << v;
  }
  const Integers dice = xg::randint(1, 7, {3, 333}, generator).to_vector<std::int64_t>();
  EXPECT_EQ(*std::min_element(dice.begin(), dice.end()), 1);
  EXPECT_EQ(*std::max_element(dice.begin(), dice.end()), 6);
}

TEST(Random, EachThreadHasItsOwnGenerator) {
  xg::manual_seed(8);
  const std::uint32_t here = xg::Generator(8).next_u32();
  std::thread([] { xg::manual_seed(99); }).join();
  EXPECT_EQ(xg::default_generator().next_u32(), here);
}

TEST(Random, OptionsAndErrors) {
  EXPECT_TRUE(xg::randn({2, 3}, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(xg::randint(4, {2}, {.dtype = xg::float32}).dtype(), xg::float32);
  EXPECT_EQ(xg::rand_like(xg::zeros({2, 3}, {.dtype = xg::float64})).dtype(), xg::float64);
  EXPECT_THROW(xg::randn({2}, {.dtype = xg::int64}), xg::DTypeError);
  EXPECT_THROW(xg::randint(3, 3, {2}), xg::Error);
}

}  // namespace
