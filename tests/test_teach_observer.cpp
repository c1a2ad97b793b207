#include <gtest/gtest.h>

#include "support/values.hpp"
#include "xgrad/teach/observer.hpp"

namespace xg = xgrad;
using xg::Tensor;
using xg::teach::NonFiniteError;
using xg::teach::Observer;

namespace {

/// sqrt, whose derivative at 0 is infinite.
struct Root : xg::nn::Module {
  Tensor forward(const Tensor& x) override { return x.sqrt(); }
};

/// Its backward pass makes infinities of good gradients.
struct Spoiler : xg::nn::Module {
  bool on = false;
  Tensor forward(const Tensor& x) override {
    Tensor y = x * 1;
    if (on) y.register_hook([](const Tensor& g) { return g / 0.0; });
    return y * 1;
  }
};

/// Its output is its input but for one value, once that is given.
struct Planter : xg::nn::Module {
  std::optional<double> value{};
  Tensor forward(const Tensor& x) override {
    if (!value) return x * 1;
    Tensor one = xg::zeros(x.shape());
    one.index_put_({1, 2}, 1);
    return xg::where(one == 1, *value, x);
  }
};

/// The same in a function: not the output of any module.
struct PlantingNet : xg::nn::Module {
  xg::nn::Linear& fc = register_module("fc", xg::nn::Linear(2, 3));
  xg::nn::BatchNorm1d& norm = register_module("norm", xg::nn::BatchNorm1d(3));
  bool on = false;
  Tensor forward(const Tensor& x) override { return norm(on ? fc(x) / 0.0 : fc(x)); }
};

Tensor step(xg::nn::Module& net, const Tensor& x, xg::optim::Optimizer& optimizer,
            Observer& observer) {
  const Tensor loss = net(x).square().mean();
  optimizer.zero_grad();
  loss.backward();
  observer.step(optimizer, loss);
  return loss;
}

std::size_t hooks_run(xg::nn::Module& net, const Tensor& x) {  // nodes that a pass leaves alive
  const std::int64_t before = xg::live_nodes();
  const Tensor y = net(x);
  return static_cast<std::size_t>(xg::live_nodes() - before);
}

TEST(TeachObserver, NumbersByHand) {
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::ReLU(), xg::nn::Tanh());
  auto& fc = net.at<xg::nn::Linear>(0);
  Tensor weight = fc.weight.detach(), bias = fc.bias.detach();
  weight.copy_(xg::tensor({{1.0, 0.0}, {-1.0, 0.0}, {0.0, 4.0}}));
  bias.copy_(xg::tensor({0.0, 0.0, -1.0}));
  const Tensor x = xg::tensor({{1.0, 1.0}, {2.0, 0.0}});
  // y = {{1, -1, 3}, {2, -2, -1}}; relu {{1, 0, 3}, {2, 0, 0}}: unit 1 is dead, unit 2 is not
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.5});
  Observer observer(net, {.every = 2});
  ASSERT_EQ(observer.layers().size(), 3U);
  EXPECT_EQ(observer.layers()[0].name, "0");
  EXPECT_EQ(observer.layers()[2].type, "Tanh");
  EXPECT_EQ(observer.parameters(), (std::vector<std::string>{"0.weight", "0.bias"}));

  const Tensor h = net.at<xg::nn::ReLU>(1)(fc(x));  // the same by calls of one's own
  const Tensor y = h.tanh();
  const Tensor own_loss = y.square().mean();
  const auto expected = xg::grad(own_loss, {y, h, fc.weight, fc.bias});
  const double weight_norm = fc.weight.norm().item<double>();

  const Tensor loss = step(net, x, optimizer, observer);
  ASSERT_EQ(observer.records().size(), 1U);
  const xg::teach::Record& record = observer.records()[0];
  EXPECT_EQ(record.step, 1);
  EXPECT_EQ(record.loss, loss.item<double>());
  const auto& layers = record.layers;
  EXPECT_NEAR(layers[0].output.mean, 2.0 / 6, 1e-12);
  EXPECT_NEAR(layers[0].output.std, std::sqrt((20 - 6 * (1.0 / 9)) / 5), 1e-12);
  EXPECT_EQ(layers[0].output.min, -2);
  EXPECT_EQ(layers[0].output.max, 3);
  EXPECT_TRUE(std::isnan(layers[0].dead));
  EXPECT_NEAR(layers[1].dead, 1.0 / 3, 1e-12);
  EXPECT_NEAR(layers[2].saturated, 1.0 / 6, 1e-12);  // tanh(3) = 0.995, tanh(2) = 0.964
  EXPECT_NEAR(layers[2].gradient, expected[0].norm().item<double>(), 1e-6);
  EXPECT_NEAR(layers[1].gradient, expected[1].norm().item<double>(), 1e-6);
  EXPECT_TRUE(std::isnan(layers[0].running_mean.mean));
  const auto& weights = record.parameters[0];
  EXPECT_NEAR(weights.norm, weight_norm, 1e-6);
  EXPECT_NEAR(weights.gradient, expected[2].norm().item<double>(), 1e-6);
  EXPECT_NEAR(weights.update, 0.5 * weights.gradient / weight_norm, 1e-6);

  for (int i = 0; i < 4; ++i) step(net, x, optimizer, observer);
  std::vector<std::int64_t> steps;
  for (const auto& r : observer.records()) steps.push_back(r.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 4}));
}

