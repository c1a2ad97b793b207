#include <gtest/gtest.h>

#include <cmath>

#include "support/values.hpp"
#include "xgrad/gradcheck.hpp"
#include "xgrad/xtensor.hpp"

// xtensor's reducers and views, for an oracle that shares nothing with the library.
#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>
#endif

namespace xg = xgrad;
using xg::Shape;
using xg::Tensor;

namespace {

Tensor leaf(Shape shape) { return xg::randn(shape, {.dtype = xg::float64}).requires_grad_(); }

Tensor doubles(std::initializer_list<xg::detail::Nested> values) {
  return xg::tensor(values, {.dtype = xg::float64});
}

/// a b for matrices, as a sum over the middle axis of a broadcast product.
Tensor oracle(const Tensor& a, const Tensor& b) {
  const xt::xarray<double> x = xg::to_xarray<double>(a);
  const auto y = xg::adapt<double>(b);
  const xt::xarray<double> product =
      xt::view(x, xt::all(), xt::all(), xt::newaxis()) * xt::view(y, xt::newaxis());
  return xg::from_xarray(xt::sum(product, {1}));
}

TEST(Matmul, AgreesWithXtensor) {
  xg::manual_seed(3);
  for (const auto& [n, k, m] : std::vector<std::array<std::int64_t, 3>>{
           {2, 3, 4}, {1, 5, 2}, {7, 1, 3}, {4, 6, 1}, {1, 1, 1}, {33, 50, 17}}) {
    const Tensor a = xg::randn({n, k}, {.dtype = xg::float64});
    const Tensor b = xg::randn({k, m}, {.dtype = xg::float64});
    const Tensor expected = oracle(a, b);
    expect_close(xg::matmul(a, b), expected);
    expect_close(xg::matmul(a.to(xg::float32), b.to(xg::float32)).to(xg::float64), expected, 1e-4);
    expect_close(xg::linear(a, b.t()), expected);
    const Tensor bias = xg::randn({m}, {.dtype = xg::float64});
    expect_close(xg::linear(a, b.t(), bias), expected + bias);
    // The ranks that are special cases of this one.
    expect_close(xg::matmul(a, b.select(1, 0)), expected.select(1, 0));
    expect_close(xg::matmul(a.select(0, 0), b), expected.select(0, 0));
    expect_close(xg::matmul(a.select(0, 0), b.select(1, 0)), expected.select(0, 0).select(0, 0));
    expect_close(xg::matmul(a.unsqueeze(0), b), expected.unsqueeze(0));
  }
}

TEST(Matmul, BatchesBroadcast) {
  xg::manual_seed(4);
  const auto at = [](const Tensor& x, std::int64_t i, std::int64_t j) {
    const std::int64_t rows = x.dim() > 3 ? i % x.size(0) : 0;
    const Tensor y = x.dim() > 3 ? x.select(0, rows) : x;
    return y.dim() > 2 ? y.select(0, j % y.size(0)) : y;
  };
  const std::vector<std::pair<Shape, Shape>> shapes = {{{2, 3, 4, 5}, {2, 3, 5, 6}},
                                                       {{2, 1, 4, 5}, {3, 5, 6}},
                                                       {{3, 4, 5}, {2, 1, 5, 6}},
                                                       {{4, 5}, {2, 3, 5, 6}},
                                                       {{2, 3, 4, 5}, {5, 6}}};
  for (const auto& [sa, sb] : shapes) {
    const Tensor a = xg::randn(sa, {.dtype = xg::float64});
    const Tensor b = xg::randn(sb, {.dtype = xg::float64});
    const Tensor y = xg::matmul(a, b);
    EXPECT_EQ(y.shape(), Shape({2, 3, 4, 6}));
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 3; ++j)
        expect_close(at(y, i, j), oracle(at(a, i, j), at(b, i, j)));
    }
  }
}

