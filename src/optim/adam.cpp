#include "xgrad/optim/adam.hpp"

#include <cmath>

#include "detail/bug.hpp"
#include "optim/update.hpp"

namespace xgrad::optim {

Adam::Adam(const char* name, bool decoupled, const std::vector<AdamGroup>& groups,
           AdamOptions options)
    : Optimizer(name, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, 1),
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
  const auto [beta1, beta2] = group.betas.value_or(defaults_.betas);
  const AdamOptions own{
      .lr = setting("lr", group.lr, defaults_.lr),
      .betas = {setting("betas[0]", beta1, {}, 1), setting("betas[1]", beta2, {}, 1)},
      .eps = setting("eps", group.eps, defaults_.eps),
      .weight_decay = setting("weight_decay", group.weight_decay, decay),
      .amsgrad = group.amsgrad.value_or(defaults_.amsgrad),
      .maximize = group.maximize.value_or(defaults_.maximize)};
  add_group(group.params, own.lr, {true, true, own.amsgrad}, beta1);
  options_.push_back(own);
}

void Adam::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double beta1) {
  const AdamOptions& own = options_[group];
  const auto steps = static_cast<double>(slot.step);
  const double beta2 = own.betas.second;
  kernels::AdamStep step{.beta1 = beta1,
                         .beta2 = beta2,
                         .eps = own.eps,
                         .rate = lr / (1 - std::pow(beta1, steps)),
                         .root_scale = 1 / std::sqrt(1 - std::pow(beta2, steps)),
                         .weight_decay = decoupled_ ? 0 : *own.weight_decay,
                         .keep = decoupled_ ? 1 - lr * *own.weight_decay : 1,
                         .amsgrad = own.amsgrad,
                         .maximize = own.maximize};
  if (XGRAD_BUG(adam_eps_before_correction)) step.eps *= step.root_scale;
  if (XGRAD_BUG(adamw_couples_decay)) step.weight_decay = *own.weight_decay, step.keep = 1;
  for (std::size_t i = 0; i < (own.amsgrad ? 3U : 2U); ++i)
    detail::begin(slot.state[i], slot.param);
  detail::update(step, slot.param, grad, slot.state);
}

}  // namespace xgrad::optim
