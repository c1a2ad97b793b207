#include "xgrad/data/dataset.hpp"

#include <algorithm>

#include "detail/message.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/random.hpp"

namespace xgrad::data {

/// How many rows of each class are set aside.
static std::vector<std::int64_t> shares(const Dataset& all, std::int64_t test_size) {
  const auto classes = static_cast<std::size_t>(all.classes);
  std::vector<std::int64_t> share(classes);
  for (std::int64_t label : all.labels.data<std::int64_t>()) {
    throw_if<IndexError>(label < 0 || label >= all.classes, "stratified_split: label ", label,
                         " of ", all.classes, " classes");
    ++share[static_cast<std::size_t>(label)];
  }
  std::vector<std::pair<std::int64_t, std::size_t>> remainders;  // negative: the greatest first
  std::int64_t left = test_size;
  for (std::size_t c = 0; c < classes; ++c) {
    remainders.emplace_back(-(share[c] * test_size % all.size()), c);
    share[c] = share[c] * test_size / all.size();
    left -= share[c];
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++share[remainders[i].second];
  return share;
}

Split stratified_split(const Dataset& all, std::int64_t test_size, std::uint64_t seed) {
  throw_if<ShapeError>(all.size() != all.labels.numel(), "stratified_split: inputs of shape ",
                       all.inputs.shape(), " and labels of shape ", all.labels.shape());
  if (test_size < 0 || test_size > all.size() || all.size() == 0) {
    throw Error(
        message("stratified_split: cannot set ", test_size, " of ", all.size(), " rows aside"));
  }
  Generator generator(seed);
  const Tensor order = randperm(all.size(), generator);
  const std::span<const std::int64_t> labels = all.labels.data<std::int64_t>();
  std::vector<std::int64_t> wanted = shares(all, test_size);
  std::vector<bool> set_aside(labels.size());
  for (std::int64_t row : order.data<std::int64_t>()) {
    const auto i = static_cast<std::size_t>(row);
    set_aside[i] = wanted[static_cast<std::size_t>(labels[i])]-- > 0;
  }
  const auto rows = [&](bool of_test) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (set_aside[i] == of_test) numbers.push_back(static_cast<std::int64_t>(i));
    }
    const Tensor index = tensor(numbers);
    return Dataset{index_select(all.inputs, 0, index), index_select(all.labels, 0, index),
                   all.classes};
  };
  return {rows(false), rows(true)};
}

}  // namespace xgrad::data
