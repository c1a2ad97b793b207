#pragma once

#include <utility>

#include "xgrad/tensor.hpp"

namespace xgrad {

/// Named tensors in order: what `state_dict()` returns and files hold.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

}  // namespace xgrad
