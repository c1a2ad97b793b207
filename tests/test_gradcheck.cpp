#include <gtest/gtest-spi.h>

#include <nlohmann/json.hpp>

#include "support/gradcheck.hpp"

/// The checker must pass right rules and, more important, must not pass wrong ones.

namespace {

namespace xg = xgrad;
using xg::Tensor;
using xg::Verdict;
using Tensors = std::vector<Tensor>;

template <class Rule>
xg::GradcheckReport check_squared(const Tensor& x, Rule rule) {
  return xg::gradcheck([=](const Tensor& in) { return squared(in, rule); }, {x});
}

// ---- right rules --------------------------------------------------------------------------------

TEST(Gradcheck, PassesRightRules) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto f = [](const Tensors& in) { return (in[0] * in[0] * in[0]).sum(); };
  const xg::GradcheckReport report = xg::gradcheck(f, {x});
  expect_verdict(report, Verdict::correct);
  EXPECT_LT(report.max_error, 1e-10);
  EXPECT_EQ(report.checked, 3);
  EXPECT_GRADIENTS2(f, {x});
  expect_values(x, {0.5, -2, 3});
  EXPECT_FALSE(x.has_grad());
  const auto rule = [](auto& up, auto& v) { return up * v * 2; };
  EXPECT_GRADIENTS([&](const Tensor& in) { return squared(in, rule); }, {x});
  EXPECT_GRADIENTS2([&](const Tensor& in) { return squared(in, rule); }, {x});
}

TEST(Gradcheck, SeveralInputsOfWhichSomeAreConstant) {
  const Tensor x = leaf({{1, 2, 3}, {4, 5, 6}}), w = leaf({0.5, -1, 2});
  const Tensor c = xg::tensor({1.0, 2.0, 3.0}, {.dtype = xg::float64});
  const Tensor rows = xg::tensor({1, 0, 1});
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& factor, const Tensor& r) {
    return index_select(a, 0, r) * b * factor;
  };
  EXPECT_GRADIENTS(f, {x, w, c, rows});
  EXPECT_GRADIENTS2(f, {x, w, c, rows});
  expect_error<xg::Error>([&] { xg::gradcheck(f, {x}); }, {"takes 4 tensors", "inputs are 1"});
}

TEST(Gradcheck, SeveralOutputs) {
  const auto f = [](const Tensor& x) {
    const auto top = max(x, 1);
    return Tensors{top.values, top.indices, split(x * x, 2, 1).at(1)};
  };
  EXPECT_GRADIENTS(f, {random_leaf({3, 4})});
  EXPECT_GRADIENTS2(f, {random_leaf({3, 4})});
  const auto g = [](const Tensor& x) {  // right in the first output, wrong in the second
    return Tensors{x.exp(), squared(x, [](auto& up, auto& v) { return up * v; })};
  };
  expect_verdict(xg::gradcheck(g, {random_leaf({2})}), Verdict::wrong, {"output 1 at ("});
}

TEST(Gradcheck, AStepOutOfTheDomainIsNoFailure) {
  const Tensor x = leaf({1e-3, 5e-4, 2});
  EXPECT_GRADIENTS([](const Tensor& in) { return log(in); }, {x});
  EXPECT_GRADIENTS([](const Tensor& in) { return sqrt(in); }, {x});
  EXPECT_GRADIENTS(
      [](const Tensor& in) {  // refuses what is out of [0, 1]
        return binary_cross_entropy(in, xg::tensor({0.0, 1.0}, {.dtype = xg::float64}));
      },
      {leaf({0.999, 0.02})});
}

TEST(Gradcheck, StepsFitTheFunctionNotTheInput) {
  EXPECT_GRADIENTS([](const Tensor& x) { return sin(x * 1e4); }, {leaf({0.1, 0.7})});
  EXPECT_GRADIENTS([](const Tensor& x) { return sin(x * 1e-4); }, {leaf({1e4, -7e3})});
  EXPECT_GRADIENTS([](const Tensor& x) { return sin(x - 1e6); }, {leaf({1e6, 1e6 + 1})});
  EXPECT_GRADIENTS([](const Tensor& x) { return log(x); }, {leaf({1e6, 1e-4})});
  EXPECT_GRADIENTS([](const Tensor& x) { return exp(x); }, {leaf({-30, 20})});
}

// ---- wrong rules --------------------------------------------------------------------------------

