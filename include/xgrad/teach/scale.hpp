#pragma once

/// The size of a weight before a norm: it changes not the output, but divides the gradient.

#include "xgrad/teach/lab.hpp"

namespace xgrad::teach {

/// norm(x (alpha W)^T) beside norm(x W^T), for a fixed random upstream gradient.
struct ScaleRow {
  double alpha = 1;
  double output = 0;    ///< largest change of an output
  double gradient = 0;  ///< |dL/dW| beside that of alpha 1: 1 / alpha where nothing else matters
  double off = 0;       ///< largest |alpha dW - dW of alpha 1|, in parts of the largest |dW|
};
/// One norm, at each scale.
struct ScaleCase {
  std::string norm;  ///< "LayerNorm", "BatchNorm in train mode", "BatchNorm in eval mode"
  std::vector<ScaleRow> rows{};
  std::string refused{};  ///< the norm's error for such a batch; then there are no rows
};

/// W is the first layer's of the net, x the first batch; in float64. The eval mode's running
/// statistics are those of that batch at alpha 1. Throws Error unless each alpha is greater than 0.
std::vector<ScaleCase> scale_experiment(const data::Split& data, const LabOptions& options,
                                        const std::vector<double>& alphas = {0.01, 0.1, 0.5, 1, 2,
                                                                             10, 100});

}  // namespace xgrad::teach
