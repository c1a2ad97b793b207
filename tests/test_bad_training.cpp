#include <gtest/gtest.h>

#include "support/bad_calls.hpp"

/// Losses, optimizers and schedules that must be refused.

namespace xg = xgrad;
namespace optim = xg::optim;
using xg::Tensor;

TEST(BadCalls, Losses) {
  const Tensor p = xg::tensor({{0.5, 0.25}}), q = xg::tensor({0.5, 0.25});
  std::vector<BadCall> calls;
  const auto pair = [&](const char* name, Tensor (*loss)(const Tensor&, const Tensor&)) {
    calls.push_back(
        bad<xg::ShapeError>(name, [=] { loss(p, q); }, {name, "(1, 2)", "(2,)", "reshape"}));
    calls.push_back(
        bad<xg::ShapeError>(name, [=] { loss(p, xg::tensor(0.5)); }, {name, "(1, 2)", "()"}));
    calls.push_back(bad<xg::DTypeError>(name, [=] { loss(xg::tensor({1}), xg::tensor({1})); },
                                        {name, "int64", "float32"}));
    calls.push_back(bad(name, [=] { loss({}, p); }, {name, "undefined"}));
    calls.push_back(bad(name, [=] { loss(p, {}); }, {name, "undefined"}));
  };
  pair("mse_loss", [](const Tensor& x, const Tensor& t) { return mse_loss(x, t); });
  pair("l1_loss", [](const Tensor& x, const Tensor& t) { return l1_loss(x, t); });
  pair("smooth_l1_loss", [](const Tensor& x, const Tensor& t) { return smooth_l1_loss(x, t); });
  pair("huber_loss", [](const Tensor& x, const Tensor& t) { return huber_loss(x, t); });
  pair("binary_cross_entropy",
       [](const Tensor& x, const Tensor& t) { return binary_cross_entropy(x, t); });
  pair("binary_cross_entropy_with_logits",
       [](const Tensor& x, const Tensor& t) { return binary_cross_entropy_with_logits(x, t); });
  pair("kl_div", [](const Tensor& x, const Tensor& t) { return kl_div(x, t); });
  expect_refused(calls);

  const auto batchmean = xg::Reduction::batchmean;
  const Tensor labels = xg::tensor({1});
  const auto bce = [](double v) {
    return [v] { binary_cross_entropy(xg::tensor({{0.5, v}}), xg::rand({1, 2})); };
  };
  expect_refused({
      bad("beta < 0", [&] { smooth_l1_loss(p, p, {.beta = -1}); },
          {"smooth_l1_loss", "beta", "-1"}),
      bad("beta nan", [&] { smooth_l1_loss(p, p, {.beta = not_a_number}); }, {"beta", "nan"}),
      bad("delta 0", [&] { huber_loss(p, p, {.delta = 0}); }, {"huber_loss", "delta", "0"}),
      bad("delta < 0", [&] { huber_loss(p, p, {.delta = -0.5}); }, {"delta", "-0.5"}),
      bad("no probability", bce(1.5), {"binary_cross_entropy", "1.5", "(1, 2)", "with_logits"}),
      bad("a negative one", bce(-0.25), {"-0.25", "[0, 1]"}),
      bad("a NaN", bce(not_a_number), {"nan", "[0, 1]"}),
      bad<xg::ShapeError>("weight", [&] { binary_cross_entropy(p, p, {.weight = xg::ones({3})}); },
                          {"binary_cross_entropy", "weight", "(3,)", "(1, 2)"}),
      bad<xg::ShapeError>("weight of more dimensions",
                          [&] {
                            binary_cross_entropy(p, p, {.weight = xg::ones({1, 1, 2})});
                          },
                          {"weight", "(1, 1, 2)", "(1, 2)"}),
      bad<xg::ShapeError>("weight that stretches the input",
                          [&] {
                            binary_cross_entropy_with_logits(p, p, {.weight = xg::ones({4, 2})});
                          },
                          {"weight", "(4, 2)", "(1, 2)"}),
      bad<xg::ShapeError>(
          "pos_weight",
          [&] {
            binary_cross_entropy_with_logits(p, p, {.pos_weight = xg::ones({4, 1})});
          },
          {"pos_weight", "(4, 1)", "(1, 2)"}),
      bad("no reduction", [&] { mse_loss(p, p, xg::Reduction(9)); }, {"mse_loss", "Reduction(9)"}),
      bad("no reduction", [&] { kl_div(p, p, {xg::Reduction(-1)}); }, {"kl_div", "Reduction(-1)"}),
      bad("no reduction", [&] { nll_loss(p, labels, {.reduction = xg::Reduction(4)}); },
          {"nll_loss", "Reduction(4)"}),
      bad("undefined", [&] { cross_entropy({}, labels); }, {"cross_entropy", "undefined"}),
      bad("undefined", [&] { cross_entropy(p, {}); }, {"cross_entropy", "undefined"}),
      bad("undefined", [&] { nll_loss(p, {}); }, {"nll_loss", "undefined"}),
      bad("batchmean", [&] { mse_loss(p, p, batchmean); }, {"mse_loss", "batchmean", "kl_div"}),
      bad("batchmean", [&] { l1_loss(p, p, batchmean); }, {"l1_loss", "batchmean"}),
      bad("batchmean", [&] { huber_loss(p, p, {batchmean}); }, {"huber_loss", "batchmean"}),
      bad("batchmean", [&] { nll_loss(p, labels, {.reduction = batchmean}); },
          {"nll_loss", "batchmean"}),
      bad("batchmean", [&] { cross_entropy(p, p, {.reduction = batchmean}); },
          {"cross_entropy", "batchmean"}),
      bad("batchmean", [&] { binary_cross_entropy(p, p, {.reduction = batchmean}); },
          {"binary_cross_entropy", "batchmean"}),
      bad<xg::ShapeError>("batchmean without a batch",
                          [&] { kl_div(xg::tensor(1.0), xg::tensor(1.0), {batchmean}); },
                          {"kl_div", "()"}),
      bad("reduction", [] { xg::reduction_from("avg"); }, {"avg", "batchmean"}),
  });
}

