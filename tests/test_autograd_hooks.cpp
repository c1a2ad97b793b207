#include <cmath>

#include "support/leaves.hpp"

/// Hooks, retained gradients, anomaly mode, and operations made by users.

namespace xg = xgrad;
using xg::Tensor;

// Not in the unnamed namespace, so that anomaly mode can find its name.
Tensor forward_with_a_root(const Tensor& x) { return sqrt(x).sum() * 2; }

namespace {

// ---- hooks --------------------------------------------------------------------------------------

TEST(Hooks, SeeTheWholeGradientOnce) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  int calls = 0;
  x.register_hook([&](const Tensor& g) {
    ++calls;
    expect_values(g, {6 + 12, 6 + 24});  // both uses of y, both uses of x below them
  });
  (y * 2 + y * y * (2.0 / 3)).sum().backward();
  EXPECT_EQ(calls, 1);
  expect_values(x.grad(), {18, 30});
}

TEST(Hooks, ReplaceTheGradientInTheMiddle) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.register_hook([](const Tensor& g) { return g + 1; });
  y.sum().backward();
  expect_values(x.grad(), {33, 33});
}

TEST(Hooks, MayNotWriteIntoTheGradient) {  // y + x gives both the same one
  const Tensor x = xg::tensor({1.0, 2.0}, {.requires_grad = true});
  const Tensor y = x * 2;
  const Tensor z = y + x;
  y.register_hook([](const Tensor& g) {
    Tensor same = g;
    return same.mul_(10.0);
  });
  expect_error<xg::GraphError>([&] { z.backward(xg::ones({2})); }, {"hook", "(2,)", "clone()"});
  EXPECT_FALSE(x.has_grad());
}

TEST(Hooks, RemoveAndCopyOfTheHandle) {
  const Tensor x = leaf({1, 2});
  xg::HookHandle twice = x.register_hook([](const Tensor& g) { return g * 2; });
  xg::HookHandle five = x.register_hook([](const Tensor& g) { return g * 5; });
  (x * 1).sum().backward();
  expect_values(x.grad(), {10, 10});
  xg::HookHandle copy = five;
  copy.remove();
  copy.remove();
  x.set_grad({});
  (x * 1).sum().backward();
  expect_values(x.grad(), {2, 2});
  twice.remove();
  x.set_grad({});
  (x * 1).sum().backward();
  expect_values(x.grad(), {1, 1});
}

TEST(Hooks, AHookThatRemovesItself) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  std::optional<xg::HookHandle> handle;
  handle = x.register_hook([&](const Tensor&) {
    ++calls;
    handle->remove();
  });
  x.register_hook([&](const Tensor&) { ++calls; });
  (x * 1).sum().backward();
  EXPECT_EQ(calls, 2);
  (x * 1).sum().backward();
  EXPECT_EQ(calls, 3);
}

TEST(Hooks, ErrorsLeaveTheGradients) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  (x * w).sum().backward();
  const xg::HookHandle wrong = x.register_hook([](const Tensor&) { return xg::ones({3}); });
  expect_error<xg::GraphError>([&] { (x * w).sum().backward(); }, {"hook", "(3,)"});
  expect_values(w.grad(), {1, 2});
  error_of<xg::GraphError>([] { xg::ones({2}).register_hook([](const Tensor&) {}); });

  const Tensor y = x * w;
  y.register_hook([](const Tensor&) { throw std::runtime_error("stop"); });
  EXPECT_THROW((y + x).sum().backward(), std::runtime_error);
  expect_values(x.grad(), {3, 4});
}

TEST(Hooks, MayGoThroughTheSameGraph) {
  const Tensor x = leaf({5});
  const Tensor u = x * 2;
  const Tensor v = u * 3, other = u * 7;
  const Tensor s = u * u;  // newer than v: u already has a gradient waiting when v's hook runs
  double inner = 0;
  v.register_hook([&](const Tensor&) {
    inner = xg::grad(other, {x}, {.retain_graph = true})[0].item<double>();
  });
  (v + s).backward();
  EXPECT_EQ(inner, 14);
  expect_values(x.grad(), {46});
}

TEST(Hooks, SeeAGraphOnlyWhenOneIsMade) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  bool recorded = true;
  y.register_hook([&](const Tensor& g) { recorded = xg::is_grad_enabled() && g.requires_grad(); });
  (y * y).backward(true);
  EXPECT_FALSE(recorded);
  xg::grad(y * y, {x}, {.create_graph = true});
  EXPECT_TRUE(recorded);
}

TEST(Hooks, RetainedGradientsAccumulate) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 2; });
  y.sum().backward(true);
  expect_values(y.grad(), {2, 2});
  y.sum().backward();
  expect_values(y.grad(), {4, 4});
  expect_values(x.grad(), {12, 12});
  error_of<xg::GraphError>([] { xg::ones({2}).retain_grad(); });
}

// ---- anomaly mode -------------------------------------------------------------------------------

TEST(Anomaly, NamesTheOperationAndThePlace) {
  const Tensor x = leaf({4, 0, 1});
  forward_with_a_root(x).backward();
  expect_values(x.grad(), {0.5, infinity, 1});

  x.set_grad({});
  const xg::AnomalyMode anomaly;
  const Tensor y = forward_with_a_root(x);
  const std::string text = error_of<xg::GraphError>([&] { y.backward(); });
  expect_words(text, {"SqrtBackward0", "input 0", "(3,)", "not finite"});
#ifdef __GLIBC__
  expect_words(text, {"forward_with_a_root"});
#endif
  EXPECT_FALSE(x.has_grad());
}

