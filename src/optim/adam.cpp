#include "xgrad/optim/adam.hpp"

#include <cmath>

#include "detail/dispatch.hpp"
#include "kernels/optim.hpp"

namespace xgrad::optim {

Adam::~Adam() = default;
Adam::Adam(const char* name, bool decoupled, const std::vector<AdamGroup>& groups,
           AdamOptions options)
    : Optimizer(name, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}),
      defaults_(options),
      decoupled_(decoupled) {
  if (groups.empty()) add_group({}, 0);  // throws
  for (const AdamGroup& group : groups) add_param_group(group);
}
Adam::Adam(const std::vector<AdamGroup>& groups, AdamOptions options)
    : Adam("Adam", false, groups, options) {}
Adam::Adam(const std::vector<Tensor>& params, AdamOptions options)
    : Adam("Adam", false, {{.params = params}}, options) {}
AdamW::AdamW(const std::vector<AdamGroup>& groups, AdamOptions options)
    : Adam("AdamW", true, groups, options) {}
AdamW::AdamW(const std::vector<Tensor>& params, AdamOptions options)
    : Adam("AdamW", true, {{.params = params}}, options) {}

void Adam::add_param_group(const AdamGroup& group) {
  const double decay = defaults_.weight_decay.value_or(decoupled_ ? 0.01 : 0.0);
  const AdamOptions own{.lr = group.lr.value_or(defaults_.lr),
                        .betas = group.betas.value_or(defaults_.betas),
                        .eps = group.eps.value_or(defaults_.eps),
                        .weight_decay = group.weight_decay.value_or(decay),
                        .amsgrad = group.amsgrad.value_or(defaults_.amsgrad),
                        .maximize = group.maximize.value_or(defaults_.maximize)};
  check("lr", own.lr, 0, INFINITY);
  check("betas[0]", own.betas.first, 0, 1);
  check("betas[1]", own.betas.second, 0, 1);
  check("eps", own.eps, 0, INFINITY);
  check("weight_decay", *own.weight_decay, 0, INFINITY);
  add_group(group.params, own.lr);
  options_.push_back(own);
}

void Adam::update(Slot& slot, const Tensor& grad, std::size_t group, double lr) {
  const AdamOptions& own = options_[group];
  const auto steps = static_cast<double>(slot.step);
  const kernels::AdamStep step{.beta1 = own.betas.first,
                               .beta2 = own.betas.second,
                               .eps = own.eps,
                               .rate = lr / (1 - std::pow(own.betas.first, steps)),
                               .root_scale = 1 / std::sqrt(1 - std::pow(own.betas.second, steps)),
                               .weight_decay = decoupled_ ? 0 : *own.weight_decay,
                               .keep = decoupled_ ? 1 - lr * *own.weight_decay : 1,
                               .maximize = own.maximize};
  for (std::size_t i = 0; i < (own.amsgrad ? 3U : 2U); ++i) {
    if (!slot.state[i].defined()) slot.state[i] = zeros_like(slot.param);
  }
  detail::dispatch_floating(slot.param.dtype(), [&](auto t) {
    using T = decltype(t);
    kernels::adam(slot.param.numel(), step, grad.data<T>().data(), slot.param.mut<T>().data(),
                  slot.state[0].mut<T>().data(), slot.state[1].mut<T>().data(),
                  own.amsgrad ? slot.state[2].mut<T>().data() : nullptr);
  });
}

}  // namespace xgrad::optim
