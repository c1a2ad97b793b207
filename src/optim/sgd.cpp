#include "xgrad/optim/sgd.hpp"

#include <cmath>

#include "detail/dispatch.hpp"
#include "kernels/optim.hpp"

namespace xgrad::optim {

SGD::~SGD() = default;
SGD::SGD(const std::vector<Tensor>& params, SGDOptions options)
    : SGD(std::vector<SGDGroup>{{.params = params}}, options) {}

SGD::SGD(const std::vector<SGDGroup>& groups, SGDOptions options)
    : Optimizer("SGD", {"momentum_buffer"}), defaults_(options) {
  if (groups.empty()) add_group({}, 0);  // throws
  for (const SGDGroup& group : groups) add_param_group(group);
}

void SGD::add_param_group(const SGDGroup& group) {
  const SGDOptions own{.lr = group.lr ? group.lr : defaults_.lr,
                       .momentum = group.momentum.value_or(defaults_.momentum),
                       .dampening = group.dampening.value_or(defaults_.dampening),
                       .weight_decay = group.weight_decay.value_or(defaults_.weight_decay),
                       .nesterov = group.nesterov.value_or(defaults_.nesterov),
                       .maximize = group.maximize.value_or(defaults_.maximize)};
  if (!own.lr) throw Error("SGD: lr is required, in the options or in every group");
  check("lr", *own.lr, 0, INFINITY);
  check("momentum", own.momentum, 0, INFINITY);
  check("dampening", own.dampening, -INFINITY, INFINITY);
  check("weight_decay", own.weight_decay, 0, INFINITY);
  if (own.nesterov && (own.momentum == 0 || own.dampening != 0)) {
    throw Error("SGD: nesterov needs a momentum above 0 and a dampening of 0");
  }
  add_group(group.params, *own.lr);
  options_.push_back(own);
}

void SGD::update(Slot& slot, const Tensor& grad, std::size_t group, double lr) {
  const SGDOptions& own = options_[group];
  Tensor& buffer = slot.state[0];
  const kernels::SgdStep step{.lr = lr,
                              .momentum = own.momentum,
                              .dampening = own.dampening,
                              .weight_decay = own.weight_decay,
                              .nesterov = own.nesterov,
                              .maximize = own.maximize,
                              .first = !buffer.defined()};
  if (own.momentum != 0 && step.first) buffer = empty_like(slot.param);
  detail::dispatch_floating(slot.param.dtype(), [&](auto t) {
    using T = decltype(t);
    kernels::sgd(slot.param.numel(), step, grad.data<T>().data(), slot.param.mut<T>().data(),
                 own.momentum != 0 ? buffer.mut<T>().data() : nullptr);
  });
}

}  // namespace xgrad::optim
