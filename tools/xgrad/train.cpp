#include "train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "progress.hpp"
#include "report.hpp"
#include "run_folder.hpp"
#include "text.hpp"

namespace tool {

namespace data = xgrad::data;
namespace optim = xgrad::optim;

namespace {

std::unique_ptr<optim::Optimizer> make_optimizer(Mlp& net, const TrainOptions& options) {
  const std::vector<xgrad::Tensor> parameters = net.parameters();
  const double lr = options.lr;
  if (options.optimizer == "sgd") {
    return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = lr, .momentum = 0.9});
  }
  if (options.optimizer == "adamw") {
    return std::make_unique<optim::AdamW>(parameters, optim::AdamOptions{.lr = lr});
  }
  return std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = lr});
}

/// One JSON object a line; without a path it does nothing.
class Log {
 public:
  /// Goes on after the lines of the first epochs, if there are any.
  Log(const std::string& path, std::int64_t epochs) : path_(path) {
    if (path.empty()) return;
    std::string kept;
    std::ifstream before(path);
    for (std::string line; epochs > 0 && std::getline(before, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json.value("epoch", epochs + 1) <= epochs) kept += line + "\n";
    }
    if (epochs > 0) xgrad::write_file(path, kept);  // whole, whatever happens
    file_.open(path, epochs > 0 ? std::ios::app : std::ios::trunc);
    check();
  }
  void write(const nlohmann::ordered_json& line) {
    if (path_.empty()) return;
    file_ << line.dump() << std::endl;
    check();
  }

 private:
  void check() {
    if (!file_) throw xgrad::FileError("log file " + path_ + ": cannot be written");
  }
  std::string path_;
  std::ofstream file_;
};

/// Whether 90 % of the samples of the last ten batches were right.
class Window {
 public:
  bool reached(double right, double samples) {
    batches_.push_back(right);
    batches_.push_back(samples);
    if (batches_.size() > 20) batches_.erase(batches_.begin(), batches_.begin() + 2);
    double sums[2] = {0, 0};
    for (std::size_t i = 0; i < batches_.size(); ++i) sums[i % 2] += batches_[i];
    return batches_.size() == 20 && sums[0] >= 0.9 * sums[1];
  }
  std::vector<double>& batches() { return batches_; }

 private:
  std::vector<double> batches_;  // right, samples, right, samples ...
};

/// Sums over the epoch that is going on, and the rate of its last step.
struct EpochSums {
  double loss = 0, right = 0, samples = 0, lr = 0;
};

const xgrad::Tensor& run_value(const xgrad::Checkpoint& run, const char* name) {
  const xgrad::Tensor* value = find(run.values, name);
  if (!value) throw xgrad::Error(fmt::format("the checkpoint has no value \"{}\"", name));
  return *value;
}

}  // namespace

void check_writable(const char* what, const std::string& path) {
  if (path.empty()) return;
  const bool existed = std::filesystem::exists(path);
  if (!std::ofstream(path, std::ios::app)) {
    throw xgrad::FileError(fmt::format("{} file {}", what, path) + ": cannot be written");
  }
  if (!existed) std::filesystem::remove(std::filesystem::canonical(path));  // not a link to it
}

void check_distinct(const std::vector<std::pair<const char*, std::string>>& files) {
  std::map<std::filesystem::path, const char*> seen;
  for (const auto& [option, path] : files) {
    if (path.empty()) continue;
    std::error_code ignored;
    const auto [there, is_new] = seen.emplace(
        std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored), option);
    if (!is_new) {
      throw xgrad::Error(
          fmt::format("{} and {} name the same file, {}", there->second, option, path));
    }
  }
}

bool is_image_data(const std::string& name) {
  return name == "digits" || name == "fashion-mnist" || std::filesystem::is_directory(name);
}

data::Split load_data(const std::string& name) {
  if (name == "digits") return data::digits_split();
  if (name == "fashion-mnist") return data::fashion_mnist();
  if (std::filesystem::is_directory(name)) {
    const data::Split split = data::fashion_mnist(name);
    const std::int64_t pixels = split.train.inputs.size(1), of_test = split.test.inputs.size(1);
    const auto refuse = [&](const std::string& what) {
      throw xgrad::FileError("--data " + name + ": " + what);
    };
    if (split.train.size() == 0) refuse("there are no images to train on");
    if (pixels == 0) refuse("the images have no pixels");
    if (pixels != of_test && split.test.size() > 0) {
      refuse(
          fmt::format("the training images have {} pixels, the test images {}", pixels, of_test));
    }
    return split;
  }
  if (!std::filesystem::exists(name)) {
    throw xgrad::FileError("--data " + name + ": no such file or folder (built in: digits)");
  }
  const data::Dataset all = data::read_csv(name, {.find_header = true});
  return data::stratified_split(all, all.size() / 5);
}

