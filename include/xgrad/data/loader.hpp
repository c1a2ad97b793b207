#pragma once

#include <iterator>

#include "xgrad/data/dataset.hpp"
#include "xgrad/random.hpp"
#include "xgrad/state_dict.hpp"

namespace xgrad::data {

/// Rows of a dataset.
struct Batch {
  Tensor inputs;
  Tensor labels;
};

struct DataLoaderOptions {
  std::int64_t batch_size = 32;  ///< >= 1
  bool shuffle = false;          ///< a new order in every epoch
  std::uint64_t seed = 0;        ///< of the orders
  bool drop_last = false;        ///< leave out a last batch that would be smaller
};

/// Cuts a dataset into batches: `for (auto [x, y] : loader) ...` is one epoch. Shuffled batches are
/// copies; otherwise they share memory with the dataset.
///
/// The orders are those of randperm(N) called once per epoch (per begin()) on a Generator with this
/// seed. PyTorch draws its orders in another way.
class DataLoader {
 public:
  /// Goes through one epoch.
  class Iterator {
   public:
    Batch operator*() const;
    Iterator& operator++() {
      if (++batch_ == loader_->size()) loader_->end_epoch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return batch_ == loader_->size(); }

   private:
    friend class DataLoader;
    Iterator(DataLoader* loader, Tensor order, std::int64_t batch)
        : loader_(loader), order_(std::move(order)), batch_(batch) {}
    DataLoader* loader_;
    Tensor order_;  // undefined without shuffling
    std::int64_t batch_;
  };

  /// Throws ShapeError unless there are as many labels as inputs.
  explicit DataLoader(Dataset dataset, DataLoaderOptions options = {});

  Iterator begin();  ///< draws the order of a new epoch
  std::default_sentinel_t end() const { return {}; }
  std::int64_t size() const;                           ///< batches in an epoch
  std::int64_t epoch() const { return epoch_; }        ///< those that have come to their end
  const Dataset& dataset() const { return dataset_; }  ///< all rows
  /// Its state is where the next epoch goes on.
  Generator& generator() { return generator_; }

  /// The place in the data: "epoch"; "batch", how many of it have been taken (the one that the loop
  /// is at counts), "generator", as it was when the epoch began, and what both depend on.
  StateDict state_dict() const;
  /// The next loop takes the rest of that epoch, which may be nothing. Throws Error, with nothing
  /// changed, for the state of other data or options.
  void load_state_dict(const StateDict& state);

 private:
  void end_epoch();

  Dataset dataset_;
  DataLoaderOptions options_;
  Generator generator_;
  Generator::State epoch_start_;
  std::int64_t epoch_ = 0;
  bool in_epoch_ = false;
  std::int64_t taken_ = 0;  // batches of the epoch; between two, those that the next leaves out
};

}  // namespace xgrad::data
