#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;

Tensor variable(const Values& values, const xg::Shape& shape) {
  return reshape(xg::tensor(values, {.dtype = xg::float64}), shape).requires_grad_();
}
Tensor variable(const Values& values) {
  return variable(values, {static_cast<std::int64_t>(values.size())});
}
Tensor slope(const Tensor& y, const Tensor& x) { return grad(sum(y), {x})[0]; }

/// Different values without ties, neither sorted nor symmetric.
Tensor scattered(const xg::Shape& shape) {
  Values values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(std::sin(static_cast<double>(i * i + 1)) * 2 + 0.1);
  }
  return variable(values, shape);
}

// ---- a slow and obvious reference ---------------------------------------------------------------

/// For each element, the output it goes into: `dims` as bits.
std::vector<std::size_t> output_of(const xg::Shape& shape, unsigned dims) {
  std::vector<std::size_t> outputs;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::size_t output = 0;
    std::int64_t rest = i, block = shape.numel();
    for (int d = 0; d < shape.dim(); ++d) {
      block /= shape[d];
      const std::int64_t at = rest / block;
      rest %= block;
      if ((dims >> d & 1U) == 0)
        output = output * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at);
    }
    outputs.push_back(output);
  }
  return outputs;
}

/// The elements that go into each output, in order.
std::vector<Values> groups_of(const Tensor& x, unsigned dims) {
  const std::vector<std::size_t> outputs = output_of(x.shape(), dims);
  std::vector<Values> groups;
  const Values values = x.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (outputs[i] >= groups.size()) groups.resize(outputs[i] + 1);
    groups[outputs[i]].push_back(values[i]);
  }
  return groups;
}

double total(const Values& v) {
  double s = 0;
  for (double e : v) s += e;
  return s;
}
double average(const Values& v) { return total(v) / static_cast<double>(v.size()); }
double spread_of(const Values& v, bool unbiased) {
  double s = 0;
  for (double e : v) s += (e - average(v)) * (e - average(v));
  return s / (static_cast<double>(v.size()) - (unbiased ? 1 : 0));
}
double power_sum(const Values& v, double p) {
  double s = 0;
  for (double e : v) s += std::pow(std::fabs(e), p);
  return std::pow(s, 1 / p);
}

struct Reduction {
  const char* name;
  Tensor (*call)(const Tensor&, const xg::Dims&, bool keepdim);
  double (*value)(const Values&);
  const char* node;
};

const Reduction reductions[] = {
    {"sum",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::sum(x, {.dim = d, .keepdim = k});
     },
     total, "SumBackward1"},
    {"mean",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::mean(x, {.dim = d, .keepdim = k});
     },
     average, "MeanBackward1"},
    {"amax",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::amax(x, {.dim = d, .keepdim = k});
     },
     [](const Values& v) { return *std::max_element(v.begin(), v.end()); }, "AmaxBackward0"},
    {"amin",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::amin(x, {.dim = d, .keepdim = k});
     },
     [](const Values& v) { return *std::min_element(v.begin(), v.end()); }, "AminBackward0"},
    {"var",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::var(x, {.dim = d, .keepdim = k});
     },
     [](const Values& v) { return spread_of(v, true); }, "VarBackward0"},
    {"std",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::std(x, {.dim = d, .unbiased = false, .keepdim = k});
     },
     [](const Values& v) { return std::sqrt(spread_of(v, false)); }, "StdBackward0"},
    {"norm 2",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::norm(x, {.dim = d, .keepdim = k});
     },
     [](const Values& v) { return power_sum(v, 2); }, "NormBackward1"},
    {"norm 1",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::norm(x, {.p = 1, .dim = d, .keepdim = k});
     },
     [](const Values& v) { return power_sum(v, 1); }, "NormBackward1"},
    {"norm 2.5",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::norm(x, {.p = 2.5, .dim = d, .keepdim = k});
     },
     [](const Values& v) { return power_sum(v, 2.5); }, "NormBackward1"},
    {"norm inf",
     [](const Tensor& x, const xg::Dims& d, bool k) {
       return xg::norm(x, {.p = inf, .dim = d, .keepdim = k});
     },
     [](const Values& v) {
       double m = 0;
       for (double e : v) m = std::max(m, std::fabs(e));
       return m;
     },
     "NormBackward1"},
    {"logsumexp", [](const Tensor& x, const xg::Dims& d, bool k) { return logsumexp(x, d, k); },
     [](const Values& v) {
       double s = 0;
       for (double e : v) s += std::exp(e);
       return std::log(s);
     },
     "LogsumexpBackward0"},
};

}  // namespace