Evaluation evaluate(Mlp& net, const data::Dataset& set) {
  const xgrad::NoGrad no_grad;
  const bool training = net.is_training();
  net.eval();
  Evaluation sum;
  for (const data::Batch& batch : data::DataLoader(set, {.batch_size = 1000})) {
    const auto n = static_cast<double>(batch.labels.numel());
    const xgrad::Tensor logits = net(batch.inputs);
    sum.loss += xgrad::cross_entropy(logits, batch.labels).item<double>() * n;
    sum.accuracy += xgrad::accuracy(logits, batch.labels) * n;
  }
  net.train(training);
  const auto rows = static_cast<double>(set.labels.numel());
  return {sum.loss / rows, sum.accuracy / rows};
}

xgrad::Metadata settings(const TrainOptions& o) {
  return {{"data", o.data},
          {"norm", o.net.norm},
          {"hidden", fmt::format("{}", fmt::join(o.net.hidden, ","))},
          {"activation", o.net.activation},
          {"batch-size", std::to_string(o.batch_size)},
          {"lr", fmt::format("{}", o.lr)},
          {"schedule", o.schedule},
          {"optimizer", o.optimizer},
          {"seed", std::to_string(o.seed)}};
}

TrainResult train(Mlp& net, const data::Split& splits, const TrainOptions& options,
                  const std::string& title, StepObserver* observer) {
  // BatchNorm cannot train on one row: none but the last batch may have so few, which is left out.
  const std::int64_t rows = splits.train.size();
  const bool batch_norm = options.net.norm == "batch";
  if (batch_norm && std::min(rows, options.batch_size) < 2) {
    throw xgrad::Error(fmt::format(
        "--norm batch needs at least 2 rows in a step, to have a variance; --batch-size is {}, and "
        "there {} {} training row{}",
        options.batch_size, rows == 1 ? "is" : "are", rows, rows == 1 ? "" : "s"));
  }
  const bool drop_last = batch_norm && rows % options.batch_size == 1;
  const std::unique_ptr<optim::Optimizer> optimizer = make_optimizer(net, options);
  data::DataLoader loader(splits.train, {.batch_size = options.batch_size,
                                         .shuffle = true,
                                         .seed = static_cast<std::uint64_t>(options.seed),
                                         .drop_last = drop_last});
  const auto steps_per_epoch = static_cast<std::int64_t>(loader.size());
  const std::int64_t all_steps = std::max<std::int64_t>(1, options.epochs * steps_per_epoch);
  optim::CosineAnnealingLR schedule(*optimizer, {.T_max = all_steps});

  TrainResult result;
  EpochSums sums;
  Window window;
  double epochs = static_cast<double>(options.epochs), steps_to_90 = 0, seconds_before = 0;
  const Clock clock;
  const std::pair<const char*, double*> totals[] = {
      {"epoch.loss", &sums.loss},         {"epoch.right", &sums.right},
      {"epoch.samples", &sums.samples},   {"epoch.lr", &sums.lr},
      {"train_loss", &result.train_loss}, {"train_accuracy", &result.train_accuracy},
      {"steps_to_90", &steps_to_90},      {"epochs", &epochs},
      {"seconds", &result.seconds}};
  const auto values = [&] {
    result.seconds = seconds_before + clock.seconds();
    xgrad::StateDict all{{"window", xgrad::tensor(window.batches(), {.dtype = xgrad::float64})}};
    for (const auto& [name, value] : totals) {
      all.emplace_back(name, xgrad::tensor(*value, {.dtype = xgrad::float64}));
    }
    for (const auto& [name, x] : observer ? observer->state() : xgrad::StateDict()) {
      all.emplace_back("observer." + name, x);
    }
    return all;
  };
  RunFolder folder(
      options, splits.train,
      {.model = &net, .optimizer = optimizer.get(), .scheduler = &schedule, .loader = &loader});
  if (folder.resume()) {
    const xgrad::Checkpoint& run = folder.run();
    for (const auto& [name, value] : totals) *value = run_value(run, name).item<double>();
    window.batches() = run_value(run, "window").to_vector<double>();
    result.steps = run.step;
    seconds_before = result.seconds;
    if (observer) observer->load(xgrad::entries_of(run.values, "observer."));
    fmt::print("{} step {} of {}, epoch {} of {}\n",
               loader.epoch() < options.epochs ? "resuming at" : "nothing is left to do after",
               run.step, all_steps, std::min(loader.epoch() + 1, options.epochs), options.epochs);
    if (epochs != static_cast<double>(options.epochs) && options.schedule == "cosine") {
      const double share = static_cast<double>(run.step) / static_cast<double>(all_steps);
      optimizer->set_lr(options.lr * (1 + std::cos(std::numbers::pi * std::min(1.0, share))) / 2);
      fmt::print("the rate is that of {} epochs from here on, not of {}\n", options.epochs, epochs);
    }
    epochs = static_cast<double>(options.epochs);
    fmt::print("\n");
  } else {
    folder.save(0, values());  // whether it can be written is known before the training
  }
  if (loader.epoch() >= options.epochs) result.test_accuracy = evaluate(net, splits.test).accuracy;
  Log log(options.log, loader.epoch());

  const InterruptGuard interrupt;
  Progress progress(title, options.epochs, steps_per_epoch, result.steps);
  net.train();
  while (loader.epoch() < options.epochs && !result.stopped_by) {
    const std::int64_t epoch = loader.epoch() + 1;
    for (const data::Batch& batch : loader) {
      const xgrad::Tensor logits = net(batch.inputs);
      const xgrad::Tensor loss = xgrad::cross_entropy(logits, batch.labels);
      optimizer->zero_grad();
      loss.backward();
      if (observer) {
        observer->update(*optimizer, loss);
      } else {
        optimizer->step();
      }
      sums.lr = optimizer->lr();
      if (options.schedule == "cosine") schedule.step();

      const auto n = static_cast<double>(batch.labels.numel());
      const double batch_right = xgrad::accuracy(logits, batch.labels) * n;
      sums.loss += loss.item<double>() * n;
      sums.right += batch_right;
      sums.samples += n;
      ++result.steps;
      if (steps_to_90 == 0 && window.reached(batch_right, n)) {
        steps_to_90 = static_cast<double>(result.steps);
      }
      if (observer) observer->after_step(result.steps);
      progress.step(result.steps, options.batch_size, sums.loss / sums.samples,
                    sums.right / sums.samples);
      result.stopped_by = InterruptGuard::requested();
      if (result.stopped_by) folder.save(result.steps, values());
      if (result.stopped_by) break;
      folder.save_if_due(result.steps, false, values);
    }
    result.train_loss = sums.loss / sums.samples;
    result.train_accuracy = sums.right / sums.samples;
    const Evaluation test = evaluate(net, splits.test);
    result.test_accuracy = test.accuracy;
    progress.epoch(epoch, result.train_loss, result.train_accuracy, result.test_accuracy);
    log.write({{"epoch", epoch},
               {"step", result.steps},
               {"lr", sums.lr},
               {"train_loss", result.train_loss},
               {"train_accuracy", result.train_accuracy},
               {"test_loss", test.loss},
               {"test_accuracy", result.test_accuracy},
               {"seconds", seconds_before + clock.seconds()}});
    if (observer) {
      observer->after_epoch({epoch, result.steps, result.train_loss, result.train_accuracy,
                             test.loss, test.accuracy, seconds_before + clock.seconds()});
    }
    if (result.stopped_by) break;
    sums = {};
    const bool last = loader.epoch() >= options.epochs;
    if (last)
      folder.save(result.steps, values());
    else
      folder.save_if_due(result.steps, true, values);
  }
  result.steps_to_90 = static_cast<std::int64_t>(steps_to_90);
  result.seconds = seconds_before + clock.seconds();
  return result;
}

