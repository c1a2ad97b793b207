#include "xgrad/optim/adagrad.hpp"

#include <cmath>

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

/// state: the sum of squares.
template <class T>
XGRAD_CLONES static void adagrad(std::int64_t n, const AdagradOptions& o, double rate, const T* g,
                                 T* p, T* const* state) {
  const detail::Gradient<T> gradient(o.maximize, o.weight_decay);
  const T lr = static_cast<T>(rate);
  const T eps = static_cast<T>(o.eps);
  T* sum = state[0];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = gradient(g[i], p[i]);
    const T total = sum[i] + d * d;
    sum[i] = total;
    p[i] -= lr * d / (std::sqrt(total) + eps);
  }
}

void Adagrad::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double) {
  const AdagradOptions& own = options_[group];
  detail::begin(slot.state[0], slot.param, own.initial_accumulator_value);
  const double rate = lr / (1 + static_cast<double>(slot.step - 1) * own.lr_decay);
  detail::update(slot.param, grad, slot.state,
                 [&](auto n, auto* g, auto* p, auto state) { adagrad(n, own, rate, g, p, state); });
}

}  // namespace xgrad::optim
