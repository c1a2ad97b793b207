#pragma once

#include <cstdint>

namespace xgrad::kernels {

/// Rows of T, float or double, and what becomes of them.
template <class T>
struct Softmax {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const T* x = nullptr;  ///< logits; of a backward function its output y
  const T* g = nullptr;  ///< gradient by that output
  T* out = nullptr;
  // of cross_entropy
  const std::int64_t* target = nullptr;
  std::int64_t ignore_index = 0;  ///< rows with this target have loss and gradient 0
  const T* factor = nullptr;      ///< of the loss of each row
  T* losses = nullptr;            ///< may be null

  /// out = exp(x - max) / sum(exp(x - max))
  void softmax() const;
  /// out = x - max - log(sum(exp(x - max)))
  void log_softmax() const;
  /// out = y (g - sum(g y))
  void softmax_backward() const;
  /// out = g - exp(y) sum(g)
  void log_softmax_backward() const;
  /// losses = -factor log_softmax(x)[target]; returns their sum, whose gradient is out (may be
  /// null).
  double cross_entropy() const;
};

}  // namespace xgrad::kernels
