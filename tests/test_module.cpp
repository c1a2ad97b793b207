#include <gtest/gtest.h>

#include <cmath>

#include "support/text.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace nn = xgrad::nn;

namespace {

struct Mlp : nn::Module {
  nn::Linear& fc1 = register_module("fc1", nn::Linear(3, 5));
  nn::ReLU& act = register_module("act", nn::ReLU());
  nn::Linear& fc2 = register_module("fc2", nn::Linear(5, 2));
  xg::Tensor forward(const xg::Tensor& x) override { return fc2(act(fc1(x))); }
};

std::vector<std::string> names(const xg::StateDict& dict) {
  std::vector<std::string> out;
  for (const auto& entry : dict) out.push_back(entry.first);
  return out;
}

// ---- ownership ----------------------------------------------------------------------------------

TEST(Module, MovedModuleKeepsItsMembers) {
  Mlp net;
  const xg::Tensor x = xg::randn({4, 3});
  const xg::Tensor before = net(x);
  const xg::Tensor weight = net.fc1.weight;
  const Mlp* first = &net;
  Mlp moved = std::move(net);
  EXPECT_NE(first, &moved);
  EXPECT_TRUE(xg::equal(moved(x), before));
  EXPECT_TRUE(moved.fc1.weight.is(weight));
  moved.fc1.requires_grad_(false);  // the member is the registered child
  EXPECT_FALSE(moved.parameters()[0].requires_grad());
}

Mlp built(double value) {
  Mlp net;
  nn::init::constant_(net.fc2.bias, value);
  return net;
}

TEST(Module, VectorsOfModules) {
  std::vector<Mlp> nets;
  std::vector<xg::Tensor> expected;
  const xg::Tensor x = xg::randn({1, 3});
  for (int i = 0; i < 9; ++i) {  // grows several times
    nets.push_back(built(i));
    expected.push_back(nets.back()(x));
  }
  for (std::size_t i = 0; i < nets.size(); ++i) {
    EXPECT_TRUE(xg::equal(nets[i](x), expected[i]));
    EXPECT_EQ(nets[i].fc2.bias.to_vector<double>()[0], static_cast<double>(i));
  }
}

struct WithOptional : nn::Module {
  explicit WithOptional(bool wide)
      : shortcut(wide ? &register_module("shortcut", nn::Linear(2, 4)) : nullptr),
        norm(register_module("norm", wide ? std::unique_ptr<nn::Module>(new nn::Tanh())
                                          : std::unique_ptr<nn::Module>(new nn::Identity()))) {}
  nn::Linear* shortcut;
  nn::Module& norm;
  xg::Tensor forward(const xg::Tensor& x) override { return norm(shortcut ? (*shortcut)(x) : x); }
};

TEST(Module, OptionalMembersAndTypesChosenAtRunTime) {
  WithOptional wide(true);
  WithOptional plain(false);
  const xg::Tensor x = xg::randn({3, 2});
  WithOptional moved = std::move(wide);
  EXPECT_EQ(moved(x).shape(), (xg::Shape{3, 4}));
  EXPECT_EQ(plain(x).shape(), (xg::Shape{3, 2}));
  EXPECT_EQ(moved.parameters().size(), 2U);
  EXPECT_TRUE(plain.parameters().empty());
}

TEST(Module, MovedSequentialStillWorks) {
  nn::Sequential net(nn::Linear(3, 5), nn::ReLU(), nn::Sequential(nn::Linear(5, 2), nn::Tanh()));
  const xg::Tensor x = xg::randn({4, 3});
  const xg::Tensor before = net(x);
  nn::Sequential moved = std::move(net);
  EXPECT_TRUE(xg::equal(moved(x), before));
  EXPECT_EQ(names(moved.named_parameters()),
            (std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias"}));
  EXPECT_EQ(moved.at<nn::Linear>(0).weight.shape(), (xg::Shape{5, 3}));
  EXPECT_THROW(moved.at<nn::Tanh>(0), xg::Error);
  EXPECT_THROW(moved[3], xg::IndexError);
  EXPECT_EQ(moved[-1].type_name(), "Sequential");
}

TEST(Module, AModuleThatWasMovedFromSaysSo) {
  const auto refused = [](const auto& use, const std::string& type) {
    expect_error<xg::Error>(use, {type, "moved into another one"});
  };
  const xg::Tensor x = xg::ones({2, 2});
  nn::Linear a(2, 2);
  nn::ReLU relu;
  nn::BatchNorm1d norm(2);
  nn::MultiheadAttention attention(2, 1);
  { nn::Sequential(std::move(a), std::move(relu), std::move(norm), std::move(attention)); }
  // The new owner is gone, so whatever their members refer to is gone as well.
  refused([&] { a(x); }, "Linear");
  refused([&] { text(a); }, "Linear");
  refused([&] { a.state_dict(); }, "Linear");
  refused([&] { a.parameters(); }, "Linear");
  refused([&] { a.named_modules(); }, "Linear");
  refused([&] { a.train(); }, "Linear");
  refused([&] { a.to(xg::float64); }, "Linear");
  refused([&] { a.remove_hook(0); }, "Linear");
  refused([&] { a.register_buffer("b", x); }, "Linear");
  refused([&] { nn::Sequential(std::move(a)); }, "Linear");
  refused([&] { relu(x); }, "ReLU");
  refused([&] { norm.freeze(); }, "BatchNorm1d");
  refused([&] { norm.reset_running_stats(); }, "BatchNorm1d");
  refused([&] { attention(x); }, "MultiheadAttention");
  refused([&] { attention.forward(x, x, x); }, "MultiheadAttention");
  nn::CrossEntropyLoss loss({.weight = xg::tensor({1.0, 9.0})});
  const nn::CrossEntropyLoss moved = std::move(loss);
  refused([&] { loss(x, xg::tensor({0, 1})); }, "CrossEntropyLoss");
  refused([&] { loss.forward(x, xg::tensor({0, 1})); }, "CrossEntropyLoss");
  nn::Sequential net(nn::Tanh{}), other = std::move(net);
  refused([&] { net(x); }, "Sequential");
  refused([&] { net.push_back(nn::Tanh()); }, "Sequential");
}

TEST(Module, NoCopiesAndNoSlices) {
  static_assert(!std::is_copy_constructible_v<Mlp>);
  static_assert(!std::is_copy_assignable_v<Mlp>);
  static_assert(!std::is_move_assignable_v<Mlp>);
  static_assert(std::is_nothrow_move_constructible_v<Mlp>);
  static_assert(!std::is_constructible_v<nn::Module, Mlp&&>);
  struct Deeper : Mlp {};
  Deeper deeper;
  Mlp& base = deeper;
  nn::ModuleList list;
  EXPECT_THROW(list.push_back(std::move(base)), xg::Error);
  EXPECT_EQ(list.size(), 0);
  EXPECT_EQ(deeper.parameters().size(), 4U);
}

TEST(Module, NamesAreChecked) {
  Mlp net;
  EXPECT_THROW(net.register_module("fc1", nn::ReLU()), xg::Error);
  EXPECT_THROW(net.register_parameter("fc1", xg::zeros({2})), xg::Error);
  EXPECT_THROW(net.register_buffer("a.b", xg::zeros({2})), xg::Error);
  EXPECT_THROW(net.register_parameter("", xg::zeros({2})), xg::Error);
  EXPECT_THROW(net.register_parameter("labels", xg::tensor({1, 2})), xg::DTypeError);
  EXPECT_EQ(net.state_dict().size(), 4U);
}

// ---- parameters ---------------------------------------------------------------------------------

struct Tied : nn::Module {
  nn::Linear& encoder = register_module("encoder", nn::Linear(3, 5, {.bias = false}));
  xg::Tensor& weight = register_parameter("weight", encoder.weight);
  xg::Tensor& scale = register_buffer("scale", xg::ones({2}));
};

// L-07b: the member is the registered child, so it cannot be forgotten; L-07c: a parameter with
// two names is listed once.
TEST(Module, L07ParametersAreCountedOnce) {
  EXPECT_EQ(Mlp().parameters().size(), 4U);
  Tied tied;
  EXPECT_EQ(names(tied.named_parameters()), (std::vector<std::string>{"weight"}));
  EXPECT_TRUE(tied.weight.is(tied.encoder.weight));
  EXPECT_EQ(names(tied.state_dict()),
            (std::vector<std::string>{"weight", "scale", "encoder.weight"}));
  EXPECT_EQ(names(tied.named_buffers()), (std::vector<std::string>{"scale"}));
}

TEST(Module, FreezingIsRequiresGradAndSurvivesTrain) {
  Mlp net;
  net.fc1.requires_grad_(false);
  net.train();
  net.eval();
  net.train();
  net(xg::randn({4, 3})).sum().backward();
  EXPECT_FALSE(net.fc1.weight.requires_grad());
  EXPECT_FALSE(net.fc1.weight.has_grad());
  EXPECT_TRUE(net.fc2.weight.has_grad());
  net.zero_grad();
  EXPECT_FALSE(net.fc2.weight.has_grad());
}

TEST(Module, TrainGoesToAllBelow) {
  nn::Sequential net(nn::Dropout(0.25), nn::Sequential(nn::Dropout(0.75)));
  EXPECT_TRUE(net.is_training());
  net.eval();
  int modules = 0;
  for (const auto& [name, module] : net.named_modules()) {
    EXPECT_FALSE(module->is_training()) << name;
    ++modules;
  }
  EXPECT_EQ(modules, 4);
  EXPECT_EQ(net.named_modules()[3].first, "1.0");
}

TEST(Module, ToConvertsInPlace) {
  Mlp net;
  const xg::Tensor handle = net.fc1.weight;  // as an optimizer holds it
  const xg::Tensor x = xg::randn({4, 3});
  net(x).sum().backward();
  const std::vector<double> grad = handle.grad().to_vector<double>();
  const xg::Tensor graph = net(x).sum();
  net.to(xg::float64);
  EXPECT_EQ(handle.dtype(), xg::float64);
  EXPECT_TRUE(handle.is(net.fc1.weight));
  EXPECT_EQ(handle.grad().dtype(), xg::float64);
  EXPECT_EQ(handle.grad().to_vector<double>(), grad);
  EXPECT_THROW(graph.backward(), xg::GraphError);  // its saved weights were replaced
  net.zero_grad();
  net(x.to(xg::float64)).sum().backward();
  EXPECT_EQ(handle.grad().dtype(), xg::float64);
  EXPECT_THROW(net.to(xg::int64), xg::DTypeError);

  nn::BatchNorm1d norm(2);
  norm.to(xg::float64);
  EXPECT_EQ(norm.running_var.dtype(), xg::float64);
  EXPECT_EQ(norm.num_batches_tracked.dtype(), xg::int64);
}

TEST(Module, HooksSeeAndReplace) {
  Mlp net;
  const xg::Tensor x = xg::ones({2, 3});
  const xg::Tensor plain = net(x);
  std::vector<std::string> seen;
  const auto look = net.fc1.register_forward_hook(
      [&](nn::Module& module, const xg::Tensor& in, const xg::Tensor& out) {
        seen.push_back(module.name() + in.shape().str() + out.shape().str());
      });
  const auto twice =
      net.register_forward_pre_hook([](nn::Module&, const xg::Tensor& in) { return in * 2.0; });
  const auto negative = net.register_forward_hook(
      [](nn::Module&, const xg::Tensor&, const xg::Tensor& out) { return -out; });
  const xg::Tensor hooked = net(x);
  EXPECT_EQ(seen, (std::vector<std::string>{"fc1(2, 3)(2, 5)"}));
  net.remove_hook(twice);
  EXPECT_TRUE(xg::equal(net(x), -plain));
  EXPECT_FALSE(xg::equal(net(x), hooked));
  net.remove_hook(negative);
  net.fc1.remove_hook(look);
  EXPECT_TRUE(xg::equal(net(x), plain));
  EXPECT_EQ(seen.size(), 3U);
}

TEST(Module, ErrorsNameThePathOfTheModule) {
  struct Outer : nn::Module {
    Mlp& inner = register_module("inner", Mlp());
    xg::Tensor forward(const xg::Tensor& x) override { return inner(x); }
  };
  Outer net;
  const std::string text = error_of<xg::ShapeError>([&] { net(xg::randn({4, 7})); });
  expect_words(text, {"linear \"inner.fc1\": ", "(4, 7)", "(5, 3)"});
  const std::string none = error_of<xg::Error>([&] { Tied()(xg::randn({2})); });
  expect_words(none, {"Tied: ", "forward"});
}

// ---- state --------------------------------------------------------------------------------------

TEST(Module, StateDictSharesAndLoadCopies) {
  Mlp source;
  Mlp target;
  const xg::Tensor handle = target.fc1.weight;
  const xg::StateDict state = source.state_dict();
  target.load_state_dict(state);
  EXPECT_TRUE(xg::equal(target.fc2.bias, source.fc2.bias));
  EXPECT_TRUE(handle.is(target.fc1.weight));
  {
    const xg::NoGrad no_grad;
    target.fc1.weight.zero_();  // S-02: a step of the copy leaves the original alone
  }
  EXPECT_FALSE(xg::equal(target.fc1.weight, source.fc1.weight));
  EXPECT_TRUE(xg::equal(state[0].second, source.fc1.weight));
  EXPECT_FALSE(state[0].second.requires_grad());
}

// S-02
TEST(Module, LoadReportsEverythingAndChangesNothing) {
  struct Net : nn::Module {
    nn::Linear& fc1 = register_module("fc1", nn::Linear(2, 16));
    nn::LayerNorm& norm = register_module("norm", nn::LayerNorm(16));
  };
  Net net;
  xg::StateDict state = net.state_dict();
  for (auto& entry : state) entry.second = entry.second.clone() + 1.0;
  state[0].second = xg::zeros({16, 3});
  state[3].first = "norm.beta";
  const std::vector<double> before = net.fc1.bias.to_vector<double>();
  EXPECT_EQ(error_of<xg::Error>([&] { net.load_state_dict(state); }),
            "load_state_dict: 1 missing (norm.bias), 1 unexpected (norm.beta; did you mean "
            "norm.bias?), 1 misshapen (fc1.weight: file (16, 3), module (16, 2)).");
  EXPECT_THROW(net.load_state_dict(state, {.strict = false}), xg::Error);
  xg::StateDict twice = net.state_dict();
  twice.push_back(twice[0]);
  expect_error<xg::Error>([&] { net.load_state_dict(twice); },
                          {"1 twice (" + twice[0].first + ")"});
  EXPECT_EQ(net.fc1.bias.to_vector<double>(), before);

  state[0].first = "something else";
  const nn::LoadResult result = net.load_state_dict(state, {.strict = false});
  EXPECT_EQ(result.missing, (std::vector<std::string>{"fc1.weight", "norm.bias"}));
  EXPECT_EQ(result.unexpected, (std::vector<std::string>{"something else", "norm.beta"}));
  EXPECT_NE(net.fc1.bias.to_vector<double>(), before);
}

TEST(Module, LoadingOneLayerMoreOrLessThrows) {
  nn::Sequential small(nn::Linear(3, 1));
  nn::Sequential big(nn::Linear(3, 1), nn::Linear(1, 2));
  expect_error<xg::Error>([&] { big.load_state_dict(small.state_dict()); },
                          {"2 missing", "1.weight", "1.bias"});
  expect_error<xg::Error>([&] { small.load_state_dict(big.state_dict()); },
                          {"2 unexpected", "1.weight", "1.bias"});
  nn::Sequential other(nn::Linear(3, 32));
  expect_error<xg::Error>(
      [&] { other.load_state_dict(small.state_dict()); },
      {"2 misshapen", "0.weight", "(1, 3)", "(32, 3)", "0.bias", "(1,)", "(32,)"});
}

}  // namespace