// Every subset of dimensions: rows, columns, the middle, and ones that do not stand side by side.
TEST(Reduce, EverySubsetOfDimensionsAgainstTheReference) {
  const xg::Shape shape{2, 3, 1, 5, 4};
  const Tensor x = scattered(shape);
  for (const Reduction& r : reductions) {
    for (unsigned bits = 1; bits < 32; ++bits) {
      SCOPED_TRACE(std::string(r.name) + " over " + std::to_string(bits));
      std::vector<std::int64_t> dims;
      xg::Shape kept, dropped;
      for (int d = 4; d >= 0; --d) {  // named from the end and partly with negative numbers
        if ((bits >> d & 1U) != 0) dims.push_back(d % 2 == 0 ? d : d - 5);
      }
      for (int d = 0; d < 5; ++d) {
        const bool reduced = (bits >> d & 1U) != 0;
        kept.push_back(reduced ? 1 : shape[d]);
        if (!reduced) dropped.push_back(shape[d]);
      }
      Values expected;
      const std::vector<Values> groups = groups_of(x, bits);
      for (const Values& group : groups) expected.push_back(r.value(group));
      const Tensor y = r.call(x, dims, false);
      EXPECT_EQ(y.shape(), dropped);
      EXPECT_EQ(y.grad_fn(), r.node);
      expect_values(y, expected);
      EXPECT_EQ(r.call(x, dims, true).shape(), kept);
      if (groups[0].size() == 1) continue;  // var of one element

      // Gradient: differences of the reference, element by element.
      const Tensor g = scattered(y.shape()).detach();
      const Values gs = g.to_vector<double>();
      const std::vector<std::size_t> outputs = output_of(shape, bits);
      std::vector<std::size_t> place(groups.size(), 0);
      Values slopes;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        Values up = groups[outputs[i]], down = up;
        up[place[outputs[i]]] += 1e-5;
        down[place[outputs[i]]++] -= 1e-5;
        slopes.push_back(gs[outputs[i]] * (r.value(up) - r.value(down)) / 2e-5);
      }
      expect_values(grad(y, {x}, {.grad_output = g})[0], slopes, 1e-8);
    }
  }
}

TEST(Reduce, SecondDerivativesAgreeWithDifferences) {
  const Values values = scattered({2, 4, 3}).to_vector<double>();
  for (const Reduction& r : reductions) {
    for (const xg::Dims& dims : {xg::Dims(1), xg::Dims({0, 2})}) {
      SCOPED_TRACE(r.name);
      const Tensor x = variable(values, {2, 4, 3});
      const Tensor v = scattered({2, 4, 3}).detach() + 0.3;
      const auto first_at = [&](const Tensor& at) {
        const Tensor y = r.call(at, dims, false);
        return grad(
            y, {at},
            {.grad_output = square(scattered(y.shape()).detach()) + 1.0, .create_graph = true})[0];
      };
      const Tensor first = first_at(x);
      Tensor second = xg::zeros_like(x);
      if (first.requires_grad()) {
        const Tensor found = grad(sum(first * v), {x}, {.allow_unused = true})[0];
        if (found.defined()) second = found;
      }
      const Tensor up = first_at((x.detach() + v * 1e-5).requires_grad_());
      const Tensor down = first_at((x.detach() - v * 1e-5).requires_grad_());
      expect_values(second, ((up - down) / 2e-5).to_vector<double>(), 1e-7);
    }
  }
}

