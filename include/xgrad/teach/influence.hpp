#pragma once

/// Who gets gradient from whom: dy_i/dx_j of a layer, across the samples of a batch.

#include "xgrad/nn/module.hpp"

namespace xgrad::teach {

/// The derivative of each of the N C outputs (rows; sample n, feature c is number n C + c) by each
/// of the N C inputs (columns), so that N x N blocks of C x C stand for pairs of samples.
struct Influence {
  std::int64_t samples = 0, features = 0;
  Tensor jacobian;                  ///< (N C, N C), of the dtype of x
  double within = 0;                ///< largest absolute value in the blocks on the diagonal
  double across = 0;                ///< and in the others: of one sample by another
  std::int64_t nonzero_across = 0;  ///< how many of the others' values are not exactly 0
};

/// By one backward pass for each output with an upstream gradient of 1 there and 0 elsewhere, in
/// the layer's present mode; its buffers are put back. Throws ShapeError unless x is (N, C) and the
/// layer gives that shape.
Influence influence(nn::Module& layer, const Tensor& x);

struct InfluenceOptions {
  std::int64_t samples = 4;
  std::int64_t features = 6;
  double momentum = 0.1;
  double eps = 1e-5;
  std::uint64_t seed = 0;
};
/// The influence in one layer.
struct LayerInfluence {
  std::string layer;  ///< "BatchNorm in train mode"
  Influence influence;
  std::string refused;  ///< the layer's error for such a batch; then there is no influence
};
/// BatchNorm in train and in eval mode (after some batches of other rows), LayerNorm, RMSNorm and,
/// for an even number of features above 2, GroupNorm in two groups, all for the same random rows in
/// float64.
std::vector<LayerInfluence> compare_influence(const InfluenceOptions& options = {});

}  // namespace xgrad::teach
