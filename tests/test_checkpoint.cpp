#include <gtest/gtest.h>

#include <functional>

#include "support/folder.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

/// A run that was stopped and goes on ends as one that never stopped, to the last bit; a checkpoint
/// that does not fit changes nothing. (Kills are in kill_test.cpp.)

namespace xg = xgrad;
namespace nn = xg::nn;
namespace optim = xg::optim;
namespace fs = std::filesystem;
using xg::Tensor;

namespace {

class Checkpoints : public FolderTest {};

struct Net : nn::Module {
  explicit Net(std::int64_t width = 6) : width_(width) {}
  std::int64_t width_;
  nn::Linear& fc1 = register_module("fc1", nn::Linear(4, width_));
  nn::BatchNorm1d& batch = register_module("batch", nn::BatchNorm1d(width_));
  nn::Dropout& drop = register_module("drop", nn::Dropout(0.3));
  nn::LayerNorm& layer = register_module("layer", nn::LayerNorm({width_}));
  nn::Linear& fc2 = register_module("fc2", nn::Linear(width_, 3));
  Tensor forward(const Tensor& x) override { return fc2(layer(drop(relu(batch(fc1(x)))))); }
};

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>;
using MakeSchedule = std::function<std::unique_ptr<optim::LRScheduler>(optim::Optimizer&)>;
template <class O>
MakeOptimizer make(auto options) {
  return [=](std::vector<Tensor> params) { return std::make_unique<O>(params, options); };
}
template <class S>
MakeSchedule schedule(auto options) {
  return [=](optim::Optimizer& o) { return std::make_unique<S>(o, options); };
}
const MakeOptimizer adam = make<optim::Adam>(optim::AdamOptions{.lr = 0.01, .amsgrad = true});
const MakeSchedule cosine =
    schedule<optim::CosineAnnealingLR>(optim::CosineAnnealingLROptions{.T_max = 21});

xg::data::Dataset some_data(std::int64_t rows = 20) {
  xg::Generator generator(7);
  return {.inputs = xg::randn({rows, 4}, generator),
          .labels = xg::randint(0, 3, {rows}, generator, {.dtype = xg::int64}),
          .classes = 3};
}

/// Everything that a training has; 20 rows in batches of 3 make 7 steps an epoch.
struct Training {
  explicit Training(const MakeOptimizer& make_optimizer = adam,
                    const MakeSchedule& make_schedule = cosine, std::int64_t width = 6)
      : net((xg::manual_seed(5), width)),
        optimizer(make_optimizer(net.parameters())),
        scheduler(make_schedule(*optimizer)) {
    run = {.model = &net,
           .optimizer = optimizer.get(),
           .scheduler = scheduler.get(),
           .loader = &loader};
  }
  void step(const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    xg::cross_entropy(net(x), y).backward();
    optimizer->step();
    if (auto* plateau = dynamic_cast<optim::ReduceLROnPlateau*>(scheduler.get())) {
      plateau->step(1.0);
    } else {
      scheduler->step();
    }
    ++run.step;
  }
  /// Up to this step of 21.
  void train(std::int64_t last) {
    while (loader.epoch() < 3 && run.step < last) {
      for (const auto& [x, y] : loader) {
        step(x, y);
        if (run.step == last) return;
      }
    }
  }
  /// All that matters for what follows.
  xg::StateDict state() const {
    xg::StateDict all{{"generator", xg::default_generator().get_state()},
                      {"step", xg::tensor(run.step)}};
    for (const auto& dict : {net.state_dict(), optimizer->state_dict(), scheduler->state_dict(),
                             loader.state_dict()}) {
      for (const auto& [name, x] : dict) {
        // ReduceLROnPlateau has no use for them: it tells the rates in force.
        if (name != "base_lrs") all.emplace_back(name, x.clone());
      }
    }
    return all;
  }
  /// The first entry that is not the same in the last bit.
  static std::string difference(const xg::StateDict& mine, const xg::StateDict& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto& [name, x] = mine[i];
      if (i >= theirs.size() || name != theirs[i].first || x.shape() != theirs[i].second.shape() ||
          x.to_vector<double>() != theirs[i].second.to_vector<double>()) {
        return name;
      }
    }
    return mine.size() == theirs.size() ? "" : "the number of entries";
  }

  Net net;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<optim::LRScheduler> scheduler;
  xg::data::DataLoader loader{some_data(), {.batch_size = 3, .shuffle = true, .seed = 1}};
  xg::Checkpoint run;
};

