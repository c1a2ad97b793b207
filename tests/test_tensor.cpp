#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

// ---- making -------------------------------------------------------------------------------------

TEST(Tensor, NestedListsGiveShapeAndType) {
  const xg::Tensor m = xg::tensor({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_EQ(m.dtype(), xg::float32);
  EXPECT_EQ(m.shape(), (xg::Shape{2, 2}));
  EXPECT_EQ(m.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));

  EXPECT_EQ(xg::tensor({{1, 2, 3}, {4, 5, 6}}).dtype(), xg::int64);
  EXPECT_EQ(xg::tensor({true, false}).dtype(), xg::bool_);
  EXPECT_EQ(xg::tensor({1, 2.5}).dtype(), xg::float32);
  EXPECT_EQ(xg::tensor({true, 2}).dtype(), xg::int64);
  EXPECT_EQ(xg::tensor({{{1}, {2}}}).shape(), (xg::Shape{1, 2, 1}));
  EXPECT_EQ(xg::tensor({5}).shape(), (xg::Shape{1}));
  EXPECT_EQ(xg::tensor(5).shape(), xg::Shape{});
  EXPECT_EQ(xg::tensor({}).shape(), (xg::Shape{0}));
  EXPECT_EQ(xg::tensor({{}, {}}).shape(), (xg::Shape{2, 0}));
  EXPECT_EQ(xg::tensor({1, 2}, {.dtype = xg::float64}).dtype(), xg::float64);
  // Whole numbers beyond the reach of double stay exact.
  EXPECT_EQ(xg::tensor({9007199254740993}).item<std::int64_t>(), 9007199254740993);
}

TEST(Tensor, RaggedListNamesTheRow) {
  expect_error<xg::ShapeError>([] { xg::tensor({{1, 2}, {3, 4}, {5}}); }, {"row 2", "1 value"});
  EXPECT_THROW(xg::tensor({{1, 2}, {3, 4, 5}}), xg::ShapeError);
  EXPECT_THROW(xg::tensor({{1, 2}, 3}), xg::ShapeError);
  EXPECT_THROW(xg::tensor({1, {2}}), xg::ShapeError);
  expect_error<xg::ShapeError>([] { xg::tensor({{{1}, {2}}, {{3}, {4, 5}}}); }, {"row 1.1"});
}

TEST(Tensor, FromVectors) {
  EXPECT_EQ(xg::tensor(std::vector<float>{1, 2}).dtype(), xg::float32);
  EXPECT_EQ(xg::tensor(std::vector<double>{1, 2}).dtype(), xg::float32);
  const xg::Tensor precise = xg::tensor(std::vector<double>{0.1}, {.dtype = xg::float64});
  EXPECT_EQ(precise.item<double>(), 0.1);
  EXPECT_EQ(xg::tensor(std::vector<int>{1, 2, 3}).dtype(), xg::int64);
  EXPECT_EQ(xg::tensor(std::vector<bool>{true, false}).to_vector<int>(), (std::vector<int>{1, 0}));
  EXPECT_EQ(xg::tensor(std::vector<bool>{true}).dtype(), xg::bool_);
}

TEST(Tensor, Factories) {
  EXPECT_EQ(xg::zeros({2, 3}).to_vector<double>(), std::vector<double>(6, 0.0));
  EXPECT_EQ(xg::ones(3).to_vector<double>(), std::vector<double>(3, 1.0));
  EXPECT_EQ(xg::full({2}, 7).dtype(), xg::int64);
  EXPECT_EQ(xg::full({2}, 7.5).to_vector<double>(), (std::vector<double>{7.5, 7.5}));
  EXPECT_EQ(xg::arange(4).to_vector<int>(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(xg::arange(4).dtype(), xg::int64);
  EXPECT_EQ(xg::arange(1, 2, 0.5).to_vector<double>(), (std::vector<double>{1, 1.5}));
  EXPECT_EQ(xg::arange(5, 0, -2).to_vector<int>(), (std::vector<int>{5, 3, 1}));
  EXPECT_EQ(xg::linspace(0, 1, 5).to_vector<double>(),
            (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(xg::linspace(3, 9, 1).to_vector<double>(), std::vector<double>{3});
  EXPECT_EQ(xg::eye(2, 3).to_vector<int>(), (std::vector<int>{1, 0, 0, 0, 1, 0}));
  const xg::Tensor x = xg::ones({2, 3}, {.dtype = xg::float64, .requires_grad = true});
  EXPECT_EQ(xg::zeros_like(x).dtype(), xg::float64);
  EXPECT_FALSE(xg::zeros_like(x).requires_grad());
  EXPECT_EQ(xg::full_like(x, 2).shape(), x.shape());
  EXPECT_THROW(xg::zeros({2, -1}), xg::ShapeError);
  EXPECT_THROW(xg::zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), xg::ShapeError);
  EXPECT_THROW(xg::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}), xg::ShapeError);
  EXPECT_THROW(xg::arange(0, 5, 0), xg::Error);
  EXPECT_THROW(xg::arange(0, 5, -1), xg::Error);
  EXPECT_THROW(xg::arange(0, std::numeric_limits<double>::infinity()), xg::Error);
  EXPECT_THROW(xg::linspace(0, 1, -1), xg::Error);
  EXPECT_THROW(xg::full({1}, std::numeric_limits<std::uint64_t>::max()), xg::Error);
  EXPECT_THROW(xg::full({1}, 1e300), xg::Error);
  EXPECT_THROW(xg::full({1}, NAN, {.dtype = xg::int64}), xg::Error);
  EXPECT_EQ(xg::full({1}, -INFINITY).item<double>(), -INFINITY);
  EXPECT_EQ(xg::full({1}, 1e300, {.dtype = xg::float64}).item<double>(), 1e300);
  EXPECT_EQ(xg::tensor(1e300).item<double>(), INFINITY);  // as PyTorch's tensor
  const xg::Tensor one = xg::ones({1}, {.requires_grad = true});
  xg::div(one, 1e300).backward();  // numbers as operands are no more refused than there
  EXPECT_EQ(one.grad().item<double>(), 0);
  EXPECT_EQ(xg::full({1}, INT64_MIN).item<std::int64_t>(), INT64_MIN);
}

/// FNV-1a of the elements' bytes, after what was hashed before.
std::uint64_t hashed(std::uint64_t hash, const xg::Tensor& x) {
  const auto add = [&](auto values) {
    for (std::byte b : std::as_bytes(values)) {
      hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
    }
  };
  x.dtype() == xg::float32 ? add(x.data<float>()) : add(x.data<double>());
  return hash;
}

TEST(Tensor, RangesHaveTheBitsOfPyTorch) {  // 1.13.1 with AVX2, one thread
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    std::uint64_t ranges = 0xcbf29ce484222325, spaces = ranges;
    for (double start : {-1.0, -1.5, 0.0, 0.1, 100.0}) {
      for (double step : {0.1, 0.01, -0.3, 1.1, 7.0}) {
        for (int count : {7, 16, 37, 100}) {
          const double end = start + step * (count - 0.5);
          ranges = hashed(ranges, xg::arange(start, end, step, {.dtype = dtype}));
          spaces = hashed(spaces, xg::linspace(start, start + step, count, {.dtype = dtype}));
        }
      }
    }
    EXPECT_EQ(ranges, dtype == xg::float32 ? 0xee0f4fc2e811436c : 0xa73fa405fb48d2d8);
    EXPECT_EQ(spaces, dtype == xg::float32 ? 0x4d06acd245537157 : 0x408520b1fa90cfe9);
  }
  EXPECT_NEAR(xg::arange(-1.0, 1.0, 0.1).to_vector<float>()[10], -2.98023e-9, 1e-13);
  EXPECT_EQ(xg::linspace(0, 5, 6, {.dtype = xg::int64}).to_vector<int>(),
            (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

// ---- looking ------------------------------------------------------------------------------------

TEST(Tensor, ShapeQueries) {
  const xg::Tensor x = xg::zeros({2, 5, 3});
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.numel(), 30);
  EXPECT_EQ(x.size(1), 5);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_THROW(x.size(3), xg::IndexError);
  EXPECT_THROW(xg::tensor(1).size(0), xg::IndexError);
  std::ostringstream text;
  text << x.shape() << xg::Shape{} << xg::Shape{4};
  EXPECT_EQ(text.str(), "torch.Size([2, 5, 3])torch.Size([])torch.Size([4])");
  EXPECT_EQ(xg::Shape({4}).str(), "(4,)");
}

TEST(Tensor, ValuesOut) {
  const xg::Tensor x = xg::tensor({{1.5, -2.0, 3.0}, {4.0, 5.0, 6.0}});
  EXPECT_EQ(x.data<float>()[1], -2.0F);
  EXPECT_THROW(static_cast<void>(x.data<double>()), xg::DTypeError);
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -2, 3, 4, 5, 6}));
  EXPECT_EQ(xg::tensor({{2.5}}).item<double>(), 2.5);
  EXPECT_EQ(xg::tensor(7).item<float>(), 7.0F);
  EXPECT_THROW(x.item<float>(), xg::ShapeError);
  EXPECT_THROW(xg::tensor({}).item<float>(), xg::ShapeError);
}

