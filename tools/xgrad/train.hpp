#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlp.hpp"

namespace tool {

struct TrainOptions {
  std::string data = "digits";  // digits, fashion-mnist, or a path
  Mlp::Options net;
  std::int64_t epochs = 30;
  std::int64_t batch_size = 32;
  double lr = 0.003;
  std::string schedule = "cosine";  // cosine, constant
  std::string optimizer = "adam";   // sgd, adam, adamw
  std::int64_t seed = 0;
  int threads = 1;
  std::string save;                   // safetensors file
  std::string log;                    // file of JSON lines
  std::string checkpoint;             // folder
  std::int64_t checkpoint_every = 0;  // steps; 0: an epoch
  bool resume = false;
  std::string report;                                         // HTML page
  std::string command;                                        // to repeat the run
  std::vector<std::pair<std::string, std::string>> settings;  // all of them, as text
};

/// The rows are images, row by row, and no file of numbers.
bool is_image_data(const std::string& name);

/// `digits`, `fashion-mnist`, a folder of IDX files (MNIST, Fashion-MNIST), or a CSV file, of which
/// a fifth is set aside for testing. Throws FileError.
xgrad::data::Split load_data(const std::string& name);

/// Finds out before the work that its result cannot be saved: throws FileError with what the file
/// is for. Leaves no file behind; an empty path is none.
void check_writable(const char* what, const std::string& path);

/// Throws Error where two of these options (their names, their files) name the same file, of which
/// only the last result would be left.
void check_distinct(const std::vector<std::pair<const char*, std::string>>& files);

struct TrainResult {
  double train_loss = 0;  // over the last epoch
  double train_accuracy = 0;
  double test_accuracy = 0;
  double seconds = 0;
  std::int64_t steps = 0;
  /// Steps until 90 % of the samples of the last 10 batches were right; 0: never.
  std::int64_t steps_to_90 = 0;
  const char* stopped_by = nullptr;  // a signal
};

struct EpochResult {
  std::int64_t epoch = 0, step = 0;  // both done
  double train_loss = 0, train_accuracy = 0, test_loss = 0, test_accuracy = 0;
  double seconds = 0;
};

/// Sees the net while it trains.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// Between backward and the next step: makes the update.
  virtual void update(xgrad::optim::Optimizer& optimizer, const xgrad::Tensor& /*loss*/) {
    optimizer.step();
  }
  virtual void after_step(std::int64_t /*step*/) {}
  virtual void after_epoch(const EpochResult&) {}
  /// What a checkpoint keeps for it, and gives back to a run that goes on.
  virtual xgrad::StateDict state() const { return {}; }
  virtual void load(const xgrad::StateDict&) {}
};

/// Trains the net in place, showing progress under the title.
TrainResult train(Mlp& net, const xgrad::data::Split& data, const TrainOptions& options,
                  const std::string& title, StepObserver* observer = nullptr);

struct Evaluation {
  double loss = 0;
  double accuracy = 0;
};
/// Mean loss and share of right answers in eval mode; the mode is put back.
Evaluation evaluate(Mlp& net, const xgrad::data::Dataset& data);

/// What a saved net depends on, by the names of the options: the metadata of its file.
xgrad::Metadata settings(const TrainOptions& options);

/// `xgrad train`: data, net, training, the table of results. Returns the exit status.
int run_train(const TrainOptions& options);

}  // namespace tool