TEST_F(Checkpoints, ResumedIsUninterruptedForEveryOptimizerAndSchedule) {
  const MakeOptimizer optimizers[] = {
      adam, make<optim::AdamW>(optim::AdamOptions{.lr = 0.01}),
      make<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}),
      make<optim::RMSprop>(optim::RMSpropOptions{.momentum = 0.5, .centered = true}),
      make<optim::Adagrad>(optim::AdagradOptions{})};
  const MakeSchedule schedules[] = {
      cosine, schedule<optim::StepLR>(optim::StepLROptions{.step_size = 4, .gamma = 0.5}),
      schedule<optim::ReduceLROnPlateau>(optim::ReduceLROnPlateauOptions{.patience = 3})};
  for (const MakeOptimizer& optimizer : optimizers) {
    for (const MakeSchedule& schedule : schedules) {
      Training whole(optimizer, schedule);
      whole.train(21);
      const xg::StateDict wanted = whole.state();
      // At the start, in an epoch, at the last step of one, at the first of the next, at the end.
      for (const std::int64_t stop : {0, 3, 7, 8, 13, 14, 21}) {
        fs::remove_all(path("run"));
        {
          Training first(optimizer, schedule);
          first.train(stop);
          xg::save_checkpoint(path("run"), first.run);
        }
        Training second(optimizer, schedule);
        ASSERT_TRUE(xg::load_checkpoint(path("run"), second.run));
        EXPECT_EQ(second.run.step, stop);
        second.train(21);
        if (stop == 21) {  // left in the last step: the epoch has still to end
          EXPECT_EQ(second.loader.epoch(), 2);
          for (const auto& batch : second.loader) ADD_FAILURE() << batch.inputs;
          EXPECT_EQ(second.loader.epoch(), 3);
          continue;
        }
        EXPECT_EQ(Training::difference(second.state(), wanted), "")
            << second.optimizer->name() << " stopped at " << stop;
      }
    }
  }
}

TEST_F(Checkpoints, S01RunningStatisticsComeBackAndTrainingGoesOn) {
  Training a;
  a.train(10);
  a.net.eval();
  const Tensor x = some_data().inputs;
  const std::vector<float> y0 = a.net(x).to_vector<float>();
  a.net.train();
  xg::save_checkpoint(path("run"), a.run);
  Training whole;
  whole.train(15);

  Training b;
  ASSERT_TRUE(xg::load_checkpoint(path("run"), b.run));
  EXPECT_EQ(b.net.batch.num_batches_tracked.item<std::int64_t>(), 10);
  b.net.eval();
  EXPECT_EQ(b.net(x).to_vector<float>(), y0);
  b.net.train();
  b.train(15);
  EXPECT_EQ(Training::difference(b.state(), whole.state()), "");
}

TEST_F(Checkpoints, S02AnotherModelIsRefusedWithAllMismatchesAndNothingChanges) {
  struct Small : nn::Module {
    explicit Small(std::int64_t out, bool more = false) {
      register_module("fc", nn::Linear(3, out));
      if (more) register_module("more", nn::Linear(out, 2));
    }
  };
  Small small(1);
  xg::save_checkpoint(path("run"), {.model = &small});
  const auto refused = [&](Small model, const std::vector<std::string>& words) {
    const auto values = [&] {
      std::vector<std::vector<float>> all;
      for (const Tensor& p : model.parameters()) all.push_back(p.to_vector<float>());
      return all;
    };
    const auto before = values();
    xg::Checkpoint run{.model = &model};
    const std::string text = error_of<xg::Error>([&] { xg::load_checkpoint(path("run"), run); });
    expect_words(text, words);
    expect_words(text, {"step-0.safetensors"});
    EXPECT_EQ(values(), before);
  };
  refused(Small(32),
          {"fc.weight: file (1, 3), module (32, 3)", "fc.bias: file (1,), module (32,)"});
  refused(Small(1, true), {"2 missing (more.weight, more.bias)"});
  Small two(1, true);
  xg::save_checkpoint(path("run"), {.model = &two});
  refused(Small(1), {"2 unexpected (more.weight, more.bias)"});

  xg::Checkpoint run{.model = &small};
  EXPECT_FALSE(xg::load_checkpoint(path("nowhere"), run));
  xg::write_file(path("text"), "This is not a model but a letter.\n");
  EXPECT_THROW(xg::load_checkpoint(path("text"), run), xg::FileError);
  xg::save_safetensors(path("net"), small.state_dict());
  expect_error<xg::Error>([&] { xg::load_checkpoint(path("net"), run); }, {"no checkpoint"});

  // A clone is another module with the same values; to step it leaves the first as it is.
  Small clone(1);
  clone.load_state_dict(small.state_dict());
  const auto weight = small.parameters()[0].to_vector<float>();
  EXPECT_EQ(clone.parameters()[0].to_vector<float>(), weight);
  optim::SGD sgd(clone.parameters(), {.lr = 0.5});
  clone.parameters()[0].sum().backward();
  sgd.step();
  EXPECT_NE(clone.parameters()[0].to_vector<float>(), weight);
  EXPECT_EQ(small.parameters()[0].to_vector<float>(), weight);
}

