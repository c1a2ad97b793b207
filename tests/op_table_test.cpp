#include <functional>

#include "op_table.hpp"
#include "support/values.hpp"
#include "xgrad/testing.hpp"

/// What every operation must pass, for each row of the table.

namespace op_table {

using xg::Tensor;

// For gtest's messages.
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

namespace {

std::string test_name(const testing::TestParamInfo<Row>& info) {
  std::string name;
  for (char c : std::string(info.param.name)) {
    if (std::isalnum(c) != 0 || c == '_') name += c;
    if (c == ' ') name += '_';
  }
  return name;
}

bool is_real(const Row& row, std::size_t i) { return row.inputs[i].dtype == xg::float64; }

Tensor upstream_for(const Tensor& out) {
  xg::Generator generator(5);
  return real_values({.shape = out.shape(), .low = 0.5, .high = 1.5}, out.shape(), generator)
      .to(out.dtype());
}

/// The gradients of all leaves; undefined for the others.
Tensors gradients(const Tensors& inputs, const Tensor& out, const Tensor& upstream) {
  out.backward(upstream);
  Tensors found;
  for (const Tensor& x : inputs) found.push_back(x.requires_grad() ? x.grad() : Tensor());
  return found;
}

void expect_same(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.defined(), expected.defined());
  if (!got.defined()) return;
  ASSERT_EQ(got.shape(), expected.shape());
  expect_values(got, expected.to_vector<double>(), tolerance);
}

void expect_all_same(const Tensors& got, const Tensors& expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    expect_same(got[i], expected[i], tolerance);
  }
}

// ---- derivatives --------------------------------------------------------------------------------

void expect_derivatives(const Row& row, const std::function<Tensor(const Tensors&)>& f,
                        const Tensors& inputs) {
  EXPECT_GRADIENTS(f, inputs, {.names = names_of(row)});
  EXPECT_GRADIENTS2(f, inputs, {.names = names_of(row)});
}

class OpTable : public testing::TestWithParam<Row> {};

TEST_P(OpTable, DerivativesOfBothOrders) {
  const Row& row = GetParam();
  std::vector<std::vector<xg::Shape>> all = row.more;
  all.insert(all.begin(), shapes_of(row));
  for (const std::vector<xg::Shape>& shapes : all) {
    std::string trace;
    for (const xg::Shape& shape : shapes) trace += shape.str();
    SCOPED_TRACE(trace);
    const Tensors inputs = leaves(inputs_of(row, shapes));
    if (row.grad_fn) {
      expect_derivatives(row, row.f, inputs);
    } else {
      EXPECT_FALSE(row.f(inputs).requires_grad());
    }
  }
}

TEST_P(OpTable, TheSameTensorTwice) {
  const Row& row = GetParam();
  if (!row.grad_fn) return;
  const Tensors inputs = leaves(inputs_of(row, shapes_of(row)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = i + 1; j < inputs.size(); ++j) {
      if (!is_real(row, i) || !is_real(row, j) || inputs[i].shape() != inputs[j].shape()) continue;
      SCOPED_TRACE("inputs " + std::to_string(i) + " and " + std::to_string(j));
      const auto f = [&](Tensors in) {
        in[j] = in[i];
        return row.f(in);
      };
      expect_derivatives(row, f, inputs);
    }
  }
}

// ---- the graph ----------------------------------------------------------------------------------

TEST_P(OpTable, RecordsForThoseWhoNeedAGradient) {
  const Row& row = GetParam();
  const Tensors inputs = inputs_of(row, shapes_of(row));
  const Tensors all = leaves(inputs);
  const Tensor out = row.f(all);
  if (!row.grad_fn) {
    EXPECT_FALSE(out.requires_grad());
    return;
  }
  EXPECT_EQ(out.grad_fn(), row.grad_fn);
  EXPECT_FALSE(out.is_leaf());
  const Tensor upstream = upstream_for(out);
  const Tensors expected = gradients(all, out, upstream);
  for (std::uint32_t mask = 0; mask < 1U << inputs.size(); ++mask) {
    SCOPED_TRACE("mask " + std::to_string(mask));
    const Tensors some = leaves(inputs, mask);
    bool wanted = false;
    Tensors wants = expected;
    for (std::size_t i = 0; i < some.size(); ++i) {
      wanted = wanted || some[i].requires_grad();
      if (!some[i].requires_grad()) wants[i] = {};
    }
    const Tensor result = row.f(some);
    ASSERT_EQ(result.requires_grad(), wanted);
    EXPECT_TRUE(equal(result.detach(), out.detach()));
    if (wanted) expect_all_same(gradients(some, result, upstream), wants);
  }
}

