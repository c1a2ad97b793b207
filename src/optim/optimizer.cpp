#include "xgrad/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "detail/message.hpp"
#include "optim/check.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::optim {

static std::string described(std::size_t index, const Tensor& param) {
  return "parameter " + std::to_string(index) + " of shape " + param.shape().str();
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(const char* name, std::vector<const char*> state_names,
                     std::optional<double> momentum_below)
    : name_(name), state_names_(std::move(state_names)), momentum_below_(momentum_below) {}

void Optimizer::add_group(const std::vector<Tensor>& params, double lr, std::vector<bool> kept,
                          std::optional<double> momentum) {
  kept.resize(state_names_.size());
  const std::string op = name_;
  throw_if<Error>(params.empty(), op,
                  ": the list of parameters is empty. Were the layers registered before?");
  std::vector<const Tensor*> known;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) known.push_back(&slot.param);
  }
  Group group{.slots = {}, .lr = lr, .kept = std::move(kept), .momentum = momentum};
  for (const Tensor& param : params) {
    if (!param.defined()) {
      throw Error(message(op, ": parameter ", known.size(), " is undefined"));
    }
    if (!param.is_leaf()) {
      throw Error(message(op, ": ", described(known.size(), param), " was made by ",
                          param.grad_fn(), "; only leaves can be optimized"));
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!known[i]->is(param)) continue;
      throw Error(message(op, ": ", described(known.size(), param), " is parameter ", i,
                          " again and would be stepped twice. List it once."));
    }
    known.push_back(&param);
    group.slots.push_back({.param = param, .state = std::vector<Tensor>(state_names_.size())});
  }
  groups_.push_back(std::move(group));
}

double Optimizer::setting(const char* name, std::optional<double> own,
                          std::optional<double> fallback, std::optional<double> below) const {
  if (!own) own = fallback;
  throw_if<Error>(!own, name_, ": ", name, " is required, in the options or in every group");
  const std::string range =
      below ? message("at least 0 and below ", *below) : "finite and at least 0";
  detail::require(*own >= 0 && *own < below.value_or(INFINITY), name_, name, range.c_str(), *own);
  return *own;
}

void Optimizer::step() {
  const NoGrad no_grad;
  for (const Group& group : groups_) {  // everything that can fail, before anything changes
    for (const Slot& slot : group.slots) {
      for (const Tensor& state : slot.state) {
        if (!state.defined() || state.dtype() == slot.param.dtype()) continue;
        throw DTypeError(message(name_, ": a parameter of shape ", slot.param.shape(), " is ",
                                 slot.param.dtype(), " now, its state ", state.dtype(),
                                 ". Make a new optimizer after Module::to."));
      }
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (Slot& slot : groups_[g].slots) {
      if (!slot.param.has_grad()) continue;
      ++slot.step;
      update(slot, slot.param.grad(), g, groups_[g].lr, groups_[g].momentum.value_or(0));
    }
  }
}

void Optimizer::zero_grad(ZeroGradOptions options) {
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) xgrad::detail::zero_grad(slot.param, options);
  }
}

const Optimizer::Group& Optimizer::group(std::size_t index) const {
  throw_if<IndexError>(index >= groups_.size(), name_, ": no group ", index, " among ",
                       groups_.size());
  return groups_[index];
}

double Optimizer::lr(std::size_t index) const { return group(index).lr; }
std::optional<double> Optimizer::momentum(std::size_t index) const { return group(index).momentum; }

void Optimizer::set_lr(double lr) {
  for (std::size_t g = 0; g < groups_.size(); ++g) set_lr(g, lr);
}

void Optimizer::set_lr(std::size_t index, double lr) {
  group(index);
  groups_[index].lr = setting("lr", lr, {});
}

template <class F>
void Optimizer::each_entry(std::vector<Group>& groups, F f) const {
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string prefix = "param_groups." + std::to_string(g) + ".";
    const auto number = [&](const char* key, std::optional<double> old, bool needed) {
      Tensor value = old ? tensor(*old, {.dtype = float64}) : Tensor();
      f(prefix + key, value, tensor(0.0, {.dtype = float64}), needed);
      return value.defined() ? std::optional(value.item<double>()) : std::nullopt;
    };
    groups[g].lr = *number("lr", groups[g].lr, true);
    groups[g].initial_lr = number("initial_lr", groups[g].initial_lr, false);
    if (groups[g].momentum) groups[g].momentum = number("momentum", groups[g].momentum, true);
    for (Slot& slot : groups[g].slots) {
      const std::string own = "state." + std::to_string(index++) + ".";
      Tensor step = slot.step > 0 ? tensor(slot.step) : Tensor();
      f(own + "step", step, tensor(slot.step), false);
      slot.step = step.defined() ? step.item<std::int64_t>() : 0;
      for (std::size_t i = 0; i < state_names_.size(); ++i) {
        f(own + state_names_[i], slot.state[i], slot.param, slot.step > 0 && groups[g].kept[i]);
      }
    }
  }
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  std::vector<Group> groups = groups_;
  each_entry(groups, [&](const std::string& key, const Tensor& value, const Tensor&, bool) {
    if (value.defined()) dict.emplace_back(key, value.clone());
  });
  return dict;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  const std::string op = std::string(name_) + ": load_state_dict: ";
  std::vector<bool> used(dict.size());
  bool stepped = false;
  std::vector<Group> groups = groups_;
  each_entry(groups, [&](const std::string& key, Tensor& value, const Tensor& like, bool needed) {
    const auto at = std::find_if(dict.begin(), dict.end(), [&](auto& e) { return e.first == key; });
    const bool is_step = key.ends_with(".step");
    if (is_step) stepped = at != dict.end();
    if (at == dict.end()) {
      throw_if<Error>(needed, op, key, " is missing");
      value = {};
      return;
    }
    const Tensor& found = at->second;
    throw_if<Error>(found.dtype() != like.dtype() || found.shape() != like.shape(), op, key, " is ",
                    found.dtype(), " ", found.shape(), ", expected ", like.dtype(), " ",
                    like.shape());
    throw_if<Error>(key.starts_with("state.") && !stepped, op, key.substr(0, key.rfind('.')),
                    ".step is missing beside ", key);
    if (is_step) {
      const double steps = found.item<double>();
      throw_if<Error>(steps < 1, op, key, " must be at least 1, got ", steps);
    } else if (key.ends_with(".lr")) {  // OneCycleLR ends below 0
      const double lr = found.item<double>();
      detail::require(std::isfinite(lr), name_, key, "finite", lr);
    } else if (!key.starts_with("state.")) {
      setting(key.c_str(), found.item<double>(), {},
              key.ends_with(".momentum") ? momentum_below_ : std::nullopt);
    }
    used[static_cast<std::size_t>(at - dict.begin())] = true;
    value = found.detach().clone();
  });
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    const std::string& key = dict[i].first;
    const auto at = std::find_if(dict.begin(), dict.end(), [&](auto& e) { return e.first == key; });
    throw Error(at < dict.begin() + static_cast<std::ptrdiff_t>(i)
                    ? message(op, key, " is there twice")
                    : message(op, "no parameter for ", key));
  }
  groups_ = std::move(groups);
}

}  // namespace xgrad::optim
