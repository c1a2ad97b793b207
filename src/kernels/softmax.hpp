#pragma once

#include <cstdint>

namespace xgrad::kernels {

/// Arguments of all functions here: rows of T, float or double.
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
};
/// out = exp(x - max) / sum(exp(x - max))
template <class T>
void softmax(const Softmax<T>& a);
/// out = x - max - log(sum(exp(x - max)))
template <class T>
void log_softmax(const Softmax<T>& a);
/// out = y (g - sum(g y))
template <class T>
void softmax_backward(const Softmax<T>& a);
/// out = g - exp(y) sum(g)
template <class T>
void log_softmax_backward(const Softmax<T>& a);
/// losses = -factor log_softmax(x)[target]; returns their sum, whose gradient is out (may be null).
template <class T>
double cross_entropy(const Softmax<T>& a);

}  // namespace xgrad::kernels
