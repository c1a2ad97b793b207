#pragma once

#include <iterator>

#include "xgrad/data/dataset.hpp"
#include "xgrad/random.hpp"

namespace xgrad::data {

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
  class Iterator {
   public:
    Batch operator*() const;
    Iterator& operator++() {
      ++batch_;
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return batch_ == loader_->size(); }

   private:
    friend class DataLoader;
    Iterator(const DataLoader* loader, Tensor order) : loader_(loader), order_(std::move(order)) {}
    const DataLoader* loader_;
    Tensor order_;  // undefined without shuffling
    std::int64_t batch_ = 0;
  };

  /// Throws ShapeError unless there are as many labels as inputs.
  explicit DataLoader(Dataset dataset, DataLoaderOptions options = {});

  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  std::int64_t size() const;  ///< batches in an epoch
  const Dataset& dataset() const { return dataset_; }
  /// Its state is where the next epoch goes on.
  Generator& generator() { return generator_; }

 private:
  Dataset dataset_;
  DataLoaderOptions options_;
  Generator generator_;
};

}  // namespace xgrad::data