TEST(TeachObserver, RunningStatistics) {
  xg::nn::Sequential net(xg::nn::BatchNorm1d(2), xg::nn::Sigmoid());
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  Observer observer(net);
  step(net, xg::tensor({{1.0, 10.0}, {3.0, 10.0}, {5.0, 40.0}}), optimizer, observer);
  const auto& norm = observer.records()[0].layers[0];
  EXPECT_NEAR(norm.running_mean.mean, 0.1 * (3 + 20) / 2, 1e-6);
  EXPECT_NEAR(norm.running_mean.max, 2, 1e-6);
  EXPECT_NEAR(norm.running_var.min, 0.9 + 0.1 * 4, 1e-6);
  EXPECT_EQ(observer.records()[0].layers[1].saturated, 0);
}

TEST(TeachObserver, EvalAndNoGradDoNotCount) {
  xg::manual_seed(2);
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::ReLU());
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  Observer observer(net, {.every = 1, .steps_done = 7});
  const Tensor x = xg::randn({4, 2});
  const Tensor loss = net(x).square().mean();
  loss.backward();
  {
    const xg::NoGrad no_grad;
    net(x * 100);
  }
  net.eval();
  net(x * 100);
  net.train();
  observer.step(optimizer, loss);
  ASSERT_EQ(observer.records().size(), 1U);
  EXPECT_EQ(observer.records()[0].step, 8);
  EXPECT_LT(observer.records()[0].layers[0].output.max, 20);
}

TEST(TeachObserver, LeavesNoTrace) {
  xg::manual_seed(3);
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::BatchNorm1d(3), xg::nn::ReLU());
  const Tensor x = xg::randn({4, 2});
  const std::size_t nodes_of_a_pass = hooks_run(net, x);
  const std::int64_t nodes = xg::live_nodes();
  Tensor pending;
  {
    xg::optim::SGD optimizer(net.parameters(), {.lr = 0.1});
    Observer observer(net, {.every = 1});
    step(net, x, optimizer, observer);
    EXPECT_EQ(xg::live_nodes(), nodes);  // nothing is held between the steps
    pending = net(x).square().mean();
  }
  pending.backward();  // its hooks outlived the observer, and do nothing
  pending = {};
  net.zero_grad();
  EXPECT_EQ(xg::live_nodes(), nodes);
  EXPECT_EQ(hooks_run(net, x), nodes_of_a_pass);
}