TEST(Gradcheck, FindsWrongRules) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto wrong = [&](auto rule, const std::vector<std::string>& words) {
    expect_verdict(check_squared(x, rule), Verdict::wrong, words);
  };
  wrong([](auto& g, auto& v) { return g * v; }, {"Each is 0.5 times"});
  wrong([](auto& g, auto& v) { return g * v * -2; }, {"Each is -1 times", "sign"});
  wrong([](auto& g, auto& v) { return g * v * 2.00001; }, {"Each is 1.00001 times"});
  wrong([](auto&, auto& v) { return v * 2; }, {});                    // forgets g
  wrong([](auto& g, auto& v) { return g.mean() * v * 2; }, {});       // right for equal g
  wrong([](auto& g, auto& v) { return g * g * v * 2; }, {"random"});  // right for one output alone
  wrong([](auto& g, auto& v) { return g * v * 2 * (v > 0); }, {"1 of 3 elements"});
  wrong([](auto& g, auto& v) { return g * v * 2 + g.sum() * 1e-4; },
        {"the same all along dimension 0"});
  wrong([](auto& g, auto& v) { return (g * v * 2).flip({0}); }, {"another order"});
  expect_verdict(check_squared(x, [](auto& g, auto& v) { return g * v * NAN; }),
                 Verdict::not_finite);
}

TEST(Gradcheck, FindsOneElementOfTwoHundredThatIsATenthOfAPercentOff) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Tensor x = random_leaf({8, 25}, seed);
    xg::Generator generator(seed + 1000);
    const auto planted = static_cast<std::int64_t>(generator.next_u32() % 200);
    Tensor factor = xg::ones({8, 25}, {.dtype = xg::float64});
    factor.mut<double>()[static_cast<std::size_t>(planted)] = 1.001;
    const auto f = [&](const Tensor& in) {
      return squared(in, [&](auto& g, auto& v) { return g * v * 2 * factor; });
    };
    const xg::GradcheckReport report = xg::gradcheck(f, {x}, {.seed = seed});
    ASSERT_EQ(report.verdict, Verdict::wrong) << report;
    ASSERT_EQ(report.worst.front().element, planted);
    ASSERT_EQ(report.worst.front().index, (xg::Shape{planted / 25, planted % 25}));
    expect_words(report.message, {"1 of 200 elements"});
  }
}

TEST(Gradcheck, TinyDerivativesAreComparedToo) {
  const auto tripled = [](const Tensor& x) {
    const Tensor y = x.sigmoid();
    return y.detach() + (y - y.detach()) * 3.0;
  };
  expect_verdict(xg::gradcheck(tripled, {leaf({-30, -31})}), Verdict::wrong, {"Each is 3 times"});
  expect_verdict(xg::gradcheck(tripled, {leaf({0.5, -30})}), Verdict::wrong);
  const Tensor many = (random_leaf({50, 7}).detach() - 30).requires_grad_();
  expect_verdict(xg::gradcheck(tripled, {many}), Verdict::wrong);
  for (double c : {1e-10, 1e-12, 1e-30, 1e-100}) {
    const auto doubled = [=](const Tensor& x) { return (x.detach() - x) * c + x * (2 * c); };
    expect_verdict(xg::gradcheck(doubled, {leaf({0.5, -2, 3})}), Verdict::wrong);
    for (double offset : {0.0, 1e-3}) {
      const auto right = [=](const Tensor& x) { return x.exp() * c + offset; };
      const xg::GradcheckReport report = xg::gradcheck(right, {leaf({0.5, -2, 3})});
      const bool hidden = offset > 0 && c < 1e-12;
      if (c != 1e-12) {
        expect_verdict(report, hidden ? Verdict::null_direction : Verdict::correct);
      } else {
        EXPECT_NE(report.verdict, Verdict::wrong) << report;
      }
    }
  }
}

TEST(Gradcheck, HalvesALongInputDownToTheWrongElement) {
  const auto f = [](const Tensor& x) {
    return squared(x,
                   [](auto& g, auto& v) {
                     Tensor factor = xg::full_like(v.detach(), 2);
                     factor.template mut<double>()[777] = 2.002;
                     return g * v * factor;
                   })
        .mean();
  };
  const Tensor x = (random_leaf({20000}).detach().abs() + 0.5).requires_grad_();
  const xg::GradcheckReport report = xg::gradcheck(f, {x});
  expect_verdict(report, Verdict::wrong);
  EXPECT_EQ(report.worst.front().element, 777);
  EXPECT_GRADIENTS([](const Tensor& in) { return relu(in).square().mean(); },
                   {random_leaf({20000})});
}

