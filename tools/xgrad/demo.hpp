#pragma once

#include "train.hpp"

namespace tool {

/// `xgrad demo`: the same net with no norm, LayerNorm and BatchNorm side by side, then, with the
/// trained nets, why LayerNorm has no train/eval difference. Returns the exit status.
int run_demo(TrainOptions options);

}  // namespace tool
