#include "xgrad/optim/adagrad.hpp"

#include "optim/update.hpp"

namespace xgrad::optim {

Adagrad::Adagrad(const std::vector<Tensor>& params, AdagradOptions options)
    : Adagrad(std::vector<AdagradGroup>{{.params = params}}, options) {}
Adagrad::Adagrad(const std::vector<AdagradGroup>& groups, AdagradOptions options)
    : Optimizer("Adagrad", {"sum"}), defaults_(options) {
  if (groups.empty()) add_group({}, 0);  // throws
  for (const AdagradGroup& group : groups) add_param_group(group);
}

void Adagrad::add_param_group(const AdagradGroup& group) {
  const AdagradOptions own{
      .lr = setting("lr", group.lr, defaults_.lr),
      .lr_decay = setting("lr_decay", group.lr_decay, defaults_.lr_decay),
      .weight_decay = setting("weight_decay", group.weight_decay, defaults_.weight_decay),
      .initial_accumulator_value =
          setting("initial_accumulator_value", group.initial_accumulator_value,
                  defaults_.initial_accumulator_value),
      .eps = setting("eps", group.eps, defaults_.eps),
      .maximize = group.maximize.value_or(defaults_.maximize)};
  add_group(group.params, own.lr, {true});
  options_.push_back(own);
}

void Adagrad::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double) {
  const AdagradOptions& own = options_[group];
  detail::begin(slot.state[0], slot.param, own.initial_accumulator_value);
  const kernels::AdagradStep step{
      .lr = lr / (1 + static_cast<double>(slot.step - 1) * own.lr_decay),
      .eps = own.eps,
      .weight_decay = own.weight_decay,
      .maximize = own.maximize};
  detail::update(step, slot.param, grad, slot.state);
}

}  // namespace xgrad::optim
