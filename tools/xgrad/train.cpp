#include "train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "progress.hpp"
#include "report.hpp"

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
  explicit Log(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.open(path, std::ios::trunc);
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
    batches_.emplace_back(right, samples);
    right_ += right;
    samples_ += samples;
    if (batches_.size() > 10) {
      right_ -= batches_.front().first;
      samples_ -= batches_.front().second;
      batches_.pop_front();
    }
    return batches_.size() == 10 && right_ >= 0.9 * samples_;
  }

 private:
  std::deque<std::pair<double, double>> batches_;
  double right_ = 0;
  double samples_ = 0;
};

}  // namespace

void check_writable(const char* what, const std::string& path) {
  if (path.empty()) return;
  const bool existed = std::filesystem::exists(path);
  if (!std::ofstream(path, std::ios::app)) {
    throw xgrad::FileError(fmt::format("{} file {}", what, path) + ": cannot be written");
  }
  if (!existed) std::filesystem::remove(path);
}

bool is_image_data(const std::string& name) {
  return name == "digits" || name == "fashion-mnist" || std::filesystem::is_directory(name);
}

data::Split load_data(const std::string& name) {
  if (name == "digits") return data::digits_split();
  if (name == "fashion-mnist") return data::fashion_mnist();
  if (std::filesystem::is_directory(name)) return data::fashion_mnist(name);
  if (!std::filesystem::exists(name)) {
    throw xgrad::FileError("--data " + name + ": no such file or folder (built in: digits)");
  }
  const data::Dataset all = data::read_csv(name);
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

TrainResult train(Mlp& net, const data::Split& splits, const TrainOptions& options,
                  const std::string& title, StepObserver* observer) {
  Log log(options.log);
  const std::unique_ptr<optim::Optimizer> optimizer = make_optimizer(net, options);
  // BatchNorm cannot train on a last batch of one.
  const bool drop_last =
      options.net.norm == "batch" && splits.train.labels.numel() % options.batch_size == 1;
  data::DataLoader loader(splits.train, {.batch_size = options.batch_size,
                                         .shuffle = true,
                                         .seed = static_cast<std::uint64_t>(options.seed),
                                         .drop_last = drop_last});
  const auto steps_per_epoch = static_cast<std::int64_t>(loader.size());
  optim::CosineAnnealingLR schedule(
      *optimizer, {.T_max = std::max<std::int64_t>(1, options.epochs * steps_per_epoch)});

  TrainResult result;
  const InterruptGuard interrupt;
  const Clock clock;
  Progress progress(title, options.epochs, steps_per_epoch);
  Window window;
  net.train();
  for (std::int64_t epoch = 1; epoch <= options.epochs && !result.interrupted; ++epoch) {
    double loss_sum = 0;
    double right = 0;
    double samples = 0;
    double lr = 0;
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
      lr = optimizer->lr();
      if (options.schedule == "cosine") schedule.step();

      const auto n = static_cast<double>(batch.labels.numel());
      const double batch_right = xgrad::accuracy(logits, batch.labels) * n;
      loss_sum += loss.item<double>() * n;
      right += batch_right;
      samples += n;
      ++result.steps;
      if (result.steps_to_90 == 0 && window.reached(batch_right, n)) {
        result.steps_to_90 = result.steps;
      }
      if (observer) observer->after_step(result.steps);
      progress.step(result.steps, result.steps * options.batch_size, loss_sum / samples,
                    right / samples);
      result.interrupted = InterruptGuard::requested();
      if (result.interrupted) break;
    }
    result.train_loss = loss_sum / samples;
    result.train_accuracy = right / samples;
    const Evaluation test = evaluate(net, splits.test);
    result.test_accuracy = test.accuracy;
    progress.epoch(epoch, result.train_loss, result.train_accuracy, result.test_accuracy);
    log.write({{"epoch", epoch},
               {"step", result.steps},
               {"lr", lr},
               {"train_loss", result.train_loss},
               {"train_accuracy", result.train_accuracy},
               {"test_loss", test.loss},
               {"test_accuracy", result.test_accuracy},
               {"seconds", clock.seconds()}});
    if (observer) {
      observer->after_epoch({epoch, result.steps, result.train_loss, result.train_accuracy,
                             test.loss, test.accuracy, clock.seconds()});
    }
  }
  result.seconds = clock.seconds();
  return result;
}

int run_train(const TrainOptions& options) {
  xgrad::set_num_threads(options.threads);
  const data::Split splits = load_data(options.data);
  check_writable("save", options.save);
  check_writable("report", options.report);
  xgrad::manual_seed(static_cast<std::uint64_t>(options.seed));
  Mlp net(splits.train.inputs.size(1), splits.train.classes, options.net);
  fmt::print("{}: {} training and {} test samples; {}, norm {}, {}, {} lr {}, seed {}\n\n",
             options.data, splits.train.labels.numel(), splits.test.labels.numel(), net.layout(),
             options.net.norm, options.net.activation, options.optimizer, options.lr, options.seed);
  std::fflush(stdout);

  Report report(net, splits, options);
  TrainResult result;
  try {
    result = train(net, splits, options, "training", &report);
  } catch (const xgrad::teach::NonFiniteError& error) {
    report.write(error.what());
    if (!options.report.empty()) fmt::print("report          {}\n", options.report);
    throw;
  }
  if (result.interrupted) fmt::print("\nstopped by Ctrl-C after step {}\n", result.steps);
  fmt::print(
      "\n"
      "train loss      {:9.4f}\n"
      "train accuracy  {:9.2f} %\n"
      "test accuracy   {:9.2f} %\n"
      "time            {:9.2f} s   ({} steps, {:.0f} samples/s)\n",
      result.train_loss, 100 * result.train_accuracy, 100 * result.test_accuracy, result.seconds,
      result.steps, static_cast<double>(result.steps * options.batch_size) / result.seconds);
  if (!options.save.empty()) {
    xgrad::save_safetensors(options.save, net.state_dict());
    fmt::print("saved to        {}\n", options.save);
  }
  if (!options.report.empty()) {
    report.write(result.interrupted ? fmt::format("Ctrl-C after step {}", result.steps) : "");
    fmt::print("report          {}\n", options.report);
  }
  return 0;
}

}  // namespace tool
