#include <gtest/gtest.h>

#include <functional>

#include "support/values.hpp"
#include "xgrad/gradcheck.hpp"

namespace xg = xgrad;
using xg::Shape;
using xg::Tensor;

namespace {

Tensor leaf(Shape shape) { return xg::randn(shape, {.dtype = xg::float64}).requires_grad_(); }

TEST(Shape, ReshapeAndItsKinShareMemory) {
  Tensor x = counting({2, 3, 1, 4});
  const std::vector<Tensor> shared = {x.reshape({4, -1}), x.view({24}), x.flatten(1, 2),
                                      x.squeeze(),        x.squeeze(2), x.unsqueeze(-1)};
  const std::vector<Shape> shapes = {{4, 6},    {24},      {2, 3, 4},
                                     {2, 3, 4}, {2, 3, 4}, {2, 3, 1, 4, 1}};
  x.mut<double>()[7] = -5;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    EXPECT_EQ(shared[i].shape(), shapes[i]);
    EXPECT_EQ(shared[i].data<double>()[7], -5) << shapes[i];
  }
}

TEST(Shape, SlicesAndSumsLikeATuple) {
  const Shape shape{2, 3, 4, 5};
  EXPECT_EQ(shape.slice(1, 3), Shape({3, 4}));
  EXPECT_EQ(shape.slice(2), Shape({4, 5}));
  EXPECT_EQ(shape.slice(3, 9), Shape({5}));
  EXPECT_EQ(shape.slice(6), Shape({}));
  EXPECT_EQ(shape.slice(0, 1) + 7 + shape.slice(3), Shape({2, 7, 5}));
  EXPECT_THROW(shape + shape + 1, xg::ShapeError);  // nine dimensions
}

TEST(Shape, OtherOperationsCopy) {
  Tensor x = counting({1, 6});
  const std::vector<Tensor> copies = {
      x.transpose(0, 1), x.permute({1, 0}), x.expand({1, 6}),    x.t(),
      x.flip({0}),       x.repeat({1, 1}),  x.narrow(1, 0, 6),   x.select(1, 3),
      xg::tril(x, 6),    xg::cat({x}),      x.split(3, 1).at(0), x.index({xg::Slice{}, 2})};
  x.zero_();
  for (const Tensor& copy : copies) EXPECT_GT(copy.sum().item<double>(), 0) << copy.shape();
}

TEST(Shape, RepeatKnowsItsSizeBeforeItCopies) {
  const std::int64_t many = std::int64_t{1} << 40;
  EXPECT_EQ(counting({2, 3}).repeat({many, 0}).shape(), Shape({2 * many, 0}));
  EXPECT_THROW(counting({2, 3}).repeat({many, many}), xg::ShapeError);
  EXPECT_THROW(counting({2, 3}).repeat({INT64_MAX, 1}), xg::ShapeError);
}

TEST(Shape, ReshapeInfersOneSize) {
  EXPECT_EQ(counting({2, 3, 4}).reshape({3, -1, 2}).shape(), Shape({3, 4, 2}));
  EXPECT_EQ(counting({0, 3}).reshape({-1, 3}).shape(), Shape({0, 3}));
  EXPECT_EQ(counting({1}).reshape({}).shape(), Shape({}));
  const Tensor x = counting({2, 6});
  expect_error<xg::ShapeError>(
      [&] {
        return x.reshape({5, -1});
      },
      {"reshape", "(2, 6)", "12 elements", "(5, -1)"});
  expect_error<xg::ShapeError>([&] { return x.reshape({-1, -1}); }, {"only one"});
  expect_error<xg::ShapeError>([&] { return x.view({3, 5}); }, {"view", "(3, 5)"});
  expect_error<xg::ShapeError>([&] { return counting({0, 3}).reshape({0, -1}); }, {"any size"});
  expect_error<xg::ShapeError>([&] { return x.reshape({1LL << 62, 1LL << 62}); }, {"does not fit"});
}