TEST(Tensor, TruthNeedsOneElement) {
  EXPECT_TRUE(static_cast<bool>(xg::tensor({3}) == 3));
  EXPECT_FALSE(static_cast<bool>(xg::tensor(0.0)));
  const xg::Tensor a = xg::tensor({1, 2});
  const auto unclear = [&] {
    if (a == a) return;
  };
  expect_error<xg::ShapeError>(unclear, {"equal("});
}

TEST(Tensor, UndefinedIsAnErrorEverywhere) {
  const xg::Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_THROW(none.shape(), xg::Error);
  EXPECT_THROW(none + 1, xg::Error);
  EXPECT_THROW(none.backward(), xg::Error);
}

TEST(Tensor, EqualAndAllclose) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const xg::Tensor a = xg::tensor({1.0, 2.0});
  EXPECT_TRUE(xg::equal(a, xg::tensor({1.0, 2.0})));
  EXPECT_FALSE(xg::equal(a, xg::tensor({1, 2})));
  EXPECT_FALSE(xg::equal(a, xg::tensor({{1.0, 2.0}})));
  EXPECT_FALSE(xg::equal(xg::tensor({nan}), xg::tensor({nan})));
  EXPECT_TRUE(xg::allclose(a, xg::tensor({1.0, 2.00001})));
  EXPECT_FALSE(xg::allclose(a, xg::tensor({1.0, 2.001})));
  EXPECT_TRUE(xg::allclose(a, xg::tensor({1.0, 2.001}), 0, 0.01));
  EXPECT_TRUE(xg::allclose(xg::ones({2, 3}), xg::tensor(1.0)));
  EXPECT_FALSE(xg::allclose(xg::tensor({nan}), xg::tensor({nan})));
  EXPECT_TRUE(xg::allclose(xg::tensor({nan}), xg::tensor({nan}), 1e-5, 1e-8, true));
  EXPECT_TRUE(xg::allclose(xg::tensor({inf}), xg::tensor({inf})));
  EXPECT_FALSE(xg::allclose(xg::tensor({inf}), xg::tensor({-inf})));
  EXPECT_THROW(xg::allclose(xg::ones({2, 3}), xg::ones({2})), xg::ShapeError);
}

