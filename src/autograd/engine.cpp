#include "autograd/engine.hpp"

#include <algorithm>
#include <mutex>

#include "detail/bug.hpp"
#include "detail/message.hpp"

namespace xgrad {

using detail::Ref;

void Engine::deliver(Node* node, Tensor g) {
  const std::uint32_t hint = node->slot_.load(std::memory_order_relaxed);
  if (hint < slots_.size() && slots_[hint].node.get() == node) {
    // Out of place: the gradient already there may belong to somebody else too.
    slots_[hint].grad = slots_[hint].grad + g;
    return;
  }
  std::uint32_t slot = static_cast<std::uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  node->refs.fetch_add(1, std::memory_order_relaxed);
  slots_[slot] = {Ref<Node>(node), std::move(g)};
  node->slot_.store(slot, std::memory_order_relaxed);
  heap_.push_back({node->sequence, node, slot});
  std::push_heap(heap_.begin(), heap_.end());
}

Engine::Pending Engine::take_newest() {
  Pending newest;
  // More than one slot for a node only when another pass overwrote its hint meanwhile.
  do {
    const std::uint32_t slot = heap_.front().slot;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    Pending at = std::move(slots_[slot]);
    slots_[slot] = {};
    free_slots_.push_back(slot);
    newest = newest.node ? Pending{std::move(at.node), newest.grad + at.grad} : std::move(at);
  } while (!heap_.empty() && heap_.front().node == newest.node.get());
  return newest;
}

void Engine::run() {
  const detail::Scoped recording(detail::recording(), mode_.create_graph);
  if (!mode_.accumulate) {
    oldest_target_ = ~std::uint64_t{0};
    for (const Node* t : mode_.targets) oldest_target_ = std::min(oldest_target_, t->sequence);
  }
  while (!heap_.empty() && heap_.front().sequence >= oldest_target_) {
    Pending at = take_newest();
    visit(at);
  }
  commit();
}

void Engine::visit(Pending& at) {
  Node& node = *at.node;
  if (node.extras_ && !node.extras_->hooks.empty()) at.grad = call_hooks(node, at.grad);
  for (std::size_t i = 0; i < mode_.targets.size(); ++i) {
    if (mode_.targets[i] == &node) found_[i] = at.grad;
  }
  const bool keeps = node.is_leaf() || (node.extras_ && node.extras_->retains_grad);
  // Below the oldest target nothing is wanted.
  if (!node.is_leaf() && node.sequence != oldest_target_) call_rule(node, at.grad);
  if (keeps && mode_.accumulate) staged_.push_back(std::move(at));
}

Tensor Engine::call_hooks(Node& node, Tensor g) {
  const auto hooks = node.extras_->hooks;  // a copy: a hook may remove itself while it runs
  for (const auto& [id, hook] : hooks) {
    const auto version = g.impl().storage->version.load();
    Tensor replaced = hook(g);
    // It is shared with other tensors: y + x gives both of them the same one.
    throw_if<GraphError>(g.impl().storage->version != version,
                         "hook: wrote into the gradient of shape ", g.shape(),
                         " that it was given, which others see too. Write into g.clone().");
    if (!replaced.defined()) continue;
    throw_if<GraphError>(replaced.shape() != node.shape || replaced.dtype() != node.dtype,
                         "hook: returned a gradient of ", replaced.dtype(), " ", replaced.shape(),
                         " for a tensor of ", node.dtype, " ", node.shape);
    g = std::move(replaced);
  }
  return g;
}

bool Engine::wanted(const Node* edge) const {
  if (!edge) return false;
  if (mode_.accumulate || !edge->is_leaf()) return true;
  return std::find(mode_.targets.begin(), mode_.targets.end(), edge) != mode_.targets.end();
}

void Engine::call_rule(Node& node, const Tensor& g) {
  throw_if<GraphError>(node.spent_, node.name,
                       ": this graph was already used by a backward pass and freed. Pass "
                       "retain_graph = true to the first pass to go through it again.");
  const std::span<const Ref<Node>> edges = node.edges();
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < edges.size() && i < 64; ++i) {
    if (wanted(edges[i].get())) mask |= std::uint64_t{1} << i;
  }
  std::array<Tensor, 4> few;
  std::vector<Tensor> many(edges.size() > few.size() ? edges.size() : 0);
  Tensor* results = many.empty() ? few.data() : many.data();

  {
    const detail::Scoped current(detail::running_operation(), node.name);
    node.apply(g, Needs(mask), results);
  }
  if (!mode_.keep_graph) {
    node.spent_ = true;
    node.drop_rule();
    node.output_ = Saved(Tensor());
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!wanted(edges[i].get())) continue;
    deliver(edges[i].get(), fitted(node, i, *edges[i], std::move(results[i])));
  }
  if (!mode_.keep_graph) node.drop_edges();
}

