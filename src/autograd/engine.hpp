#pragma once

#include <compare>
#include <string>
#include <vector>

#include "xgrad/extend.hpp"

namespace xgrad {

/// What a node seldom has: the gradient of a leaf or of a tensor with retain_grad, its hooks, and
/// in anomaly mode the place of the forward call.
struct Node::Extras {
  Tensor grad;
  bool retains_grad = false;
  std::uint64_t next_hook = 0;
  std::vector<std::pair<std::uint64_t, detail::Function<Tensor(const Tensor&)>>> hooks;
  std::vector<void*> call_stack;
};

/// One backward pass. Takes the newest node with a pending gradient, calls its rule and delivers
/// the results, until none is left: newest first is a reverse topological order, because every
/// node's sequence number is greater than those of its inputs.
class Engine {
 public:
  struct Mode {
    bool keep_graph = false;
    bool create_graph = false;
    bool accumulate = true;  // into .grad; otherwise only `targets` are wanted
    std::vector<Node*> targets{};
  };
  explicit Engine(Mode mode) : mode_(std::move(mode)), found_(mode_.targets.size()) {}

  /// Adds g to the gradient waiting at the node.
  void deliver(Node* node, Tensor g);
  void run();
  /// The gradients of the targets; undefined for one that was not reached.
  std::vector<Tensor> take_found() { return std::move(found_); }

 private:
  struct Pending {
    detail::Ref<Node> node;
    Tensor grad;
  };

  Pending take_newest();
  void visit(Pending& at);
  Tensor call_hooks(Node& node, Tensor g);
  void call_rule(Node& node, const Tensor& g);
  Tensor fitted(const Node& node, std::size_t input, const Node& edge, Tensor g);
  bool wanted(const Node* edge) const;
  void commit();

  Mode mode_;
  std::vector<Tensor> found_;
  std::uint64_t oldest_target_ = 0;  // sequence numbers start at 1
  // Slots keep their place while they wait; the heap orders them by sequence number. A node's own
  // slot_ is only a hint, believed when the slot holds that node: passes may run inside each other.
  std::vector<Pending> slots_;
  std::vector<std::uint32_t> free_slots_;
  struct HeapEntry {
    std::uint64_t sequence;
    Node* node;
    std::uint32_t slot;
    auto operator<=>(const HeapEntry&) const = default;
  };
  std::vector<HeapEntry> heap_;
  std::vector<Pending> staged_;  // gradients for .grad, written together at the end
};

namespace detail {
/// The operation whose rule runs on this thread, for errors; "backward" outside a rule.
const char*& running_operation();
std::vector<void*> capture_call_stack();
std::string describe_call_stack(const std::vector<void*>& frames);
}  // namespace detail

}  // namespace xgrad