TEST(Anomaly, EndsWithItsScope) {
  const Tensor x = leaf({0, 1});
  {
    const xg::AnomalyMode anomaly;
    { const xg::AnomalyMode inner; }
    error_of<xg::GraphError>([&] { sqrt(x).sum().backward(); });
  }
  sqrt(x).sum().backward();
  EXPECT_TRUE(x.has_grad());
}

// ---- operations of users ------------------------------------------------------------------------

/// The example of extend.hpp.
Tensor cube(const Tensor& x) {
  Tensor y = x.detach() * x.detach() * x.detach();
  return xg::record(
      y, "CubeBackward0", [x = xg::save(x)](const Tensor& g) { return g * 3.0 * x * x; }, x);
}

TEST(Extend, AnOperationIsDifferentiatedTwice) {
  const Tensor x = leaf({2, -3});
  const Tensor y = cube(x);
  expect_values(y, {8, -27});
  EXPECT_EQ(y.grad_fn(), "CubeBackward0");
  const Tensor first = xg::grad(y.sum(), {x}, {.create_graph = true})[0];
  expect_values(first, {12, 27});
  expect_values(xg::grad(first.sum(), {x})[0], {12, -18});
  EXPECT_FALSE(cube(x.detach()).requires_grad());
}

TEST(Extend, ARuleReceivesTheOutput) {
  const auto my_exp = [](const Tensor& x) {
    return xg::record(
        exp(x.detach()), "MyExpBackward0",
        [](const Tensor& g, const Tensor& out) { return g * out; }, x);
  };
  const Tensor x = leaf({0, 1});
  const Tensor first = xg::grad(my_exp(x).sum(), {x}, {.create_graph = true})[0];
  expect_values(first, {1, std::exp(1.0)});
  expect_values(xg::grad(first.sum(), {x})[0], {1, std::exp(1.0)});

  Tensor y = my_exp(x);
  {
    const xg::NoGrad no_grad;
    y.add_(1);
  }
  expect_error<xg::GraphError>([&] { y.sum().backward(); },
                               {"MyExpBackward0", "output", "changed in place"});
}

TEST(Extend, ARuleLearnsWhatIsNeeded) {
  std::vector<bool> asked;
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return xg::record(
        a.detach() * b.detach(), "ProductBackward0",
        [&, a = xg::save(a), b = xg::save(b)](const Tensor& g, const Tensor&, xg::Needs needs) {
          asked = {needs[0], needs[1]};
          return xg::grads(needs[0] ? g * b : Tensor(), needs[1] ? g * a : Tensor());
        },
        a, b);
  };
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  product(a, b.detach()).sum().backward();
  EXPECT_EQ(asked, (std::vector<bool>{true, false}));
  xg::grad(product(a, b).sum(), {b});
  EXPECT_EQ(asked, (std::vector<bool>{false, true}));
  product(a, b).sum().backward();
  EXPECT_EQ(asked, (std::vector<bool>{true, true}));
  expect_values(b.grad(), {1, 2});
}

TEST(Extend, ListsOfInputs) {
  const std::vector<Tensor> xs = {leaf({1, 2}), xg::ones({2}, {.dtype = xg::float64}),
                                  leaf({5, 7})};
  Tensor out = xs[0].detach() + xs[1].detach() + 2 * xs[2].detach();
  const Tensor y = xg::record_list(
      out, "WeightedBackward0",
      [](const Tensor& g) {
        return std::vector<Tensor>{g, g, 2 * g};
      },
      xs);
  y.backward(xg::tensor({1.0, 10.0}, {.dtype = xg::float64}));
  expect_values(xs[0].grad(), {1, 10});
  expect_values(xs[2].grad(), {2, 20});
  EXPECT_FALSE(xs[1].requires_grad());
}

/// The text of the error that a rule gives which returns this gradient for an input of shape (2,
/// 3).
std::string error_of_rule(const Tensor& returned) {
  const Tensor fine = leaf({1, 2});
  const Tensor x = xg::ones({2, 3}, {.dtype = xg::float64, .requires_grad = true});
  const Tensor y = xg::record(
      xg::ones({2}, {.dtype = xg::float64}), "WrongBackward0",
      [=](const Tensor& g) { return xg::grads(g, returned); }, fine, x);
  const std::string text = error_of<xg::GraphError>([&] { y.sum().backward(); });
  EXPECT_FALSE(fine.has_grad() || x.has_grad());
  return text;
}

TEST(Extend, WrongRulesAreErrors) {
  const xg::TensorOptions f64{.dtype = xg::float64};
  // Broadcasting would hide each of these.
  for (const xg::Shape& shape : {xg::Shape({3}), xg::Shape({1, 3}), xg::Shape({2, 1}), xg::Shape(),
                                 xg::Shape({3, 2}), xg::Shape({1, 2, 3})}) {
    expect_words(error_of_rule(xg::ones(shape, f64)),
                 {"WrongBackward0", "input 1", "(2, 3)", shape.str()});
  }
  expect_words(error_of_rule(xg::ones({2, 3})), {"input 1", "float32", "float64"});
  expect_words(error_of_rule({}), {"WrongBackward0", "no gradient", "input 1"});
}

}  // namespace
