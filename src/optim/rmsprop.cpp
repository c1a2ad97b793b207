#include "xgrad/optim/rmsprop.hpp"

#include <cmath>

#include "optim/update.hpp"

namespace xgrad::optim {

RMSprop::RMSprop(const std::vector<Tensor>& params, RMSpropOptions options)
    : RMSprop(std::vector<RMSpropGroup>{{.params = params}}, options) {}
RMSprop::RMSprop(const std::vector<RMSpropGroup>& groups, RMSpropOptions options)
    : Optimizer("RMSprop", {"square_avg", "momentum_buffer", "grad_avg"}), defaults_(options) {
  if (groups.empty()) add_group({}, 0);  // throws
  for (const RMSpropGroup& group : groups) add_param_group(group);
}

void RMSprop::add_param_group(const RMSpropGroup& group) {
  const RMSpropOptions own{
      .lr = setting("lr", group.lr, defaults_.lr),
      .alpha = setting("alpha", group.alpha, defaults_.alpha, 1),
      .eps = setting("eps", group.eps, defaults_.eps),
      .weight_decay = setting("weight_decay", group.weight_decay, defaults_.weight_decay),
      .momentum = setting("momentum", group.momentum, defaults_.momentum),
      .centered = group.centered.value_or(defaults_.centered),
      .maximize = group.maximize.value_or(defaults_.maximize)};
  add_group(group.params, own.lr, {true, own.momentum != 0, own.centered}, own.momentum);
  options_.push_back(own);
}

/// state: v, the momentum, the mean; the last two unused without.
template <class T>
XGRAD_CLONES static void rmsprop(std::int64_t n, const RMSpropOptions& o, double rate,
                                 double of_past, const T* g, T* p, T* const* state) {
  const detail::Gradient<T> gradient(o.maximize, o.weight_decay);
  const T lr = static_cast<T>(rate);
  const T alpha = static_cast<T>(o.alpha);
  const T share = static_cast<T>(1 - o.alpha);
  const T eps = static_cast<T>(o.eps);
  const T momentum = static_cast<T>(of_past);
  T *v = state[0], *buffer = state[1], *mean = state[2];
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    T square = v[i] = alpha * v[i] + share * d * d;
    if (o.centered) {
      const T m = mean[i] = alpha * mean[i] + share * d;
      square = square - m * m < 0 ? 0 : square - m * m;  // never below 0 by rounding
    }
    T change = d / (std::sqrt(square) + eps);
    if (momentum != 0) change = buffer[i] = momentum * buffer[i] + change;
    p[i] -= lr * change;
  }
}

void RMSprop::update(Slot& slot, const Tensor& grad, std::size_t group, double lr,
                     double momentum) {
  const RMSpropOptions& own = options_[group];
  detail::begin(slot.state[0], slot.param);
  if (momentum != 0) detail::begin(slot.state[1], slot.param);
  if (own.centered) detail::begin(slot.state[2], slot.param);
  detail::update(slot.param, grad, slot.state, [&](auto n, auto* g, auto* p, auto state) {
    rmsprop(n, own, lr, momentum, g, p, state);
  });
}

}  // namespace xgrad::optim
