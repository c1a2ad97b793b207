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
  return {this, options_.shuffle ? randperm(dataset_.size(), generator_) : Tensor()};
}

Batch DataLoader::Iterator::operator*() const {
  const Dataset& all = loader_->dataset_;
  const std::int64_t start = batch_ * loader_->options_.batch_size;
  const std::int64_t rows = std::min(loader_->options_.batch_size, all.size() - start);
  if (!order_.defined())
    return {narrow(all.inputs, 0, start, rows), narrow(all.labels, 0, start, rows)};
  const Tensor numbers = narrow(order_, 0, start, rows);
  return {index_select(all.inputs, 0, numbers), index_select(all.labels, 0, numbers)};
}

}  // namespace xgrad::data
