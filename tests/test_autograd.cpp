#include <cmath>

#include "support/leaves.hpp"

/// What backward and grad compute, and which of their misuses are errors.

namespace {

namespace xg = xgrad;
using xg::Tensor;

Tensor scalar_leaf(double value) {
  return xg::tensor(value, {.dtype = xg::float64, .requires_grad = true});
}
Tensor constant(std::initializer_list<xg::detail::Nested> values) {
  return xg::tensor(values, {.dtype = xg::float64});
}

// ---- cases --------------------------------------------------------------------------------------

TEST(Autograd, A01SharedIntermediates) {
  const Tensor a = scalar_leaf(1.0);
  const Tensor b = a + a;
  (b + b).backward();
  expect_values(a.grad(), {4});

  const Tensor p = scalar_leaf(2.0), q = scalar_leaf(3.0);
  const Tensor c = p + q, d = p * q;
  const Tensor y = (c + d) + c * d;
  EXPECT_EQ(y.item<double>(), 41);
  y.backward();
  expect_values(p.grad(), {25});
  expect_values(q.grad(), {19});
}

TEST(Autograd, A01DoublingLadderTakesLinearTime) {
  const Tensor x = scalar_leaf(1.0);
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  expect_values(x.grad(), {std::ldexp(1.0, 60)});
}

TEST(Autograd, A02GradientsShareNoMemory) {
  const Tensor x = leaf({1, 2}), y = leaf({3, 2});
  const Tensor z = x + y;
  const Tensor seed = constant({1, 1});
  (x / z).backward(seed);
  Tensor gx = x.grad();
  gx.mul_(100);
  expect_values(y.grad(), {-0.0625, -0.125});
  expect_values(gx, {18.75, 12.5});

  // Where the gradient is the seed itself.
  const Tensor u = leaf({1, 2}), v = leaf({3, 2});
  (u + v).backward(seed);
  Tensor gu = u.grad();
  gu.mul_(100);
  expect_values(v.grad(), {1, 1});
  expect_values(seed, {1, 1});
  (u + v).backward(seed);
  expect_values(u.grad(), {101, 101});
  EXPECT_TRUE(gu.is(u.grad()));  // it grows where it lies
  expect_values(v.grad(), {2, 2});
}

TEST(Autograd, A03BroadcastGradientsHaveTheirInputsShape) {
  const Tensor a = leaf({2}), b = leaf({{0, 1, 2}, {3, 4, 5}});
  (a * b).sum().backward();
  EXPECT_EQ(a.grad().shape(), xg::Shape({1}));
  expect_values(a.grad(), {15});
  EXPECT_EQ(b.grad().shape(), xg::Shape({2, 3}));
  expect_values(b.grad(), {2, 2, 2, 2, 2, 2});

  const Tensor u = leaf({{1}, {2}, {3}, {4}}), v = leaf({{10, 20, 30}});
  (u * v).sum().backward();
  EXPECT_EQ(u.grad().shape(), xg::Shape({4, 1}));
  expect_values(u.grad(), {60, 60, 60, 60});
  EXPECT_EQ(v.grad().shape(), xg::Shape({1, 3}));
  expect_values(v.grad(), {10, 10, 10});

  const Tensor s = scalar_leaf(5.0);
  (constant({1, 1}) * s).sum().backward();
  EXPECT_EQ(s.grad().shape(), xg::Shape());
  expect_values(s.grad(), {2});
}

TEST(Autograd, A05SavedTensorsChangedInPlaceAreErrors) {
  // Through a detached alias of an output.
  const Tensor a = leaf({1, 2, 3});
  const Tensor out = sigmoid(a);
  Tensor alias = out.detach();
  alias.zero_();
  expect_error<xg::GraphError>([&] { out.sum().backward(); },
                               {"SigmoidBackward0", "(3,)", "changed in place"});
  EXPECT_FALSE(a.has_grad());

  // By an optimizer's step between two backward passes.
  Tensor w = scalar_leaf(2.0);
  const Tensor x = scalar_leaf(3.0);
  const Tensor first = w * x * x, second = w * w * x;
  first.backward(true);
  {
    const xg::NoGrad no_grad;
    w.sub_(0.1 * w.grad());
  }
  expect_error<xg::GraphError>([&] { second.backward(); }, {"MulBackward0", "changed in place"});
  expect_values(w.grad(), {9});
  expect_values(x.grad(), {12});

  // Through a slice that shares the memory of what was saved.
  Tensor data = constant({{1, 2}, {3, 4}});
  const Tensor v = leaf({{1, 1}, {1, 1}});
  const Tensor product = (data * v).sum();
  Tensor row = data.select(0, 1);
  row.fill_(0);
  error_of<xg::GraphError>([&] { product.backward(); });
}

TEST(Autograd, A05WritingIntoALeafIsAnError) {
  Tensor x = leaf({{1, 2}, {3, 4}});
  error_of<xg::GraphError>([&] { x.index_put_({0}, 5.0); });
  error_of<xg::GraphError>([&] { x.mut<double>()[0] = 5; });
  error_of<xg::GraphError>([&] { x.add_(1); });
  Tensor row = x.select(0, 0);
  error_of<xg::GraphError>([&] { row.fill_(5); });
  // A source that needs a gradient would lose it.
  Tensor plain = constant({{1, 2}, {3, 4}});
  error_of<xg::GraphError>([&] { plain.add_(x); });
  expect_values(x, {1, 2, 3, 4});
  expect_values(plain, {1, 2, 3, 4});
  const xg::NoGrad no_grad;
  x.index_put_({0}, 5.0);
  expect_values(x, {5, 5, 3, 4});
}

TEST(Autograd, A06SpentGraphs) {
  const Tensor x = scalar_leaf(3.0);
  const Tensor y = x * x;
  y.backward();
  expect_error<xg::GraphError>([&] { y.backward(); }, {"already used", "retain_graph"});
  expect_values(x.grad(), {6});
  error_of<xg::GraphError>([&] { xg::grad(y, {x}); });

  const Tensor kept_x = scalar_leaf(3.0);
  const Tensor kept = kept_x * kept_x;
  kept.backward(true);
  kept.backward();
  expect_values(kept_x.grad(), {12});
}

TEST(Autograd, A06Accumulation) {
  const Tensor x = scalar_leaf(5.0);
  for (double expected : {500.0, 1000.0, 1500.0}) {
    (x * x * x * x).backward();
    expect_values(x.grad(), {expected});
  }
  x.set_grad({});
  EXPECT_FALSE(x.has_grad());
  (x * x * x * x).backward();
  expect_values(x.grad(), {500});
}

TEST(Autograd, A06Seeds) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  expect_error<xg::GraphError>([&] { y.backward(); },
                               {"scalar", "MulBackward0", "(2,)", "gradient of shape"});
  expect_error<xg::ShapeError>([&] { y.backward(constant({1, 1, 1})); }, {"(3,)", "(2,)"});
  expect_error<xg::ShapeError>([&] { y.backward(xg::ones({2})); }, {"float32", "float64"});
  EXPECT_FALSE(x.has_grad());
  expect_error<xg::GraphError>([&] { constant({1}).backward(); }, {"does not require a gradient"});
  y.backward(constant({3, 5}));
  expect_values(x.grad(), {6, 10});
}