TEST_F(Checkpoints, WhatDoesNotFitChangesNothing) {
  Training saved;
  saved.train(9);
  saved.run.settings = {{"norm", "layer"}, {"lr", "0.1"}};
  xg::save_checkpoint(path("run"), saved.run);

  const auto refused = [&](Training& other, const std::string& hint) {
    other.train(4);
    const auto before = other.state();
    expect_error<xg::Error>([&] { xg::load_checkpoint(path("run"), other.run); },
                            {hint, path("run")});
    EXPECT_EQ(Training::difference(other.state(), before), "");
  };
  Training wide(adam, cosine, 7);
  refused(wide, "fc1.weight: file (6, 4), module (7, 4)");
  Training adamw(make<optim::AdamW>(optim::AdamOptions{}));
  refused(adamw, "the optimizer was Adam, now it is AdamW");
  Training plateau(adam, schedule<optim::ReduceLROnPlateau>(optim::ReduceLROnPlateauOptions{}));
  refused(plateau, "no best");
  Training setting;
  setting.run.settings = {{"lr", "0.1"}, {"norm", "batch"}};
  refused(setting, "norm was layer, now it is batch");
  setting.run.settings = {{"seed", "1"}};
  refused(setting, "seed was not set, now it is 1");
  Training more_data;
  xg::data::DataLoader other(some_data(30), {.batch_size = 3, .shuffle = true});
  more_data.run.loader = &other;
  refused(more_data, "rows is 30 here and 20 in the state");
}

TEST_F(Checkpoints, DamagedOnesArePassedOver) {
  Training a;
  for (const std::int64_t step : {2, 5, 9}) {
    a.train(step);
    xg::save_checkpoint(path("run"), a.run);
  }
  EXPECT_FALSE(fs::exists(path("run/step-2.safetensors")));  // two are kept
  const std::string last = path("run/step-9.safetensors"), bytes = content(last);
  for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 50) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    std::ofstream(last, std::ios::binary) << bad;
    Training b;
    const xg::LoadedCheckpoint loaded = xg::load_checkpoint(path("run"), b.run);
    EXPECT_EQ(loaded.path, path("run/step-5.safetensors")) << i;
    ASSERT_EQ(loaded.damaged.size(), 1U);
    expect_words(loaded.damaged[0], {last});
    EXPECT_EQ(b.run.step, 5);
  }
  Training b;
  const auto before = b.state();
  EXPECT_THROW(xg::load_checkpoint(last, b.run), xg::FileError);
  fs::resize_file(path("run/step-5.safetensors"), 100);
  EXPECT_THROW(xg::load_checkpoint(path("run"), b.run), xg::FileError);
  EXPECT_EQ(Training::difference(b.state(), before), "");
  // The next save removes a damaged one of a later step, so that it is not tried again.
  b.train(7);
  xg::save_checkpoint(path("run"), b.run);
  EXPECT_FALSE(fs::exists(last));
  EXPECT_EQ(xg::load_checkpoint(path("run"), b.run).path, path("run/step-7.safetensors"));
}

TEST_F(Checkpoints, OwnValuesAndGeneratorComeBack) {
  xg::Generator own(3);
  own.normal();  // the second of the pair is kept
  const xg::Checkpoint saved{.generator = &own,
                             .step = 1'000'000'007,
                             .values = {{"best", xg::tensor(0.1, {.dtype = xg::float64})}}};
  EXPECT_EQ(xg::save_checkpoint(path("run"), saved), path("run/step-1000000007.safetensors"));
  xg::Generator other;
  xg::Checkpoint run{.generator = &other};
  ASSERT_TRUE(xg::load_checkpoint(path("run"), run));
  EXPECT_EQ(run.step, 1'000'000'007);
  EXPECT_EQ(find(run.values, "best")->item<double>(), 0.1);
  EXPECT_EQ(other.state(), own.state());
  EXPECT_EQ(other.normal(), own.normal());
}

TEST_F(Checkpoints, WhatCannotBeSavedIsAnError) {
  xg::Checkpoint run{.settings = {{"crc32", "0"}}};
  EXPECT_THROW(xg::save_checkpoint(path("run"), run), xg::Error);
  run.settings.clear();
  run.keep = 0;
  EXPECT_THROW(xg::save_checkpoint(path("run"), run), xg::Error);
  run.keep = 1;
  xg::write_file(path("file"), "x");
  EXPECT_THROW(xg::save_checkpoint(path("file"), run), xg::FileError);
  EXPECT_THROW(xg::save_checkpoint(path("file/below"), run), xg::FileError);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Checkpoints, AGeneratorRefusesWhatIsNoState) {
  xg::Generator generator(1);
  const xg::Generator::State before = generator.state();
  const auto refused = [&](std::size_t at, std::int64_t value) {
    std::vector<std::int64_t> bad = xg::Generator().get_state().to_vector<std::int64_t>();
    bad[at] = value;
    EXPECT_THROW(generator.set_state(xg::tensor(bad)), xg::Error);
  };
  refused(0, -1);
  refused(623, std::int64_t{1} << 32);
  refused(624, 625);
  refused(625, 2);
  EXPECT_THROW(generator.set_state(xg::zeros({627})), xg::Error);
  EXPECT_THROW(generator.set_state(Tensor()), xg::Error);
  EXPECT_EQ(generator.state(), before);
}

}  // namespace