// ---- copies and sharing -------------------------------------------------------------------------

TEST(Tensor, EveryNumberBecomesAnInteger) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const xg::Tensor x = xg::tensor(std::vector{1e300, nan, -1e300, 0x1p63, -0x1p63, 9e18, -2.7},
                                  {.dtype = xg::float64});
  const std::vector<std::int64_t> wanted{INT64_MIN, INT64_MIN,           INT64_MIN, INT64_MIN,
                                         INT64_MIN, 9000000000000000000, -2};  // PyTorch on x86
  EXPECT_EQ(x.to(xg::int64).to_vector<std::int64_t>(), wanted);
  EXPECT_EQ(x.to_vector<std::int64_t>(), wanted);
  EXPECT_EQ(x[0].item<std::int64_t>(), INT64_MIN);
}

TEST(Tensor, SizesBeyondAllCountingAreRefused) {
  constexpr std::int64_t most = INT64_MAX;
  for (const xg::Shape& shape : {xg::Shape{most, 2}, xg::Shape{most, 4, 0}, xg::Shape{0, most, 4},
                                 xg::Shape{most / 2, 0, 3}}) {
    EXPECT_THROW(xg::empty(shape, {.dtype = xg::bool_}), xg::ShapeError) << shape.str();
  }
  EXPECT_THROW(xg::empty({most}, {.dtype = xg::bool_}), xg::Error);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  xg::Tensor a = xg::tensor({1.0, 2.0});
  xg::Tensor same = a;
  const xg::Tensor copy = a.clone();
  same.fill_(9);
  EXPECT_EQ(a.to_vector<int>(), (std::vector<int>{9, 9}));
  EXPECT_EQ(copy.to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(a.is(same));
  EXPECT_FALSE(a.is(copy));
  EXPECT_TRUE(a.to(xg::float32).is(a));
  xg::Tensor alias = a.detach();
  alias.fill_(4);
  EXPECT_EQ(a.to_vector<int>(), (std::vector<int>{4, 4}));
}

TEST(Tensor, ConversionPassesGradients) {
  const xg::Tensor x = xg::tensor({1.5, -2.5}, {.requires_grad = true});
  const xg::Tensor y = x.to(xg::float64);
  EXPECT_EQ(y.grad_fn(), "ToCopyBackward0");
  y.backward(xg::tensor({2.0, 3.0}, {.dtype = xg::float64}));
  EXPECT_EQ(x.grad().dtype(), xg::float32);
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 3}));
  EXPECT_FALSE(x.to(xg::int64).requires_grad());
  EXPECT_EQ(x.to(xg::int64).to_vector<int>(), (std::vector<int>{1, -2}));
  EXPECT_EQ(x.to(xg::bool_).to_vector<int>(), (std::vector<int>{1, 1}));
}

