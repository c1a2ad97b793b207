#pragma once

#include "xgrad/tensor.hpp"

namespace xgrad {

/// Whether operations on this thread are recorded.
bool is_grad_enabled();

namespace detail {
void set_grad_enabled(bool on);

/// Turns recording on or off, on this thread, for its own lifetime.
class [[nodiscard]] GradMode {
 public:
  explicit GradMode(bool on) : before_(is_grad_enabled()) { set_grad_enabled(on); }
  ~GradMode() { set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
}  // namespace detail

/// While one lives, this thread records nothing, and in-place changes of tensors that require a
/// gradient are allowed: `{ xg::NoGrad no_grad; w -= lr * w.grad(); }`
class NoGrad : public detail::GradMode {
 public:
  NoGrad() : GradMode(false) {}
};

/// Records again inside a NoGrad scope.
class EnableGrad : public detail::GradMode {
 public:
  EnableGrad() : GradMode(true) {}
};

/// While one lives, this thread remembers for each recorded operation where it was called, and a
/// gradient that is not finite stops `backward` with a GraphError that names the operation and that
/// place. Slow; for finding the cause of a NaN.
class [[nodiscard]] AnomalyMode {
 public:
  AnomalyMode();
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
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

/// Removes a hook; letting it go out of scope does not.
class HookHandle {
 public:
  HookHandle(detail::Ref<Node> node, std::uint64_t id);
  HookHandle(const HookHandle&);
  HookHandle& operator=(const HookHandle&);
  ~HookHandle();
  void remove();

 private:
  detail::Ref<Node> node_;
  std::uint64_t id_;
};

/// Graph nodes and bytes of tensor memory alive in this process, for tests that look for leaks.
std::int64_t live_nodes();
std::int64_t live_bytes();

}  // namespace xgrad
