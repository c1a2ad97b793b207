#include <gtest/gtest.h>

#include "support/values.hpp"
#include "xgrad/teach/graph.hpp"

namespace xg = xgrad;
using xg::Tensor;
using xg::teach::to_dot;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Tensor leaf(xg::Shape shape) { return xg::randn(shape, {.requires_grad = true}); }

TEST(TeachGraph, NodesAndArrowsOfAnExpression) {
  xg::manual_seed(1);
  const Tensor x = leaf({2, 3}), w = leaf({3});
  const Tensor y = (x * w).sum();
  EXPECT_EQ(to_dot(y, {.names = {{"x", x}, {"w", w}}}), to_dot(y, {.names = {{"x", x}, {"w", w}}}));
  const std::string dot = to_dot(y, {.names = {{"x", x}, {"w", w}}});
  expect_words(dot, {"n0 [label=<<b>Sum</b>", "tooltip=\"SumBackward0\"", "n1 [label=<<b>Mul</b>",
                     "n2 [label=<<b>x</b>", "(2, 3) float32", "n3 [label=<<b>w</b>", "n1 -> n0",
                     "n2 -> n1", "n3 -> n1"});
  EXPECT_EQ(count(dot, " -> "), 3U);
  EXPECT_EQ(count(dot, "[label="), 4U);
}

TEST(TeachGraph, NamesTheParametersOfANet) {
  xg::nn::Sequential net(xg::nn::Linear(4, 5), xg::nn::LayerNorm(5), xg::nn::ReLU(),
                         xg::nn::Linear(5, 2));
  const Tensor loss = net(xg::randn({3, 4})).square().mean();
  const std::string dot = to_dot(loss, {.names = net.named_parameters()});
  for (const auto& [name, parameter] : net.named_parameters()) {
    EXPECT_EQ(count(dot, "<b>" + name + "</b>"), 1U) << name;
  }
  EXPECT_EQ(count(dot, "tooltip=\"parameter\""), 6U);
  expect_words(dot, {"NativeLayerNormBackward0", "ReluBackward0", "AddmmBackward0"});
}

TEST(TeachGraph, ATensorUsedTwiceIsOneBoxWithTwoArrows) {
  const Tensor x = leaf({2});
  EXPECT_EQ(count(to_dot(x * x), "n1 -> n0"), 2U);
}

TEST(TeachGraph, WithoutAGraphItSaysSo) {
  expect_words(to_dot(xg::ones({2, 3})), {"digraph", "no graph", "(2, 3)"});
  EXPECT_EQ(count(to_dot(leaf({2})), "[label="), 1U);  // a leaf is a graph of one
  error_of<xg::Error>([] { to_dot(Tensor()); });
}

TEST(TeachGraph, EscapesNames) {
  const Tensor x = leaf({2});
  const std::string dot = to_dot(x, {.names = {{"a<b>\"&\\ c\n\x01", x}}});
  expect_words(dot, {"<b>a&lt;b&gt;&quot;&amp;&#92; c<br align=\"left\"/>?</b>"});
}

TEST(TeachGraph, ValuesAndGradients) {
  const Tensor x = xg::tensor({{1.0, -2.5}}, {.requires_grad = true});
  const Tensor big = xg::linspace(0, 4, 5).requires_grad_();
  Tensor y;
  {
    const xg::KeepValues keep;
    y = (x * 3).sum() + (big * 2).sum();
    y.backward(true);
  }
  const auto dot = [&](xg::teach::DotOptions options) {
    options.names = {{"x", x}, {"big", big}};
    options.numbers = 4;
    return to_dot(y, options);
  };
  EXPECT_EQ(count(dot({}), "value"), 0U);
  EXPECT_EQ(count(dot({}), "gradient"), 0U);
  const std::string values = dot({.values = true});
  EXPECT_EQ(count(values, "value"), 7U);  // of 5 operations and 2 leaves
  expect_words(values, {"&#160;&#160;&#160;1 &#160;-2.5<br", "&#160;&#160;&#160;3 &#160;-7.5<br",
                        "mean 2 &#160;std 1.581<br align=\"left\"/>"
                        "min 0 &#160;max 4"});
  const std::string gradients = dot({.gradients = true});
  EXPECT_EQ(count(gradients, "gradient"), 7U);
  expect_words(gradients, {"3 &#160;3", "mean 2 &#160;std 0<br"});
}

TEST(TeachGraph, OutsideKeepValuesOperationsKeepNothing) {
  const Tensor x = leaf({2});
  const Tensor y = (x * 2 + 1).sum();
  y.backward(true);
  const std::string dot = to_dot(y, {.names = {{"x", x}}, .values = true, .gradients = true});
  EXPECT_EQ(count(dot, "value"), 2U);  // of x and of y, which are at hand
  EXPECT_EQ(count(dot, "gradient"), 1U);
}

TEST(TeachGraph, KeptValuesThatChangedAreNotShown) {
  const xg::KeepValues keep;
  const Tensor x = leaf({2});
  Tensor h = x * 2;
  const Tensor y = h.sum();
  {
    const xg::NoGrad no_grad;
    h.fill_(7);
  }
  expect_words(to_dot(y, {.values = true}), {"changed in place"});
}

TEST(TeachGraph, ASpentGraphSaysSo) {
  const Tensor x = leaf({2});
  const Tensor y = (x * 2).sum();
  y.backward();
  const std::string dot = to_dot(y);
  expect_words(dot, {"freed by backward"});
  EXPECT_EQ(count(dot, "[label="), 1U);
}

TEST(TeachGraph, KeepValuesLeavesNothingBehind) {
  const std::int64_t nodes = xg::live_nodes();
  const std::int64_t bytes = xg::live_bytes();
  {
    const xg::KeepValues keep;
    const Tensor y = (leaf({2}) * 2).exp().sum();
    y.backward(true);
    to_dot(y, {.values = true, .gradients = true});
  }
  EXPECT_EQ(xg::live_nodes(), nodes);
  EXPECT_EQ(xg::live_bytes(), bytes);
}

TEST(TeachGraph, AHundredThousandNodes) {
  const Tensor x = leaf({2});
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + 1;
  const std::string dot = to_dot(y, {.max_nodes = 50});
  EXPECT_EQ(count(dot, "<b>Add</b>"), 50U);
  expect_words(dot, {"... 99951 more", "more -> {n49}"});
  EXPECT_EQ(count(to_dot(y, {.max_nodes = 1000000}), "<b>Add</b>"), 100000U);
}

}  // namespace