TEST(Reduce, TheFourWaysToCallAreOne) {
  const Tensor x = scattered({2, 3, 4});
  const auto check = [&](auto f) {
    EXPECT_EQ(f(x).shape(), xg::Shape{});
    EXPECT_TRUE(equal(f(x, 1), f(x, -2, false)));
    EXPECT_EQ(f(x, 1, true).shape(), (xg::Shape{2, 1, 4}));
    EXPECT_EQ(f(x, {0, 1}).shape(), xg::Shape{4});  // two dimensions, not "dim 0, keepdim"
    EXPECT_EQ(f(x, {0, -1}, true).shape(), (xg::Shape{1, 3, 1}));
    EXPECT_TRUE(equal(f(x, {.dim = 1}), f(x, 1)));
    EXPECT_TRUE(equal(f(x, {.dim = {0, 2}, .keepdim = true}), f(x, {0, 2}, true)));
    EXPECT_EQ(f(x, {.keepdim = true}).shape(), (xg::Shape{1, 1, 1}));
    const std::vector<std::int64_t> dims = {2, 0};
    EXPECT_TRUE(equal(f(x, {.dim = dims}), f(x, {0, 2})));
  };
  struct Sum {
    Tensor operator()(const Tensor& t) { return sum(t); }
    Tensor operator()(const Tensor& t, std::int64_t d, bool k = false) { return sum(t, d, k); }
    Tensor operator()(const Tensor& t, std::initializer_list<std::int64_t> d, bool k = false) {
      return sum(t, d, k);
    }
    Tensor operator()(const Tensor& t, xg::ReduceOptions o) { return sum(t, o); }
  };
  struct Mean {
    Tensor operator()(const Tensor& t) { return mean(t); }
    Tensor operator()(const Tensor& t, std::int64_t d, bool k = false) { return mean(t, d, k); }
    Tensor operator()(const Tensor& t, std::initializer_list<std::int64_t> d, bool k = false) {
      return mean(t, d, k);
    }
    Tensor operator()(const Tensor& t, xg::ReduceOptions o) { return mean(t, o); }
  };
  check(Sum());
  check(Mean());
  EXPECT_EQ(sum(x).grad_fn(), "SumBackward0");
  EXPECT_EQ(mean(x).grad_fn(), "MeanBackward0");
  EXPECT_EQ(amax(x, {0, 1}).shape(), xg::Shape{4});
  EXPECT_EQ(amin(x, {0, 1}, true).shape(), (xg::Shape{1, 1, 4}));
  EXPECT_EQ(var(x).shape(), xg::Shape{});
  EXPECT_EQ(var(x, false).item<double>(), spread_of(x.to_vector<double>(), false));
}

TEST(Reduce, WrongDimensionsAreErrorsThatSayWhatToDo) {
  const Tensor x = xg::ones({2, 3});
  EXPECT_THROW(sum(x, 2), xg::IndexError);
  EXPECT_THROW(sum(x, -3), xg::IndexError);
  EXPECT_THROW(sum(x, {0, 0}), xg::ShapeError);
  EXPECT_THROW(mean(x, {1, -1}), xg::ShapeError);
  EXPECT_THROW(max(x, 2), xg::IndexError);
  EXPECT_THROW(cumsum(x, 2), xg::IndexError);
  expect_words(error_of<xg::IndexError>([&] { x.any(5); }), {"any: dim 5"});
  expect_words(error_of<xg::IndexError>([&] { x.all(3); }), {"all: dim 3"});
  EXPECT_THROW(sum(xg::ones({}), 1), xg::IndexError);
  EXPECT_EQ(sum(xg::ones({}), -1).item<double>(), 1);
  const std::string text = message([&] { sum(x, {}); });
  EXPECT_NE(text.find("sum()"), std::string::npos) << text;
  EXPECT_THROW(mean(xg::tensor({1, 2})), xg::DTypeError);
  EXPECT_THROW(var(xg::tensor({1, 2})), xg::DTypeError);
  EXPECT_THROW(norm(xg::tensor({1, 2})), xg::DTypeError);
  EXPECT_THROW(argmax(xg::tensor({true})), xg::DTypeError);
}

// Not sum(1), which a keepdim in the wrong place would mean.
template <class X, class D>
constexpr int ways_to_reduce =  // clang-format off
    requires(X x, D d) { x.sum(d); } + requires(X x, D d) { sum(x, d); } +
    requires(X x, D d) { x.mean(d); } + requires(X x, D d) { mean(x, d); } +
    requires(X x, D d) { x.amax(d); } + requires(X x, D d) { amax(x, d); } +
    requires(X x, D d) { x.amin(d); } + requires(X x, D d) { amin(x, d); } +
    requires(X x, D d) { x.any(d); } + requires(X x, D d) { any(x, d); } +
    requires(X x, D d) { x.all(d); } + requires(X x, D d) { all(x, d); };