/// Trains until it throws, and returns the error.
NonFiniteError failure(xg::nn::Module& net, const Tensor& x, xg::optim::Optimizer& optimizer,
                       Observer& observer, int steps = 1) {
  try {
    for (int i = 0; i < steps; ++i) step(net, x, optimizer, observer);
  } catch (const NonFiniteError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {"", "", 0};
}

TEST(TeachObserver, NamesTheFirstLayerWithABadOutput) {
  for (const bool batch_norm : {false, true}) {
    xg::manual_seed(4);
    xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::ReLU(), xg::nn::Linear(3, 5));
    if (batch_norm) net.push_back(xg::nn::BatchNorm1d(5));
    net.push_back(xg::nn::Linear(5, 2));
    xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
    Observer observer(net);
    const Tensor x = xg::randn({4, 2});
    for (int i = 0; i < 12; ++i) step(net, x, optimizer, observer);
    Tensor weight = net.at<xg::nn::Linear>(2).weight.detach();
    weight.index_put_({1, 2}, std::numeric_limits<double>::infinity());
    const Tensor before = net.at<xg::nn::Linear>(0).weight.detach().clone();
    const NonFiniteError error = failure(net, x, optimizer, observer);
    EXPECT_EQ(error.layer, "2");
    EXPECT_EQ(error.step, 13);
    expect_words(error.what(), {"step 13: the output of Linear \"2\"", "(4, 5)", "2.weight"});
    EXPECT_TRUE(equal(net.at<xg::nn::Linear>(0).weight.detach(), before));
  }
}

/// What ReLU, Tanh and Sigmoid make finite again, and what the norms make NaN, or refuse.
TEST(TeachObserver, NamesTheLayerWhateverComesAfterIt) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto check = [](const char* name, auto add_layer, double value, int good_steps) {
    SCOPED_TRACE(testing::Message() << name << ", " << value << " after " << good_steps);
    xg::manual_seed(8);
    xg::nn::Sequential net(xg::nn::Linear(2, 3), Planter());
    add_layer(net);
    net.push_back(xg::nn::Linear(3, 2));
    xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
    Observer observer(net);
    const Tensor x = xg::randn({4, 2});
    for (int i = 0; i < good_steps; ++i) step(net, x, optimizer, observer);
    auto& planter = net.at<Planter>(1);
    planter.value = value;
    const xg::StateDict before = net.state_dict();
    std::vector<Tensor> kept;
    for (const auto& entry : before) kept.push_back(entry.second.detach().clone());
    const NonFiniteError error = failure(net, x, optimizer, observer);
    EXPECT_EQ(error.layer, "1");
    EXPECT_EQ(error.step, good_steps + 1);
    expect_words(error.what(), {"the output of Planter \"1\"", "1 of 12 values", "too large"});
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_TRUE(equal(before[i].second.detach(), kept[i])) << before[i].first;
    }
    planter.value = {};  // the step can be made with other values
    step(net, x, optimizer, observer);
    EXPECT_EQ(observer.records().back().step, good_steps == 0 ? 1 : good_steps == 9 ? 10 : 1);
  };
  for (const double value : {double(NAN), inf, -inf}) {
    for (const int steps : {0, 3, 9}) {  // then one that is recorded, is not, and is
      check(
          "ReLU", [](auto& net) { net.push_back(xg::nn::ReLU()); }, value, steps);
      check(
          "Tanh", [](auto& net) { net.push_back(xg::nn::Tanh()); }, value, steps);
      check(
          "Sigmoid", [](auto& net) { net.push_back(xg::nn::Sigmoid()); }, value, steps);
      check(
          "LayerNorm", [](auto& net) { net.push_back(xg::nn::LayerNorm(3)); }, value, steps);
      check(
          "RMSNorm", [](auto& net) { net.push_back(xg::nn::RMSNorm(3)); }, value, steps);
      check(
          "BatchNorm", [](auto& net) { net.push_back(xg::nn::BatchNorm1d(3)); }, value, steps);
    }
  }
}

