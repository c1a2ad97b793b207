#include <gtest/gtest.h>

#include <cmath>

#include "support/bad_calls.hpp"
#include "xgrad/teach/detach.hpp"
#include "xgrad/teach/influence.hpp"
#include "xgrad/teach/lab.hpp"
#include "xgrad/teach/scale.hpp"

/// The laboratory's experiments, and the facts about norms that they show.

namespace xg = xgrad;
namespace nn = xgrad::nn;
namespace teach = xgrad::teach;

namespace {

constexpr xg::TensorOptions f64{.dtype = xg::float64};

const xg::data::Split& digits() {
  static const xg::data::Split split = xg::data::digits_split();
  return split;
}

// ---- LayerNorm: the mode and the other rows do not matter ---------------------------------------

TEST(Lab, LayerNormIsTheSameBitForBitInEveryModeAndBatch) {
  std::uint64_t seed = 0;
  for (const xg::DType dtype : {xg::float32, xg::float64}) {
    for (const std::int64_t width : {1, 2, 7, 16, 33, 100}) {
      SCOPED_TRACE(width);
      xg::manual_seed(seed++);
      nn::LayerNorm norm(width);
      norm.to(dtype);
      const xg::NoGrad no_grad;
      norm.weight.copy_(xg::randn({width}));
      norm.bias.copy_(xg::randn({width}));
      const xg::Tensor x = xg::randn({256, width}, {.dtype = dtype}) * 3 + 1;
      const xg::Tensor y = norm(x);
      for (std::int64_t rows = 1; rows <= 256; ++rows) {
        const std::int64_t start = (rows * 37) % (257 - rows);  // rows at other addresses, too
        for (const bool training : {true, false}) {
          norm.train(training);
          ASSERT_TRUE(xg::equal(norm(x.narrow(0, start, rows)), y.narrow(0, start, rows)))
              << rows << " rows from " << start;
        }
      }
      for (std::int64_t row = 0; row < 256; ++row) {
        ASSERT_TRUE(xg::equal(norm(x.narrow(0, row, 1)), y.narrow(0, row, 1))) << "row " << row;
      }
    }
  }
}

// ---- BatchNorm: the running statistics ----------------------------------------------------------

TEST(Lab, RunningStatisticsFollowTheirLawOnOneBatchAgainAndAgain) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    for (const double momentum : {0.0, 0.01, 0.1, 0.5, 1.0}) {
      xg::manual_seed(seed);
      const xg::Tensor x = xg::randn({2 + 5 * static_cast<std::int64_t>(seed), 3}, f64) * 4 + 10;
      nn::BatchNorm1d norm(3, {.momentum = momentum});
      norm.to(xg::float64);
      const xg::Tensor mean = x.mean(0), var = x.var(0);  // unbiased
      for (int t = 1; t <= 60; ++t) {
        norm(x);
        const double kept = std::pow(1 - momentum, t);
        const auto at = [&](const xg::Tensor& got, const xg::Tensor& law) {
          for (int c = 0; c < 3; ++c)
            EXPECT_NEAR(got[c].item<double>(), law[c].item<double>(), 1e-12);
        };
        at(norm.running_mean, (1 - kept) * mean);
        at(norm.running_var, kept + (1 - kept) * var);
      }
      const teach::RunningLaw law = teach::running_law(
          digits(), {.batch = 9, .steps = 60, .momentum = momentum, .seed = seed});
      EXPECT_EQ(law.running.size(), 60U);
      EXPECT_LT(law.mean_error, 1e-12);
      EXPECT_LT(law.var_error, 1e-12);
    }
  }
  const teach::RunningLaw one = teach::running_law(digits(), {.batch = 1});
  EXPECT_TRUE(one.running.empty());
  expect_words(one.ended, {"more than 1 value per channel"});
}

// ---- the same net with both ---------------------------------------------------------------------

