#pragma once

#include "train.hpp"

namespace tool {

/// Keeps a second run out of the folder, which would remove what this one writes: throws Error if
/// there is one already. Ends with the process, however that ends. Makes the folder, and removes it
/// if nothing came into it. Without a path, and where there are no locks, it does nothing.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string made_;
  int folder_ = -1;
};

/// The folder of `xgrad train --checkpoint`; without that option it does nothing.
class RunFolder {
 public:
  /// `run` says what there is to save; the settings come from the options.
  RunFolder(const TrainOptions& options, const xgrad::data::Dataset& data, xgrad::Checkpoint run);

  /// Of the last checkpoint. Without --resume, throws Error where there is one: it would be lost.
  static std::int64_t steps_done(const TrainOptions& options);
  /// With --resume goes on from the last checkpoint, if there is one.
  bool resume();
  void save(std::int64_t step, xgrad::StateDict values);
  void save_if_due(std::int64_t step, bool epoch_ended, const auto& values) {
    const bool due = every_ == 0 ? epoch_ended : step % every_ == 0;
    if (!folder_.empty() && due) save(step, values());
  }
  const xgrad::Checkpoint& run() const { return run_; }

 private:
  std::string folder_;
  std::int64_t every_;
  bool resume_;
  xgrad::Checkpoint run_;
};

}  // namespace tool