TEST(TeachObserver, NamesABatchNormAfterAFunction) {
  PlantingNet net;
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  Observer observer(net);
  const Tensor x = xg::randn({4, 2});
  for (int i = 0; i < 2; ++i) step(net, x, optimizer, observer);
  net.on = true;
  const NonFiniteError error = failure(net, x, optimizer, observer);
  EXPECT_EQ(error.layer, "norm");
  EXPECT_EQ(error.step, 3);
  expect_words(error.what(),
               {"the input of BatchNorm1d \"norm\"", "12 of 12", "operations before"});
}

/// A gradient that a ReLU stops changes no weight: no error at any step.
TEST(TeachObserver, AGradientThatNobodyGetsIsNone) {
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::ReLU(), Root());
  for (const Tensor& p : net[0].parameters()) {
    Tensor values = p.detach();
    values.fill_(-1);
  }
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  Observer observer(net);
  for (int i = 0; i < 3; ++i) {
    const Tensor loss = (net(xg::ones({4, 2})) + 1).sum();
    optimizer.zero_grad();
    loss.backward();
    observer.step(optimizer, loss);
  }
  EXPECT_FALSE(std::isfinite(observer.records()[0].layers[1].gradient));
}

TEST(TeachObserver, NamesBadData) {
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::BatchNorm1d(3));
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  Observer observer(net);
  const NonFiniteError error =
      failure(net, xg::tensor({{1.0, NAN}, {1.0, 2.0}}), optimizer, observer);
  EXPECT_EQ(error.layer, "0");
  expect_words(error.what(), {"3 of 6 values", "the data"});
}

TEST(TeachObserver, NamesTheLayersAroundABadGradient) {
  xg::manual_seed(5);
  xg::nn::Sequential net(xg::nn::Linear(2, 3), Root(), xg::nn::Linear(3, 2));
  for (const Tensor& p : net[0].parameters()) {
    Tensor values = p.detach();
    values.zero_();
  }
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  Observer observer(net);
  const NonFiniteError error = failure(net, xg::randn({4, 2}), optimizer, observer);
  EXPECT_EQ(error.layer, "0");
  expect_words(error.what(), {"step 1: the gradient of Linear \"0\" (0.weight)", "Root \"1\""});
}

TEST(TeachObserver, ABadGradientInAStepThatIsNotRecorded) {
  xg::manual_seed(6);
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::Tanh(), Spoiler(), xg::nn::Linear(3, 2));
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.01});
  Observer observer(net);
  const Tensor x = xg::randn({4, 2});
  for (int i = 0; i < 3; ++i) step(net, x, optimizer, observer);
  net.at<Spoiler>(2).on = true;
  const Tensor before = net.at<xg::nn::Linear>(3).weight.detach().clone();
  const NonFiniteError error = failure(net, x, optimizer, observer);
  EXPECT_EQ(error.layer, "0");
  EXPECT_EQ(error.step, 4);
  expect_words(error.what(), {"Linear \"0\"", "Spoiler \"2\""});
  EXPECT_TRUE(equal(net.at<xg::nn::Linear>(3).weight.detach(), before));
}

TEST(TeachObserver, AnUpdateThatOverflows) {
  xg::manual_seed(7);
  xg::nn::Sequential net(xg::nn::Linear(2, 3), xg::nn::Linear(3, 2));
  xg::optim::SGD optimizer(net.parameters(), {.lr = 1e38});
  Observer observer(net);
  const NonFiniteError error = failure(net, xg::randn({4, 2}) * 100, optimizer, observer, 3);
  EXPECT_EQ(error.layer, "0");
  EXPECT_EQ(error.step, 2);
}

/// All numbers of the records, as texts: NaN are equal.
std::string text_of(const std::vector<xg::teach::Record>& records) {
  std::string text;
  const auto add = [&](const std::vector<double>& numbers) {
    for (const double x : numbers) text += std::to_string(x) + " ";
  };
  for (const auto& r : records) {
    text.append("\n").append(std::to_string(r.step)).append(": ");
    add({r.loss});
    for (const auto& l : r.layers) {
      add({l.output.mean, l.output.std, l.output.min, l.output.max, l.dead, l.saturated, l.gradient,
           l.running_mean.mean, l.running_mean.max, l.running_var.std, l.running_var.min});
    }
    for (const auto& p : r.parameters) add({p.norm, p.gradient, p.update});
  }
  return text;
}