TEST(Lab, LayerNormHasNoGapAndBatchNormHasOne) {
  for (const std::uint64_t seed : {0U, 7U}) {
    for (const std::int64_t batch : {2, 32}) {
      const teach::Lab lab = teach::train_eval_lab(
          digits(), {.hidden = {24, 12}, .batch = batch, .lr = 0.05, .steps = 20, .seed = seed});
      ASSERT_EQ(lab.layer.steps.size(), 20U);
      ASSERT_EQ(lab.batch.steps.size(), 20U);
      EXPECT_EQ(lab.layer.alone_refused, "");
      expect_words(lab.batch.alone_refused, {"more than 1 value per channel"});
      for (const teach::LabStep& step : lab.layer.steps) {
        EXPECT_EQ(step.loss, step.eval_loss);
        EXPECT_EQ(step.gap.max, 0);
        ASSERT_EQ(step.norms.size(), 2U);
        for (const teach::NormStep& norm : step.norms) {
          EXPECT_EQ(norm.gap.max, 0);
          EXPECT_EQ(norm.alone_eval, 0);
          EXPECT_EQ(norm.alone_train, 0.0);
          EXPECT_EQ(norm.other_rows, 0);
          EXPECT_FALSE(norm.running || norm.from_batch || norm.from_all);
        }
      }
      for (const teach::LabStep& step : lab.batch.steps) {
        EXPECT_GT(step.gap.max, 0);
        EXPECT_LE(step.gap.rms, step.gap.max);
        for (const teach::NormStep& norm : step.norms) {
          EXPECT_GT(norm.gap.max, 0);
          EXPECT_EQ(norm.alone_eval, 0);
          EXPECT_FALSE(norm.alone_train);
          EXPECT_GT(norm.other_rows, 0);
        }
      }
    }
  }
}

TEST(Lab, RunningStatisticsMoveTowardsEachBatchByMomentum) {
  const teach::Lab lab = teach::train_eval_lab(
      digits(), {.hidden = {5, 3}, .batch = 11, .steps = 30, .momentum = 0.3, .seed = 3});
  std::vector<teach::Moments> before(2, {0, 1});
  for (const teach::LabStep& step : lab.batch.steps) {
    for (std::size_t i = 0; i < 2; ++i) {
      const teach::NormStep& norm = step.norms[i];
      EXPECT_NEAR(norm.running->mean, 0.7 * before[i].mean + 0.3 * norm.batch.mean, 1e-6);
      EXPECT_NEAR(norm.running->var, 0.7 * before[i].var + 0.3 * norm.batch.var, 1e-6);
      before[i] = *norm.running;
    }
  }
}

TEST(Lab, BothNetsStartFromTheSameWeightsAndTheGeneratorIsPutBack) {
  xg::manual_seed(5);
  const xg::Tensor next = xg::randn({4});
  xg::manual_seed(5);
  const teach::LabOptions options{.hidden = {6}, .batch = 10, .steps = 1, .seed = 4};
  const teach::Lab lab = teach::train_eval_lab(digits(), options);
  EXPECT_TRUE(xg::equal(xg::randn({4}), next));

  xg::manual_seed(4);
  nn::Linear first(64, 6);
  xg::data::DataLoader loader(digits().train, {.batch_size = 10, .shuffle = true, .seed = 4});
  const xg::NoGrad no_grad;
  const xg::Tensor h = first((*loader.begin()).inputs).to(xg::float64);
  const teach::Moments& batch = lab.batch.steps[0].norms[0].batch;
  EXPECT_NEAR(batch.mean, h.mean(0)[0].item<double>(), 1e-7);
  EXPECT_NEAR(batch.var, h.var(0)[0].item<double>(), 1e-7);
  const teach::Moments& rows = lab.layer.steps[0].norms[0].batch;
  EXPECT_NEAR(rows.mean, h.mean().item<double>(), 1e-7);
  EXPECT_NEAR(rows.var, h.var(1, false).mean().item<double>(), 1e-7);
}

TEST(Lab, ABatchOfOneStopsBatchNormOnly) {
  const teach::Lab lab = teach::train_eval_lab(digits(), {.batch = 1, .steps = 5});
  EXPECT_EQ(lab.layer.steps.size(), 5U);
  EXPECT_EQ(lab.layer.ended, "");
  EXPECT_EQ(lab.layer.steps[4].norms[1].other_rows, 0);
  EXPECT_TRUE(lab.batch.steps.empty());
  expect_words(lab.batch.ended, {"more than 1 value per channel", "(1, 32)", "LayerNorm"});
}

TEST(Lab, StopsWhereItIsToldToAndWhereTheLossIsNotFinite) {
  const teach::Lab lab =
      teach::train_eval_lab(digits(), {.steps = 9}, [](std::int64_t done) { return done < 4; });
  EXPECT_EQ(lab.layer.steps.size(), 4U);
  EXPECT_EQ(lab.layer.ended, "stopped");
  const teach::Lab wild = teach::train_eval_lab(digits(), {.lr = 1e30, .steps = 9});
  EXPECT_LT(wild.layer.steps.size(), 9U);
  expect_words(wild.layer.ended, {"the loss is"});
}

