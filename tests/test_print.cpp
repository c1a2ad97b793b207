#include <gtest/gtest.h>

#include <cmath>

#include "support/text.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

// The golden file print.json has a hundred more, and every rule of widths and notation.
TEST(Print, TensorsAsPyTorchDoes) {
  EXPECT_EQ(text(xg::tensor({1.0, 2.0})), "tensor([1., 2.])");
  EXPECT_EQ(text(xg::tensor({{1.5, -2.0, 1000.0}, {0.25, NAN, 3.0}})),
            "tensor([[ 1.5000e+00, -2.0000e+00,  1.0000e+03],\n"
            "        [ 2.5000e-01,         nan,  3.0000e+00]])");
  EXPECT_EQ(text(xg::tensor({{true, false}})), "tensor([[ True, False]])");
  EXPECT_EQ(text(xg::tensor(-7)), "tensor(-7)");
  EXPECT_EQ(text(xg::zeros({2, 0, 3}, {.dtype = xg::float64})),
            "tensor([], size=(2, 0, 3), dtype=torch.float64)");
  EXPECT_EQ(text(xg::Tensor()), "None");
}

TEST(Print, SuffixesWrapByTheirOwnCount) {
  const xg::Tensor row = xg::full({1, 7}, 0.5, {.requires_grad = true});
  EXPECT_EQ(text(row),
            "tensor([[0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000]],\n"
            "       requires_grad=True)");
  EXPECT_EQ(text(xg::full({1, 6}, 0.5, {.requires_grad = true})),
            "tensor([[0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000]], requires_grad=True)");
  EXPECT_EQ(text(xg::full({2}, 0.5, {.dtype = xg::float64, .requires_grad = true}).clone()),
            "tensor([0.5000, 0.5000], dtype=torch.float64, grad_fn=<CloneBackward0>)");
}

TEST(Print, OptionsHoldForTheirScope) {
  const xg::Tensor x = xg::tensor({0.000012, 1.0});
  const std::string usual = text(x);
  {
    const xg::ScopedPrintOptions scope({.precision = 2, .sci_mode = false});
    EXPECT_EQ(text(x), "tensor([    0.00,     1.00])");
    xg::set_printoptions({.precision = 3});  // sci_mode is automatic again
    EXPECT_EQ(text(x), "tensor([1.200e-05, 1.000e+00])");
  }
  EXPECT_EQ(text(x), usual);
  EXPECT_EQ(usual, "tensor([1.2000e-05, 1.0000e+00])");
}

TEST(Print, SummaryShowsTheEdges) {
  const xg::ScopedPrintOptions scope({.threshold = 5, .edgeitems = 1});
  EXPECT_EQ(text(xg::arange(24).reshape({4, 6})),
            "tensor([[ 0,  ...,  5],\n        ...,\n        [18,  ..., 23]])");
}

TEST(Print, OptionErrorsChangeNothing) {
  EXPECT_THROW(xg::set_printoptions({.profile = "long"}), xg::Error);
  EXPECT_THROW(xg::set_printoptions({.precision = 2, .edgeitems = 0}), xg::Error);
  EXPECT_THROW(xg::set_printoptions({.precision = -1}), xg::Error);
  EXPECT_EQ(xg::get_printoptions().precision, 4);
}

TEST(NestedList, PrintsAsPythonDoes) {
  EXPECT_EQ(text(xg::tensor({{0.1, -0.0}, {1e16, 1e-5}}).tolist()),
            "[[0.10000000149011612, -0.0], [1.0000000272564224e+16, 9.999999747378752e-06]]");
  EXPECT_EQ(text(xg::tensor({0.1, 1e15, 1e16, 123456.0, 1e-4}, {.dtype = xg::float64}).tolist()),
            "[0.1, 1000000000000000.0, 1e+16, 123456.0, 0.0001]");
  EXPECT_EQ(text(xg::tensor({INFINITY, -INFINITY, NAN}).tolist()), "[inf, -inf, nan]");
  EXPECT_EQ(text(xg::tensor({{1, 2}, {3, 4}}).tolist()), "[[1, 2], [3, 4]]");
  EXPECT_EQ(text(xg::tensor({true, false}).tolist()), "[True, False]");
  EXPECT_EQ(text(xg::tensor(2.5).tolist()), "2.5");
  EXPECT_EQ(text(xg::zeros({2, 0}).tolist()), "[[], []]");
}

TEST(NestedList, FixedIsPythonsFormat) {
  const xg::Tensor x = xg::tensor({{-1.34164, -0.00001}, {2.00005, 1e9}}, {.dtype = xg::float64});
  EXPECT_EQ(x.tolist().fixed(4), "[[-1.3416, -0.0000], [2.0000, 1000000000.0000]]");
  EXPECT_EQ(xg::tensor({1, 20}).tolist().fixed(1), "[1.0, 20.0]");
  EXPECT_EQ(xg::tensor({INFINITY, NAN}).tolist().fixed(2), "[inf, nan]");
  EXPECT_THROW(x.tolist().fixed(-1), xg::Error);
}

TEST(Print, StateDictIsAListOfPairs) {
  EXPECT_EQ(text(xg::nn::LayerNorm(3).named_buffers()), "[]");
  EXPECT_EQ(text(xg::nn::BatchNorm1d(2).named_buffers()),
            "[('running_mean', tensor([0., 0.])), ('running_var', tensor([1., 1.])), "
            "('num_batches_tracked', tensor(0))]");
}

TEST(Print, ParametersSayThatTheyAre) {
  xg::nn::LayerNorm norm(2);
  EXPECT_EQ(text(norm.weight), "Parameter containing:\ntensor([1., 1.], requires_grad=True)");
  EXPECT_EQ(text(norm.weight * 1), "tensor([1., 1.], grad_fn=<MulBackward0>)");
  EXPECT_EQ(text(norm.weight.detach()), "tensor([1., 1.])");
}

TEST(Print, BoolIsPythons) {
  EXPECT_EQ(xg::to_string(true), "True");
  EXPECT_EQ(xg::to_string(1 > 2), "False");
}

TEST(NestedList, RoundsTheExactValueHalfToEven) {
  const xg::TensorOptions f64{.dtype = xg::float64};
  EXPECT_EQ(text(xg::tensor({0.5, 1.5, -0.4, 2.5}, f64).tolist().round(0)),
            "[0.0, 2.0, -0.0, 2.0]");
  // 2.675 lies below, 0.125 is a tie.
  EXPECT_EQ(text(xg::tensor({2.675, 0.125, 0.375}, f64).tolist().round(2)), "[2.67, 0.12, 0.38]");
  EXPECT_EQ(text(xg::tensor({{-1.22474, 0.00001}, {1.22474, -5.9605e-08}}).tolist().round(4)),
            "[[-1.2247, 0.0], [1.2247, -0.0]]");
  EXPECT_EQ(text(xg::tensor({true, false}).tolist().round(1)), "[1, 0]");
  EXPECT_EQ(text(xg::tensor({15, 25}).tolist().round(1)), "[15, 25]");
  EXPECT_EQ(text(xg::tensor({NAN, INFINITY}).tolist().round(1)), "[nan, inf]");
  EXPECT_THROW(xg::tensor({1.0}).tolist().round(-1), xg::Error);
}

TEST(NestedList, IsACopy) {
  xg::Tensor x = xg::tensor({1.5, 2.5}, {.dtype = xg::float64});
  const xg::NestedList list = x.tolist();
  x.zero_();
  EXPECT_EQ(text(list), "[1.5, 2.5]");
}

}  // namespace