/// (x - mean) / std of each row, with one term of the rule left out.
Tensor normalized(const Tensor& x, bool with_mean, bool with_variance) {
  const Tensor c = x.detach() - x.detach().mean({.dim = -1, .keepdim = true});
  const Tensor r = rsqrt(c.square().mean({.dim = -1, .keepdim = true}) + 1e-5);
  return xg::record(
      c * r, "NormalizedBackward0",
      [=](const Tensor& g) {
        Tensor d = g;
        if (with_mean) d = d - g.mean({.dim = -1, .keepdim = true});
        if (with_variance) d = d - c * r * (g * c * r).mean({.dim = -1, .keepdim = true});
        return d * r;
      },
      x);
}

TEST(Gradcheck, LeadsToTheMissingTermOfANorm) {
  const auto check = [](bool with_mean, bool with_variance) {
    return xg::gradcheck([=](const Tensor& x) { return normalized(x, with_mean, with_variance); },
                         {random_leaf({3, 5})}, {.names = {"x"}});
  };
  expect_verdict(check(true, true), Verdict::correct);
  expect_verdict(check(false, true), Verdict::wrong, {"x: 15 of its 15", "all along dimension 1"});
  expect_verdict(check(true, false), Verdict::wrong, {"Along dimension 1", "variance"});
}

TEST(Gradcheck, FindsWhatIsWrongOnOnePathOnly) {
  const Tensor x = leaf({0.5, -2, 3}), w = leaf({1, 2, 4});
  for (bool wrong_when_recording : {false, true}) {
    const xg::GradcheckReport report = check_squared(x, [=](auto& g, auto& v) {
      return g * v * (xg::is_grad_enabled() == wrong_when_recording ? 3 : 2);
    });
    expect_verdict(report, Verdict::wrong,
                   {wrong_when_recording ? "Right in plain backward" : "wrong in plain backward"});
  }
  const auto f = [](const Tensor& a, const Tensor& b) {  // wrong where only a needs a gradient
    return xg::record(
        a.detach() * b.detach(), "ProductBackward0",
        [a = xg::save(a), b = xg::save(b)](const Tensor& g, xg::Needs needs) {
          return xg::grads(needs[1] ? g * b : g, needs[1] ? g * a : Tensor());
        },
        a, b);
  };
  expect_verdict(xg::gradcheck(f, {x, w}), Verdict::wrong,
                 {"only input 0 requiring", "leaves out", "Right: input 1"});
}

TEST(Gradcheck, FindsWrongSecondDerivatives) {
  const Tensor x = leaf({0.5, -2, 3});
  const auto check = [&](auto rule) {
    const auto f = [=](const Tensors& in) { return squared(in[0], rule); };
    EXPECT_GRADIENTS(f, {x});
    return xg::gradgradcheck(f, {x});
  };
  const xg::GradcheckReport constant = check([](auto& g, auto& v) { return g * v.detach() * 2; });
  expect_verdict(constant, Verdict::missing, {"second order", "input 0"});
  // The gradient's dependence on the upstream gradient, which is the last input of the check.
  const xg::GradcheckReport upstream = check([](auto& g, auto& v) { return g.detach() * v * 2; });
  expect_verdict(upstream, Verdict::missing, {"upstream gradient 0"});
  EXPECT_EQ(upstream.worst.front().input, 1U);
  const xg::GradcheckReport half = check([](auto& g, auto& v) { return g * v + g * v.detach(); });
  expect_verdict(half, Verdict::wrong, {"second order", "Each is 0.5 times"});
}

// ---- the other verdicts -------------------------------------------------------------------------

TEST(Gradcheck, SaysWhenTheFunctionHasAKink) {
  const auto f = [](const Tensor& x) { return relu(x); };
  EXPECT_GRADIENTS(f, {leaf({-1, 0.5})});
  const xg::GradcheckReport report = xg::gradcheck(f, {leaf({0, -1, 0.5})});
  expect_verdict(report, Verdict::kink,
                 {"input 0", "element 0", "0 on the left", "1 on the right"});
  const xg::GradcheckEntry& entry = report.worst.front();
  EXPECT_EQ(entry.element, 0);
  EXPECT_EQ(entry.analytic, 0);
  EXPECT_NEAR(entry.numeric, 0.5, 1e-9);

  const auto g = [](const Tensor& x) { return abs(x).sum(); };
  const xg::GradcheckReport near = xg::gradcheck(g, {leaf({1e-9})});
  expect_verdict(near, Verdict::kink);
  EXPECT_NEAR(near.worst.front().numeric / near.worst.front().analytic, 0.001, 1e-6);
  expect_verdict(xg::gradcheck(g, {leaf({0})}), Verdict::kink);  // the mean of both sides is right
  // What lies between no two slopes is wrong, kink or not.
  const auto wrong = [](const Tensor& x) {
    return xg::record(
        relu(x.detach()), "WrongBackward0", [](const Tensor& up) { return up * 7; }, x);
  };
  expect_verdict(xg::gradcheck(wrong, {leaf({0})}), Verdict::wrong);
}