int run_train(const TrainOptions& options) {
  xgrad::set_num_threads(options.threads);
  check_distinct({{"--data", is_image_data(options.data) ? "" : options.data},
                  {"--save", options.save},
                  {"--log", options.log},
                  {"--report", options.report}});
  const FolderLock lock(options.checkpoint);
  const std::int64_t steps_done = RunFolder::steps_done(options);
  const data::Split splits = load_data(options.data);
  check_writable("save", options.save);
  check_writable("report", options.report);
  xgrad::manual_seed(static_cast<std::uint64_t>(options.seed));
  Mlp net(splits.train.inputs.size(1), splits.train.classes, options.net);
  fmt::print(
      "{}\n",
      wrapped(fmt::format(
          "{}: {} training and {} test samples; net {}, norm {}, {}; {} lr {}, seed {}",
          options.data, splits.train.labels.numel(), splits.test.labels.numel(), net.layout(),
          options.net.norm, options.net.activation, options.optimizer, options.lr, options.seed)));
  std::fflush(stdout);

  Report report(net, splits, options, steps_done);
  TrainResult result;
  try {
    result = train(net, splits, options, "training", &report);
  } catch (const xgrad::teach::NonFiniteError& error) {
    report.write(error.what());
    if (!options.report.empty()) fmt::print("report          {}\n", options.report);
    throw;
  }
  if (result.stopped_by)
    fmt::print("\nstopped by {} after step {}\n", result.stopped_by, result.steps);
  if (result.stopped_by && !options.checkpoint.empty()) {
    fmt::print("to go on:       {}{}\n", options.command, options.resume ? "" : " --resume");
  }
  fmt::print(
      "\n"
      "train loss      {:9.4f}\n"
      "train accuracy  {:9.2f} %\n"
      "test accuracy   {:>11}\n"
      "time            {:9.2f} s   ({} steps, {:.0f} samples/s)\n",
      result.train_loss, 100 * result.train_accuracy, percent(result.test_accuracy), result.seconds,
      result.steps, static_cast<double>(result.steps * options.batch_size) / result.seconds);
  if (!options.save.empty()) {
    xgrad::save_safetensors(options.save, net.state_dict(), settings(options));
    fmt::print("saved to        {}\n", options.save);
  }
  if (!options.report.empty()) {
    report.write(
        result.stopped_by ? fmt::format("{} after step {}", result.stopped_by, result.steps) : "");
    fmt::print("report          {}\n", options.report);
  }
  return 0;
}

}  // namespace tool