TEST(BadCalls, Optimizers) {
  const Tensor p = xg::ones({2}, {.requires_grad = true});
  const Tensor q = xg::ones({3}, {.requires_grad = true});
  optim::AdamW two({{.params = {p}}, {.params = {q}}});
  optim::SGD sgd({{.params = {p}, .lr = 0.25}});
  expect_refused({
      bad("no parameters", [] { optim::Adam(std::vector<Tensor>{}); }, {"Adam", "empty"}),
      bad("no groups", [] { optim::SGD(std::vector<optim::SGDGroup>{}, {.lr = 0.1}); },
          {"SGD", "empty"}),
      bad("an empty group",
          [&] {
            optim::RMSprop(std::vector<optim::RMSpropGroup>{{.params = {p}}, {}});
          },
          {"RMSprop", "empty"}),
      bad("a parameter twice",
          [&] {
            optim::SGD({q, p, p}, {.lr = 0.1});
          },
          {"SGD", "parameter 2", "(2,)", "parameter 1"}),
      bad("in another group", [&] { two.add_param_group({.params = {q}}); }, {"AdamW", "(3,)"}),
      bad("no leaf", [&] { optim::SGD({p * 2}, {.lr = 0.1}); }, {"MulBackward0", "leaves"}),
      bad("undefined",
          [&] {
            optim::SGD({p, Tensor()}, {.lr = 0.1});
          },
          {"1", "undefined"}),

      bad("no lr", [&] { optim::SGD({p}); }, {"SGD", "lr", "required"}),
      bad("lr < 0", [&] { optim::SGD({p}, {.lr = -0.5}); }, {"SGD", "lr", "-0.5"}),
      bad("lr nan", [&] { optim::SGD({p}, {.lr = not_a_number}); }, {"SGD", "lr", "nan"}),
      bad("lr inf", [&] { optim::Adagrad({p}, {.lr = INFINITY}); }, {"Adagrad", "lr", "inf"}),
      bad("momentum < 0", [&] { optim::SGD({p}, {.lr = 1, .momentum = -1}); }, {"momentum", "-1"}),
      bad("dampening", [&] { optim::SGD({p}, {.lr = 1, .dampening = not_a_number}); },
          {"dampening", "nan"}),
      bad("nesterov", [&] { optim::SGD({p}, {.lr = 1, .nesterov = true}); }, {"nesterov"}),
      bad("beta 1",
          [&] {
            optim::Adam({p}, {.betas = {0.9, 1}});
          },
          {"betas[1]", "below 1"}),
      bad("beta < 0",
          [&] {
            optim::Adam({p}, {.betas = {-0.1, 0.9}});
          },
          {"betas[0]", "-0.1"}),
      bad("eps < 0", [&] { optim::AdamW({p}, {.eps = -1e-8}); }, {"AdamW", "eps", "-1e-08"}),
      bad("decay < 0", [&] { optim::Adam({p}, {.weight_decay = -1}); }, {"weight_decay", "-1"}),
      bad("of a group", [&] { optim::RMSprop({{.params = {p}, .eps = -1}}); }, {"eps", "-1"}),
      bad("alpha 1", [&] { optim::RMSprop({p}, {.alpha = 1}); }, {"RMSprop", "alpha", "below 1"}),
      bad("momentum < 0", [&] { optim::RMSprop({p}, {.momentum = -1}); }, {"momentum", "-1"}),
      bad("lr_decay < 0", [&] { optim::Adagrad({p}, {.lr_decay = -1}); }, {"lr_decay", "-1"}),
      bad("initial value < 0", [&] { optim::Adagrad({p}, {.initial_accumulator_value = -1}); },
          {"Adagrad", "initial_accumulator_value", "-1"}),
      bad("set_lr", [&] { sgd.set_lr(-1); }, {"lr", "-1"}),
      bad<xg::IndexError>("set_lr of no group", [&] { sgd.set_lr(1, 0.5); }, {"SGD", "1"}),
      bad<xg::IndexError>("momentum of no group", [&] { sgd.momentum(1); }, {"SGD", "1"}),

      bad("max_norm < 0", [&] { optim::clip_grad_norm_({p}, -1); }, {"max_norm", "-1"}),
      bad("max_norm nan", [&] { optim::clip_grad_norm_({p}, not_a_number); }, {"max_norm", "nan"}),
      bad("norm_type 0", [&] { optim::clip_grad_norm_({p}, 1, {.norm_type = 0}); }, {"norm_type"}),
      bad("clip_value < 0", [&] { optim::clip_grad_value_({p}, -1); }, {"clip_value", "-1"}),
      bad("undefined",
          [&] {
            optim::clip_grad_value_({p, {}}, 1);
          },
          {"undefined"}),
  });
  EXPECT_EQ(two.group_count(), 2U);
  EXPECT_EQ(sgd.lr(), 0.25);
}

