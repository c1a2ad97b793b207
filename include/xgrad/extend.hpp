#pragma once

/// The door for authors of operations. A whole operation:
///
///   xg::Tensor cube(const xg::Tensor& x) {
///     xg::Tensor y = x.detach() * x.detach() * x.detach();         // compute, unrecorded
///     return xg::record(y, "CubeBackward0",
///                       [x = xg::save(x)](const xg::Tensor& g) { return g * 3.0 * x * x; }, x);
///   }
///
/// A rule takes the gradient by the output and returns the gradient by each input: one Tensor, or
/// `grads(gx, gw, ...)` in the order of the inputs. Written with ordinary operations, it can itself
/// be differentiated. Its forms:
///   rule(g)             the usual one
///   rule(g, out)        also receives the output (never capture it: that would be a cycle)
///   rule(g, needs)      needs[i] is false where nobody wants the gradient of input i; an undefined
///                       Tensor is the answer there
///   rule(g, out, needs)
/// Inputs are kept with `save(x)`, which refuses at the time of backward if x has been changed.

#include <array>
#include <optional>
#include <string>

#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad {

/// Which inputs of a node want a gradient.
class Needs {
 public:
  explicit Needs(std::uint64_t mask) : mask_(mask) {}
  /// Of input i.
  bool operator[](std::size_t i) const { return i >= 64 || ((mask_ >> i) & 1U) != 0; }

 private:
  std::uint64_t mask_;
};

/// A tensor kept for a rule. Converts back to it, checking that it was not changed since.
class Saved {
 public:
  explicit Saved(const Tensor& x, bool is_output = false);
  operator const Tensor&() const {
    if (tensor_.defined() && tensor_.impl().storage->version != version_) throw_changed();
    return tensor_;
  }
  /// The same, where no conversion happens by itself: `x.get().shape()`.
  const Tensor& get() const { return *this; }

 private:
  [[noreturn]] void throw_changed() const;
  Tensor tensor_;
  std::uint32_t version_ = 0;
  bool is_output_;
};
/// x may be undefined (an optional weight).
inline Saved save(const Tensor& x) { return Saved(x); }

/// An operation in the graph. Holds the nodes of its inputs, its rule with what it saved, and the
/// dtype and shape of its output. The sequence number is greater than that of every input, so
/// newest first is an order in which every node comes after all its consumers.
class Node : public detail::RefCounted {
 public:
  virtual ~Node();
  static void destroy(Node*) noexcept;
  static void* operator new(std::size_t);
  static void operator delete(void*, std::size_t) noexcept;

  const char* name;  ///< PyTorch's name, "AddBackward0"; "" for a leaf
  std::uint64_t sequence = 0;
  Shape shape;  ///< of the output
  DType dtype = DType::float32;

  bool is_leaf() const { return *name == '\0'; }  ///< has no rule
  /// Nodes of the inputs; null: no gradient.
  virtual std::span<const detail::Ref<Node>> edges() const { return {}; }
  /// The output, outside the graph, where the node keeps it (for its rule, or because of
  /// KeepValues); undefined elsewhere. Throws GraphError if it was changed in place since.
  const Tensor& kept_output() const { return output_; }

 protected:
  friend class Engine;
  friend class Tensor;
  template <class F, class Edges>
  friend Tensor record_node(Tensor, const char*, bool, F, Edges);

  Node(const char* node_name, const Tensor& output);

  /// Calls the rule; writes one gradient per edge.
  virtual void apply(const Tensor& g, Needs needs, Tensor* results) = 0;
  /// Drop the rule with what it saved, and the inputs' nodes, once the graph is spent.
  virtual void drop_rule() noexcept = 0;
  virtual void drop_edges() noexcept = 0;                            ///< after drop_rule
  [[noreturn]] void throw_wrong_count(std::size_t gradients) const;  ///< unless one for each input
  /// Becomes newer than its inputs and than everything this thread made before.
  void take_place();
  /// The kept output, tied to this node where it may be differentiated.
  Tensor output();

  struct Extras;     // gradient, hooks, place of the call: what few nodes have
  Extras& extras();  ///< made when first asked for

  Extras* extras_ = nullptr;  // owned; a smart pointer here would cost every user's file time
  Node* next_dead_ = nullptr;
  Saved output_{Tensor()};              // outside the graph; undefined unless kept
  std::atomic<std::uint32_t> slot_{0};  // hint of the running backward passes: see Engine
  bool unbroadcast_ = false;  // the engine fits gradients to the inputs' shapes and dtypes
  bool spent_ = false;        // a backward pass has used and freed it
};

/// The gradients a rule with several inputs returns.
template <class... T>
std::array<Tensor, sizeof...(T)> grads(T... g) {
  return {Tensor(std::move(g))...};
}

