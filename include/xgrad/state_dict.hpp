#pragma once

#include <utility>

#include "xgrad/tensor.hpp"

namespace xgrad {

/// Named tensors in order: what `state_dict()` returns and files hold.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// The tensor of this name; null if there is none.
inline const Tensor* find(const StateDict& dict, std::string_view name) {
  for (const auto& entry : dict) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

}  // namespace xgrad
