#pragma once

#include "xgrad/loss.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::ops {

/// Throws Error for `batchmean`, which only kl_div knows, and for what is no Reduction.
void check_reduction(const char* op, Reduction reduction);

}  // namespace xgrad::ops