TEST(Gradcheck, SumsOfNormalizedRowsAreNeverWrong) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Tensor x = random_leaf({3, 4}, seed);
    const double eps = std::pow(10.0, -static_cast<double>(seed % 13));
    const auto sum = [&](const Tensor& in) { return layer_norm(in, 4, {}, {}, eps).sum(); };
    const auto squares = [&](const Tensor& in) {
      return layer_norm(in, 4, {}, {}, eps).square().sum();
    };
    expect_verdict(xg::gradcheck(sum, {x}), Verdict::null_direction, {"does not depend"});
    EXPECT_NE(xg::gradgradcheck(sum, {x}).verdict, Verdict::wrong);
    for (const auto& report : {xg::gradcheck(squares, {x}), xg::gradgradcheck(squares, {x})}) {
      EXPECT_NE(report.verdict, Verdict::wrong) << "eps " << eps << " " << report;
      EXPECT_NE(report.verdict, Verdict::kink) << "eps " << eps << " " << report;
    }
  }
}

TEST(Gradcheck, AGreatOffsetIsRightOrTooNoisy) {
  int correct = 0, noisy = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double eps = std::pow(10.0, -7 - static_cast<double>(seed % 6));
    const Tensor x = (random_leaf({3, 4}, seed).detach() + 1e6).requires_grad_();
    const auto norm = [&](const Tensor& in) {
      return seed % 2 == 0 ? layer_norm(in, 4, {}, {}, eps)
                           : batch_norm(in, {}, {}, {}, {}, {.training = true, .eps = eps});
    };
    for (const auto& report : {xg::gradcheck(norm, {x}), xg::gradgradcheck(norm, {x})}) {
      EXPECT_TRUE(report.ok || report.verdict == Verdict::too_noisy) << "eps " << eps << report;
      (report.ok ? correct : noisy) += 1;
    }
  }
  EXPECT_GT(correct, noisy);
  // Yet what is wrong is found there, too.
  const Tensor x = (random_leaf({3, 5}).detach() + 1e6).requires_grad_();
  expect_verdict(xg::gradcheck([](const Tensor& in) { return normalized(in, false, true); }, {x}),
                 Verdict::wrong);
}

TEST(Gradcheck, TooNoisy) {
  for (double offset : {1e9, 1e10, 1e11, 1e12, 1e13, 1e14}) {  // the last digit of a sum in steps
    const auto f = [=](const Tensor& x) { return (x + offset) - offset; };
    const xg::GradcheckReport report = xg::gradcheck(f, {leaf({0.3, 0.7})});
    EXPECT_TRUE(report.verdict == Verdict::too_noisy || report.verdict == Verdict::kink) << report;
    if (offset == 1e12) {
      expect_verdict(report, Verdict::too_noisy, {"neither right nor wrong", "nearer to 0"});
    }
  }
}

TEST(Gradcheck, NaNIsNeverRight) {
  const Tensor x = leaf({-1, 4});
  const xg::GradcheckReport both =
      xg::gradcheck([](const Tensor& in) { return sqrt(in); }, {x});  // nan forward and backward
  expect_verdict(both, Verdict::not_finite, {"output 0"});
  expect_verdict(xg::gradcheck([](const Tensor& in) { return sqrt(in); }, {leaf({0, 4})}),
                 Verdict::not_finite, {"AnomalyMode"});
  // An infinite output that stays what it is has the derivative 0.
  const auto masked = [](const Tensor& in) {
    return masked_fill(in, xg::tensor({true, false}), -INFINITY);
  };
  EXPECT_GRADIENTS(masked, {x});
}

