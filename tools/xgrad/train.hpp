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
  std::string save;  // safetensors file
  std::string log;   // file of JSON lines
};

/// `digits`, `fashion-mnist`, a folder of IDX files (MNIST, Fashion-MNIST), or a CSV file, of which
/// a fifth is set aside for testing. Throws FileError.
xgrad::data::Split load_data(const std::string& name);

struct TrainResult {
  double train_loss = 0;  // over the last epoch
  double train_accuracy = 0;
  double test_accuracy = 0;
  double seconds = 0;
  std::int64_t steps = 0;
  /// Steps until 90 % of the samples of the last 10 batches were right; 0: never.
  std::int64_t steps_to_90 = 0;
  bool interrupted = false;
};

/// Sees the net after each step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void after_step(std::int64_t step) = 0;
};

/// Trains the net in place, showing progress under the title.
TrainResult train(Mlp& net, const xgrad::data::Split& data, const TrainOptions& options,
                  const std::string& title, StepObserver* observer = nullptr);

/// Share of right answers in eval mode; the mode is put back.
double test_accuracy(Mlp& net, const xgrad::data::Dataset& data);

/// `xgrad train`: data, net, training, the table of results. Returns the exit status.
int run_train(const TrainOptions& options);

}  // namespace tool
