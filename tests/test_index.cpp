#include <gtest/gtest.h>

#include <functional>

#include "support/values.hpp"
#include "xgrad/gradcheck.hpp"
#include "xgrad/nn.hpp"

namespace xg = xgrad;
using xg::Ellipsis;
using xg::Index;
using xg::Shape;
using xg::Slice;
using xg::Tensor;

namespace {

Tensor leaf(Shape shape) { return xg::randn(shape, {.dtype = xg::float64}).requires_grad_(); }

void expect_tensor(const Tensor& x, const Shape& shape, const std::vector<double>& values) {
  EXPECT_EQ(x.shape(), shape);
  expect_values(x, values, 0);
}

const std::optional<std::int64_t> open = std::nullopt;

TEST(Index, NumbersSlicesAndAxesAsInPython) {
  const Tensor x = counting({2, 3, 4});
  expect_tensor(x.index({1, 2, -1}), {}, {23});
  expect_tensor(x.index({-1, Slice{}, 0}), {3}, {12, 16, 20});
  expect_tensor(x.index({Ellipsis{}, 1}), {2, 3}, {1, 5, 9, 13, 17, 21});
  expect_tensor(x.index({0, Ellipsis{}, Slice{1, open, 2}}), {3, 2}, {1, 3, 5, 7, 9, 11});
  expect_tensor(x.index({Slice{0, 1}, std::nullopt, -2, Slice{-3, -1}}), {1, 1, 2}, {5, 6});
  expect_tensor(x.index({Slice{}, Slice{1, 2}}), {2, 1, 4}, {4, 5, 6, 7, 16, 17, 18, 19});
  expect_tensor(x.index({1, Slice{5, 9}}), {0, 4}, {});
  expect_tensor(x.index({1, Slice{2, 1}}), {0, 4}, {});
  expect_tensor(x.index({0, 0, Slice{-100, 100, 3}}), {2}, {0, 3});
  expect_tensor(x.index({0, 0, Slice{1, open, INT64_MAX}}), {1}, {1});
  expect_tensor(x.index({Ellipsis{}}), x.shape(), x.to_vector<double>());
  expect_tensor(counting({}).index({std::nullopt}), {1}, {0});
}

TEST(Index, TensorsTakeRowsOrMask) {
  const Tensor x = counting({3, 4});
  expect_tensor(x.index({xg::tensor({2, 0, -1})}), {3, 4},
                {8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11});
  expect_tensor(x.index({Slice{1, 3}, xg::tensor({{3, 0}})}), {2, 1, 2}, {7, 4, 11, 8});
  expect_tensor(x.index({0, xg::tensor({1, 1, 2})}), {3}, {1, 1, 2});
  expect_tensor(x.index({Ellipsis{}, xg::tensor(-1)}), {3}, {3, 7, 11});
  expect_tensor(x.index({xg::tensor({true, false, true}), 1}), {2}, {1, 9});
  expect_tensor(x.index({x > 8}), {3}, {9, 10, 11});
  expect_tensor(x.index({xg::tensor(true)}), {1, 3, 4}, x.to_vector<double>());
  expect_tensor(x.index({x < 0}), {0}, {});
}

TEST(Index, RowsShareMemoryNothingElseDoes) {
  Tensor x = counting({4, 3, 2});
  Tensor row = x.index({1});
  Tensor rows = x.index({2, Slice{1, 3}});
  Tensor columns = x.index({Slice{}, 0});
  Tensor every_second = x.index({Slice{0, 4, 2}});
  Tensor picked = x.index({xg::tensor({0})});
  for (Tensor* part : {&row, &rows, &columns, &every_second, &picked}) part->fill_(-1);
  expect_tensor(x, {4, 3, 2}, {0,  1,  2,  3,  4,  5,  -1, -1, -1, -1, -1, -1,
                               12, 13, -1, -1, -1, -1, 18, 19, 20, 21, 22, 23});
  // The first dimension decides, not whether the part happens to lie in one piece.
  Tensor flat = counting({1, 6});
  Tensor part = flat.narrow(1, 2, 3);
  part.fill_(-1);
  EXPECT_EQ(flat.sum().item<double>(), 15);
  Tensor whole = flat.narrow(0, 0, 1);
  whole.fill_(0);
  EXPECT_EQ(flat.sum().item<double>(), 0);
}

TEST(Index, ErrorsNameIndexDimAndSize) {
  const Tensor x = counting({3, 4});
  expect_error<xg::IndexError>(
      [&] {
        return x.index({0, 4});
      },
      {"index", "index 4", "dim 1", "size 4"});
  expect_error<xg::IndexError>([&] { return x.index({-4}); }, {"-4", "dim 0", "size 3"});
  expect_error<xg::IndexError>([&] { return x.index({0, 0, 0}); }, {"3", "(3, 4)"});
  expect_error<xg::IndexError>([&] { return x.index({Ellipsis{}, Ellipsis{}}); }, {"Ellipsis"});
  expect_error<xg::Error>([&] { return x.index({Slice{0, 3, 0}}); }, {"step"});
  expect_error<xg::Error>([&] { return x.index({Slice{3, 0, -1}}); }, {"step", "flip"});
  expect_error<xg::IndexError>(
      [&] {
        return x.index({Slice{}, xg::tensor({1, 4})});
      },
      {"index 4", "dim 1", "size 4"});
  expect_error<xg::IndexError>(
      [&] {
        return x.index({xg::tensor({true, false})});
      },
      {"mask", "(2,)", "(3, 4)"});
  expect_error<xg::DTypeError>([&] { return x.index({xg::tensor({1.0})}); }, {"float32"});
  expect_error<xg::IndexError>([&] { return x.select(1, 4); }, {"select", "dim 1"});
  expect_error<xg::IndexError>([&] { return x.narrow(1, 2, 3); }, {"narrow", "(3, 4)"});
  expect_error<xg::IndexError>([&] { return x.narrow(0, 0, -1); }, {"narrow"});
  expect_error<xg::IndexError>([&] { return counting({}).select(0, 0); }, {"0-d"});
  expect_error<xg::IndexError>(
      [&] {
        return x.index_select(0, xg::tensor({0, 3}));
      },
      {"index_select", "index 3", "dim 0", "size 3"});
  expect_error<xg::IndexError>([&] { return x.index_select(0, xg::tensor({-1})); }, {"-1"});
  expect_error<xg::IndexError>([&] { return x.gather(1, xg::tensor({{4}})); },
                               {"gather", "index 4", "dim 1", "size 4"});
  expect_error<xg::ShapeError>([&] { return x.gather(1, xg::tensor({0})); },
                               {"gather", "(1,)", "(3, 4)"});
  expect_error<xg::ShapeError>(
      [&] {
        return x.gather(0, xg::zeros({1, 5}).to(xg::int64));
      },
      {"(1, 5)"});
}

TEST(Index, IndexPutWritesEveryKindOfPart) {
  const auto after = [](std::initializer_list<Index> index, const Tensor& values) {
    Tensor x = counting({2, 3, 2});
    x.index_put_(index, values);
    return x.to_vector<double>();
  };
  using V = std::vector<double>;
  EXPECT_EQ(after({1, Slice{0, 2}}, xg::tensor({-1.0, -2.0})),
            V({0, 1, 2, 3, 4, 5, -1, -2, -1, -2, 10, 11}));
  EXPECT_EQ(after({Ellipsis{}, 1}, xg::tensor({{-1}, {-2}})),
            V({0, -1, 2, -1, 4, -1, 6, -2, 8, -2, 10, -2}));
  EXPECT_EQ(after({Slice{}, Slice{0, 3, 2}, 0}, xg::tensor({{-1, -2}, {-3, -4}})),
            V({-1, 1, 2, 3, -2, 5, -3, 7, 8, 9, -4, 11}));
  EXPECT_EQ(after({0, xg::tensor({2, 0})}, xg::tensor({{-1, -2}, {-3, -4}})),
            V({-3, -4, 2, 3, -1, -2, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(after({Slice{}, xg::tensor({1}), 1}, xg::tensor({{-1}, {-2}})),
            V({0, 1, 2, -1, 4, 5, 6, 7, 8, -2, 10, 11}));
  EXPECT_EQ(after({counting({2, 3, 2}) > 9}, xg::tensor(-1.0)),
            V({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1}));
  // Leading sizes of 1 do not matter, as in Python's assignment.
  EXPECT_EQ(after({0, 0}, xg::tensor({{{-1, -2}}})), V({-1, -2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(after({Slice{0, 0}}, xg::tensor(5)), V({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));

  Tensor whole = xg::tensor({1, 2, 3});
  whole.index_put_({1}, 7.9);  // converted to the tensor's type
  EXPECT_EQ(whole.to_vector<double>(), V({1, 7, 3}));
}

TEST(Index, IndexPutOfItsOwnElementsReadsBeforeItWrites) {
  Tensor x = counting({6});
  x.index_put_({Slice{1, 6, 2}}, x.narrow(0, 0, 3));
  expect_tensor(x, {6}, {0, 0, 2, 1, 4, 2});
}

TEST(Index, IndexPutThatFailsChangesNothing) {
  Tensor x = counting({2, 3});
  const std::vector<double> before = x.to_vector<double>();
  expect_error<xg::IndexError>([&] { x.index_put_({0, 3}, 1); }, {"index_put_", "dim 1"});
  expect_error<xg::IndexError>(
      [&] {
        x.index_put_({xg::tensor({0, 2})}, 1);
      },
      {"index 2", "size 2"});
  expect_error<xg::ShapeError>([&] { x.index_put_({0}, xg::ones({2})); },
                               {"index_put_", "(3,)", "(2,)"});
  expect_error<xg::ShapeError>([&] { x.index_put_({0, 0}, xg::ones({2})); }, {"(2,)", "()"});
  EXPECT_EQ(x.to_vector<double>(), before);
}

// Case A-05 (c) of a slice of a leaf that requires grad, however one gets at it.
TEST(Index, A05cWriteIntoASliceOfALeaf) {
  Tensor w = leaf({3, 2});
  const std::vector<double> before = w.to_vector<double>();
  Tensor row = w.select(0, 1);
  Tensor value = leaf({2});
  expect_error<xg::GraphError>([&] { w.index_put_({1}, 0); }, {"index_put_", "(3, 2)"});
  expect_error<xg::GraphError>([&] { row.fill_(0); }, {"fill_", "NoGrad"});
  EXPECT_THROW(row.mut<double>(), xg::GraphError);
  Tensor plain = xg::zeros({3, 2}, {.dtype = xg::float64});
  EXPECT_THROW(plain.index_put_({0}, value), xg::GraphError);
  EXPECT_EQ(w.to_vector<double>(), before);
  {
    const xg::NoGrad no_grad;
    w.index_put_({1}, 0);
    Tensor last = w.select(0, 2);
    last.copy_(xg::tensor({8, 9}));
  }
  expect_tensor(w, {3, 2}, {before[0], before[1], 0, 0, 8, 9});
}

TEST(Index, AWriteThroughARowInvalidatesWhatTheGraphSaved) {
  const Tensor x = leaf({3, 2});
  Tensor factor = counting({3, 2});
  const Tensor y = (x * factor).sum();
  Tensor row = factor.select(0, 2);
  row.fill_(0);
  expect_error<xg::GraphError>([&] { y.backward(); }, {"MulBackward0"});
  EXPECT_FALSE(x.has_grad());
}

// Case X-02: a reversed or strided operand of a product.
TEST(Index, X02ProductsOfReversedAndSlicedOperands) {
  const Tensor a = xg::tensor({{2.0, 3.0}, {5.0, 7.0}, {11.0, 13.0}}, {.dtype = xg::float64});
  const Tensor column = a.index({Slice{}, 0});
  EXPECT_EQ(xg::matmul(column, a.flip({0}).index({Slice{}, 1})).item<double>(), 94);
  const Tensor lower = a.index({Slice{1, open}});
  expect_tensor(xg::matmul(lower.t(), lower), {2, 2}, {146, 178, 178, 218});
  const Tensor every_second = a.index({Slice{0, open, 2}, Slice{}});
  expect_tensor(xg::matmul(every_second, a.flip({0, 1}).t()), {2, 3}, {59, 29, 12, 286, 142, 59});
}

TEST(Index, RepeatedRowsAddTheirGradients) {
  const Tensor g = counting({4, 2}) + 1;
  const Tensor x = leaf({3, 2});
  x.index_select(0, xg::tensor({2, 0, 2, 2})).backward(g);
  expect_tensor(x.grad(), {3, 2}, {3, 4, 0, 0, 13, 16});
  const Tensor z = leaf({3, 2});
  z.gather(0, xg::tensor({{1, 0}, {1, 1}, {2, 1}, {1, 1}})).backward(g);
  expect_tensor(z.grad(), {3, 2}, {0, 2, 11, 18, 5, 0});
}

TEST(Index, IndexSelectTakesTheOneElementOfAScalar) {
  const Tensor x = xg::tensor(7.0);
  EXPECT_EQ(index_select(x, 0, xg::tensor({0})).item<double>(), 7);
  for (std::int64_t n : {0, 2}) {
    const Tensor none = xg::zeros({n}, {.dtype = xg::int64});
    expect_error<xg::ShapeError>([&] { index_select(x, 0, none); }, {"index_select", "one"});
  }
}

TEST(Index, DerivativesOfBothOrders) {
  xg::manual_seed(11);
  using F = std::function<Tensor(const Tensor&)>;
  const Tensor picks = xg::tensor({{2, 0, 0, 1}, {1, 2, 1, 1}});
  const std::vector<std::pair<const char*, F>> functions = {
      {"select", [](const Tensor& x) { return x.select(1, -1); }},
      {"rows", [](const Tensor& x) { return x.narrow(0, 1, 2); }},
      {"columns", [](const Tensor& x) { return x.narrow(1, 1, 2); }},
      {"slices",
       [](const Tensor& x) {
         return x.index({Slice{0, 3, 2}, std::nullopt, Slice{1}});
       }},
      {"number", [](const Tensor& x) { return x.index({1}); }},
      {"rows by number",
       [](const Tensor& x) {
         return x.index({xg::tensor({2, 0, -1, 2})});
       }},
      {"columns by number",
       [](const Tensor& x) {
         return x.index({Slice{1}, xg::tensor({{3, 0}})});
       }},
      {"mask",
       [](const Tensor& x) {
         return x.index({counting({3, 4}) > 4.5});
       }},
      {"index_select",
       [](const Tensor& x) {
         return x.index_select(1, xg::tensor({3, 1, 3}));
       }},
      {"gather", [&](const Tensor& x) { return x.gather(0, picks); }},
  };
  for (const auto& [name, f] : functions) {
    const auto curved = [&f = f](const std::vector<Tensor>& xs) { return f(xs[0] * xs[0]); };
    const auto first = xg::gradcheck(curved, {leaf({3, 4})});
    EXPECT_TRUE(first.ok) << name << ": " << first.message;
    const auto second = xg::gradgradcheck(curved, {leaf({3, 4})});
    EXPECT_TRUE(second.ok) << name << ": " << second.message;
  }
}

TEST(Embedding, PaddingRowIsOneOfItsOwn) {
  const xg::nn::Embedding last(4, 3, {.padding_idx = -1});
  EXPECT_EQ(last.extra_repr(), "4, 3, padding_idx=3");
  expect_error<xg::IndexError>([] { xg::nn::Embedding(3, 2, {.padding_idx = 5}); },
                               {"Embedding", "padding_idx 5", "num_embeddings = 3"});
}

TEST(Embedding, PaddingRowGetsNoGradient) {
  const Tensor weight = leaf({3, 4});
  const Tensor g = xg::rand({2, 5, 4}, {.dtype = xg::float64});
  xg::embedding(xg::tensor({{0, 1, 1, 2, 0}, {1, 1, 1, 1, 0}}), weight, -2).backward(g);
  EXPECT_TRUE(xg::equal(weight.grad().select(0, 1), xg::zeros(4, {.dtype = xg::float64})));
  expect_close(weight.grad().select(0, 2), g.select(0, 0).select(0, 3), 1e-15);
}

TEST(Index, NamesAreThoseOfPyTorch) {
  const Tensor x = leaf({3, 4});
  EXPECT_EQ(x.index({1}).grad_fn(), "SelectBackward0");
  EXPECT_EQ(x.index({Slice{0, 2}}).grad_fn(), "SliceBackward0");
  EXPECT_EQ(x.index({1, Slice{0, 2}}).grad_fn(), "SliceBackward0");
  EXPECT_EQ(x.index({Ellipsis{}}).grad_fn(), "AliasBackward0");
  EXPECT_EQ(x.index({std::nullopt}).grad_fn(), "UnsqueezeBackward0");
  EXPECT_EQ(x.index({xg::tensor({0})}).grad_fn(), "IndexBackward0");
  EXPECT_EQ(x.narrow(1, 0, 2).grad_fn(), "SliceBackward0");
  EXPECT_EQ(x.index_select(1, xg::tensor({0})).grad_fn(), "IndexSelectBackward0");
  EXPECT_EQ(x.gather(1, xg::tensor({{0}})).grad_fn(), "GatherBackward0");
}

}  // namespace
