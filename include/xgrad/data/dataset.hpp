#pragma once

#include "xgrad/tensor.hpp"

namespace xgrad::data {

/// Rows to learn from: row i of `inputs` belongs to class labels[i].
struct Dataset {
  Tensor inputs;  ///< float32 (N, features)
  Tensor labels;  ///< int64 (N), each in [0, classes)
  std::int64_t classes = 0;

  std::int64_t size() const { return inputs.size(0); }  ///< rows
};

/// Two parts of a dataset.
struct Split {
  Dataset train;
  Dataset test;
};

/// Sets `test_size` rows aside so that every class keeps its share: size * test_size / N of them,
/// rounded down, and one more for the classes with the greatest remainders (the first of equals).
/// Which ones: those of each class that come first in randperm(N) of a Generator with this seed.
/// Both parts keep the order of `all`. Throws Error for a test_size outside [0, N].
Split stratified_split(const Dataset& all, std::int64_t test_size, std::uint64_t seed = 0);

}  // namespace xgrad::data
