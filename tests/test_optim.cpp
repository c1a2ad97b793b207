#include <gtest/gtest.h>

#include "support/values.hpp"

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

TEST(Optim, SgdDecaysWithoutMomentumAndNeverDampsTheFirstStep) {
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

TEST(Optim, AdamAddsEpsilonAfterTheBiasCorrection) {
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
}

TEST(Optim, AdamWDecaysTheWeightItself) {
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

TEST(Optim, LeavesAParameterWithoutGradientAlone) {
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
  const Tensor buffer = p.grad();
  sgd.zero_grad({.set_to_none = false});
  EXPECT_EQ(p.grad().to_vector<double>(), (Values{0, 0}));
  (p * p).backward(seed);
  EXPECT_TRUE(p.grad().is(buffer));
  EXPECT_EQ(p.grad().to_vector<double>(), (Values{2, 2}));
  sgd.zero_grad({.set_to_none = true});
  EXPECT_FALSE(p.has_grad());
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
  optim::RMSprop rmsprop({up}, {.weight_decay = 0.1, .centered = true, .maximize = true});
  optim::RMSprop rmsprop_down({down}, {.weight_decay = 0.1, .centered = true});
  same(rmsprop, rmsprop_down);
  optim::Adagrad adagrad({up}, {.weight_decay = 0.1, .maximize = true});
  optim::Adagrad adagrad_down({down}, {.weight_decay = 0.1});
  same(adagrad, adagrad_down);
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

/// Every optimizer, with all of its state in use, by options of the constructor.
template <class F>
void each_optimizer(F f) {
  const auto run = [&](auto kind, auto options) {
    f([=](const std::vector<Tensor>& params) -> std::unique_ptr<optim::Optimizer> {
      return std::make_unique<typename decltype(kind)::type>(params, options);
    });
  };
  run(std::type_identity<optim::SGD>(),
      optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  run(std::type_identity<optim::Adam>(), optim::AdamOptions{.lr = 0.1, .amsgrad = true});
  run(std::type_identity<optim::AdamW>(), optim::AdamOptions{.lr = 0.1, .betas = {0.8, 0.9}});
  run(std::type_identity<optim::RMSprop>(),
      optim::RMSpropOptions{.lr = 0.01, .alpha = 0.9, .momentum = 0.9, .centered = true});
  run(std::type_identity<optim::Adagrad>(),
      optim::AdagradOptions{.lr = 0.1, .lr_decay = 0.1, .initial_accumulator_value = 0.5});
}

TEST(Optim, FloatAndDoubleTakeTheSamePath) {
  each_optimizer([](const auto& make) {
    const std::vector<double> values{1.5, -0.5, 0.25};
    const Tensor wide = parameter(values), narrow = parameter(values, xg::float32);
    const auto a = make({wide}), b = make({narrow});
    for (double g : {0.5, -1.5, 0.125}) {
      step(*a, wide, g);
      step(*b, narrow, g);
    }
    expect_near(narrow, wide.to_vector<double>(), 1e-6);
    EXPECT_NE(wide.to_vector<double>(), values);
  });
}

TEST(Optim, ResumesFromItsStateExactly) {
  each_optimizer([](const auto& make) {
    const auto run = [&](bool interrupted) {
      const Tensor p = parameter({1, -2, 3}), q = parameter({0.5});
      auto optimizer = make({p, q});
      const auto schedule = [&] {
        return std::make_unique<optim::CosineAnnealingLR>(
            *optimizer, optim::CosineAnnealingLROptions{.T_max = 5});
      };
      auto cosine = schedule();
      for (int i = 0; i < 8; ++i) {
        step(*optimizer, p, 0.1 * i - 0.3);
        cosine->step();
        if (!interrupted || i != 3) continue;
        const xg::StateDict saved = optimizer->state_dict(), epochs = cosine->state_dict();
        optimizer = make({p, q});
        cosine = schedule();
        optimizer->load_state_dict(saved);
        cosine->load_state_dict(epochs);
      }
      return p.to_vector<double>();
    };
    EXPECT_EQ(run(true), run(false));
  });
}

TEST(Optim, LoadingTakesValuesAndNoGraph) {
  const Tensor p = parameter({1}), q = parameter({2});
  optim::Adam adam({p});
  step(adam, p, 1);
  xg::StateDict state = adam.state_dict();
  for (auto& [name, value] : state) {
    if (name == "state.0.exp_avg") value = q * 3;
  }
  adam.load_state_dict(state);
  const std::int64_t nodes = xg::live_nodes();
  state.clear();
  EXPECT_EQ(xg::live_nodes(), nodes - 1);
  for (const auto& [name, value] : adam.state_dict()) EXPECT_FALSE(value.requires_grad()) << name;
}

TEST(Optim, RmspropStaysFiniteWhereTheVarianceRoundsToNothing) {
  const Tensor p = parameter({1});
  optim::RMSprop centered({p}, {.alpha = 0.5, .eps = 1e-3, .centered = true});
  for (int i = 0; i < 200; ++i) step(centered, p, 0.1);
  EXPECT_TRUE(std::isfinite(p.item<double>()));
}

// ---- clipping -----------------------------------------------------------------------------------

TEST(Clip, NormOfAllGradientsTogether) {
  const Tensor p = parameter({0, 0}), q = parameter({0}, xg::float32), without = parameter({0});
  const auto grads = [&](double a, double b, double c) {
    p.set_grad(xg::tensor(std::vector<double>{a, b}, {.dtype = xg::float64}));
    q.set_grad(xg::tensor(std::vector<double>{c}));
  };
  const auto expect_grads = [&](double a, double b, double c) {
    expect_near(p.grad(), {a, b}, 1e-6);
    expect_near(q.grad(), {c}, 1e-6);
    EXPECT_FALSE(without.has_grad());
  };
  const std::vector<Tensor> all{p, q, without};
  grads(2, 3, 6);
  EXPECT_EQ(optim::clip_grad_norm_(all, 1), 7);
  expect_grads(2.0 / 7, 3.0 / 7, 6.0 / 7);
  grads(0, 0, 0);
  EXPECT_EQ(optim::clip_grad_norm_(all, 1), 0);
  expect_grads(0, 0, 0);
  grads(3, 0, -1e30);  // whose square is beyond a float
  EXPECT_NEAR(optim::clip_grad_norm_(all, 1) / 1e30, 1, 1e-6);
  expect_grads(0, 0, -1);
  grads(2, -3, 6);
  optim::clip_grad_value_(all, 2.5);
  expect_grads(2, -2.5, 2.5);
}

TEST(Clip, PowersOutOfRangeAreNoInfiniteNorm) {
  const auto clip = [](double a, double b, double p, double norm) {
    const Tensor first = parameter({0}), second = parameter({0});
    first.set_grad(xg::tensor({a}, {.dtype = xg::float64}));
    second.set_grad(xg::tensor({b}, {.dtype = xg::float64}));
    EXPECT_NEAR(optim::clip_grad_norm_({first, second}, norm / 2, {.norm_type = p}) / norm, 1,
                1e-12);
    EXPECT_NEAR(first.grad().item<double>() / a, 0.5, 1e-6);
    EXPECT_NEAR(second.grad().item<double>() / b, 0.5, 1e-6);
  };
  clip(1e200, 1e200, 2, std::sqrt(2.0) * 1e200);
  clip(3, 4, 1000, 4);
  clip(300, -400, 1000, 400);
}

TEST(Clip, ANonFiniteNormChangesNothing) {
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const Tensor p = parameter({0, 0});
    const Values before{bad, 1};
    p.set_grad(xg::tensor(before, {.dtype = xg::float64}));
    EXPECT_FALSE(std::isfinite(optim::clip_grad_norm_({p}, 1)));
    expect_values(p.grad(), before);
    const std::string text =
        error_of<xg::Error>([&] { optim::clip_grad_norm_({p}, 1, {.error_if_nonfinite = true}); });
    expect_words(text, {"clip_grad_norm_", "unchanged"});
    expect_values(p.grad(), before);
  }
}

}  // namespace
