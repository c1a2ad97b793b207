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

void SGD::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double momentum) {
  const SGDOptions& own = options_[group];
  Tensor& buffer = slot.state[0];
  const bool first = !buffer.defined();
  if (momentum != 0) detail::begin(buffer, slot.param);
  const kernels::SgdStep step{.lr = lr,
                              .momentum = momentum,
                              .dampening = own.dampening,
                              .weight_decay = own.weight_decay,
                              .nesterov = own.nesterov,
                              .maximize = own.maximize,
                              .first = first && !XGRAD_BUG(sgd_dampens_first_step)};
  detail::update(step, slot.param, grad, slot.state);
}

}  // namespace xgrad::optim
