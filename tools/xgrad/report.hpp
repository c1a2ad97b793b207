#pragma once

#include "train.hpp"
#include "xgrad/teach/observer.hpp"

namespace tool {

/// Watches a training run for values that are not finite, records its health where there is a
/// report to write, and writes that as a page. With checkpoints, of the whole run: the records are
/// kept in them.
class Report : public StepObserver {
 public:
  Report(Mlp& net, const xgrad::data::Split& data, const TrainOptions& options,
         std::int64_t steps_done = 0);
  void update(xgrad::optim::Optimizer& optimizer, const xgrad::Tensor& loss) override;
  void after_epoch(const EpochResult& epoch) override { epochs_.push_back(epoch); }
  xgrad::StateDict state() const override;
  void load(const xgrad::StateDict& state) override;

  /// Writes the page, if options.report names one: of the whole run, or of one that something ended
  /// early.
  void write(const std::string& ended_by = "");

 private:
  Mlp& net_;
  const xgrad::data::Split& data_;
  const TrainOptions& options_;
  xgrad::teach::Observer observer_;
  std::vector<EpochResult> epochs_;
};

}  // namespace tool
