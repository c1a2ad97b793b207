#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace optim = xg::optim;
using xg::Tensor;

namespace {

using Values = std::vector<double>;

Tensor parameter(std::vector<double> values, xg::DType dtype = xg::float64) {
  return xg::tensor(values, {.dtype = dtype, .requires_grad = true});
}

/// One step with this gradient.
void step(optim::Optimizer& optimizer, const Tensor& p, double g) {
  p.set_grad(full_like(p, g));
  optimizer.step();
}

void expect_near(const Tensor& got, const Values& wanted, double tolerance = 1e-8) {
  const Values values = got.to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << i;
}

/// The message of the error that f must throw.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const xg::Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}
void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(Optim, L05SgdDecaysWithoutMomentumAndNeverDampsTheFirstStep) {
  const Tensor p = parameter({1});
  optim::SGD decaying({p}, {.lr = 0.1, .weight_decay = 0.1});
  step(decaying, p, 0.5);
  expect_near(p, {0.94});
  step(decaying, p, 0.5);
  expect_near(p, {0.8806});

  const Tensor q = parameter({1});
  optim::SGD damped({q}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.5});
  step(damped, q, 1);
  expect_near(q, {0.9});
  step(damped, q, 1);
  expect_near(q, {0.76});
}

TEST(Optim, L06AdamAddsEpsilonAfterTheBiasCorrection) {
  const Tensor tiny = parameter({0});
  optim::Adam a({tiny}, {.lr = 1, .eps = 1e-8});
  step(a, tiny, 1e-8);
  expect_near(tiny, {-0.5});

  const Tensor p = parameter({1});
  optim::Adam b({p}, {.lr = 0.01});
  const Values gradients{0.1, -0.2, 0.3};
  const Values wanted{0.990000001, 0.993661036, 0.990228625};
  for (std::size_t i = 0; i < 3; ++i) {
    step(b, p, gradients[i]);
    expect_near(p, {wanted[i]}, 1e-9);
  }

  const Tensor decoupled = parameter({1});
  const Tensor l2 = parameter({1});
  optim::AdamW c({decoupled}, {.lr = 0.1, .weight_decay = 0.1});
  optim::Adam d({l2}, {.lr = 0.1, .weight_decay = 0.1});
  for (int i = 0; i < 2; ++i) {
    step(c, decoupled, 0.1);
    step(d, l2, 0.1);
    expect_near(decoupled, {i == 0 ? 0.89000001 : 0.78110002}, 1e-8);
    expect_near(l2, {i == 0 ? 0.900000005 : 0.800166496}, 1e-9);
  }
}

TEST(Optim, L07RefusesNoParametersAndTheSameOneTwice) {
  const Tensor p = parameter({1, 2});
  const Tensor q = parameter({3, 4, 5});
  expect_words(error_of([] { optim::Adam(std::vector<Tensor>{}); }), {"Adam", "empty"});
  expect_words(error_of([] { optim::SGD(std::vector<optim::SGDGroup>{}, {.lr = 0.1}); }),
               {"SGD", "empty"});
  expect_words(error_of([&] {
                 optim::SGD({q, p, p}, {.lr = 0.1});
               }),
               {"SGD", "parameter 2", "(2,)", "parameter 1"});
  optim::AdamW two({{.params = {p}}, {.params = {q}}});
  expect_words(error_of([&] { two.add_param_group({.params = {q}}); }), {"AdamW", "(3,)"});
  EXPECT_EQ(two.group_count(), 2U);
  expect_words(error_of([&] { optim::SGD({p * 2}, {.lr = 0.1}); }), {"MulBackward0", "leaves"});
  expect_words(error_of([&] { optim::SGD({p, Tensor()}, {.lr = 0.1}); }), {"1", "undefined"});
}

TEST(Optim, L07LeavesAParameterWithoutGradientAlone) {
  const Tensor used = parameter({1, -2});
  const Tensor unused = parameter({0.1, 0.2, 0.3});
  const Values before = unused.to_vector<double>();
  optim::SGD sgd({used, unused}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1});
  optim::AdamW adam({used, unused}, {.weight_decay = 0.1});
  for (optim::Optimizer* optimizer :
       {static_cast<optim::Optimizer*>(&sgd), static_cast<optim::Optimizer*>(&adam)}) {
    optimizer->zero_grad();
    step(*optimizer, used, 0.5);
    EXPECT_EQ(unused.to_vector<double>(), before);
    EXPECT_FALSE(unused.has_grad());
    for (const auto& [name, value] : optimizer->state_dict()) {
      EXPECT_EQ(name.rfind("state.1.", 0), std::string::npos) << name;
    }
  }
  // A gradient of zeros is one: the decay moves the parameter.
  step(sgd, unused, 0);
  EXPECT_NE(unused.to_vector<double>(), before);
}