TEST(BadCalls, StatesOfOptimizers) {
  const Tensor p = xg::ones({2}, {.requires_grad = true});
  const Tensor q = xg::ones({3}, {.requires_grad = true});
  optim::SGD two({p}, {.lr = 0.1, .momentum = 0.9});
  optim::SGD three({q}, {.lr = 0.2, .momentum = 0.9});
  optim::Adam adam({p}, {.amsgrad = true});
  optim::RMSprop rmsprop({p}, {.momentum = 0.5, .centered = true});
  optim::Adagrad adagrad({p});
  p.set_grad(xg::ones({2}));
  for (optim::Optimizer* each : std::vector<optim::Optimizer*>{&two, &adam, &rmsprop, &adagrad}) {
    each->step();
    // None of the entries may be missing.
    const xg::StateDict state = each->state_dict();
    for (std::size_t i = 0; i < state.size(); ++i) {
      xg::StateDict part = state;
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(i));
      expect_error<xg::Error>([&] { each->load_state_dict(part); }, {state[i].first});
    }
  }
  const xg::StateDict good = adam.state_dict();
  xg::StateDict twice = good;
  twice.push_back(good[0]);
  /// The state with this number in place of an entry's, or without the entry.
  const auto with = [&](const std::string& name, std::optional<double> value) {
    xg::StateDict changed;
    for (const auto& [key, entry] : good) {
      if (key != name) changed.emplace_back(key, entry);
      if (key == name && value) changed.emplace_back(key, full_like(entry, *value));
    }
    return [&adam, changed] { adam.load_state_dict(changed); };
  };
  expect_refused({
      bad("another shape", [&] { three.load_state_dict(two.state_dict()); },
          {"state.0.momentum_buffer", "(2,)", "(3,)"}),
      bad("of another optimizer", [&] { adam.load_state_dict(two.state_dict()); },
          {"Adam", "state.0.exp_avg is missing"}),
      bad("of one without momentum", [&] { two.load_state_dict(adagrad.state_dict()); },
          {"SGD", "param_groups.0.momentum is missing"}),
      bad("of one with momentum", [&] { adagrad.load_state_dict(two.state_dict()); },
          {"Adagrad", "state.0.sum is missing"}),
      bad("no exp_avg_sq", with("state.0.exp_avg_sq", {}), {"state.0.exp_avg_sq is missing"}),
      bad("beta of 1", with("param_groups.0.momentum", 1), {"momentum", "below 1", "got 1"}),
      bad("nothing", [&] { adam.load_state_dict({}); }, {"param_groups.0.lr", "missing"}),
      bad("lr inf", with("param_groups.0.lr", INFINITY), {"Adam", "param_groups.0.lr", "inf"}),
      bad("lr twice", [&] { adam.load_state_dict(twice); }, {"param_groups.0.lr is there twice"}),
      bad("lr nan", with("param_groups.0.lr", not_a_number), {"param_groups.0.lr", "nan"}),
      bad("step < 1", with("state.0.step", -2), {"state.0.step", "at least 1", "-2"}),
      bad("no step", with("state.0.step", {}), {"state.0.step is missing", "state.0.exp_avg"}),
  });
  EXPECT_EQ(three.lr(), 0.2);
  EXPECT_EQ(adam.lr(), 1e-3);
  adam.load_state_dict(good);
}