TEST(Gradcheck, AGraphThatIsCut) {
  const Tensor x = random_leaf({3, 4}), w = random_leaf({4}, 2);
  expect_verdict(
      xg::gradcheck([](const Tensor& a, const Tensor& b) { return a * b.detach(); }, {x, w}),
      Verdict::missing, {"input 1", "the graph is cut", "detach()"});
  expect_verdict(xg::gradcheck([](const Tensor& a) { return a.detach().exp(); }, {x}),
                 Verdict::missing);
  const auto f = [](const Tensor& a) { return squared(a, [](auto&, auto&) { return Tensor(); }); };
  expect_verdict(xg::gradcheck(f, {x}), Verdict::missing, {"SquaredBackward0"});
}

TEST(Gradcheck, ARuleOfTheWrongShape) {
  expect_verdict(check_squared(leaf({1, 2}), [](auto& g, auto& v) { return (g * v).sum(); }),
                 Verdict::wrong_shape, {"SquaredBackward0", "()", "(2,)"});
  expect_verdict(check_squared(leaf({1, 2}), [](auto& g, auto& v) { return xg::grads(g * v, g); }),
                 Verdict::wrong_shape, {"2 gradients for 1 input"});
}

TEST(Gradcheck, InputsThatShareMemory) {
  const Tensor x = random_leaf({4, 2});
  const auto f = [](const Tensor& a, const Tensor& b) { return a * b; };
  expect_verdict(xg::gradcheck(f, {x, x}), Verdict::shared_memory, {"inputs 0 and 1"});
  expect_verdict(xg::gradgradcheck(f, {x, x}), Verdict::shared_memory);
  const Tensor whole = x.detach();
  EXPECT_GRADIENTS(f, {whole.narrow(0, 0, 2).requires_grad_(), whole.narrow(0, 2, 2)});
  expect_verdict(xg::gradcheck(f, {whole.narrow(0, 0, 2).requires_grad_(), whole.narrow(0, 1, 2)}),
                 Verdict::shared_memory);
}

TEST(Gradcheck, NotDeterministic) {
  const xg::Generator::State before = xg::default_generator().state();
  expect_verdict(xg::gradcheck([](const Tensor& x) { return dropout(x, 0.5); }, {random_leaf({9})}),
                 Verdict::not_deterministic, {"eval()"});
  EXPECT_EQ(xg::default_generator().state(), before);
  const auto in_place = [](const Tensor& x) {
    const xg::NoGrad no_grad;
    Tensor same = x;
    return same.add_(1.0) * 2.0;
  };
  expect_verdict(xg::gradcheck(in_place, {random_leaf({3})}), Verdict::not_deterministic,
                 {"writes into an input", "clone()"});
  int calls = 0;
  expect_verdict(check_squared(leaf({1, 2}), [&](auto& g, auto& v) { return g * v * ++calls; }),
                 Verdict::not_deterministic, {"backward"});
}

TEST(Gradcheck, RefusesWhatItCannotJudge) {
  const auto f = [](const Tensor& x) { return x * x; };
  for (auto check : {0, 1}) {
    const Tensor x = xg::ones({2}, {.requires_grad = true});
    expect_error<xg::DTypeError>(
        [&] { check == 0 ? xg::gradcheck(f, {x}) : xg::gradgradcheck(f, {x}); },
        {"input 0", "float32", "to(xg::float64)"});
  }
  error_of<xg::DTypeError>(
      [&] { xg::gradcheck([](const Tensor& x) { return x.to(xg::float32); }, {leaf({1})}); });
  error_of<xg::DTypeError>(
      [&] { xg::gradcheck([](const Tensor& x) { return x > 0; }, {leaf({1})}); });
  error_of<xg::Error>([&] { xg::gradcheck(f, {leaf({1}).detach()}); });
  EXPECT_GRADIENTS([](const Tensor& x) { return x * x; },
                   {xg::zeros({0, 3}, {.dtype = xg::float64, .requires_grad = true})});
}

TEST(Gradcheck, WritesJson) {
  const xg::GradcheckReport report =
      xg::gradcheck([](const Tensor& x) { return relu(x); }, {leaf({{0, -1, 0.5}})});
  const auto json = nlohmann::json::parse(report.to_json());
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["verdict"], "kink");
  EXPECT_EQ(json["order"], 1);
  EXPECT_EQ(json["worst"][0]["index"], (std::vector<int>{0, 0}));
  EXPECT_EQ(json["worst"][0]["left"], 0);
  EXPECT_NEAR(json["worst"][0]["right"].get<double>(), 1, 1e-9);
}

}  // namespace