// The memory of the result is recycled and full of NaN: nothing of it may come through.
TEST(Matmul, DegenerateSizesReadNothingUninitialised) {
  const auto poison = [] { xg::full({64}, NAN, {.dtype = xg::float64}); };
  const auto expect_zeros = [](const Tensor& y, const Shape& shape) {
    EXPECT_EQ(y.shape(), shape);
    for (double v : y.to_vector<double>()) EXPECT_EQ(v, 0);
  };
  const auto zeros = [](Shape shape) { return xg::zeros(shape, {.dtype = xg::float64}); };
  poison();
  expect_zeros(xg::matmul(zeros({8, 0}), zeros({0, 8})), {8, 8});
  poison();
  expect_zeros(xg::matmul(zeros({8, 3}), zeros({3, 8})), {8, 8});
  poison();
  expect_zeros(xg::linear(zeros({8, 0}), zeros({8, 0})), {8, 8});
  expect_zeros(xg::matmul(zeros({0}), zeros({0})), {});
  expect_zeros(xg::matmul(zeros({0, 2}), zeros({2, 3})), {0, 3});
  expect_zeros(xg::matmul(zeros({3, 0, 4}), zeros({4, 2})), {3, 0, 2});
  expect_zeros(xg::matmul(zeros({0, 2, 3}), zeros({0, 3, 4})), {0, 2, 4});
  expect_values(xg::linear(zeros({2, 0}), zeros({3, 0}), doubles({1, 2, 3})), {1, 2, 3, 1, 2, 3});

  const Tensor x = leaf({0, 4});
  const Tensor w = leaf({3, 4});
  xg::linear(x, w).sum().backward();
  EXPECT_EQ(x.grad().shape(), Shape({0, 4}));
  expect_zeros(w.grad(), {3, 4});
}

TEST(Matmul, IntegersStayIntegers) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;  // no double holds it
  const Tensor a = xg::tensor({{1, 2, 3}, {0, -1, large}});
  const Tensor y = xg::matmul(a, xg::tensor({{1, 0}, {0, 1}, {1, 1}}));
  EXPECT_TRUE(xg::equal(y, xg::tensor({{4, 5}, {large, large - 1}})));
  EXPECT_TRUE(
      xg::equal(xg::linear(a, xg::tensor({{1, 1, 0}}), xg::tensor({5})), xg::tensor({{8}, {4}})));
}

// Case X-03: a transposed operand that is not square, an axis of length 1.
TEST(Matmul, X03TransposesOfNonSquareOperands) {
  const Tensor x = doubles({{1, 2, 3}, {1, 2, 3}});
  EXPECT_TRUE(xg::equal(xg::matmul(x.t(), x), doubles({{2, 4, 6}, {4, 8, 12}, {6, 12, 18}})));
  EXPECT_TRUE(xg::equal(xg::matmul(x, x.t()), doubles({{14, 14}, {14, 14}})));
  EXPECT_TRUE(xg::equal(doubles({{0, 1, 1, 1}}).t(), doubles({{0}, {1}, {1}, {1}})));
  EXPECT_TRUE(xg::equal(xg::matmul(doubles({{1}, {2}}).t(), doubles({1, 2})), doubles({5})));

  xg::manual_seed(5);
  const auto layer = [](const std::vector<Tensor>& in) { return xg::linear(in[0], in[1], in[2]); };
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{3, 1}, {1, 3}, {2, 5}}) {
    for (const Shape& lead : {Shape{1}, Shape{4}, Shape{2, 3}, Shape{}}) {
      Shape shape = lead;
      shape.push_back(from);
      const std::vector<Tensor> inputs = {leaf(shape), leaf({to, from}), leaf({to})};
      const auto first = xg::gradcheck(layer, inputs);
      EXPECT_TRUE(first.ok) << shape << first.message;
      const auto second = xg::gradgradcheck(layer, inputs);
      EXPECT_TRUE(second.ok) << shape << second.message;
    }
  }
}

