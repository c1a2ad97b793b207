#include <gtest/gtest.h>

#include <functional>

#include "support/values.hpp"

namespace xg = xgrad;
namespace optim = xg::optim;
using xg::Tensor;

namespace {

using Values = std::vector<double>;
using Schedules = std::vector<std::unique_ptr<optim::LRScheduler>>;

Tensor parameter(double value) {
  return xg::tensor(value, {.dtype = xg::float64, .requires_grad = true});
}

/// Makes a schedule, the last of the list, after those it is made of.
using Make = std::function<Schedules(optim::Optimizer&)>;

template <class Options>
Make of(Options options) {
  return [options](optim::Optimizer& optimizer) {
    Schedules list;
    list.push_back(std::make_unique<optim::ScheduleOf<Options>>(optimizer, options));
    return list;
  };
}

Schedules plateau(optim::Optimizer& optimizer) {
  Schedules list;
  list.push_back(std::make_unique<optim::ReduceLROnPlateau>(
      optimizer, optim::ReduceLROnPlateauOptions{
                     .factor = 0.5, .patience = 1, .cooldown = 1, .min_lr = {0.1, 0.0}}));
  return list;
}

Schedules sequence(optim::Optimizer& optimizer) {
  Schedules list = of(optim::LinearLROptions{.total_iters = 3})(optimizer);
  list.push_back(std::make_unique<optim::LambdaLR>(optimizer, [](int e) { return 1.0 / (e + 2); }));
  list.push_back(std::make_unique<optim::StepLR>(optimizer, optim::StepLROptions{.step_size = 2}));
  list.push_back(std::make_unique<optim::SequentialLR>(
      optimizer,
      optim::SequentialLROptions{{list[0].get(), list[1].get(), list[2].get()}, {3, 6}}));
  return list;
}

}  // namespace

TEST(Schedule, AResumedScheduleIsNotLate) {
  const Tensor p = parameter(1);
  const auto rates = [&](bool interrupted) {
    Values used;
    auto sgd = std::make_unique<optim::SGD>(std::vector{p}, optim::SGDOptions{.lr = 100});
    auto schedule = std::make_unique<optim::StepLR>(*sgd, optim::StepLROptions{.step_size = 4});
    for (int epoch = 0; epoch < 7; ++epoch) {
      used.push_back(sgd->lr());
      schedule->step();
      if (!interrupted || (epoch != 2 && epoch != 3)) continue;
      const xg::StateDict saved = schedule->state_dict(), in_force = sgd->state_dict();
      sgd = std::make_unique<optim::SGD>(std::vector{p}, optim::SGDOptions{.lr = 100});
      schedule = std::make_unique<optim::StepLR>(*sgd, optim::StepLROptions{.step_size = 4});
      schedule->load_state_dict(saved);
      sgd->load_state_dict(in_force);
    }
    return used;
  };
  EXPECT_EQ(rates(false), (Values{100, 100, 100, 100, 10, 10, 10}));
  EXPECT_EQ(rates(true), rates(false));
}

TEST(Schedule, ChainsAndRespectsARateSetByHand) {
  const Tensor p = parameter(1);
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
  const Tensor p = parameter(1);
  const Tensor q = parameter(2);
  optim::SGD sgd({{.params = {p}, .lr = 0.5}, {.params = {q}, .lr = 2}});
  optim::LambdaLR two(
      sgd, [](int epoch) { return 1.0 / (epoch + 1); }, [](int epoch) { return epoch + 1; });
  two.step();
  EXPECT_EQ(two.get_last_lr(), (Values{0.25, 4}));
  optim::LambdaLR one(sgd, [](int) { return 3; });
  EXPECT_EQ(one.get_last_lr(), (Values{1.5, 6}));  // of the rates at the very beginning
}

