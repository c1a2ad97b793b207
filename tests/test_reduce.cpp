#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/leaves.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

using Values = std::vector<double>;

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
/// The root of the sum of powers.
auto power_sum(double p) {
  return [p](const Values& v) {
    double s = 0;
    for (double e : v) s += std::pow(std::fabs(e), p);
    return std::pow(s, 1 / p);
  };
}

template <Tensor (*f)(const Tensor&, xg::ReduceOptions)>
Tensor over(const Tensor& x, const xg::Dims& dims, bool keepdim) {
  return f(x, {.dim = dims, .keepdim = keepdim});
}
template <Tensor (*f)(const Tensor&, xg::VarOptions), bool unbiased>
Tensor over(const Tensor& x, const xg::Dims& dims, bool keepdim) {
  return f(x, {.dim = dims, .unbiased = unbiased, .keepdim = keepdim});
}
auto norm_over(double p) {
  return [p](const Tensor& x, const xg::Dims& dims, bool keepdim) {
    return xg::norm(x, {.p = p, .dim = dims, .keepdim = keepdim});
  };
}

struct Reduction {
  const char* name;
  std::function<Tensor(const Tensor&, const xg::Dims&, bool keepdim)> call;
  std::function<double(const Values&)> value;
  const char* node;
};

const Reduction reductions[] = {
    {"sum", over<xg::sum>, total, "SumBackward1"},
    {"mean", over<xg::mean>, average, "MeanBackward1"},
    {"amax", over<xg::amax>, [](const Values& v) { return *std::ranges::max_element(v); },
     "AmaxBackward0"},
    {"amin", over<xg::amin>, [](const Values& v) { return *std::ranges::min_element(v); },
     "AminBackward0"},
    {"var", over<xg::var, true>, [](const Values& v) { return spread_of(v, true); },
     "VarBackward0"},
    {"std", over<xg::std, false>, [](const Values& v) { return std::sqrt(spread_of(v, false)); },
     "StdBackward0"},
    {"norm 2", norm_over(2), power_sum(2), "NormBackward1"},
    {"norm 1", norm_over(1), power_sum(1), "NormBackward1"},
    {"norm 2.5", norm_over(2.5), power_sum(2.5), "NormBackward1"},
    {"norm inf", norm_over(infinity),
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
      const Tensor x = leaf(values, {2, 4, 3});
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
  expect_error<xg::IndexError>([&] { x.any(5); }, {"any: dim 5"});
  expect_error<xg::IndexError>([&] { x.all(3); }, {"all: dim 3"});
  EXPECT_THROW(sum(xg::ones({}), 1), xg::IndexError);
  EXPECT_EQ(sum(xg::ones({}), -1).item<double>(), 1);
  expect_error<xg::Error>([&] { sum(x, {}); }, {"sum()"});
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
  expect_values(mean(none, 0), {not_a_number, not_a_number, not_a_number});
  expect_values(var(none, {.dim = 0}), {not_a_number, not_a_number, not_a_number});
  expect_values(prod(none, 0), {1, 1, 1});
  expect_values(norm(none, {.dim = 0}), {0, 0, 0});
  expect_values(norm(none, {.p = infinity, .dim = 0}), {0, 0, 0});
  expect_values(logsumexp(none, 0), {-infinity, -infinity, -infinity});
  expect_values(sum(none), {0});
  expect_values(mean(none), {not_a_number});
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

// ---- more columns than are worked on together ---------------------------------------------------

TEST(Reduce, MoreColumnsThanOneBlock) {
  using Call = Tensor (*)(const Tensor& x, int dim);
  const Call calls[] = {
      [](const Tensor& x, int dim) { return sum(x, dim); },
      [](const Tensor& x, int dim) { return mean(x, dim); },
      [](const Tensor& x, int dim) { return prod(x, dim); },
      [](const Tensor& x, int dim) { return var(x, dim); },
      [](const Tensor& x, int dim) { return amax(x, dim); },
      [](const Tensor& x, int dim) { return max(x, dim).values; },
      [](const Tensor& x, int dim) { return argmin(x, dim).to(xg::float64); },
      [](const Tensor& x, int dim) { return norm(x, {.dim = dim}); },
      [](const Tensor& x, int dim) { return logsumexp(x, dim); },
      [](const Tensor& x, int dim) {
        const Tensor y = cumsum(x, dim);
        return dim == 0 ? y : y.t();
      },
  };
  const Tensor x = random_leaf({3, 1500}).detach();
  for (const Call& call : calls) {
    SCOPED_TRACE(&call - calls);
    const Tensor columns = leaf(x);
    const Tensor rows = leaf(x.t());
    const Tensor by_column = call(columns, 0);
    const Tensor by_row = call(rows, 1);
    expect_close(by_column.detach(), by_row.detach());
    if (!by_column.requires_grad()) continue;
    const Tensor g = random_leaf(by_column.shape(), 2).detach();
    expect_close(grad(by_column, {columns}, {.grad_output = g})[0],
                 grad(by_row, {rows}, {.grad_output = g})[0].t());
  }
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
