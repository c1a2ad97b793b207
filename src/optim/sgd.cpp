#include "xgrad/optim/sgd.hpp"

#include <cmath>

#include "detail/bug.hpp"
#include "detail/message.hpp"
#include "optim/check.hpp"
#include "optim/update.hpp"

namespace xgrad::optim {

SGD::SGD(const std::vector<Tensor>& params, SGDOptions options)
    : SGD(std::vector<SGDGroup>{{.params = params}}, options) {}
SGD::SGD(const std::vector<SGDGroup>& groups, SGDOptions options)
    : Optimizer("SGD", {"momentum_buffer"}), defaults_(options) {
  if (groups.empty()) add_group({}, 0);  // throws
  for (const SGDGroup& group : groups) add_param_group(group);
}

void SGD::add_param_group(const SGDGroup& group) {
  const SGDOptions own{
      .lr = setting("lr", group.lr, defaults_.lr),
      .momentum = setting("momentum", group.momentum, defaults_.momentum),
      .dampening = group.dampening.value_or(defaults_.dampening),
      .weight_decay = setting("weight_decay", group.weight_decay, defaults_.weight_decay),
      .nesterov = group.nesterov.value_or(defaults_.nesterov),
      .maximize = group.maximize.value_or(defaults_.maximize)};
  detail::require(std::isfinite(own.dampening), "SGD", "dampening", "finite", own.dampening);
  throw_if<Error>(own.nesterov && (own.momentum == 0 || own.dampening != 0),
                  "SGD: nesterov needs a momentum above 0 and a dampening of 0");
  add_group(group.params, *own.lr, {own.momentum != 0}, own.momentum);
  options_.push_back(own);
}

/// state: the momentum, unused without. `first`: it holds nothing yet.
template <class T>
XGRAD_CLONES static void sgd(std::int64_t n, const SGDOptions& o, double rate, double of_past,
                             bool first, const T* g, T* p, T* const* state) {
  const detail::Gradient<T> gradient(o.maximize, o.weight_decay);
  const T lr = static_cast<T>(rate);
  const T momentum = static_cast<T>(of_past);
  const T share = static_cast<T>(1 - o.dampening);
  const bool nesterov = o.nesterov;
  if (momentum == 0) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) p[i] -= lr * gradient(g[i], p[i]);
    return;
  }
  T* buffer = state[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    const T b = first ? d : momentum * buffer[i] + share * d;
    buffer[i] = b;
    p[i] -= lr * (nesterov ? d + momentum * b : b);
  }
}

void SGD::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double momentum) {
  const bool first = !slot.state[0].defined() && !XGRAD_BUG(sgd_dampens_first_step);
  if (momentum != 0) detail::begin(slot.state[0], slot.param);
  detail::update(slot.param, grad, slot.state, [&](auto n, auto* g, auto* p, auto state) {
    sgd(n, options_[group], lr, momentum, first, g, p, state);
  });
}

}  // namespace xgrad::optim