namespace detail {

template <class F>
inline constexpr bool takes_needs = std::is_invocable_v<F&, const Tensor&, Needs>;
template <class F>
inline constexpr bool takes_output = std::is_invocable_v<F&, const Tensor&, const Tensor&> ||
                                     std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>;

template <class F, class Edges>
class NodeOf final : public Node {
 public:
  NodeOf(const char* node_name, const Tensor& output, F rule, Edges edges)
      : Node(node_name, output), rule_(std::move(rule)), edges_(std::move(edges)) {
    if constexpr (takes_output<F>) output_ = Saved(output.detach(), true);
  }
  std::span<const Ref<Node>> edges() const override { return edges_; }

 protected:
  void apply(const Tensor& g, Needs needs, Tensor* results) override {
    if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>) {
      store((*rule_)(g, output(), needs), results);
    } else if constexpr (takes_output<F>) {
      store((*rule_)(g, output()), results);
    } else if constexpr (takes_needs<F>) {
      store((*rule_)(g, needs), results);
    } else {
      store((*rule_)(g), results);
    }
  }
  void drop_rule() noexcept override { rule_.reset(); }
  void drop_edges() noexcept override { edges_ = Edges{}; }

 private:
  void store(Tensor g, Tensor* results) const {
    if (edges_.size() != 1) throw_wrong_count(1);
    *results = std::move(g);
  }
  template <class List>
  void store(List list, Tensor* results) const {
    if (list.size() != edges_.size()) throw_wrong_count(list.size());
    for (Tensor& g : list) *results++ = std::move(g);
  }

  std::optional<F> rule_;
  Edges edges_;
};

/// The node that carries gradients of x; null when it needs none.
inline Ref<Node> edge_of(const Tensor& x) { return x.defined() ? x.impl().node : Ref<Node>(); }
inline bool needs_grad(const Tensor& x) { return x.defined() && x.impl().node; }

}  // namespace detail

/// What the functions below do when something is to be recorded.
template <class F, class Edges>
Tensor record_node(Tensor out, const char* name, bool unbroadcast, F rule, Edges edges) {
  detail::Ref<Node> node(
      new detail::NodeOf<F, Edges>(name, out, std::move(rule), std::move(edges)));
  node->unbroadcast_ = unbroadcast;
  node->take_place();
  out.impl().node = std::move(node);
  return out;
}

/// Ties a fresh `out` to the inputs it was computed from and returns it. Nothing happens when
/// recording is off or no input requires a gradient. Undefined inputs take no part.
template <class F, class... Inputs>
Tensor record(Tensor out, const char* name, F rule, const Inputs&... inputs) {
  if (!is_grad_enabled() || !(detail::needs_grad(inputs) || ...)) return out;
  std::array<detail::Ref<Node>, sizeof...(Inputs)> edges{detail::edge_of(inputs)...};
  return record_node(std::move(out), name, false, std::move(rule), std::move(edges));
}

/// The same for an operation that broadcasts or promotes: the engine sums each returned gradient to
/// its input's shape and converts it to its input's dtype.
template <class F, class... Inputs>
Tensor record_broadcast(Tensor out, const char* name, F rule, const Inputs&... inputs) {
  if (!is_grad_enabled() || !(detail::needs_grad(inputs) || ...)) return out;
  std::array<detail::Ref<Node>, sizeof...(Inputs)> edges{detail::edge_of(inputs)...};
  return record_node(std::move(out), name, true, std::move(rule), std::move(edges));
}

/// The same for a list of inputs; the rule returns a std::vector<Tensor>.
template <class F>
Tensor record_list(Tensor out, const char* name, F rule, std::span<const Tensor> inputs) {
  bool wanted = false;
  for (const Tensor& x : inputs) wanted = wanted || detail::needs_grad(x);
  if (!wanted || !is_grad_enabled()) return out;
  std::vector<detail::Ref<Node>> edges;
  for (const Tensor& x : inputs) edges.push_back(detail::edge_of(x));
  return record_node(std::move(out), name, false, std::move(rule), std::move(edges));
}

/// Sums over the dimensions that broadcasting `shape` to g's shape added or stretched.
Tensor sum_to(const Tensor& g, const Shape& shape);

/// Second-order half of a fused operation's rule: the gradients, by those inputs that need one, of
/// `forward(inputs)` weighted by g, recorded so that they can be differentiated again. `forward`
/// must be composed of recorded operations.
template <class F>
std::vector<Tensor> composed(F forward, const Tensor& g, std::vector<Tensor> inputs) {
  std::vector<Tensor> wanted;
  for (Tensor& x : inputs) {
    if (!detail::needs_grad(x)) continue;
    // A node of its own, so that the gradient by this input is not that by its other uses.
    x = record(
        x.detach(), "AliasBackward0", [](const Tensor& dx) { return dx; }, x);
    wanted.push_back(x);
  }
  if (wanted.empty()) return std::vector<Tensor>(inputs.size());
  std::vector<Tensor> found =
      grad(forward(inputs), wanted, {.grad_output = g, .create_graph = true, .allow_unused = true});
  std::vector<Tensor> results;
  std::size_t next = 0;
  for (const Tensor& x : inputs) {
    results.push_back(detail::needs_grad(x) ? found[next++] : Tensor());
  }
  return results;
}

}  // namespace xgrad