TEST(Lab, RefusesOptionsOutsideTheirRange) {
  const auto lab = [](teach::LabOptions options) {
    return [=] { teach::train_eval_lab(digits(), options); };
  };
  expect_refused({
      bad("no rows", lab({.batch = 0}), {"batch", "1437", "got 0"}),
      bad("too many rows", lab({.batch = 1438}), {"batch", "1437", "1438"}),
      bad("no hidden layer", lab({.hidden = {}}), {"hidden"}),
      bad("an empty hidden layer", lab({.hidden = {4, 0}}), {"hidden", "(4, 0)"}),
      bad("no steps", lab({.steps = 0}), {"steps"}),
      bad("no rate", lab({.lr = 0}), {"lr"}),
      bad("momentum", lab({.momentum = 1.5}), {"momentum", "1.5"}),
      bad("eps", lab({.eps = -1}), {"eps", "-1"}),
      bad("alpha",
          [] {
            teach::scale_experiment(digits(), {}, {1, 0});
          },
          {"alpha", "0"}),
      bad("seeds", [] { teach::detach_experiment(digits(), {}, 0); }, {"seeds", "0"}),
      bad("samples", [] { teach::compare_influence({.samples = 0}); }, {"0 samples"}),
      bad<xg::ShapeError>("rank",
                          [] {
                            nn::LayerNorm norm(3);
                            teach::influence(norm, xg::ones({3}));
                          },
                          {"(N, C)", "(3,)"}),
  });
}

// ---- who gets gradient from whom ----------------------------------------------------------------

TEST(Lab, OnlyBatchNormInTrainModeGivesGradientAcrossSamples) {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    for (const auto& [samples, features] : {std::pair(4, 6), {2, 5}, {7, 2}}) {
      const auto cases =
          teach::compare_influence({.samples = samples, .features = features, .seed = seed});
      ASSERT_EQ(cases.size(), features == 6 ? 5U : 4U);
      for (const teach::LayerInfluence& c : cases) {
        SCOPED_TRACE(c.layer);
        EXPECT_EQ(c.refused, "");
        EXPECT_EQ(c.influence.jacobian.shape(),
                  xg::Shape({samples * features, samples * features}));
        EXPECT_GT(c.influence.within, 0);
        if (c.layer == "BatchNorm in train mode") {
          EXPECT_GT(c.influence.across, 0);
          EXPECT_EQ(c.influence.nonzero_across, samples * (samples - 1) * features);
        } else {
          EXPECT_EQ(c.influence.across, 0);  // exactly
          EXPECT_EQ(c.influence.nonzero_across, 0);
        }
      }
    }
  }
  const auto alone = teach::compare_influence({.samples = 1});
  expect_words(alone[0].refused, {"more than 1 value per channel"});
  EXPECT_EQ(alone[2].refused, "");
}

TEST(Lab, InfluenceIsTheJacobianAndLeavesNoTrace) {
  xg::manual_seed(8);
  nn::BatchNorm1d norm(3);
  norm.to(xg::float64);
  const xg::Tensor x = xg::randn({4, 3}, f64);
  const teach::Influence map = teach::influence(norm, x);
  const xg::NoGrad no_grad;  // asks for gradients inside
  EXPECT_TRUE(equal(teach::influence(norm, x).jacobian, map.jacobian));
  expect_error<xg::ShapeError>(
      [&] {
        teach::influence(norm, xg::zeros({0, 3}));
      },
      {"influence", "(0, 3)"});
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 0);
  EXPECT_FALSE(norm.weight.has_grad());
  for (std::int64_t j = 0; j < 12; ++j) {
    const double h = 1e-6;
    const xg::Tensor step = xg::eye(12)[j].to(xg::float64).reshape({4, 3}) * h;
    const xg::Tensor slope = (norm(x + step) - norm(x - step)).detach() / (2 * h);
    expect_near(map.jacobian.select(1, j), slope.to_vector<double>(), 1e-7);
  }
}

// ---- mean and variance as constants -------------------------------------------------------------