TEST(Autograd, A07NonLeavesKeepNoGradient) {
  const Tensor leaf_a = leaf({2, 5}), leaf_b = leaf({3, 3});
  const Tensor a = leaf_a.reshape({2, 1}), b = leaf_b.reshape({2, 1});
  (a * b).sum().backward();
  expect_error<xg::GraphError>([&] { b.grad(); }, {"not a leaf", "retain_grad"});
  expect_values(leaf_a.grad(), {3, 3});
  expect_values(leaf_b.grad(), {2, 5});

  const Tensor c = leaf_b.reshape({2, 1});
  c.retain_grad();
  (a.detach() * c).sum().backward();
  EXPECT_EQ(c.grad().shape(), xg::Shape({2, 1}));
  expect_values(c.grad(), {2, 5});
}

// ---- which tensors take part --------------------------------------------------------------------

TEST(Autograd, DetachCutsTheGraphAndSharesMemory) {
  Tensor x = leaf({2, 3});
  Tensor d = x.detach();
  EXPECT_FALSE(d.requires_grad());
  (x * d).sum().backward();
  expect_values(x.grad(), {2, 3});
  d.fill_(7);
  expect_values(x, {7, 7});
}

TEST(Autograd, NothingIsRecordedUnderNoGrad) {
  const Tensor x = leaf({2, 3});
  const std::int64_t nodes = xg::live_nodes();
  {
    const xg::NoGrad no_grad;
    const Tensor y = x * x;
    EXPECT_FALSE(y.requires_grad());
    EXPECT_EQ(xg::live_nodes(), nodes);
    const xg::EnableGrad enabled;
    EXPECT_TRUE((x * x).requires_grad());
  }
  EXPECT_TRUE(xg::is_grad_enabled());
  EXPECT_FALSE((constant({1, 2}) * 2).requires_grad());
}

