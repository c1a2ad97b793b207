#include "xgrad/data/loader.hpp"

#include <algorithm>

#include "detail/message.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::data {

DataLoader::DataLoader(Dataset dataset, DataLoaderOptions options)
    : dataset_(std::move(dataset)), options_(options), generator_(options.seed) {
  throw_if<Error>(options.batch_size < 1, "DataLoader: batch_size must be at least 1, got ",
                  options.batch_size);
  throw_if<ShapeError>(dataset_.size() != dataset_.labels.size(0), "DataLoader: inputs of shape ",
                       dataset_.inputs.shape(), " and labels of shape ", dataset_.labels.shape(),
                       " differ in their number of rows");
}

std::int64_t DataLoader::size() const {
  const std::int64_t whole = dataset_.size() / options_.batch_size;
  return whole + (!options_.drop_last && dataset_.size() % options_.batch_size != 0 ? 1 : 0);
}

DataLoader::Iterator DataLoader::begin() {
  epoch_start_ = generator_.state();
  if (in_epoch_) taken_ = 0;  // the loop before was left early
  in_epoch_ = true;
  const std::int64_t first = taken_;
  const Tensor order = options_.shuffle ? randperm(dataset_.size(), generator_) : Tensor();
  if (first == size()) end_epoch();
  return {this, order, first};
}

void DataLoader::end_epoch() {
  ++epoch_;
  in_epoch_ = false;
  taken_ = 0;
}

StateDict DataLoader::state_dict() const {
  Generator start = generator_;
  if (in_epoch_) start.set_state(epoch_start_);
  return {{"epoch", tensor(epoch_)},
          {"batch", tensor(taken_)},
          {"rows", tensor(dataset_.size())},
          {"batch_size", tensor(options_.batch_size)},
          {"shuffle", tensor(std::int64_t{options_.shuffle})},
          {"drop_last", tensor(std::int64_t{options_.drop_last})},
          {"generator", start.get_state()}};
}

void DataLoader::load_state_dict(const StateDict& state) {
  const std::string op = "DataLoader: load_state_dict: ";
  for (const auto& [name, mine] : state_dict()) {
    const Tensor* theirs = find(state, name);
    throw_if<Error>(!theirs || theirs->dtype() != int64 || theirs->shape() != mine.shape(), op,
                    "no ", name, " of type int64 and shape ", mine.shape());
    if (name == "epoch" || name == "batch" || name == "generator") continue;
    const auto here = mine.item<std::int64_t>(), there = theirs->item<std::int64_t>();
    throw_if<Error>(here != there, op, name, " is ", here, " here and ", there, " in the state");
  }
  const auto epoch = find(state, "epoch")->item<std::int64_t>();
  const auto batch = find(state, "batch")->item<std::int64_t>();
  throw_if<Error>(epoch < 0 || batch < 0 || batch > size(), op, "epoch ", epoch, ", batch ", batch,
                  " of ", size());
  generator_.set_state(*find(state, "generator"));
  epoch_ = epoch;
  in_epoch_ = false;
  taken_ = batch;
}

Batch DataLoader::Iterator::operator*() const {
  const Dataset& all = loader_->dataset_;
  loader_->taken_ = batch_ + 1;
  const std::int64_t start = batch_ * loader_->options_.batch_size;
  const std::int64_t rows = std::min(loader_->options_.batch_size, all.size() - start);
  if (!order_.defined())
    return {narrow(all.inputs, 0, start, rows), narrow(all.labels, 0, start, rows)};
  const Tensor numbers = narrow(order_, 0, start, rows);
  return {index_select(all.inputs, 0, numbers), index_select(all.labels, 0, numbers)};
}

}  // namespace xgrad::data
