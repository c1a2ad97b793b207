#pragma once

/// What the experiments share: the net, its batches, and leaving no trace.

#include <functional>

#include "xgrad/random.hpp"
#include "xgrad/teach/lab.hpp"

namespace xgrad::teach {

using MakeNorm = std::function<std::unique_ptr<nn::Module>(std::int64_t width)>;

/// Linear, norm, ReLU for each hidden size, then Linear; always the same weights for a seed.
nn::Sequential norm_net(const data::Dataset& data, const LabOptions& options, const MakeNorm& norm);
/// Its norm layers.
std::vector<nn::Module*> norms_of(const nn::Sequential& net);

/// Full batches in a new order each epoch, for ever.
class Batches {
 public:
  Batches(const data::Dataset& data, const LabOptions& options)
      : loader_(data, {.batch_size = options.batch,
                       .shuffle = true,
                       .seed = options.seed,
                       .drop_last = true}),
        next_(loader_.begin()) {}
  data::Batch next() {
    if (next_ == loader_.end()) next_ = loader_.begin();
    const data::Batch batch = *next_;
    ++next_;
    return batch;
  }

 private:
  data::DataLoader loader_;
  data::DataLoader::Iterator next_;
};

/// Puts the default generator back.
class [[nodiscard]] KeepGenerator {
 public:
  KeepGenerator() : before_(default_generator().state()) {}
  ~KeepGenerator() { default_generator().set_state(before_); }
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;

 private:
  Generator::State before_;
};

/// Puts a module's mode and buffers back.
class [[nodiscard]] KeepModule {
 public:
  explicit KeepModule(nn::Module& module);
  ~KeepModule();
  KeepModule(const KeepModule&) = delete;
  KeepModule& operator=(const KeepModule&) = delete;

 private:
  nn::Module& module_;
  bool training_;
  std::vector<Tensor> before_;
};

/// "the loss is nan at step 7", or nothing for a finite loss.
std::string ended_by(double loss, std::int64_t step);

}  // namespace xgrad::teach