TEST(Lab, DetachNormDropsTheTermsOfTheGradient) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    xg::manual_seed(seed);
    const xg::Tensor x = (xg::randn({4, 7}, f64) * 2 + 1).requires_grad_();
    const xg::Tensor g = xg::randn({4, 7}, f64), weight = xg::randn({7}, f64);
    nn::LayerNorm layer(7);
    layer.to(xg::float64);
    for (const auto& [mean, var] :
         {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      teach::DetachNorm norm(7, {.mean = mean, .var = var});
      norm.to(xg::float64);
      {
        const xg::NoGrad no_grad;
        norm.weight.copy_(weight);
        layer.weight.copy_(weight);
      }
      const xg::Tensor y = norm(x), full = layer(x);
      expect_close(y.detach(), full.detach(), 1e-13);
      const xg::Tensor dx = xg::grad(y, {x}, {.grad_output = g})[0];
      const xg::Tensor h = g * weight, d = x.detach() - x.detach().mean(-1, true);
      const xg::Tensor r = (d.square().mean(-1, true) + 1e-5).rsqrt(), xhat = d * r;
      xg::Tensor expected = h.clone();
      if (!mean) expected -= h.mean(-1, true);
      if (!var) expected -= xhat * (h * xhat).mean(-1, true);
      expect_close(dx, expected * r, 1e-12);
      if (!mean && !var) expect_close(dx, xg::grad(full, {x}, {.grad_output = g})[0], 1e-12);
    }
  }
}

TEST(Lab, DetachRunsShareTheirStartAndDifferAfterwards) {
  const teach::LabOptions options{.hidden = {12, 8}, .steps = 8, .seed = 2};
  const auto runs = teach::detach_experiment(digits(), options, 2);
  ASSERT_EQ(runs.size(), 8U);
  const teach::LabRun layer = teach::train_eval_lab(digits(), options).layer;
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(runs[i].steps.size(), 8U);
    EXPECT_EQ(runs[i].seed, 2U);
    EXPECT_EQ(runs[i + 4].seed, 3U);
    EXPECT_EQ(runs[i].steps[0].loss, runs[0].steps[0].loss);
    EXPECT_EQ(runs[i].steps[7].loss == runs[0].steps[7].loss, i == 0);
  }
  for (std::size_t t = 0; t < 8; ++t) {
    EXPECT_NEAR(runs[0].steps[t].loss, layer.steps[t].loss, 1e-4);  // nothing detached: LayerNorm
  }
}

TEST(Lab, WithOneNormTheGradientThroughTheMeanIsWorthNothing) {
  // It adds the same to every row of the weight before the norm, which takes that out again.
  const auto runs = teach::detach_experiment(digits(), {.hidden = {12}, .steps = 30, .seed = 1}, 1);
  const teach::DetachStep &full = runs[0].steps[29], &mean = runs[1].steps[29];
  EXPECT_NE(mean.gradient, full.gradient);
  EXPECT_NEAR(mean.loss, full.loss, 1e-4);
  EXPECT_GT(std::abs(runs[2].steps[29].loss - full.loss), 1e-2);
}

// ---- the size of a weight before a norm ---------------------------------------------------------

TEST(Lab, AWeightsSizeBeforeANormDividesItsGradient) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    // Without eps, powers of two change nothing but exponents: no rounding.
    const auto exact =
        teach::scale_experiment(digits(), {.eps = 0, .seed = seed}, {0.25, 1, 8, 1024});
    ASSERT_EQ(exact.size(), 3U);
    for (std::size_t i = 0; i < 2; ++i) {
      for (const teach::ScaleRow& row : exact[i].rows) {
        EXPECT_EQ(row.output, 0) << exact[i].norm << ", alpha " << row.alpha;
        EXPECT_EQ(row.off, 0);
        EXPECT_NEAR(row.gradient * row.alpha, 1, 1e-12);
      }
    }
    for (const auto& c : teach::scale_experiment(digits(), {.seed = seed})) {
      for (const teach::ScaleRow& row : c.rows) {
        if (c.norm == "BatchNorm in eval mode") {
          EXPECT_EQ(row.output == 0, row.alpha == 1);
          EXPECT_NEAR(row.gradient, 1, 1e-12);
        } else if (row.alpha >= 1) {
          EXPECT_LT(row.output, 0.01);
          EXPECT_NEAR(row.gradient * row.alpha, 1, 0.01);
        }
      }
    }
  }
}

}  // namespace
