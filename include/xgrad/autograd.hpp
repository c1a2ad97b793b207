#pragma once

#include "xgrad/tensor.hpp"

namespace xgrad {

/// Whether operations on this thread are recorded.
bool is_grad_enabled();

namespace detail {
bool& recording();  // of this thread, as are the next
bool& anomaly_mode();
bool& keeping_values();

/// Gives a variable another value for its own lifetime.
template <class T>
class [[nodiscard]] Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Scoped() { variable_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};
}  // namespace detail

/// While one lives, this thread records nothing, and in-place changes of tensors that require a
/// gradient are allowed: `{ xg::NoGrad no_grad; w -= lr * w.grad(); }`
struct [[nodiscard]] NoGrad : detail::Scoped<bool> {
  NoGrad() : Scoped(detail::recording(), false) {}
};

/// Records again inside a NoGrad scope.
struct [[nodiscard]] EnableGrad : detail::Scoped<bool> {
  EnableGrad() : Scoped(detail::recording(), true) {}
};

/// While one lives, this thread remembers for each recorded operation where it was called, and a
/// gradient that is not finite stops `backward` with a GraphError that names the operation and that
/// place. Slow; for finding the cause of a NaN.
struct [[nodiscard]] AnomalyMode : detail::Scoped<bool> {
  AnomalyMode() : Scoped(detail::anomaly_mode(), true) {}
};

/// While one lives, the operations that this thread records keep their outputs, and backward leaves
/// their gradients with them, in the graph: for looking at it (teach/graph.hpp).
struct [[nodiscard]] KeepValues : detail::Scoped<bool> {
  KeepValues() : Scoped(detail::keeping_values(), true) {}
};

struct GradOptions {
  Tensor grad_output = {};    ///< gradient by y; may be left out when y is a scalar
  bool create_graph = false;  ///< the results can be differentiated again; keeps the graph
  bool retain_graph = false;  ///< keep the graph for another pass
  bool allow_unused = false;  ///< an undefined result for an x that y does not depend on, no error
};

/// Derivatives of y (weighted by `grad_output`) by each of xs; `.grad` is not touched. Throws
/// GraphError when y does not require a gradient, or for an x that it does not depend on.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, GradOptions options = {});

/// Derivatives of the sum over all ys, each weighted by its entry of `grad_outputs`.
std::vector<Tensor> grad(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options = {});

struct ZeroGradOptions {
  bool set_to_none = false;  ///< take gradients away (faster) instead of filling them with zeros
};

namespace detail {
void zero_grad(const Tensor& leaf, ZeroGradOptions options);
}

/// Removes a hook; letting it go out of scope does not.
class HookHandle {
 public:
  explicit HookHandle(detail::Function<void()> remove) : remove_(std::move(remove)) {}
  void remove() const { remove_(); }  ///< once, or more often

 private:
  detail::Function<void()> remove_;
};

/// Graph nodes and bytes of tensor memory alive in this process, for tests that look for leaks.
std::int64_t live_nodes();
std::int64_t live_bytes();  ///< of storages

}  // namespace xgrad