TEST(Matmul, DerivativesOfEveryRank) {
  xg::manual_seed(6);
  const auto product = [](const std::vector<Tensor>& in) { return xg::matmul(in[0], in[1]); };
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3}, {3}},          {{2, 3}, {3, 4}},       {{3}, {3, 4}},       {{2, 3}, {3}},
      {{5, 2, 3}, {3, 4}}, {{5, 2, 3}, {5, 3, 4}}, {{5, 2, 3}, {3}},    {{3}, {5, 3, 4}},
      {{2, 3}, {5, 3, 4}}, {{5, 2, 3}, {1, 3, 4}}, {{1, 3}, {2, 3, 1}}, {{2, 1, 2, 3}, {5, 3, 1}}};
  for (const auto& [a, b] : shapes) {
    const auto first = xg::gradcheck(product, {leaf(a), leaf(b)});
    EXPECT_TRUE(first.ok) << a << b << first.message;
    const auto second = xg::gradgradcheck(product, {leaf(a), leaf(b)});
    EXPECT_TRUE(second.ok) << a << b << second.message;
  }
  const Tensor a = leaf({2, 3});
  const auto gram = [](const std::vector<Tensor>& in) { return xg::matmul(in[0], in[0].t()); };
  EXPECT_TRUE(xg::gradcheck(gram, {a}).ok);
  EXPECT_TRUE(xg::gradgradcheck(gram, {a}).ok);
}

TEST(Matmul, BmmAndOuter) {
  xg::manual_seed(8);
  const Tensor a = leaf({2, 3, 4});
  const Tensor b = leaf({2, 4, 5});
  EXPECT_TRUE(xg::equal(xg::bmm(a, b), xg::matmul(a, b)));
  const Tensor u = leaf({3});
  const Tensor v = leaf({2});
  EXPECT_TRUE(xg::equal(xg::outer(u, v), u.unsqueeze(1) * v.unsqueeze(0)));
  EXPECT_EQ(xg::outer(xg::ones({2}), xg::ones({3}, {.dtype = xg::float64})).dtype(), xg::float64);
}

TEST(Matmul, ErrorsNameShapesAndTheRepair) {
  const Tensor x = xg::ones({2, 6});
  expect_error<xg::ShapeError>(
      [&] {
        xg::matmul(x, xg::ones({5, 3}));
      },
      {"matmul", "(2, 6)", "(5, 3)", "6 vs 5"});
  expect_error<xg::ShapeError>(
      [&] {
        xg::matmul(x, xg::ones({3, 6}));
      },
      {"(3, 6)", "would fit as (6, 3)", "transpose"});
  expect_error<xg::ShapeError>([&] { xg::matmul(x, xg::ones({})); }, {"()", "*"});
  expect_error<xg::ShapeError>(
      [&] {
        xg::matmul(xg::ones({2, 4, 5}), xg::ones({3, 5, 6}));
      },
      {"matmul", "(2, 4, 5)", "(3, 5, 6)", "2 vs 3"});
  expect_error<xg::DTypeError>([&] { xg::matmul(x, xg::ones({6}, {.dtype = xg::float64})); },
                               {"float32", "(2, 6)", "float64", "(6,)", "to(xg::"});
  expect_error<xg::DTypeError>([&] { xg::matmul(x > 0, x.t() > 0); }, {"bool"});
  expect_error<xg::ShapeError>([&] { xg::bmm(x, x); }, {"bmm", "(2, 6)", "matmul"});
  expect_error<xg::ShapeError>([&] { xg::outer(x, x); }, {"outer", "(2, 6)"});
  expect_error<xg::ShapeError>(
      [&] {
        xg::linear(x, xg::ones({3, 5}));
      },
      {"linear", "(2, 6)", "(3, 5)", "(*, 5)"});
  expect_error<xg::ShapeError>(
      [&] {
        xg::linear(x, xg::ones({3, 6}), xg::ones({1}));
      },
      {"bias", "(1,)", "(3, 6)", "(3,)"});
  expect_error<xg::DTypeError>(
      [&] {
        xg::linear(x, xg::ones({3, 6}), xg::ones({3}, {.dtype = xg::float64}));
      },
      {"linear", "bias", "float64"});
}