TEST(Schedule, EveryOneResumesWhereItWas) {
  const std::vector<Make> all{
      of(optim::StepLROptions{.step_size = 3}),
      of(optim::MultiStepLROptions{.milestones = {2, 4, 4, 7}, .gamma = 0.5}),
      of(optim::ExponentialLROptions{.gamma = 0.9}),
      of(optim::ConstantLROptions{}),
      of(optim::LinearLROptions{.end_factor = 0}),
      of(optim::PolynomialLROptions{.total_iters = 7, .power = 2}),
      of(optim::CosineAnnealingLROptions{.T_max = 4, .eta_min = 0.01}),
      of(optim::CosineAnnealingWarmRestartsOptions{.T_0 = 2, .T_mult = 2}),
      of(optim::OneCycleLROptions{.max_lr = {1, 2}, .total_steps = 10, .three_phase = true}),
      plateau,
      sequence,
  };
  const Tensor p = parameter(1), q = parameter(2);
  const auto fresh = [&] {
    return std::make_unique<optim::SGD>(
        std::vector<optim::SGDGroup>{{.params = {p}}, {.params = {q}, .lr = 0.25}},
        optim::SGDOptions{.lr = 2, .momentum = 0.5});
  };
  /// The rates and the momentum of ten epochs, interrupted after one of them.
  const auto run = [&](const Make& make, int interruption) {
    Values used;
    auto sgd = fresh();
    Schedules schedules = make(*sgd);
    for (int epoch = 0; epoch < 10; ++epoch) {
      used.insert(used.end(), {sgd->lr(0), sgd->lr(1), *sgd->momentum()});
      optim::LRScheduler& schedule = *schedules.back();
      if (auto* by_metric = dynamic_cast<optim::ReduceLROnPlateau*>(&schedule)) {
        by_metric->step(epoch < 3 ? 1.0 / (epoch + 1) : 0.5);
      } else {
        schedule.step();
      }
      EXPECT_EQ(schedule.get_last_lr(), (Values{sgd->lr(0), sgd->lr(1)}));
      EXPECT_GE(sgd->lr(), 0);
      if (epoch != interruption) continue;
      const xg::StateDict saved = schedule.state_dict(), in_force = sgd->state_dict();
      schedules.clear();
      sgd = fresh();
      schedules = make(*sgd);
      sgd->load_state_dict(in_force);
      schedules.back()->load_state_dict(saved);
      EXPECT_EQ(schedules.back()->last_epoch(), epoch + 1);
    }
    return used;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    const Values whole = run(all[i], -1);
    EXPECT_NE(whole[0], whole[27]);
    for (int k = 0; k < 9; ++k) EXPECT_EQ(run(all[i], k), whole) << "after epoch " << k;
  }
}

TEST(Schedule, OneCycleEndsAndMovesTheFirstBetaOfAdam) {
  const Tensor p = parameter(1);
  optim::Adam adam({p});
  optim::OneCycleLR cycle(adam, {.max_lr = 1, .total_steps = 4});
  EXPECT_NEAR(adam.lr(), 1.0 / 25, 1e-15);
  EXPECT_DOUBLE_EQ(*adam.momentum(), 0.95);
  for (int i = 0; i < 4; ++i) cycle.step();
  const double last = adam.lr();
  expect_error<xg::Error>([&] { cycle.step(); }, {"OneCycleLR", "total_steps", "5"});
  EXPECT_EQ(adam.lr(), last);
  EXPECT_EQ(cycle.last_epoch(), 4);
  // The moments follow the momentum in force.
  optim::Adam one({p}, {.lr = 0.1});
  optim::OneCycleLR warm(one, {.max_lr = 1, .total_steps = 4, .max_momentum = 0.5});
  p.set_grad(full_like(p, 3));
  one.step();
  EXPECT_EQ(one.state_dict()[4].first, "state.0.exp_avg");
  EXPECT_EQ(one.state_dict()[4].second.item<double>(), 1.5);
}

TEST(Schedule, ALinearOneCycleBearsAStepAfterTheLast) {  // numbers of PyTorch 1.13.1
  const Tensor p = parameter(1);
  const optim::OneCycleLROptions options{
      .max_lr = 0.1, .total_steps = 10, .anneal_strategy = "linear"};
  optim::SGD sgd({p}, {.lr = 0.1, .momentum = 0.9});
  optim::OneCycleLR cycle(sgd, options);
  for (int i = 0; i < 10; ++i) {
    sgd.step();
    cycle.step();
  }
  EXPECT_DOUBLE_EQ(sgd.lr(), -0.014285257142857138);
  EXPECT_DOUBLE_EQ(*sgd.momentum(), 0.9642857142857142);
  EXPECT_THROW(cycle.step(), xg::Error);
  optim::SGD again({p}, {.lr = 0.1, .momentum = 0.9});  // what was saved here can be loaded
  optim::OneCycleLR resumed(again, options);
  again.load_state_dict(sgd.state_dict());
  resumed.load_state_dict(cycle.state_dict());
  EXPECT_EQ(again.lr(), sgd.lr());
  EXPECT_EQ(resumed.last_epoch(), 10);
}

TEST(Schedule, AGroupMayJoinLater) {
  const Tensor p = parameter(1), q = parameter(2);
  optim::SGD sgd({p}, {.lr = 1});
  optim::ExponentialLR half(sgd, {.gamma = 0.5});
  sgd.add_param_group({.params = {q}, .lr = 8});
  const xg::StateDict saved = half.state_dict();
  half.step();
  EXPECT_EQ(half.get_last_lr(), (Values{0.5, 4}));
  half.load_state_dict(saved);
  EXPECT_EQ(half.get_last_lr(), (Values{1, 8}));
  EXPECT_EQ(half.last_epoch(), 0);
}