TEST(Optim, ZeroGradKeepsZerosOrTakesTheGradientAway) {
  const Tensor p = parameter({1, 2});
  optim::SGD sgd({p}, {.lr = 0.1});
  const Tensor seed = xg::tensor(Values{1, 0.5}, {.dtype = xg::float64});
  (p * p).backward(seed);
  sgd.zero_grad();
  EXPECT_EQ(p.grad().to_vector<double>(), (Values{0, 0}));
  (p * p).backward(seed);
  EXPECT_EQ(p.grad().to_vector<double>(), (Values{2, 2}));
  sgd.zero_grad(true);
  EXPECT_FALSE(p.has_grad());
}

TEST(Optim, RefusesSettingsOutOfRange) {
  const Tensor p = parameter({1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_words(error_of([&] { optim::SGD({p}); }), {"SGD", "lr", "required"});
  expect_words(error_of([&] { optim::SGD({p}, {.lr = -0.5}); }), {"SGD", "lr", "-0.5"});
  expect_words(error_of([&] { optim::SGD({p}, {.lr = nan}); }), {"SGD", "lr", "nan"});
  expect_words(error_of([&] { optim::SGD({p}, {.lr = 1, .momentum = -1}); }), {"momentum", "-1"});
  expect_words(error_of([&] { optim::SGD({p}, {.lr = 1, .nesterov = true}); }), {"nesterov"});
  expect_words(error_of([&] { optim::Adam({p}, {.betas = {0.9, 1}}); }), {"betas[1]", "below 1"});
  expect_words(error_of([&] { optim::AdamW({p}, {.eps = -1e-8}); }), {"AdamW", "eps", "-1e-08"});
  expect_words(error_of([&] { optim::Adam({p}, {.weight_decay = -1}); }), {"weight_decay"});
  optim::SGD sgd({{.params = {p}, .lr = 0.25}});
  expect_words(error_of([&] { sgd.set_lr(-1); }), {"lr", "-1"});
  EXPECT_THROW(sgd.set_lr(1, 0.5), xg::IndexError);
  EXPECT_EQ(sgd.lr(), 0.25);
}

TEST(Optim, MaximizeClimbs) {
  const Tensor up = parameter({1, -2, 3});
  const Tensor down = parameter({1, -2, 3});
  const auto same = [&](optim::Optimizer& climbing, optim::Optimizer& falling) {
    for (double g : {0.3, -0.7, 0.2}) {
      step(climbing, up, g);
      step(falling, down, -g);
    }
    EXPECT_EQ(up.to_vector<double>(), down.to_vector<double>());
  };
  optim::SGD sgd({up}, {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.1, .maximize = true});
  optim::SGD sgd_down({down}, {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.1});
  same(sgd, sgd_down);
  optim::Adam adam({up}, {.weight_decay = 0.1, .amsgrad = true, .maximize = true});
  optim::Adam adam_down({down}, {.weight_decay = 0.1, .amsgrad = true});
  same(adam, adam_down);
}

TEST(Optim, AGroupThatJoinsLaterKeepsTheStateOfTheOthers) {
  const Tensor p = parameter({1});
  const Tensor alone = parameter({1});
  const Tensor late = parameter({2});
  optim::SGD grown({p}, {.lr = 0.1, .momentum = 0.9});
  optim::SGD reference({alone}, {.lr = 0.1, .momentum = 0.9});
  step(grown, p, 1);
  step(reference, alone, 1);
  grown.add_param_group({.params = {late}, .lr = 0.5, .momentum = 0.0});
  late.set_grad(full_like(late, 1));
  step(grown, p, 1);
  step(reference, alone, 1);
  EXPECT_EQ(p.item<double>(), alone.item<double>());
  EXPECT_EQ(late.item<double>(), 1.5);
  EXPECT_EQ(grown.lr(1), 0.5);
}

TEST(Optim, AStepMovesTheVersionSoThatAStaleGraphRefuses) {
  const Tensor w = parameter({2});
  const Tensor x = parameter({3});
  const Tensor loss = w * w * x;
  optim::SGD sgd({w}, {.lr = 0.5});
  step(sgd, w, 1);
  EXPECT_THROW(loss.backward(), xg::GraphError);
}

TEST(Optim, FloatAndDoubleTakeTheSamePath) {
  const Tensor wide = parameter({1.5, -0.5, 0.25});
  const Tensor narrow = parameter({1.5, -0.5, 0.25}, xg::float32);
  optim::AdamW a({wide}, {.lr = 0.05, .amsgrad = true});
  optim::AdamW b({narrow}, {.lr = 0.05, .amsgrad = true});
  for (double g : {0.5, -1.5, 0.125}) {
    step(a, wide, g);
    step(b, narrow, g);
  }
  expect_near(narrow, wide.to_vector<double>(), 1e-6);
}

TEST(Optim, ResumesFromItsStateExactly) {
  const auto run = [](bool interrupted) {
    const Tensor p = parameter({1, -2, 3});
    const Tensor q = parameter({0.5});
    const std::vector<optim::AdamGroup> groups{{.params = {p}, .lr = 0.1}, {.params = {q}}};
    auto adam = std::make_unique<optim::Adam>(groups, optim::AdamOptions{.amsgrad = true});
    auto cosine = std::make_unique<optim::CosineAnnealingLR>(
        *adam, optim::CosineAnnealingLROptions{.T_max = 5});
    for (int i = 0; i < 8; ++i) {
      step(*adam, p, 0.1 * i - 0.3);
      cosine->step();
      if (!interrupted || i != 3) continue;
      const xg::StateDict saved = adam->state_dict();
      const xg::StateDict schedule = cosine->state_dict();
      adam = std::make_unique<optim::Adam>(groups, optim::AdamOptions{.amsgrad = true});
      cosine = std::make_unique<optim::CosineAnnealingLR>(
          *adam, optim::CosineAnnealingLROptions{.T_max = 5});
      adam->load_state_dict(saved);
      cosine->load_state_dict(schedule);
    }
    return p.to_vector<double>();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Optim, RefusesAStateThatDoesNotFit) {
  const Tensor p = parameter({1, 2});
  const Tensor q = parameter({1, 2, 3});
  optim::SGD two({p}, {.lr = 0.1, .momentum = 0.9});
  optim::SGD three({q}, {.lr = 0.2, .momentum = 0.9});
  step(two, p, 1);
  expect_words(error_of([&] { three.load_state_dict(two.state_dict()); }),
               {"state.0.momentum_buffer", "(2,)", "(3,)"});
  EXPECT_EQ(three.lr(), 0.2);
  optim::Adam adam({p});
  expect_words(error_of([&] { adam.load_state_dict(two.state_dict()); }),
               {"Adam", "no parameter for state.0.momentum_buffer"});
  expect_words(error_of([&] { adam.load_state_dict({}); }), {"param_groups.0.lr", "missing"});
}

TEST(Schedule, L09AResumedScheduleIsNotLate) {
  const Tensor p = parameter({1});
  const auto rates = [&](bool interrupted) {
    Values used;
    auto sgd = std::make_unique<optim::SGD>(std::vector{p}, optim::SGDOptions{.lr = 100});
    auto schedule = std::make_unique<optim::StepLR>(*sgd, optim::StepLROptions{.step_size = 4});
    for (int epoch = 0; epoch < 7; ++epoch) {
      used.push_back(sgd->lr());
      schedule->step();
      if (!interrupted || (epoch != 2 && epoch != 3)) continue;
      const xg::StateDict saved = schedule->state_dict();
      sgd = std::make_unique<optim::SGD>(std::vector{p}, optim::SGDOptions{.lr = 100});
      schedule = std::make_unique<optim::StepLR>(*sgd, optim::StepLROptions{.step_size = 4});
      schedule->load_state_dict(saved);
    }
    return used;
  };
  EXPECT_EQ(rates(false), (Values{100, 100, 100, 100, 10, 10, 10}));
  EXPECT_EQ(rates(true), rates(false));
}

TEST(Schedule, ChainsAndRespectsARateSetByHand) {
  const Tensor p = parameter({1});
  optim::SGD sgd({p}, {.lr = 1});
  optim::StepLR half(sgd, {.step_size = 2, .gamma = 0.5});
  optim::StepLR tenth(sgd, {.step_size = 3, .gamma = 0.1});
  const Values wanted{1, 0.5, 0.05, 0.025, 0.025, 0.00125};
  for (double lr : wanted) {
    half.step();
    tenth.step();
    EXPECT_NEAR(sgd.lr(), lr, 1e-15);
  }
  sgd.set_lr(8);
  half.step();
  half.step();
  EXPECT_EQ(sgd.lr(), 4);
  EXPECT_EQ(half.get_last_lr(), (Values{4}));
}

TEST(Schedule, LambdaTakesOneFunctionOrOnePerGroup) {
  const Tensor p = parameter({1});
  const Tensor q = parameter({2});
  optim::SGD sgd({{.params = {p}, .lr = 0.5}, {.params = {q}, .lr = 2}});
  optim::LambdaLR two(
      sgd, [](int epoch) { return 1.0 / (epoch + 1); }, [](int epoch) { return epoch + 1; });
  two.step();
  EXPECT_EQ(two.get_last_lr(), (Values{0.25, 4}));
  optim::LambdaLR one(sgd, [](int) { return 3; });
  EXPECT_EQ(one.get_last_lr(), (Values{1.5, 6}));  // of the rates at the very beginning
  const auto f = [](int) { return 1; };
  expect_words(error_of([&] { optim::LambdaLR(sgd, f, f, f); }), {"3 functions", "2"});
  expect_words(error_of([&] { optim::StepLR(sgd, {.step_size = 0}); }), {"step_size", "0"});
  expect_words(error_of([&] { optim::CosineAnnealingLR(sgd, {.T_max = 0}); }), {"T_max", "0"});
}

}  // namespace