// Sizes around the kernel's tile of 16, axes of length 1 and 0, every order of four dimensions.
TEST(Shape, PermuteMovesEveryElement) {
  const std::vector<Shape> shapes = {{37, 1, 2, 19}, {3, 16, 1, 17}, {2, 5, 33, 4}, {4, 0, 2, 3}};
  for (const Shape& shape : shapes) {
    const Tensor x = counting(shape);
    std::vector<std::int64_t> order = {0, 1, 2, 3};
    do {
      const Tensor y = x.permute(order);
      const std::span<const double> values = y.data<double>();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        std::int64_t left = i;
        std::int64_t at[4] = {};  // in x
        for (int d = 3; d >= 0; --d) {
          at[order[static_cast<std::size_t>(d)]] = left % y.shape()[d];
          left /= y.shape()[d];
        }
        std::int64_t expected = 0;
        for (int d = 0; d < 4; ++d) expected = expected * shape[d] + at[d];
        wrong += values[static_cast<std::size_t>(i)] != static_cast<double>(expected);
      }
      EXPECT_EQ(wrong, 0) << shape << " " << Shape(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Shape, EveryDTypeMoves) {
  const Tensor x = xg::tensor({{0, 1, 0}, {1, 1, 0}});
  for (xg::DType dtype : {xg::bool_, xg::int64, xg::float32, xg::float64}) {
    EXPECT_TRUE(xg::equal(x.to(dtype).t(), xg::tensor({{0, 1}, {1, 1}, {0, 0}}).to(dtype)));
    EXPECT_TRUE(xg::equal(x.to(dtype).flip({1}), xg::tensor({{0, 1, 0}, {0, 1, 1}}).to(dtype)));
  }
}

TEST(Shape, ExpandStretchesOnlyOnes) {
  EXPECT_TRUE(
      xg::equal(counting({2, 1}).expand({3, -1, 2}),
                xg::tensor({{{0., 0.}, {1., 1.}}, {{0., 0.}, {1., 1.}}, {{0., 0.}, {1., 1.}}},
                           {.dtype = xg::float64})));
  EXPECT_EQ(counting({1, 3}).expand({0, 3}).shape(), Shape({0, 3}));
  const Tensor x = counting({2, 6});
  expect_error<xg::ShapeError>(
      [&] {
        return x.expand({4, 6});
      },
      {"expand", "(2, 6)", "(4, 6)", "dim 0 is 2"});
  expect_error<xg::ShapeError>([&] { return x.expand({-1, 2, 6}); }, {"dim 0"});
  expect_error<xg::ShapeError>([&] { return x.expand({6}); }, {"more dimensions"});
}

TEST(Shape, TrilAndTriuOfEveryDiagonal) {
  const Tensor x = counting({2, 3, 4}) + 1;
  for (std::int64_t diagonal = -4; diagonal <= 5; ++diagonal) {
    const std::vector<double> low = xg::tril(x, diagonal).to_vector<double>();
    const std::vector<double> high = xg::triu(x, diagonal).to_vector<double>();
    for (std::int64_t i = 0; i < 24; ++i) {
      const std::int64_t over = i % 4 - i / 4 % 3;
      const double value = static_cast<double>(i + 1);
      EXPECT_EQ(low[static_cast<std::size_t>(i)], over <= diagonal ? value : 0);
      EXPECT_EQ(high[static_cast<std::size_t>(i)], over >= diagonal ? value : 0);
    }
  }
  expect_error<xg::ShapeError>([] { return xg::tril(counting({3})); }, {"tril", "(3,)"});
}

TEST(Shape, CatPromotesAndSkipsLegacyEmpties) {
  const Tensor a = xg::tensor({{1, 2}});
  const Tensor b = xg::tensor({{3.5, 4.5}, {5.5, 6.5}});
  EXPECT_TRUE(
      xg::equal(xg::cat({a, xg::zeros({0}), b}), xg::tensor({{1.0, 2.0}, {3.5, 4.5}, {5.5, 6.5}})));
  EXPECT_EQ(xg::cat({xg::zeros({0}), xg::zeros({0})}, 5).shape(), Shape({0}));
  EXPECT_EQ(xg::cat({xg::zeros({2, 0}), xg::zeros({2, 3})}, -1).shape(), Shape({2, 3}));

  // Each input gets its own part of the gradient, in its own type and shape.
  const Tensor x = xg::ones({2, 3}, {.requires_grad = true});
  const Tensor nothing = xg::zeros({0}, {.requires_grad = true});
  const Tensor y = xg::ones({2, 1}, {.dtype = xg::float64, .requires_grad = true});
  xg::cat({x, nothing, y}, 1).backward(counting({2, 4}));
  EXPECT_TRUE(xg::equal(x.grad(), xg::tensor({{0., 1., 2.}, {4., 5., 6.}})));
  EXPECT_TRUE(xg::equal(y.grad(), xg::tensor({{3.}, {7.}}, {.dtype = xg::float64})));
  EXPECT_EQ(nothing.grad().shape(), Shape({0}));

  expect_error<xg::ShapeError>(
      [&] {
        return xg::cat({b, xg::ones({2, 3}), b});
      },
      {"cat", "tensor 1", "(2, 2), (2, 3), (2, 2)"});
  expect_error<xg::ShapeError>([&] { return xg::cat({b, xg::ones({2})}); }, {"(2,)"});
  expect_error<xg::ShapeError>([&] { return xg::cat({xg::ones({})}); }, {"stack"});
  expect_error<xg::ShapeError>([] { return xg::cat({}); }, {"at least one"});
  expect_error<xg::ShapeError>(
      [&] {
        return xg::stack({b, xg::ones({2})});
      },
      {"stack", "tensor 1", "(2, 2), (2,)"});
}

TEST(Shape, SplitAndChunkCutAsPyTorch) {
  const auto lengths = [](const std::vector<Tensor>& pieces) {
    std::vector<std::int64_t> result;
    for (const Tensor& piece : pieces) result.push_back(piece.size(1));
    return result;
  };
  using Lengths = std::vector<std::int64_t>;
  const Tensor x = counting({2, 7});
  EXPECT_EQ(lengths(x.split(3, 1)), Lengths({3, 3, 1}));
  EXPECT_EQ(lengths(xg::split(x, {2, 0, 5}, -1)), Lengths({2, 0, 5}));
  EXPECT_EQ(lengths(x.chunk(4, 1)), Lengths({2, 2, 2, 1}));
  EXPECT_EQ(lengths(x.chunk(5, 1)), Lengths({2, 2, 2, 1}));
  EXPECT_EQ(lengths(counting({2, 0}).chunk(3, 1)), Lengths({0, 0, 0}));
  EXPECT_TRUE(xg::equal(xg::cat(x.split(3, 1), 1), x));
  expect_error<xg::ShapeError>(
      [&] {
        return xg::split(x, {2, 4}, 1);
      },
      {"split", "2, 4", "(2, 7)"});
  expect_error<xg::ShapeError>([&] { return xg::split(x, {8, -1}, 1); }, {"8, -1"});
  EXPECT_EQ(lengths(x.chunk(INT64_MAX, 1)).size(), 7U);
  expect_error<xg::Error>([&] { return x.split(0, 1); }, {"split", "positive"});
  expect_error<xg::Error>([&] { return x.chunk(0); }, {"chunk"});
  expect_error<xg::Error>([&] { return counting({2, 0}).chunk(INT64_MAX, 1); }, {"chunk"});
}

TEST(Shape, DimensionsOutOfRangeAreNamed) {
  const Tensor x = counting({2, 3});
  expect_error<xg::IndexError>([&] { return x.transpose(0, 2); }, {"transpose", "dim 2"});
  expect_error<xg::IndexError>([&] { return x.unsqueeze(3); }, {"unsqueeze", "dim 3"});
  expect_error<xg::ShapeError>([&] { return x.permute({1, 1}); }, {"permute", "twice"});
  expect_error<xg::ShapeError>([&] { return x.permute({1}); }, {"permute", "(2, 3)"});
  expect_error<xg::ShapeError>([&] { return x.repeat({2}); }, {"repeat", "(2, 3)"});
  expect_error<xg::ShapeError>([] { return counting({2, 3, 4}).t(); }, {"transpose"});
}

TEST(Shape, DerivativesOfBothOrders) {
  xg::manual_seed(7);
  using F = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<const char*, F>> functions = {
      {"reshape",
       [](const Tensor& x) {
         return x.reshape({4, -1});
       }},
      {"flatten", [](const Tensor& x) { return x.flatten(0, 1); }},
      {"transpose", [](const Tensor& x) { return x.transpose(0, -1); }},
      {"permute",
       [](const Tensor& x) {
         return x.permute({2, 0, 1});
       }},
      {"unsqueeze", [](const Tensor& x) { return x.unsqueeze(1); }},
      {"expand",
       [](const Tensor& x) {
         return x.narrow(1, 0, 1).expand({5, 2, 3, 4});
       }},
      {"repeat",
       [](const Tensor& x) {
         return x.repeat({2, 1, 3, 2});
       }},
      {"flip",
       [](const Tensor& x) {
         return x.flip({0, 2});
       }},
      {"tril", [](const Tensor& x) { return xg::tril(x, 1); }},
      {"triu", [](const Tensor& x) { return xg::triu(x, -1); }},
      {"cat",
       [](const Tensor& x) {
         return xg::cat({x, x * x, x}, 1);
       }},
      {"stack",
       [](const Tensor& x) {
         return xg::stack({x * x, x}, 2);
       }},
      {"split", [](const Tensor& x) { return x.split(2, 2).at(1); }},
      {"chunk", [](const Tensor& x) { return x.chunk(2, 0).at(1); }},
  };
  for (const auto& [name, f] : functions) {
    // A product, so that the second derivatives are not all 0.
    const auto curved = [&f = f](const std::vector<Tensor>& xs) { return f(xs[0] * xs[0]); };
    const auto first = xg::gradcheck(curved, {leaf({2, 3, 4})});
    EXPECT_TRUE(first.ok) << name << ": " << first.message;
    const auto second = xg::gradgradcheck(curved, {leaf({2, 3, 4})});
    EXPECT_TRUE(second.ok) << name << ": " << second.message;
  }
}

TEST(Shape, NamesAreThoseOfPyTorch) {
  const Tensor x = leaf({2, 3, 4});
  const Tensor m = x.select(0, 0);
  const std::vector<std::pair<Tensor, std::string>> names = {
      {x.reshape({6, 4}), "ReshapeAliasBackward0"},
      {x.view({6, 4}), "ViewBackward0"},
      {x.flatten(), "ReshapeAliasBackward0"},
      {m.t(), "TBackward0"},
      {x.transpose(0, 1), "TransposeBackward0"},
      {x.permute({2, 0, 1}), "PermuteBackward0"},
      {x.squeeze(), "SqueezeBackward0"},
      {x.squeeze(0), "SqueezeBackward1"},
      {x.unsqueeze(0), "UnsqueezeBackward0"},
      {m.expand({5, 3, 4}), "ExpandBackward0"},
      {m.repeat({2, 2}), "RepeatBackward0"},
      {x.flip({0}), "FlipBackward0"},
      {xg::tril(m), "TrilBackward0"},
      {xg::cat({m, m}), "CatBackward0"},
      {xg::stack({m, m}), "StackBackward0"},
      {m.split(2).at(0), "SplitBackward0"},
      {xg::split(m, {1, 2}).at(0), "SplitWithSizesBackward0"},
      {m.chunk(2).at(0), "SplitBackward0"},
  };
  for (const auto& [y, name] : names) EXPECT_EQ(y.grad_fn(), name);
}

}  // namespace