TEST(Autograd, RequiresGradBelongsToFloatingLeaves) {
  error_of<xg::DTypeError>([&] { xg::ones({2}, {.dtype = xg::int64, .requires_grad = true}); });
  error_of<xg::DTypeError>([&] { xg::ones({2}, {.dtype = xg::bool_}).requires_grad_(); });
  const Tensor x = leaf({1, 2});
  error_of<xg::GraphError>([&] { (x * 2).requires_grad_(false); });
  x.requires_grad_(false);
  EXPECT_FALSE((x * 2).requires_grad());
}

// ---- grad ---------------------------------------------------------------------------------------

TEST(Autograd, GradLeavesTheLeavesAlone) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  const Tensor y = x * w;
  const std::vector<Tensor> got = xg::grad(y.sum(), {w, x, w}, {.retain_graph = true});
  expect_values(got[0], {1, 2, 3});
  expect_values(got[1], {4, 5, 6});
  expect_values(got[2], {1, 2, 3});
  EXPECT_FALSE(x.has_grad() || w.has_grad());
  EXPECT_FALSE(got[0].requires_grad());

  // By a tensor in the middle of the graph.
  const Tensor z = (y * y).sum();
  expect_values(xg::grad(z, {y})[0], {8, 20, 36});
}

TEST(Autograd, GradOfSeveralOutputs) {
  const Tensor x = leaf({1, 2});
  const Tensor u = x * 3, v = x * x;
  expect_values(xg::grad({u, v}, {x}, {constant({1, 2}), constant({10, 20})})[0], {23, 86});
}

TEST(Autograd, GradOfWhatIsNotReached) {
  const Tensor x = leaf({1, 2}), other = leaf({1, 2, 3});
  expect_error<xg::GraphError>(
      [&] {
        xg::grad((x * x).sum(), {x, other});
      },
      {"input 1", "(3,)", "allow_unused"});
  const std::vector<Tensor> got = xg::grad((x * x).sum(), {other, x}, {.allow_unused = true});
  EXPECT_FALSE(got[0].defined());
  expect_values(got[1], {2, 4});
  error_of<xg::GraphError>([&] { xg::grad((x * x).sum(), {constant({1})}); });
}

TEST(Autograd, HessianByDifferentiatingTwice) {
  // f = x0^2 x1 + x1^3
  const Tensor x = leaf({2, 5});
  const Tensor x0 = x.select(0, 0), x1 = x.select(0, 1);
  const Tensor g = xg::grad(x0 * x0 * x1 + x1 * x1 * x1, {x}, {.create_graph = true})[0];
  expect_values(g, {20, 79});
  ASSERT_TRUE(g.requires_grad());
  expect_values(xg::grad(g.select(0, 0), {x}, {.retain_graph = true})[0], {10, 4});
  expect_values(xg::grad(g.select(0, 1), {x}, {.retain_graph = true})[0], {4, 30});

  // A penalty on the gradient, through backward.
  (g * g).sum().backward();
  expect_values(x.grad(), {2 * (20 * 10 + 79 * 4), 2 * (20 * 4 + 79 * 30)});
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Autograd, ThirdDerivative) {
  const Tensor x = scalar_leaf(2.0);
  const Tensor first = xg::grad(x * x * x * x, {x}, {.create_graph = true})[0];
  const Tensor second = xg::grad(first, {x}, {.create_graph = true})[0];
  expect_values(second, {48});
  expect_values(xg::grad(second, {x})[0], {48});
}

// ---- an upstream gradient of exactly 0 contributes exactly 0 ------------------------------------

TEST(Autograd, ZeroUpstreamPoisonsNothing) {
  const Tensor x = leaf({-1, -4});
  const Tensor y = where(x > 0, sqrt(x), x);
  expect_values(y, {-1, -4});
  y.sum().backward();
  expect_values(x.grad(), {1, 1});

  const Tensor z = scalar_leaf(0.0);
  where(z > 0, log(z), 2 * z).backward();
  expect_values(z.grad(), {2});
}

TEST(Autograd, ZeroUpstreamKeepsTheSecondDerivative) {
  // (sqrt(x) - 2)^2 has its minimum at 4, where the upstream gradient of sqrt is 0.
  const Tensor x = scalar_leaf(4.0);
  const Tensor d = sqrt(x) - 2;
  const Tensor first = xg::grad(d * d, {x}, {.create_graph = true})[0];
  expect_values(first, {0});
  expect_values(xg::grad(first, {x})[0], {0.125});

  // The same where the zero is that of a division's numerator.
  const Tensor u = scalar_leaf(3.0);
  const Tensor q = 6 / u - 2;
  const Tensor slope = xg::grad(q * q, {u}, {.create_graph = true})[0];
  expect_values(slope, {0});
  expect_values(xg::grad(slope, {u})[0], {2 * (6.0 / 9) * (6.0 / 9)});
}

}  // namespace
