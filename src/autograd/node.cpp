#include <algorithm>

#include "autograd/engine.hpp"
#include "detail/check.hpp"
#include "detail/memory.hpp"
#include "xgrad/error.hpp"

namespace xgrad {

namespace {

std::atomic<std::int64_t> nodes_alive{0};

// Lamport clock of this thread: a node made here is newer than everything made here before and than
// its inputs, wherever those were made.
constinit thread_local std::uint64_t newest_sequence = 0;

// Nodes that died while another was being destroyed on this thread. Trivially destructible, because
// global tensors may go after thread-locals with destructors have gone.
struct Graveyard {
  Node* first;
  bool busy;
};
constinit thread_local Graveyard graveyard{};

}  // namespace

std::int64_t live_nodes() { return nodes_alive.load(std::memory_order_relaxed); }

Node::Node(const char* node_name, const Tensor& output)
    : name(node_name), shape(output.shape()), dtype(output.dtype()) {
  throw_if<GraphError>(output.requires_grad(), "record: the output of ", node_name,
                       " already has a place in the graph; compute it from detach()ed inputs");
  nodes_alive.fetch_add(1, std::memory_order_relaxed);
  if (detail::anomaly_mode() && !is_leaf()) extras().call_stack = detail::capture_call_stack();
  if (detail::keeping_values() && !is_leaf()) {
    output_ = Saved(output.detach(), true);
    extras().retains_grad = true;
  }
}

void Node::throw_wrong_count(std::size_t gradients) const {
  throw GraphError(message(name, ": the rule returned ", detail::count(gradients, "gradient"),
                           " for ", detail::count(edges().size(), "input")));
}

void Node::take_place() {
  throw_if<Error>(is_leaf() && !edges().empty(), "record: an operation needs a name");
  for (const detail::Ref<Node>& edge : edges()) {
    if (edge) newest_sequence = std::max(newest_sequence, edge->sequence);
  }
  sequence = ++newest_sequence;
}

Node::~Node() {
  delete extras_;
  nodes_alive.fetch_sub(1, std::memory_order_relaxed);
}

void* Node::operator new(std::size_t bytes) { return detail::allocate_small(bytes); }
void Node::operator delete(void* block, std::size_t bytes) noexcept {
  detail::free_small(block, bytes);
}

/// A node holds its inputs' nodes, both as edges and through saved tensors, so destroying the
/// newest node of a long chain would recurse once per node. Instead the nodes that die inside
/// another's destructor join a list, linked through their own memory, and the outermost call works
/// it off.
void Node::destroy(Node* node) noexcept {
  node->next_dead_ = graveyard.first;
  graveyard.first = node;
  if (graveyard.busy) return;
  graveyard.busy = true;
  while (Node* dead = graveyard.first) {
    graveyard.first = dead->next_dead_;
    delete dead;
  }
  graveyard.busy = false;
}

Node::Extras& Node::extras() {
  if (!extras_) extras_ = new Extras;
  return *extras_;
}

Tensor Node::output() {
  const Tensor& kept = output_;
  if (!is_grad_enabled()) return kept;
  const Tensor out = kept.detach();
  refs.fetch_add(1, std::memory_order_relaxed);
  out.impl().node = detail::Ref<Node>(this);
  return out;
}

Saved::Saved(const Tensor& x, bool is_output)
    : tensor_(x),
      version_(x.defined() ? x.impl().storage->version.load() : 0),
      is_output_(is_output) {}

void Saved::throw_changed() const {
  throw GraphError(message(detail::running_operation(), ": an ", is_output_ ? "output" : "input",
                           " of shape ", tensor_.shape(),
                           " that backward needs was changed in place after the forward call "
                           "(version ",
                           tensor_.impl().storage->version.load(), ", expected ", version_,
                           "). Change a clone() instead, or call backward first."));
}

// ---- leaves -------------------------------------------------------------------------------------

namespace {
/// Nothing but a place for a gradient.
class LeafNode final : public Node {
 public:
  explicit LeafNode(const Tensor& x) : Node("", x) {
    take_place();
    extras();  // at once, not by whichever of several threads comes first in backward
  }

 protected:
  void apply(const Tensor&, Needs, Tensor*) override {}
  void drop_rule() noexcept override {}
  void drop_edges() noexcept override {}
};
}  // namespace

// ---- what a tensor tells of its node ------------------------------------------------------------

bool Tensor::is_leaf() const { return !impl().node || impl().node->is_leaf(); }

std::string Tensor::grad_fn() const { return impl().node ? impl().node->name : ""; }

Tensor Tensor::requires_grad_(bool on) const {
  if (!is_leaf()) {
    throw GraphError(
        message("requires_grad_: the tensor was made by ", grad_fn(),
                "; only a leaf can be switched. Use detach() for one outside the graph."));
  }
  if (on && !is_floating_point(dtype())) {
    throw DTypeError(
        message("requires_grad_: only floating point tensors can require a gradient, this one is ",
                dtype()));
  }
  if (on && !impl().node) impl().node = detail::Ref<Node>(new LeafNode(*this));
  if (!on) impl().node = {};
  return *this;
}

bool Tensor::has_grad() const {
  return impl().node && impl().node->extras_ && impl().node->extras_->grad.defined();
}

Tensor Tensor::grad() const {
  if (!is_leaf() && !(impl().node->extras_ && impl().node->extras_->retains_grad)) {
    throw GraphError(
        message("grad: the tensor of shape ", shape(), " was made by ", grad_fn(),
                " and is not a leaf, so its gradient is not kept. Call retain_grad() on it "
                "before backward, or ask the leaf it was made from."));
  }
  return has_grad() ? impl().node->extras_->grad : Tensor();
}

void Tensor::set_grad(const Tensor& grad) const {
  if (!impl().node) {
    if (!grad.defined()) return;
    throw GraphError("set_grad: the tensor does not require a gradient");
  }
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype())) {
    throw ShapeError(message("set_grad: the gradient is ", grad.dtype(), " ", grad.shape(),
                             ", the tensor ", dtype(), " ", shape()));
  }
  // Without history: a gradient that holds a graph that holds this tensor would never be freed.
  impl().node->extras().grad = grad.defined() && grad.requires_grad() ? grad.detach() : grad;
}

void detail::zero_grad(const Tensor& leaf, ZeroGradOptions options) {
  if (!leaf.has_grad()) return;
  Tensor grad = leaf.grad();
  options.set_to_none ? leaf.set_grad({}) : void(grad.zero_());
}

void Tensor::retain_grad() const {
  throw_if<GraphError>(!impl().node, "retain_grad: the tensor does not require a gradient");
  impl().node->extras().retains_grad = true;
}

// ---- hooks --------------------------------------------------------------------------------------

HookHandle Tensor::register_hook(detail::Function<Tensor(const Tensor&)> hook) const {
  const detail::Ref<Node>& node = impl().node;
  throw_if<GraphError>(!node, "register_hook: the tensor does not require a gradient");
  Node::Extras& extras = node->extras();
  const std::uint64_t id = ++extras.next_hook;
  extras.hooks.emplace_back(id, std::move(hook));
  return HookHandle([node, id] {
    std::erase_if(node->extras().hooks, [id](const auto& entry) { return entry.first == id; });
  });
}

}  // namespace xgrad