// ---- in place -----------------------------------------------------------------------------------

template <class T>
concept InPlaceOnTemporary = requires(T&& t, const xg::Tensor& v) {
  std::forward<T>(t).add_(v);
}
|| requires(T&& t) { std::forward<T>(t).zero_(); }
|| requires(T&& t, const xg::Tensor& v) { std::forward<T>(t) += v; }
|| requires(T&& t) { std::forward<T>(t) *= 2; }
|| requires(T&& t, const xg::Tensor& v) { std::forward<T>(t).copy_(v); }
|| requires(T&& t) { std::forward<T>(t).fill_(1); }
|| requires(T&& t) { std::forward<T>(t).template mut<float>(); }
|| requires(T&& t, const xg::Tensor& v) { std::forward<T>(t).index_put_({0}, v); };
template <class T>
concept DataOfTemporary = requires(T&& t) {
  std::forward<T>(t).template data<float>();
};

TEST(InPlace, DoesNotCompileOnTemporaries) {
  static_assert(!InPlaceOnTemporary<xg::Tensor>);
  static_assert(InPlaceOnTemporary<xg::Tensor&>);
  static_assert(!DataOfTemporary<xg::Tensor>);
  static_assert(DataOfTemporary<const xg::Tensor&>);
}

TEST(InPlace, Arithmetic) {
  xg::Tensor a = xg::tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  a += xg::tensor({10.0, 20.0, 30.0});
  a.sub_(xg::tensor({{1.0}, {2.0}}), 2);
  a *= 2;
  a /= xg::tensor(4.0);
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{4.5, 10, 15.5, 5, 10.5, 16}));
  a.add_(a);
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{9, 20, 31, 10, 21, 32}));
  a.zero_();
  a -= 1;
  EXPECT_EQ(a.to_vector<double>(), std::vector<double>(6, -1.0));
  EXPECT_THROW(a += xg::ones({2}), xg::ShapeError);
  EXPECT_THROW(a += xg::ones({4, 2, 3}), xg::ShapeError);  // the target cannot grow
  EXPECT_EQ(a.to_vector<double>(), std::vector<double>(6, -1.0));
}

TEST(InPlace, KeepsTheTargetsType) {
  xg::Tensor whole = xg::tensor({1, 2});
  whole += xg::tensor({true, true});
  EXPECT_EQ(whole.to_vector<int>(), (std::vector<int>{2, 3}));
  EXPECT_THROW(whole += 0.5, xg::DTypeError);
  EXPECT_THROW(whole += xg::tensor({0.5, 0.5}), xg::DTypeError);
  EXPECT_THROW(whole /= 2, xg::DTypeError);
  EXPECT_EQ(whole.to_vector<int>(), (std::vector<int>{2, 3}));
  xg::Tensor single = xg::tensor({1.0, 2.0});
  single += xg::tensor({0.5, 0.25}, {.dtype = xg::float64});
  EXPECT_EQ(single.dtype(), xg::float32);
  single.copy_(xg::tensor({7, 8}));
  EXPECT_EQ(single.to_vector<int>(), (std::vector<int>{7, 8}));
  whole.copy_(xg::tensor({1.9, -1.9}));
  EXPECT_EQ(whole.to_vector<int>(), (std::vector<int>{1, -1}));
}