/// A net that is watched for some steps, from the weights of `seed` 9.
struct Watched {
  xg::nn::Sequential net = [] {
    xg::manual_seed(9);
    return xg::nn::Sequential(xg::nn::Linear(2, 3), xg::nn::BatchNorm1d(3), xg::nn::ReLU());
  }();
  xg::optim::Adam optimizer{net.parameters(), {.lr = 0.01}};
  Tensor x = xg::randn({5, 2});
  void train(Observer& observer, int steps) {
    for (int i = 0; i < steps; ++i) step(net, x, optimizer, observer);
  }
};

TEST(TeachObserver, GoesOnAsIfItHadNeverStopped) {
  const xg::teach::ObserverOptions options{.every = 2, .most = 5};
  for (const int first : {0, 1, 7, 10, 23}) {
    Watched whole, parts;
    Observer all(whole.net, options);
    whole.train(all, 40);
    xg::StateDict state;
    {
      Observer observer(parts.net, options);
      parts.train(observer, first);
      state = observer.state_dict();
    }
    Observer rest(parts.net, options);
    rest.load_state_dict(state);
    parts.train(rest, 40 - first);
    EXPECT_EQ(text_of(rest.records()), text_of(all.records())) << first;
    EXPECT_TRUE(equal(find(rest.state_dict(), "every")->detach(), xg::tensor(std::int64_t{16})));
  }
}

TEST(TeachObserver, KeepsAsManyRecordsAsAreWanted) {
  Watched run;
  Observer few(run.net, {.every = 2, .most = 5});
  run.train(few, 40);
  Watched again;
  Observer sparse(again.net, {.every = 16});
  again.train(sparse, 40);
  EXPECT_EQ(sparse.records().size(), 3U);
  EXPECT_EQ(text_of(few.records()), text_of(sparse.records()));
}

TEST(TeachObserver, RefusesTheStateOfAnotherNet) {
  Watched run;
  Observer observer(run.net, {.every = 1});
  run.train(observer, 3);
  const xg::StateDict state = observer.state_dict();
  const std::string before = text_of(observer.records());
  xg::nn::Linear other(2, 3);
  Observer narrow(other);
  error_of<xg::ShapeError>([&] { observer.load_state_dict(narrow.state_dict()); });
  for (const auto& [name, values] :
       xg::StateDict{{"step", xg::tensor(std::int64_t{2})},
                     {"step", xg::tensor(3.0)},
                     {"every", xg::tensor(std::int64_t{0})},
                     {"records", xg::zeros({3})},
                     {"records", xg::full({2, 59}, NAN, {.dtype = xg::float64})}}) {
    xg::StateDict changed = state;
    for (auto& entry : changed) {
      if (entry.first == name) entry.second = values;
    }
    error_of<xg::Error>([&] { observer.load_state_dict(changed); });
  }
  EXPECT_EQ(text_of(observer.records()), before);
  observer.load_state_dict(state);
  EXPECT_EQ(text_of(observer.records()), before);
}

TEST(TeachObserver, ABadLossOfGoodOutputs) {
  xg::nn::Linear net(2, 3);
  xg::optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  Observer observer(net);
  const Tensor loss = net(xg::randn({4, 2})).sum() / 0.0;
  loss.backward();
  EXPECT_NE(error_of<NonFiniteError>([&] { observer.step(optimizer, loss); }).find("the loss"),
            std::string::npos);
  error_of<xg::Error>([&] { Observer(net, {.every = 0}); });
  error_of<xg::ShapeError>([&] { observer.step(optimizer, xg::ones({2, 3})); });
}

}  // namespace