TEST(Schedule, TwoResumeInAnyOrderAndLeaveTheRateInForceAlone) {
  const Tensor p = parameter(1);
  const auto rate = [&](bool interrupted) {
    std::optional<optim::SGD> sgd;
    std::optional<optim::StepLR> half;
    std::optional<optim::ExponentialLR> tenth;
    const auto make = [&] {
      sgd.emplace(std::vector{p}, optim::SGDOptions{.lr = 1});
      half.emplace(*sgd, optim::StepLROptions{.step_size = 2, .gamma = 0.5});
      tenth.emplace(*sgd, optim::ExponentialLROptions{.gamma = 0.1});
    };
    make();
    for (int epoch = 0; epoch < 4; ++epoch) {
      half->step();
      tenth->step();
      if (!interrupted) continue;
      const xg::StateDict a = half->state_dict(), b = tenth->state_dict(), c = sgd->state_dict();
      make();
      if (epoch < 2) half->load_state_dict(a);
      tenth->load_state_dict(b);
      sgd->load_state_dict(c);
      if (epoch >= 2) half->load_state_dict(a);
    }
    return sgd->lr();
  };
  EXPECT_NEAR(rate(false), 1e-4 / 4, 1e-18);
  EXPECT_EQ(rate(true), rate(false));
}

TEST(Schedule, WhatComesAfterOneCycleStartsFromItsFirstRate) {  // as PyTorch 1.13
  const Tensor p = parameter(1);
  const auto over = [](int n) { return [n](int epoch) { return 1.0 / (epoch + n); }; };
  const optim::OneCycleLROptions options{.max_lr = 1, .total_steps = 6, .div_factor = 4};
  optim::SGD sgd({p}, {.lr = 0.5, .momentum = 0.9});
  optim::LambdaLR before(sgd, over(1));
  optim::OneCycleLR cycle(sgd, options);
  optim::LambdaLR after(sgd, over(2));
  EXPECT_EQ(sgd.lr(), 0.125);
  before.step();
  EXPECT_EQ(sgd.lr(), 0.25);
  after.step();
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.25 / 3);

  optim::SGD other({p}, {.lr = 0.5, .momentum = 0.9});
  optim::LinearLR first(other, {.total_iters = 4});
  optim::OneCycleLR second(other, options);
  optim::StepLR third(other, {.step_size = 2});
  optim::SequentialLR sequence(other, {{&first, &second, &third}, {3, 5}});
  for (double lr : {1 / 12.0, 0.125, 1 / 6.0, 0.25, 0.9944155527272364, 0.25, 0.25, 0.025}) {
    EXPECT_DOUBLE_EQ(other.lr(), lr);
    sequence.step();
  }
}

TEST(Schedule, ASequenceThatThrowsChangesNothing) {
  const Tensor p = parameter(1);
  optim::SGD sgd({p}, {.lr = 1});
  double factor = 0.5;
  optim::LambdaLR lambda(sgd, [&](int) { return factor; });
  optim::ExponentialLR half(sgd, {.gamma = 0.5});
  half.step();
  const auto expect_refused = [&](const auto& call) {
    factor = -1;
    EXPECT_THROW(call(), xg::Error);
    factor = 0.5;
    EXPECT_EQ(sgd.lr(), 0.25);
    EXPECT_EQ(lambda.last_epoch(), 0);
    EXPECT_EQ(half.last_epoch(), 1);
  };
  expect_refused([&] { optim::SequentialLR(sgd, {{&lambda, &half}, {2}}); });
  optim::SequentialLR sequence(sgd, {{&half, &lambda}, {2}});
  sequence.step();
  EXPECT_EQ(sgd.lr(), 0.5);
  factor = -1;
  EXPECT_THROW(sequence.step(), xg::Error);
  EXPECT_EQ(sgd.lr(), 0.5);
  EXPECT_EQ(sequence.last_epoch(), 1);
  factor = 0.25;
  sequence.step();
  EXPECT_EQ(sgd.lr(), 0.25);
}

namespace {

struct HalvingOptions {
  double least = 0;
  void check(const optim::Optimizer&) const {}
  double rate(const optim::ScheduleAt& at) const {
    return at.epoch == 0 ? at.lr : std::max(at.lr / 2, least);
  }
};

}  // namespace

TEST(Schedule, OnesOwnIsItsOptions) {
  const Tensor p = parameter(1);
  optim::SGD sgd({p}, {.lr = 1});
  optim::ScheduleOf<HalvingOptions> halving(sgd, {.least = 0.4});
  halving.step();
  EXPECT_EQ(sgd.lr(), 0.5);
  halving.step();
  EXPECT_EQ(sgd.lr(), 0.4);
}
