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
Optimizer::Optimizer(const char* name, std::vector<const char*> state_names)
    : name_(name), state_names_(std::move(state_names)) {}

void Optimizer::add_group(const std::vector<Tensor>& params, double lr,
                          std::optional<double> momentum) {
  const std::string op = name_;
  throw_if<Error>(params.empty(), op,
                  ": the list of parameters is empty. Were the layers registered before?");
  std::vector<const Tensor*> known;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) known.push_back(&slot.param);
  }
  Group group{.slots = {}, .lr = lr, .momentum = momentum};
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

void Optimizer::zero_grad(bool set_to_none) {
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      if (!slot.param.has_grad()) continue;
      Tensor grad = slot.param.grad();
      if (set_to_none) {
        slot.param.set_grad({});
      } else {
        grad.zero_();
      }
    }
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
  const auto real = [](double value) { return tensor(value, {.dtype = float64}); };
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string prefix = "param_groups." + std::to_string(g) + ".";
    Tensor lr = real(groups[g].lr);
    f(prefix + "lr", lr, lr);
    groups[g].lr = lr.item<double>();
    Tensor initial = groups[g].initial_lr ? real(*groups[g].initial_lr) : Tensor();
    f(prefix + "initial_lr", initial, lr);
    if (initial.defined()) groups[g].initial_lr = initial.item<double>();
    for (Slot& slot : groups[g].slots) {
      const std::string own = "state." + std::to_string(index++) + ".";
      Tensor step = slot.step > 0 ? tensor(slot.step) : Tensor();
      f(own + "step", step, tensor(slot.step));
      slot.step = step.defined() ? step.item<std::int64_t>() : 0;
      for (std::size_t i = 0; i < state_names_.size(); ++i) {
        f(own + state_names_[i], slot.state[i], slot.param);
      }
    }
  }
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  std::vector<Group> groups = groups_;
  each_entry(groups, [&](const std::string& key, const Tensor& value, const Tensor&) {
    if (value.defined()) dict.emplace_back(key, value.clone());
  });
  return dict;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  const std::string call = std::string(name_) + ": load_state_dict", op = call + ": ";
  std::vector<bool> used(dict.size());
  bool stepped = false;
  std::vector<Group> groups = groups_;
  each_entry(groups, [&](const std::string& key, Tensor& value, const Tensor& like) {
    const auto at = std::find_if(dict.begin(), dict.end(), [&](auto& e) { return e.first == key; });
    const bool is_step = key.ends_with(".step");
    if (is_step) stepped = at != dict.end();
    if (at == dict.end()) {
      throw_if<Error>(key.ends_with(".lr"), op, key, " is missing");
      value = {};
      return;
    }
    const Tensor& found = at->second;
    throw_if<Error>(found.dtype() != like.dtype() || found.shape() != like.shape(), op, key, " is ",
                    found.dtype(), " ", found.shape(), ", expected ", like.dtype(), " ",
                    like.shape());
    throw_if<Error>(key.starts_with("state.") && !stepped, op, key, " comes without its step");
    if (is_step || key.ends_with("lr")) {
      const double number = found.item<double>();
      detail::require(number >= (is_step ? 1 : 0) && std::isfinite(number), call, key,
                      is_step ? "at least 1" : "finite and at least 0", number);
    }
    used[static_cast<std::size_t>(at - dict.begin())] = true;
    value = found.clone();
  });
  const auto stray = std::find(used.begin(), used.end(), false);
  if (stray != used.end()) {
    throw Error(message(op, "no parameter for ",
                        dict[static_cast<std::size_t>(stray - used.begin())].first));
  }
  groups_ = std::move(groups);
}

}  // namespace xgrad::optim