// clang-format on
static_assert(ways_to_reduce<Tensor, int> == 12 && ways_to_reduce<Tensor, std::int64_t> == 12);
static_assert(ways_to_reduce<Tensor, bool> == 0);

TEST(Reduce, IntegersAndBoolsSumAsIntegers) {
  const Tensor counts = sum(xg::tensor({{true, false, true}, {true, true, true}}), 1);
  EXPECT_EQ(counts.dtype(), xg::int64);
  expect_values(counts, {2, 3});
  const std::int64_t big = 9007199254740993;
  EXPECT_EQ(sum(xg::tensor({big, std::int64_t{1}})).item<std::int64_t>(), big + 1);
  EXPECT_EQ(prod(xg::tensor({true, true})).dtype(), xg::int64);
  EXPECT_EQ(cumsum(xg::tensor({true, true}), 0).to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(amax(xg::tensor({{-5, -7}, {-9, -8}}), 0).to_vector<int>(), (std::vector<int>{-5, -7}));
  EXPECT_EQ(amin(xg::tensor({true, false})).dtype(), xg::bool_);
  EXPECT_EQ(logsumexp(xg::tensor({1, 2}), 0).dtype(), xg::float32);
}

TEST(Reduce, OverNothing) {
  const Tensor none = xg::zeros({0, 3}, {.requires_grad = true});
  expect_values(sum(none, 0), {0, 0, 0});
  expect_values(mean(none, 0), {quiet_nan, quiet_nan, quiet_nan});
  expect_values(var(none, {.dim = 0}), {quiet_nan, quiet_nan, quiet_nan});
  expect_values(prod(none, 0), {1, 1, 1});
  expect_values(norm(none, {.dim = 0}), {0, 0, 0});
  expect_values(norm(none, {.p = inf, .dim = 0}), {0, 0, 0});
  expect_values(logsumexp(none, 0), {-inf, -inf, -inf});
  expect_values(sum(none), {0});
  expect_values(mean(none), {quiet_nan});
  EXPECT_EQ(sum(none, 1).shape(), xg::Shape{0});
  EXPECT_EQ(amax(none, 1).shape(), xg::Shape{0});
  EXPECT_EQ(max(none, 1).indices.shape(), xg::Shape{0});
  EXPECT_EQ(cumsum(none, 0).shape(), (xg::Shape{0, 3}));
  for (const Tensor& y : {sum(none), mean(none), prod(none), var(none), norm(none)}) {
    EXPECT_EQ(grad(y, {none})[0].shape(), none.shape()) << y.grad_fn();
  }
  EXPECT_THROW(amax(none), xg::IndexError);
  EXPECT_THROW(amax(none, 0), xg::IndexError);
  EXPECT_THROW(max(none), xg::IndexError);
  EXPECT_THROW(max(none, 0), xg::IndexError);
  EXPECT_THROW(argmax(none), xg::IndexError);
  EXPECT_THROW(argmin(none, 0), xg::IndexError);
}

// ---- accuracy -----------------------------------------------------------------------------------

TEST(Reduce, LongFloatSumsKeepTheirDigits) {
  const std::int64_t n = 10'000'000;
  Tensor x = xg::empty({n});
  double exact = 0;
  std::uint32_t state = 12345;
  for (float& v : x.mut<float>()) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) * 0x1p-24f;
    exact += static_cast<double>(v);
  }
  EXPECT_NEAR(mean(x).item<double>() / (exact / static_cast<double>(n)), 1, 1e-7);
  EXPECT_NEAR(sum(x).item<double>() / exact, 1, 1e-7);
  const Tensor columns = reshape(x, {n / 4, 4});
  EXPECT_NEAR(sum(columns, 0).to_vector<double>()[1] / (exact / 4), 1, 1e-3);
  EXPECT_NEAR(sum(sum(columns, 0)).item<double>() / exact, 1, 2e-7);
  EXPECT_NEAR(sum(sum(columns, 1)).item<double>() / exact, 1, 2e-7);
  // 0.1f ten million times: adding floats one by one gives 1087937.
  EXPECT_NEAR(sum(xg::full({n}, 0.1)).item<double>(), 1e6, 1);
}