TEST(InPlace, OverlappingRowsAreReadFirst) {
  xg::Tensor a = xg::arange(10);
  xg::Tensor later = a.narrow(0, 1, 8);
  later.copy_(a.narrow(0, 0, 8));
  EXPECT_EQ(a.to_vector<int>(), (std::vector<int>{0, 0, 1, 2, 3, 4, 5, 6, 7, 9}));
}

TEST(InPlace, RefusedWhereAGradientIsNeeded) {
  xg::Tensor leaf = xg::ones({2}, {.requires_grad = true});
  xg::Tensor plain = xg::ones({2});
  expect_error<xg::GraphError>([&] { leaf.add_(plain); }, {"add_", "NoGrad"});
  EXPECT_THROW(leaf += 1, xg::GraphError);
  EXPECT_THROW(plain += leaf, xg::GraphError);
  EXPECT_THROW(leaf.fill_(0), xg::GraphError);
  EXPECT_THROW(leaf.mut<float>(), xg::GraphError);
  EXPECT_EQ(leaf.to_vector<int>(), (std::vector<int>{1, 1}));
  {
    const xg::NoGrad no_grad;
    leaf += plain;
  }
  EXPECT_EQ(leaf.to_vector<int>(), (std::vector<int>{2, 2}));
  EXPECT_TRUE(leaf.is_leaf() && leaf.requires_grad());
}

TEST(InPlace, ASavedValueThatMovedIsAnError) {
  xg::Tensor w = xg::tensor({2.0, 3.0}, {.requires_grad = true});
  const xg::Tensor y = (w * w).sum();
  {
    const xg::NoGrad no_grad;
    w *= 2;
  }
  expect_error<xg::GraphError>([&] { y.backward(); }, {"MulBackward0", "(2,)"});
  EXPECT_FALSE(w.has_grad());
}

// ---- methods ------------------------------------------------------------------------------------

TEST(Tensor, MethodsAreTheFunctions) {
  const xg::Tensor x = xg::tensor({{-1.5, 0.25, 2.0}, {0.75, -0.5, 1.25}});
  const xg::Tensor other = xg::tensor({{-1.5, 1.0, 0.5}, {0.25, -0.5, 3.0}});
  const std::vector<std::pair<xg::Tensor, xg::Tensor>> pairs = {
      {x.maximum(other), maximum(x, other)},
      {x.minimum(other), minimum(x, other)},
      {x.eq(other), x == other},
      {x.ne(other), x != other},
      {x.lt(other), x < other},
      {x.le(other), x <= other},
      {x.gt(other), x > other},
      {x.ge(other), x >= other},
      {x.eq(2), x == 2},
      {x.ne(2), x != 2},
      {x.lt(0.75), x < 0.75},
      {x.le(0.75), x <= 0.75},
      {x.gt(0.75), x > 0.75},
      {x.ge(0.75), x >= 0.75},
      {x.lt(0).logical_not(), x >= 0},
      {x.log().isfinite(), x > 0},
      {x.expm1(), expm1(x)},
      {x.abs().log1p(), log1p(abs(x))},
      {x.reciprocal(), reciprocal(x)},
      {x.sign(), sign(x)},
      {x.floor(), floor(x)},
      {x.ceil(), ceil(x)},
      {x.round(), round(x)},
      {x.erf(), erf(x)},
      {x.prod(), prod(x)},
      {x.prod(0), prod(x, 0)},
      {x.prod(1, true), prod(x, 1, true)},
      {x.cumsum(1), cumsum(x, 1)},
      {x.tril(), tril(x)},
      {x.triu(1), triu(x, 1)},
      {x.split({2, 1}, 1)[1], narrow(x, 1, 2, 1)},
      {x.unsqueeze(0).bmm(other.t().unsqueeze(0)), matmul(x, other.t()).unsqueeze(0)},
      {x[0].outer(other[1]), outer(x[0], other[1])},
  };
  for (const auto& [method, function] : pairs) {
    EXPECT_TRUE(equal(method, function)) << method << "\n" << function;
  }
}