TEST_P(OpTable, RecordsNothingUnderNoGradAndChangesNothing) {
  const Row& row = GetParam();
  const Tensors inputs = inputs_of(row, shapes_of(row));
  const Tensors all = leaves(inputs);
  const Tensor recorded = row.f(all);
  {
    const std::int64_t nodes = xg::live_nodes();
    const xg::NoGrad no_grad;
    const Tensor out = row.f(all);
    EXPECT_FALSE(out.requires_grad());
    EXPECT_EQ(xg::live_nodes(), nodes);
    EXPECT_TRUE(equal(out, recorded.detach()));
  }
  if (recorded.requires_grad()) recorded.backward(upstream_for(recorded));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(equal(all[i].detach(), inputs[i])) << "input " << i << " was changed";
  }
}

TEST_P(OpTable, NothingIsLeftWhileTheLossLives) {
  const Row& row = GetParam();
  if (!row.grad_fn) return;
  const Tensors all = leaves(inputs_of(row, shapes_of(row)));
  const Tensor weights = upstream_for(row.f(all));
  (row.f(all) * weights).sum().backward();  // now every leaf has a gradient

  std::int64_t bytes = xg::live_bytes();
  const Tensor scalar = xg::zeros({}, {.dtype = xg::float64});
  const std::int64_t scalar_bytes = xg::live_bytes() - bytes;
  bytes = xg::live_bytes();
  const std::int64_t nodes = xg::live_nodes();
  {
    const Tensor loss = (row.f(all) * weights).sum();
    loss.backward();
    EXPECT_EQ(xg::live_nodes(), nodes + 1);
    EXPECT_EQ(xg::live_bytes(), bytes + scalar_bytes);
  }
  { const Tensor abandoned = (row.f(all) * weights).sum(); }
  EXPECT_EQ(xg::live_nodes(), nodes);
  EXPECT_EQ(xg::live_bytes(), bytes);
}

/// Other values of the same kind.
void change(Tensor x) {
  const xg::NoGrad no_grad;
  if (x.dtype() == xg::float64) {
    x.mul_(0.5).add_(0.1);
  } else if (x.dtype() == xg::bool_) {
    x.copy_(logical_not(x));
  } else {
    x.fill_(0);
  }
}

TEST_P(OpTable, ChangesInPlaceAreNoticedOrHarmless) {
  const Row& row = GetParam();
  if (!row.grad_fn) return;
  const Tensors inputs = inputs_of(row, shapes_of(row));
  const Tensors before = leaves(inputs);
  const Tensor expected_out = row.f(before);
  const Tensor upstream = upstream_for(expected_out);
  const Tensors expected = gradients(before, expected_out, upstream);
  for (std::size_t i = 0; i <= inputs.size(); ++i) {
    SCOPED_TRACE(i == inputs.size() ? "output" : "input " + std::to_string(i));
    const Tensors all = leaves(inputs);
    const Tensor out = row.f(all);
    change(i == inputs.size() ? out : all[i]);
    try {
      expect_all_same(gradients(all, out, upstream), expected);
    } catch (const xg::GraphError& error) {
      expect_words(error.what(), {"changed in place"});
      for (const Tensor& x : all) EXPECT_FALSE(x.has_grad());
    }
  }
}

// ---- float32 ------------------------------------------------------------------------------------

TEST_P(OpTable, Float32AgreesWithFloat64) {
  const Row& row = GetParam();
  Tensors narrow, wide;
  for (const Tensor& x : inputs_of(row, shapes_of(row))) {
    const bool real = x.dtype() == xg::float64;
    narrow.push_back(real ? x.to(xg::float32).requires_grad_() : x);
    wide.push_back(real ? narrow.back().detach().to(xg::float64).requires_grad_() : x);
  }
  const Tensor got = row.f(narrow), expected = row.f(wide);
  expect_same(got.detach(), expected.detach(), 1e-5);
  if (!row.grad_fn) return;
  EXPECT_EQ(got.dtype(), xg::float32);
  const Tensor upstream = upstream_for(got);
  expect_all_same(gradients(narrow, got, upstream),
                  gradients(wide, expected, upstream.to(xg::float64)), 2e-5);
  for (const Tensor& x : narrow) {
    if (x.requires_grad()) {
      EXPECT_EQ(x.grad().dtype(), xg::float32);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, OpTable, testing::ValuesIn(all_rows()), test_name);

}  // namespace

}  // namespace op_table