TEST(Reduce, VarianceOfNumbersFarFromZero) {
  const Tensor x = xg::tensor({40000.0, 40001.0, 40002.0, 40003.0});
  EXPECT_NEAR(var(x, false).item<double>(), 1.25, 1e-6);
  EXPECT_NEAR(var(x).item<double>(), 5.0 / 3, 1e-6);
  EXPECT_EQ(var(xg::full({256}, 1234.567)).item<double>(), 0);
  EXPECT_EQ(var(xg::full({7, 5}, 1e8), {.dim = 0}).to_vector<double>(), Values(5, 0.0));
}

TEST(Reduce, RootsOfSquaresBeyondFloat) {
  const double root = std::sqrt(0.5);
  for (const double unit : {1e-30, 1e25, 1e30, 1e38}) {
    const Tensor x = xg::tensor({unit, 2 * unit}).requires_grad_();
    EXPECT_NEAR(xg::std(x).item<double>() / unit, root, 1e-6);
    EXPECT_NEAR(norm(x).item<double>() / unit, std::sqrt(5.0), 1e-6);
    for (const bool create_graph : {false, true}) {
      expect_near(grad(xg::std(x), {x}, {.create_graph = create_graph})[0], {-root, root}, 1e-6);
    }
  }
  const Tensor far = xg::tensor({0.0, 3e38}).requires_grad_();  // twice its std is infinite
  expect_near(slope(xg::std(far), far), {-root, root}, 1e-6);
}

TEST(Reduce, LogsumexpDoesNotOverflow) {
  expect_values(logsumexp(variable({1000, 1000}), 0), {1000 + std::log(2.0)});
  expect_values(logsumexp(variable({-1000, -1000}), 0), {-1000 + std::log(2.0)});
  expect_values(logsumexp(variable({-inf, 1}), 0), {1});
  expect_values(logsumexp(variable({-inf, -inf}), 0), {-inf});
  expect_values(logsumexp(variable({inf, 1}), 0), {inf});
}

// ---- greatest and least -------------------------------------------------------------------------