/// Strict, so that a wrong rule is found here and not by broadcasting further down.
Tensor Engine::fitted(const Node& node, std::size_t input, const Node& edge, Tensor g) {
  const auto fail = [&](const std::string& what) {
    throw GraphError(message(node.name, ": the rule returned ", what, " for input ", input,
                             ", which is ", edge.dtype, " of shape ", edge.shape));
  };
  if (!g.defined()) fail("no gradient");
  const bool keep_1 = XGRAD_BUG(engine_forgets_size_1_dims) && g.dim() == edge.shape.dim();
  if (node.unbroadcast_ && !keep_1) {
    if (g.shape() != edge.shape) g = sum_to(g, edge.shape);
    if (g.dtype() != edge.dtype) g = g.to(edge.dtype);
  }
  if (g.shape() != edge.shape || g.dtype() != edge.dtype) {
    fail(std::string("a gradient of ") + xgrad::name(g.dtype()) + " " + g.shape().str());
  }
  if (detail::anomaly_mode() && !isfinite(g.detach()).amin().item<bool>()) {
    throw GraphError(message(
        node.name, ": gradient of input ", input, ", shape ", edge.shape, ", is not finite.",
        (node.extras_ ? detail::describe_call_stack(node.extras_->call_stack) : "")));
  }
  return g;
}

void Engine::commit() {
  if (staged_.empty()) return;
  const NoGrad no_grad;
  static std::mutex mutex;  // two threads may go backward through the same leaves
  const std::lock_guard lock(mutex);
  // Copies first, so that an exception changes nothing.
  for (Pending& at : staged_) {
    if (at.node->extras().grad.defined() || at.grad.sole_owner()) continue;
    if (!XGRAD_BUG(engine_shares_gradients)) at.grad = at.grad.detach().clone();
  }
  for (Pending& at : staged_) {
    Tensor& sum = at.node->extras_->grad;
    if (sum.defined() && !XGRAD_BUG(engine_overwrites_gradients)) {
      sum.add_(at.grad);  // where it lies, as in PyTorch: whoever holds it sees the new sum
    } else {
      sum = std::move(at.grad);
    }
  }
}

// ---- the public calls ---------------------------------------------------------------------------

static std::string root_name(const Tensor& y) {
  const std::string fn = y.grad_fn();
  return fn.empty() ? "a leaf" : fn;
}

/// Checks a gradient passed in for y, or makes the 1 of a scalar.
static Tensor seed_for(const char* op, const Tensor& y, const Tensor& gradient) {
  throw_if<GraphError>(!y.requires_grad(), op, ": the root of shape ", y.shape(),
                       " does not require a gradient: no leaf below it does, or it was computed "
                       "under NoGrad or from detach()");
  if (!gradient.defined()) {
    if (y.numel() == 1) return ones_like(y.detach());
    throw GraphError(message(op, ": needs a scalar, but the root (", root_name(y), ") has shape ",
                             y.shape(), ". Reduce it (sum, mean) or pass a gradient of shape ",
                             y.shape(), "."));
  }
  if (gradient.shape() != y.shape() || gradient.dtype() != y.dtype()) {
    throw ShapeError(message(op, ": the gradient is ", gradient.dtype(), " ", gradient.shape(),
                             ", but the root (", root_name(y), ") is ", y.dtype(), " ", y.shape()));
  }
  return gradient;
}

void Tensor::backward(bool retain_graph) const { backward(Tensor(), retain_graph); }

void Tensor::backward(const Tensor& gradient, bool retain_graph) const {
  const Tensor seed = seed_for("backward", *this, gradient);
  Engine engine({.keep_graph = retain_graph});
  engine.deliver(impl().node.get(), seed);
  engine.run();
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, GradOptions options) {
  const Tensor g = options.grad_output;
  return grad(std::vector<Tensor>{y}, xs, {g}, std::move(options));
}

std::vector<Tensor> grad(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
  if (!grad_outputs.empty() && grad_outputs.size() != ys.size()) {
    throw Error(
        message("grad: ", ys.size(), " outputs, but ", grad_outputs.size(), " gradients for them"));
  }
  Engine::Mode mode{.keep_graph = options.retain_graph || options.create_graph,
                    .create_graph = options.create_graph,
                    .accumulate = false};
  for (const Tensor& x : xs) {
    throw_if<GraphError>(!x.requires_grad(), "grad: input ", mode.targets.size(), " of shape ",
                         x.shape(), " does not require a gradient");
    mode.targets.push_back(x.impl().node.get());
  }
  Engine engine(std::move(mode));
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const Tensor seed = seed_for("grad", ys[i], grad_outputs.empty() ? Tensor() : grad_outputs[i]);
    engine.deliver(ys[i].impl().node.get(), seed);
  }
  engine.run();
  std::vector<Tensor> found = engine.take_found();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined() && !options.allow_unused) {
      throw GraphError(message("grad: the output does not depend on input ", i, " of shape ",
                               xs[i].shape(),
                               ". Pass allow_unused = true to get an undefined gradient instead."));
    }
  }
  return found;
}

}  // namespace xgrad
