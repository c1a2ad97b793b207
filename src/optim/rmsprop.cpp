#include "xgrad/optim/rmsprop.hpp"

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

void RMSprop::update(Slot& slot, const Tensor& grad, std::size_t group, double lr,
                     double momentum) {
  const RMSpropOptions& own = options_[group];
  detail::begin(slot.state[0], slot.param);
  if (momentum != 0) detail::begin(slot.state[1], slot.param);
  if (own.centered) detail::begin(slot.state[2], slot.param);
  const kernels::RmspropStep step{.lr = lr,
                                  .alpha = own.alpha,
                                  .eps = own.eps,
                                  .weight_decay = own.weight_decay,
                                  .momentum = momentum,
                                  .centered = own.centered,
                                  .maximize = own.maximize};
  detail::update(step, slot.param, grad, slot.state);
}

}  // namespace xgrad::optim