TEST(BadCalls, Schedules) {
  const Tensor p = xg::ones({2}, {.requires_grad = true});
  const Tensor q = xg::ones({3}, {.requires_grad = true});
  optim::SGD sgd({{.params = {p}, .lr = 0.5}, {.params = {q}, .lr = 2}}, {.momentum = 0.5});
  optim::Adagrad adagrad({p}, {.lr = 0.5});
  optim::SGD two({p}, {.lr = 0.5, .momentum = 0.5});
  optim::ExponentialLR of_another(adagrad, {.gamma = 1});
  optim::ExponentialLR same(sgd, {.gamma = 1});
  optim::ReduceLROnPlateau plateau(sgd);
  const auto one = [](int) { return 1; };
  optim::OneCycleLR of_5(two, {.max_lr = 1, .total_steps = 5});
  optim::SequentialLR sequence(two, {{&of_5}, {}});
  const auto late = [](const optim::LRScheduler& schedule, const char* name) {
    xg::StateDict state = schedule.state_dict();
    for (auto& [key, value] : state) {
      if (key == name) value = xg::tensor(500);
    }
    return state;
  };
  const auto with_unknown = [&] {
    xg::StateDict state = same.state_dict();
    state.emplace_back("gamma", xg::tensor(1.0));
    return state;
  };
  const auto cycle = [&](optim::OneCycleLROptions options) {
    return [&sgd, options] { optim::OneCycleLR(sgd, options); };
  };
  const auto drop = [&](optim::ReduceLROnPlateauOptions options) {
    return [&sgd, options] { optim::ReduceLROnPlateau(sgd, options); };
  };
  using Milestones = std::vector<std::int64_t>;
  expect_refused({
      bad("step_size 0", [&] { optim::StepLR(sgd, {.step_size = 0}); },
          {"StepLR", "step_size", "0"}),
      bad("gamma < 0", [&] { optim::StepLR(sgd, {.gamma = -1}); }, {"StepLR", "gamma", "-1"}),
      bad("gamma nan", [&] { optim::ExponentialLR(sgd, {.gamma = not_a_number}); },
          {"gamma", "nan"}),
      bad("milestones fall",
          [&] {
            optim::MultiStepLR(sgd, {.milestones = Milestones{5, 2}});
          },
          {"MultiStepLR", "milestones", "rising", "2"}),
      bad("a milestone < 0", [&] { optim::MultiStepLR(sgd, {.milestones = Milestones{-1}}); },
          {"milestones", "-1"}),
      bad("factor 0", [&] { optim::ConstantLR(sgd, {.factor = 0}); }, {"ConstantLR", "factor"}),
      bad("total_iters 0", [&] { optim::ConstantLR(sgd, {.total_iters = 0}); }, {"total_iters"}),
      bad("start_factor 0", [&] { optim::LinearLR(sgd, {.start_factor = 0}); }, {"start_factor"}),
      bad("end_factor 2", [&] { optim::LinearLR(sgd, {.end_factor = 2}); }, {"end_factor", "2"}),
      bad("power < 0", [&] { optim::PolynomialLR(sgd, {.power = -1}); }, {"PolynomialLR", "power"}),
      bad("T_max 0", [&] { optim::CosineAnnealingLR(sgd, {.T_max = 0}); }, {"T_max", "0"}),
      bad("T_0 0", [&] { optim::CosineAnnealingWarmRestarts(sgd, {.T_0 = 0}); }, {"T_0", "0"}),
      bad("T_mult 0", [&] { optim::CosineAnnealingWarmRestarts(sgd, {.T_mult = 0}); }, {"T_mult"}),

      bad("no total", cycle({.max_lr = 1}), {"OneCycleLR", "total_steps", "epochs"}),
      bad("no epochs", cycle({.max_lr = 1, .steps_per_epoch = 3}), {"epochs"}),
      bad("no max_lr", cycle({.total_steps = 9}), {"max_lr", "2 groups"}),
      bad("max_lr < 0", cycle({.max_lr = {1, -1}, .total_steps = 9}), {"max_lr", "-1"}),
      bad("max_lr of 3", cycle({.max_lr = {1, 1, 1}, .total_steps = 9}), {"max_lr", "2", "3"}),
      bad("pct_start", cycle({.max_lr = 1, .total_steps = 9, .pct_start = 1.5}),
          {"pct_start", "[0, 1]", "1.5"}),
      bad("anneal_strategy", cycle({.max_lr = 1, .total_steps = 9, .anneal_strategy = "sin"}),
          {"anneal_strategy", "cos", "linear", "sin"}),
      bad("max_momentum 1", cycle({.max_lr = 1, .total_steps = 9, .max_momentum = 1.0}),
          {"max_momentum", "below 1"}),
      bad("div_factor 0", cycle({.max_lr = 1, .total_steps = 9, .div_factor = 0}), {"div_factor"}),
      bad("no momentum", [&] { optim::OneCycleLR(adagrad, {.max_lr = 1, .total_steps = 9}); },
          {"OneCycleLR", "momentum", "cycle_momentum"}),

      bad("mode", drop({.mode = "best"}), {"ReduceLROnPlateau", "mode", "best"}),
      bad("factor 1", drop({.factor = 1}), {"factor", "1"}),
      bad("patience < 0", drop({.patience = -1}), {"patience", "-1"}),
      bad("threshold_mode", drop({.threshold_mode = "log"}), {"threshold_mode", "log"}),
      bad("cooldown < 0", drop({.cooldown = -1}), {"cooldown", "-1"}),
      bad("min_lr of 3", drop({.min_lr = {0, 0, 0}}), {"min_lr", "2", "3"}),
      bad("eps < 0", drop({.eps = -1}), {"eps", "-1"}),
      bad("without the metric", [&] { static_cast<optim::LRScheduler&>(plateau).step(); },
          {"ReduceLROnPlateau", "metric"}),

      bad("no schedulers", [&] { optim::SequentialLR(sgd, {}); }, {"SequentialLR", "0"}),
      bad("no milestone",
          [&] {
            optim::SequentialLR(sgd, {.schedulers = {&same, &plateau}});
          },
          {"SequentialLR", "2 schedulers", "0"}),
      bad("milestone 0",
          [&] {
            optim::SequentialLR(sgd, {{&same, &plateau}, Milestones{0}});
          },
          {"milestones"}),
      bad("of another optimizer",
          [&] {
            optim::SequentialLR(sgd, {{&of_another}, {}});
          },
          {"same optimizer"}),
      bad("a part that needs a metric",
          [&] {
            optim::SequentialLR(sgd, {{&same, &plateau}, Milestones{2}});
          },
          {"SequentialLR", "ReduceLROnPlateau", "metric"}),
      bad("3 functions", [&] { optim::LambdaLR(sgd, one, one, one); }, {"3 functions", "2"}),
      bad("a negative factor", [&] { optim::LambdaLR(sgd, [](int) { return -1; }); },
          {"LambdaLR", "epoch 0", "-1"}),
      bad("an infinite factor", [&] { optim::LambdaLR(sgd, [](int) { return INFINITY; }); },
          {"LambdaLR", "epoch 0", "finite", "inf"}),
      bad("a rate beyond double",
          [&] {
            optim::ExponentialLR wild(sgd, {.gamma = 1e308});
            wild.step();
          },
          {"rate", "epoch 1", "finite", "inf"}),
      bad("no state", [&] { same.load_state_dict({}); }, {"last_epoch"}),
      bad("the state of fewer groups", [&] { same.load_state_dict(of_another.state_dict()); },
          {"base_lrs", "(2,)", "2 groups"}),
      bad("past the end", [&] { of_5.load_state_dict(late(of_5, "last_epoch")); },
          {"OneCycleLR", "total_steps", "500"}),
      bad("a part past its end", [&] { sequence.load_state_dict(late(sequence, "0.last_epoch")); },
          {"OneCycleLR", "total_steps", "500"}),
      bad("an unknown entry", [&] { same.load_state_dict(with_unknown()); }, {"gamma"}),
      bad("no counters", [&] { plateau.load_state_dict(same.state_dict()); }, {"best"}),
  });
  EXPECT_EQ(sgd.lr(0), 0.5);
  EXPECT_EQ(sgd.lr(1), 2);
  EXPECT_EQ(sgd.momentum(), 0.5);
  EXPECT_EQ(plateau.last_epoch(), 0);
  EXPECT_EQ(of_5.last_epoch(), 0);
  EXPECT_EQ(same.last_epoch(), 0);
}
