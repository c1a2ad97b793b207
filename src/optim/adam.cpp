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

namespace {

struct Step {
  double beta1, beta2, eps;
  double rate;          // lr / (1 - beta1^t)
  double root_scale;    // 1 / sqrt(1 - beta2^t)
  double weight_decay;  // added to the gradient
  double keep;          // decoupled decay: p *= keep
  bool amsgrad, maximize;
};

template <bool amsgrad, class T>
XGRAD_INLINE void loop(std::int64_t n, const Step& s, const T* g, T* p, T* m, T* v, T* greatest) {
  const detail::Gradient<T> gradient(s.maximize, s.weight_decay);
  const T beta1 = static_cast<T>(s.beta1);
  const T beta2 = static_cast<T>(s.beta2);
  const T share1 = static_cast<T>(1 - s.beta1);
  const T share2 = static_cast<T>(1 - s.beta2);
  const T rate = static_cast<T>(s.rate);
  const T root_scale = static_cast<T>(s.root_scale);
  const T eps = static_cast<T>(s.eps);
  const T keep = static_cast<T>(s.keep);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T pi = p[i] * keep;
    const T d = gradient(g[i], pi);
    const T mi = beta1 * m[i] + share1 * d;
    const T vi = beta2 * v[i] + share2 * d * d;
    m[i] = mi;
    v[i] = vi;
    T top = vi;
    if constexpr (amsgrad) {
      const T before = greatest[i];
      top = vi > before || vi != vi ? vi : before;  // NaN stays
      greatest[i] = top;
    }
    p[i] = pi - rate * mi / (std::sqrt(top) * root_scale + eps);
  }
}

}  // namespace

/// state: m, v and, with amsgrad, the greatest v so far.
template <class T>
XGRAD_CLONES static void adam(std::int64_t n, const Step& s, const T* g, T* p, T* const* state) {
  if (s.amsgrad) {
    loop<true>(n, s, g, p, state[0], state[1], state[2]);
  } else {
    loop<false>(n, s, g, p, state[0], state[1], state[2]);
  }
}

void Adam::update(Slot& slot, const Tensor& grad, std::size_t group, double lr, double beta1) {
  const AdamOptions& own = options_[group];
  const auto steps = static_cast<double>(slot.step);
  const double beta2 = own.betas.second;
  Step now{.beta1 = beta1,
           .beta2 = beta2,
           .eps = own.eps,
           .rate = lr / (1 - std::pow(beta1, steps)),
           .root_scale = 1 / std::sqrt(1 - std::pow(beta2, steps)),
           .weight_decay = decoupled_ ? 0 : *own.weight_decay,
           .keep = decoupled_ ? 1 - lr * *own.weight_decay : 1,
           .amsgrad = own.amsgrad,
           .maximize = own.maximize};
  if (XGRAD_BUG(adam_eps_before_correction)) now.eps *= now.root_scale;
  if (XGRAD_BUG(adamw_couples_decay)) now.weight_decay = *own.weight_decay, now.keep = 1;
  for (std::size_t i = 0; i < (own.amsgrad ? 3U : 2U); ++i)
    detail::begin(slot.state[i], slot.param);
  detail::update(slot.param, grad, slot.state,
                 [&](auto n, auto* g, auto* p, auto state) { adam(n, now, g, p, state); });
}

}  // namespace xgrad::optim
