#include <gtest/gtest-spi.h>

#include "support/gradcheck.hpp"

/// The check of modules with their parameters, and the matchers of xgrad/testing.hpp.

namespace {

namespace xg = xgrad;
using xg::Tensor;
using xg::Verdict;
using Tensors = std::vector<Tensor>;

// ---- modules ------------------------------------------------------------------------------------

struct Snapshot {
  std::vector<std::string> bytes;
  std::vector<bool> training;
  explicit Snapshot(xg::nn::Module& module) {
    for (const auto& [name, x] : module.state_dict()) {
      const bool wide = x.dtype() == xg::float64;
      bytes.push_back(name + xg::name(x.dtype()) + x.shape().str());
      if (x.dtype() == xg::int64) {
        bytes.back() += std::to_string(x.data<std::int64_t>()[0]);
      } else if (wide) {
        bytes.back().append(reinterpret_cast<const char*>(x.data<double>().data()),
                            x.data<double>().size_bytes());
      } else {
        bytes.back().append(reinterpret_cast<const char*>(x.data<float>().data()),
                            x.data<float>().size_bytes());
      }
      if (x.requires_grad() && x.has_grad()) bytes.back() += xg::to_string(x.grad());
    }
    for (const auto& entry : module.named_modules())
      training.push_back(entry.second->is_training());
  }
  bool operator==(const Snapshot&) const = default;
};

TEST(GradcheckModule, ChecksParametersAndLeavesNoTrace) {
  xg::manual_seed(1);
  auto net = xg::nn::Sequential(xg::nn::Linear(4, 5), xg::nn::BatchNorm1d(5), xg::nn::Tanh(),
                                xg::nn::LayerNorm(5), xg::nn::Linear(5, 2));
  net(xg::randn({6, 4})).sum().backward();  // gradients and statistics worth keeping
  net.named_modules().at(2).second->eval();
  const std::vector<Tensor> own = net.parameters();
  const Snapshot before(net);
  const xg::Generator::State random = xg::default_generator().state();
  for (bool train : {true, false}) {
    if (!train) net.named_modules().at(2).second->train();
    const Snapshot now(net);
    const xg::GradcheckReport report = xg::gradcheck(net, {random_leaf({6, 4})});
    EXPECT_TRUE(report) << report;
    EXPECT_EQ(report.checked, 24 + 25 + 10 + 10 + 12);
    EXPECT_GRADIENTS2(net, {random_leaf({6, 4}).detach()}, {.full_jacobian = 0});
    EXPECT_EQ(Snapshot(net), now);
  }
  net.named_modules().at(2).second->eval();
  EXPECT_EQ(Snapshot(net), before);
  EXPECT_EQ(xg::default_generator().state(), random);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(own[i].is(net.parameters()[i]));
}

TEST(GradcheckModule, BatchNormInTrainMode) {  // G-03
  xg::nn::BatchNorm1d norm(3);
  norm(xg::randn({7, 3}));
  const Snapshot before(norm);
  const Tensor w = random_leaf({5, 3}, 9).detach();
  const auto loss = [&](const Tensor& x) { return (w * norm(x)).sum(); };
  EXPECT_GRADIENTS(norm, {random_leaf({5, 3})});
  const xg::GradcheckReport report = xg::gradcheck(norm, loss, {random_leaf({5, 3})});
  EXPECT_TRUE(report) << report;
  EXPECT_EQ(Snapshot(norm), before);
  xg::nn::Dropout dropout(0.5);
  expect_verdict(xg::gradcheck(dropout, {random_leaf({5, 3})}), Verdict::not_deterministic);
}

/// Its weight is wrong, and it changes mode and buffer in forward.
struct Wrong final : xg::nn::Module {
  Tensor& weight = register_parameter("weight", xg::ones({3}));
  Tensor& calls = register_buffer("calls", xg::tensor(0));
  bool throws = false;
  Tensor forward(const Tensor& x) override {
    calls = calls + 1;
    train(!is_training());
    if (throws) throw xg::Error("on purpose");
    return x * squared(weight, [](auto& g, auto& v) { return g * v; });
  }
};

TEST(GradcheckModule, NamesTheWrongParameterAndRestoresAfterAnException) {
  Wrong module;
  const Snapshot before(module);
  expect_verdict(xg::gradcheck(module, {random_leaf({2, 3})}), Verdict::wrong,
                 {"The worst is weight", "Right: input", "Each is 0.5 times"});
  EXPECT_EQ(Snapshot(module), before);
  module.throws = true;
  error_of<xg::Error>([&] { xg::gradcheck(module, {random_leaf({2, 3})}); });
  EXPECT_EQ(Snapshot(module), before);
  expect_error<xg::DTypeError>(
      [&] {
        xg::gradcheck(module, {xg::ones({2, 3}, {.requires_grad = true})});
      },
      {"input", "float32"});
}

TEST(GradcheckModule, TiedAndFrozenParameters) {
  struct Tied final : xg::nn::Module {
    xg::nn::Linear& first = register_module("first", xg::nn::Linear(3, 3));
    Tensor& again = register_parameter("again", first.weight);
    Tensor forward(const Tensor& x) override { return linear(first(x), again); }
  } tied;
  tied.first.bias.requires_grad_(false);
  const xg::GradcheckReport report = xg::gradcheck(tied, {random_leaf({2, 3}).detach()});
  EXPECT_TRUE(report) << report;
  EXPECT_EQ(report.checked, 9);
}

// ---- testing.hpp --------------------------------------------------------------------------------

TEST(TensorMatchers, SayWhereAndHowFar) {
  const Tensor a = xg::tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  EXPECT_TENSOR_EQUAL(a, a.clone());
  EXPECT_TENSOR_NEAR(a, a + 1e-7, 1e-6);
  EXPECT_TENSOR_NEAR(a, a.to(xg::float64), 0);
  EXPECT_TENSOR_EQUAL(xg::full({2}, NAN), xg::full({2}, NAN));
  EXPECT_TENSOR_EQUAL(xg::full({2}, INFINITY), xg::full({2}, INFINITY));
  Tensor b = a.clone();
  b.mut<float>()[1] = 2.25;
  b.mut<float>()[5] = 6.125;
  const auto text = [](const testing::AssertionResult& result) {
    EXPECT_FALSE(result);
    return std::string(result.message());
  };
  expect_words(
      text(xg::testing::near("a", "b", a, b, 0.1)),
      {"a and b", "2 of 6 elements", "(2, 3)", "0.1", "at (0, 1)", "2.25", "apart by 0.25"});
  b.mut<float>()[4] = NAN;
  expect_words(text(xg::testing::near("a", "b", a, b, 0.1)), {"3 of 6", "at (1, 1)", "nan"});
  expect_words(text(xg::testing::equal("a", "b", a, a.to(xg::float64))), {"float32", "float64"});
  expect_words(text(xg::testing::equal("a", "b", a, a.t())), {"(2, 3)", "(3, 2)"});
  expect_words(text(xg::testing::equal("a", "b", a, Tensor())), {"b is undefined"});
  EXPECT_NONFATAL_FAILURE(EXPECT_TENSOR_NEAR(a, a + 1, 0.5), "apart by 1");
  EXPECT_NONFATAL_FAILURE(EXPECT_GRADIENTS([](const Tensor& x) { return relu(x); }, {leaf({0})}),
                          "kink");
}

}  // namespace