TEST(Matmul, NamesAreThoseOfPyTorch) {
  const Tensor x = leaf({2, 3});
  const Tensor w = leaf({4, 3});
  const Tensor b = leaf({4});
  const Tensor v = leaf({3});
  EXPECT_EQ(xg::matmul(x, w.t()).grad_fn(), "MmBackward0");
  EXPECT_EQ(xg::matmul(x, v).grad_fn(), "MvBackward0");
  EXPECT_EQ(xg::matmul(v, v).grad_fn(), "DotBackward0");
  EXPECT_EQ(xg::matmul(x.unsqueeze(0), w.t()).grad_fn(), "UnsafeViewBackward0");
  EXPECT_EQ(xg::bmm(x.unsqueeze(0), w.t().unsqueeze(0)).grad_fn(), "BmmBackward0");
  EXPECT_EQ(xg::outer(v, b).grad_fn(), "MulBackward0");
  EXPECT_EQ(xg::linear(x, w, b).grad_fn(), "AddmmBackward0");
  EXPECT_EQ(xg::linear(x, w).grad_fn(), "MmBackward0");
  EXPECT_EQ(xg::linear(x.unsqueeze(0), w, b).grad_fn(), "ViewBackward0");
}

TEST(Xtensor, ThereAndBack) {
  Tensor x = xg::arange(6, {.dtype = xg::float64}).reshape({2, 3});
  const auto view = xg::adapt<double>(x);
  const xt::xarray<double> copy = xg::to_xarray<double>(x);
  x.mut<double>()[5] = -7;
  EXPECT_EQ(view(1, 2), -7);
  EXPECT_EQ(copy(1, 2), 5);
  EXPECT_TRUE(xg::equal(xg::from_xarray(xt::view(copy, xt::all(), 1) * 2), doubles({2, 8})));
  const Tensor scalar = xg::from_xarray(xt::xarray<float>(2.5F));
  EXPECT_EQ(scalar.shape(), Shape({}));
  EXPECT_EQ(scalar.item<float>(), 2.5F);
  EXPECT_TRUE(xg::equal(xg::from_xarray(xt::xarray<int>{{1, 2, 3}}), xg::tensor({{1, 2, 3}})));
  EXPECT_TRUE(xg::equal(xg::from_xarray(copy > 4.5),
                        xg::tensor({{false, false, false}, {false, false, true}})));
  using ColumnMajor = xt::xarray<double, xt::layout_type::column_major>;
  EXPECT_TRUE(xg::equal(xg::from_xarray(ColumnMajor(copy)), xg::from_xarray(copy)));
  EXPECT_EQ(xg::to_xarray<float>(xg::zeros({0, 3})).shape(1), 3U);
  EXPECT_THROW(xg::to_xarray<float>(x), xg::DTypeError);
}

TEST(Xtensor, WithoutACopy) {
  const std::int64_t before = xg::live_bytes();
  {
    xt::xarray<float> array = {{1, 2, 3}, {4, 5, 6}};
    const float* memory = array.data();
    Tensor x = xg::from_xarray(std::move(array));
    EXPECT_EQ(x.data<float>().data(), memory);
    EXPECT_EQ(x.shape(), Shape({2, 3}));
    EXPECT_EQ(xg::live_bytes() - before, 24);
    const Tensor row = x[1];  // keeps the elements alive, and shares them
    xg::adapt_mut<float>(x) *= 2;
    x = Tensor();
    EXPECT_TRUE(xg::equal(row, xg::tensor({8.0, 10.0, 12.0})));

    xt::xtensor<bool, 1> flags = {true, false};
    const bool* flag = flags.data();
    const Tensor taken = xg::from_xarray(std::move(flags));
    EXPECT_EQ(taken.data<bool>().data(), flag);
    xt::xarray<int> small = {1, 2};  // no type of a tensor: copied
    EXPECT_TRUE(xg::equal(xg::from_xarray(std::move(small)), xg::tensor({1, 2})));
    EXPECT_EQ(xg::from_xarray(xt::xarray<double>::from_shape({0, 3})).numel(), 0);
    EXPECT_THROW(xg::from_xarray(xt::xarray<double>::from_shape({1, 1, 1, 1, 1, 1, 1, 1, 1})),
                 xg::ShapeError);
  }
  EXPECT_EQ(xg::live_bytes(), before);
}

TEST(Xtensor, WritingIsAChangeInPlace) {
  const Tensor w = xg::ones({3}, {.requires_grad = true});
  Tensor x = xg::ones({3});
  const Tensor y = (w * x).sum();
  EXPECT_THROW(xg::adapt_mut<float>(const_cast<Tensor&>(w)), xg::Error);
  xg::adapt_mut<float>(x)(0) = 5;
  EXPECT_THROW(y.backward(), xg::GraphError);
}

}  // namespace