TEST(Extremes, ValuesIndicesAndTheirGradient) {
  const Tensor x = variable({1, 3, 3, 5, 2, 5}, {2, 3});
  const auto [values, indices] = max(x, 1);
  expect_values(values, {3, 5});
  EXPECT_EQ(indices.to_vector<int>(), (std::vector<int>{1, 0}));  // the first of equals
  EXPECT_EQ(indices.dtype(), xg::int64);
  EXPECT_FALSE(indices.requires_grad());
  EXPECT_EQ(values.grad_fn(), "MaxBackward0");
  const Tensor g = xg::tensor({0.5, -2.0}, {.dtype = xg::float64});
  expect_values(grad(values, {x}, {.grad_output = g})[0], {0, 0.5, 0, -2, 0, 0});
  const auto [low, at] = min(x, 0, true);
  EXPECT_EQ(low.shape(), (xg::Shape{1, 3}));
  expect_values(low, {1, 2, 3});
  EXPECT_EQ(at.to_vector<int>(), (std::vector<int>{0, 1, 0}));
  expect_values(slope(low, x), {1, 0, 1, 0, 1, 0});
  EXPECT_EQ(argmax(x).item<int>(), 3);
  EXPECT_EQ(argmin(x).item<int>(), 0);
  EXPECT_EQ(argmax(x, 0).to_vector<int>(), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(argmin(x, 1, true).shape(), (xg::Shape{2, 1}));
  const Tensor columns = xg::tensor({{2, 1}, {2, 3}, {1, 3}});
  EXPECT_EQ(max(columns, 0).indices.to_vector<int>(), (std::vector<int>{0, 1}));
  EXPECT_EQ(max(xg::full({}, 2.5), 0).indices.item<int>(), 0);
  EXPECT_EQ(max(x).grad_fn(), "MaxBackward1");
}

TEST(Extremes, NanWins) {
  // In every place of a register and of the rest behind it.
  for (std::size_t place = 0; place < 40; ++place) {
    Values values(40, 1.0);
    values[7] = 3;
    values[place] = quiet_nan;
    const Tensor x = xg::tensor(values);
    EXPECT_TRUE(std::isnan(amax(x).item<double>())) << place;
    EXPECT_TRUE(std::isnan(amin(x).item<double>())) << place;
    EXPECT_EQ(argmax(x).item<std::size_t>(), place);
    EXPECT_EQ(max(reshape(x, {2, 20}), 1).indices.to_vector<std::int64_t>()[place / 20],
              static_cast<std::int64_t>(place % 20));
    const Tensor column = amax(reshape(x, {20, 2}), 0);
    EXPECT_TRUE(std::isnan(column.to_vector<double>()[place % 2])) << place;
  }
}

TEST(Extremes, RowsOfMinusInfinity) {
  expect_values(amax(variable({-inf, -inf, -inf, -inf}, {2, 2}), 1), {-inf, -inf});
  EXPECT_EQ(argmax(variable({-inf, -inf, -inf}, {3})).item<int>(), 0);
}

// ---- prod, cumsum -------------------------------------------------------------------------------

TEST(Prod, GradientsWhereElementsAreZero) {
  const Tensor x = variable({2, 0, 3, 5});
  expect_values(slope(prod(x), x), {0, 30, 0, 0});
  const Tensor two = variable({2, 0, 0, 5});
  expect_values(slope(prod(two), two), {0, 0, 0, 0});
  // Second order: sum over pairs of the product of the others.
  const Tensor first = grad(prod(x), {x}, {.create_graph = true})[0];
  const Tensor weights = xg::tensor({1, 2, 3, 4}, {.dtype = xg::float64});
  expect_values(slope(first * weights, x), {2 * 15, 15 + 3 * 10 + 4 * 6, 2 * 10, 2 * 6});
  const Tensor of_two = grad(prod(two, 0), {two}, {.create_graph = true})[0];
  expect_values(slope(of_two * weights, two), {0, 3 * 10, 2 * 10, 0});
  // The gradient of a plain backward pass carries no history.
  prod(x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Prod, AlongEachDimension) {
  const Tensor x = scattered({2, 3, 5});
  for (int d = 0; d < 3; ++d) {
    Values expected;
    for (const Values& group : groups_of(x, 1U << d)) {
      double p = 1;
      for (double v : group) p *= v;
      expected.push_back(p);
    }
    const Tensor y = prod(x, d);
    EXPECT_EQ(y.grad_fn(), "ProdBackward1");
    expect_values(y, expected);
    const Tensor g = scattered(y.shape()).detach();
    const Tensor plain = unsqueeze(g * y.detach(), d) / x.detach();
    expect_values(grad(y, {x}, {.grad_output = g})[0], plain.to_vector<double>());
  }
}

TEST(Cumsum, AlongEachDimension) {
  const Tensor x = variable({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_values(cumsum(x, 0), {1, 2, 3, 5, 7, 9});
  expect_values(cumsum(x, -1), {1, 3, 6, 4, 9, 15});
  const Tensor g = xg::tensor({{1, 10, 100}, {2, 20, 200}}, {.dtype = xg::float64});
  expect_values(grad(cumsum(x, 0), {x}, {.grad_output = g})[0], {3, 30, 300, 2, 20, 200});
  expect_values(grad(cumsum(x, 1), {x}, {.grad_output = g})[0], {111, 110, 100, 222, 220, 200});
  const Tensor wide = xg::ones({3, 700}, {.dtype = xg::float64});
  EXPECT_TRUE(equal(cumsum(wide, 0), cumsum(wide.t(), 1).t()));
}

// ---- sum_to -------------------------------------------------------------------------------------

TEST(SumTo, UndoesBroadcasting) {
  const Tensor g = scattered({2, 3, 4}).detach();
  EXPECT_TRUE(sum_to(g, {2, 3, 4}).is(g));
  EXPECT_TRUE(equal(sum_to(g, {4}), sum(g, {0, 1})));
  EXPECT_TRUE(equal(sum_to(g, {3, 1}), sum(g, {0, 2}, true).reshape({3, 1})));
  EXPECT_TRUE(equal(sum_to(g, {2, 1, 4}), sum(g, 1, true)));
  EXPECT_TRUE(equal(sum_to(g, {1, 1, 1}), sum(g).reshape({1, 1, 1})));
  EXPECT_TRUE(equal(sum_to(g, {}), sum(g)));
  EXPECT_EQ(sum_to(xg::ones({0, 3}), {1, 3}).to_vector<double>(), Values(3, 0.0));
}

// ---- cases seen in other libraries --------------------------------------------------------------

TEST(Cases, A09_NormAndStdOfConstantsHaveGradientZero) {
  for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, inf}) {
    const Tensor zero = variable({0, 0, 0});
    const Tensor first = grad(norm(zero, {.p = p}), {zero}, {.create_graph = true})[0];
    expect_values(first, {0, 0, 0});
    if (!first.requires_grad()) continue;
    const Tensor second = grad(sum(first), {zero}, {.allow_unused = true})[0];
    EXPECT_TRUE(!second.defined() || isfinite(second).amin().item<bool>()) << p;
  }
  for (const double constant : {0.0, 1.0, 0.1}) {
    const Tensor x = variable({constant, constant, constant});
    expect_values(slope(xg::std(x), x), {0, 0, 0});
    expect_values(slope(xg::std(x, false), x), {0, 0, 0});
  }
  const Tensor x = variable({3, 4});
  expect_values(slope(norm(x), x), {0.6, 0.8});
  // One constant row does not disturb the others.
  const Tensor rows = variable({0, 0, 3, 4, 0, 0}, {3, 2});
  expect_values(slope(norm(rows, {.dim = 1}), rows), {0, 0, 0.6, 0.8, 0, 0});
}

TEST(Cases, A10_TheGradientOfAnExtremeSumsToOne) {
  for (const auto f :
       {+[](const Tensor& x) { return xg::max(x); }, +[](const Tensor& x) { return xg::amax(x); },
        +[](const Tensor& x) { return xg::amax(x, 0); }}) {
    const Tensor x = variable({2, 2, 1});
    expect_values(slope(f(x), x), {0.5, 0.5, 0});
  }
  const Tensor low = variable({4, 1, 1, 1}, {2, 2});
  expect_values(slope(min(low), low), {0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  expect_values(slope(amin(low, 0), low), {0, 0.5, 1, 0.5});
  const Tensor x = variable({2, 2, 1});
  expect_values(slope(max(x, 0).values, x), {1, 0, 0});
  const Tensor y = variable({-2, 2, 1});
  expect_values(slope(norm(y, {.p = inf}), y), {-0.5, 0.5, 0});
}

// A number alone must not become the flag: var(-1) over all elements would be wrong without a word.
TEST(Var, ANumberIsADimensionAndABoolIsUnbiased) {
  const xg::Tensor x = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}});
  expect_values(x.var(-1), {1, 100});
  expect_values(x.var(0, false), {20.25, 81, 182.25});
  expect_values(xg::var(x, -1, true, true), {1, 100});
  EXPECT_EQ(xg::var(x, -1, true, true).shape(), xg::Shape({2, 1}));
  expect_values(x.std(0, false), {4.5, 9, 13.5});
  expect_values(xg::std(x[0], false).square(), {2.0 / 3}, 1e-6);
  expect_values(x[0].var(), {1});
}

TEST(AnyAll, AreAboutNotZero) {
  const xg::Tensor x = xg::tensor({{0.0, 2.0}, {1.0, NAN}, {0.0, 0.0}});
  EXPECT_TRUE(x.any());
  EXPECT_FALSE(x.all());
  EXPECT_EQ(x.any(-1).dtype(), xg::bool_);
  expect_values(x.any(-1).to(xg::float32), {1, 1, 0});
  expect_values(x.all(1).to(xg::float32), {0, 1, 0});
  EXPECT_EQ(x.all(1, true).shape(), xg::Shape({3, 1}));
  EXPECT_FALSE(xg::zeros({0}).any());
  EXPECT_TRUE(xg::zeros({0}).all());
}
