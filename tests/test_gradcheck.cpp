#include "support/values.hpp"

/// The checker must pass right rules and, more important, must not pass wrong ones.

namespace {

namespace xg = xgrad;
using xg::Tensor;
using Tensors = std::vector<Tensor>;

Tensor leaf(std::initializer_list<xg::detail::Nested> values) {
  return xg::tensor(values, {.dtype = xg::float64, .requires_grad = true});
}

/// x * x with a rule of one's own.
template <class Rule>
Tensor squared(const Tensor& x, Rule rule) {
  return xg::record(
      x.detach() * x.detach(), "SquaredBackward0",
      [rule, x = xg::save(x)](const Tensor& g) { return rule(g, x.get()); }, x);
}

TEST(Gradcheck, PassesRightRules) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto f = [](const Tensors& in) { return (in[0] * in[0] * in[0]).sum(); };
  const xg::GradcheckReport report = xg::gradcheck(f, {x});
  EXPECT_TRUE(report) << report.message;
  EXPECT_LT(report.max_error, 1e-7);
  EXPECT_TRUE(xg::gradgradcheck(f, {x}));
  expect_values(x, {0.5, -2, 3});
  EXPECT_FALSE(x.has_grad());

  const auto g = [](const Tensors& in) {
    return squared(in[0], [](auto& up, auto& v) { return up * v * 2; });
  };
  EXPECT_TRUE(xg::gradcheck(g, {x}));
  EXPECT_TRUE(xg::gradgradcheck(g, {x}));
}

TEST(Gradcheck, SeveralInputsOfWhichSomeAreConstant) {
  const Tensor x = leaf({{1, 2, 3}, {4, 5, 6}}), w = leaf({0.5, -1, 2});
  const Tensor c = xg::tensor({1.0, 2.0, 3.0}, {.dtype = xg::float64});
  const Tensor rows = xg::tensor({1, 0, 1});
  const auto f = [](const Tensors& in) { return index_select(in[0], 0, in[3]) * in[1] * in[2]; };
  EXPECT_TRUE(xg::gradcheck(f, {x, w, c, rows}));
  EXPECT_TRUE(xg::gradgradcheck(f, {x, w, c, rows}));
}

TEST(Gradcheck, FindsWrongRules) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto check = [&](auto rule) {
    return xg::gradcheck([=](const Tensors& in) { return squared(in[0], rule); }, {x});
  };
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v; }));
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v * -2; }));
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v * 2.00001; }));
  EXPECT_FALSE(check([](auto&, auto& v) { return v * 2; }));                  // forgets g
  EXPECT_FALSE(check([](auto& g, auto& v) { return g.mean() * v * 2; }));     // right for equal g
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v * 2 * (v > 0); }));  // wrong in places
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v * 2 + g.sum() * 1e-4; }));
  EXPECT_FALSE(check([](auto& g, auto& v) { return g * v * std::nan(""); }));

  const xg::GradcheckReport report =
      check([](auto& g, auto& v) { return g * v * where(v == 3, 1.0, xg::full_like(v, 2)); });
  EXPECT_EQ(report.input, 0U);
  EXPECT_EQ(report.element, 2);
  EXPECT_NEAR(report.numeric, 2 * report.analytic, 1e-6);
  expect_words(report.message, {"input 0", "(3,)", "element 2", "analytic", "numeric"});
}

TEST(Gradcheck, FindsWhatIsWrongOnOnePathOnly) {
  const Tensor x = leaf({0.5, -2, 3});
  for (bool wrong_when_recording : {false, true}) {
    const auto f = [=](const Tensors& in) {
      return squared(in[0], [=](auto& g, auto& v) {
        return g * v * (xg::is_grad_enabled() == wrong_when_recording ? 3 : 2);
      });
    };
    const xg::GradcheckReport report = xg::gradcheck(f, {x});
    EXPECT_FALSE(report);
    EXPECT_EQ(report.message.find("create_graph") != std::string::npos, wrong_when_recording);
  }
}

TEST(Gradcheck, FindsWrongSecondDerivatives) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto check = [&](auto rule) {
    const auto f = [=](const Tensors& in) { return squared(in[0], rule); };
    EXPECT_TRUE(xg::gradcheck(f, {x}));
    return xg::gradgradcheck(f, {x});
  };
  const xg::GradcheckReport constant = check([](auto& g, auto& v) { return g * v.detach() * 2; });
  EXPECT_FALSE(constant);
  expect_words(constant.message, {"second order", "input 0"});
  // The gradient's dependence on the upstream gradient, which is the last input of the check.
  const xg::GradcheckReport upstream = check([](auto& g, auto& v) { return g.detach() * v * 2; });
  EXPECT_FALSE(upstream);
  EXPECT_EQ(upstream.input, 1U);
}

TEST(Gradcheck, SaysWhenTheFunctionHasAKink) {
  const auto f = [](const Tensors& in) { return relu(in[0]); };
  EXPECT_TRUE(xg::gradcheck(f, {leaf({-1, 0.5})}));
  const xg::GradcheckReport report = xg::gradcheck(f, {leaf({0, -1, 0.5})});
  EXPECT_FALSE(report);
  EXPECT_EQ(report.element, 0);
  expect_words(report.message, {"input 0", "element 0", "kink"});
  const xg::GradcheckReport near =
      xg::gradcheck([](const Tensors& in) { return abs(in[0]); }, {leaf({1e-9})});
  EXPECT_FALSE(near);
  expect_words(near.message, {"kink"});
}

TEST(Gradcheck, AStepOutOfTheDomainIsNoFailure) {
  const Tensor x = leaf({1e-3, 5e-4, 2});
  EXPECT_TRUE(xg::gradcheck([](const Tensors& in) { return log(in[0]); }, {x}, {.rtol = 1e-5}));
  EXPECT_TRUE(xg::gradcheck([](const Tensors& in) { return sqrt(in[0]); }, {x}, {.rtol = 1e-5}));
}

TEST(Gradcheck, RefusesWhatItCannotJudge) {
  const auto f = [](const Tensors& in) { return in[0] * in[0]; };
  expect_words(
      error_of<xg::DTypeError>([&] { xg::gradcheck(f, {xg::ones({2}, {.requires_grad = true})}); }),
      {"input 0", "float32", "to(xg::float64)"});
  error_of<xg::DTypeError>(
      [&] { xg::gradcheck([](const Tensors& in) { return in[0].to(xg::float32); }, {leaf({1})}); });
  error_of<xg::Error>([&] { xg::gradcheck(f, {leaf({1}).detach()}); });

  const xg::GradcheckReport random = xg::gradcheck(
      [](const Tensors& in) { return in[0] * xg::rand({1}, {.dtype = xg::float64}); }, {leaf({1})});
  EXPECT_FALSE(random);
  expect_words(random.message, {"not deterministic"});
}

}  // namespace
