#include "xgrad/optim/optimizer.hpp"

#include <charconv>
#include <cmath>

#include "detail/check.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::optim {

namespace {

std::string described(std::size_t index, const Tensor& param) {
  return "parameter " + std::to_string(index) + " of shape " + param.shape().str();
}

/// The shortest text that reads back as the same number: "1e-08".
std::string text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace

Optimizer::Optimizer(const char* name, std::vector<const char*> state_names)
    : name_(name), state_names_(std::move(state_names)) {}

void Optimizer::add_group(const std::vector<Tensor>& params, double lr) {
  const std::string op = name_;
  if (params.empty()) {
    throw Error(op + ": the list of parameters is empty. Were the layers registered before?");
  }
  std::vector<const Tensor*> known;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) known.push_back(&slot.param);
  }
  Group group{.slots = {}, .lr = lr};
  for (const Tensor& param : params) {
    if (!param.defined()) {
      throw Error(op + ": parameter " + std::to_string(known.size()) + " is undefined");
    }
    if (!param.is_leaf()) {
      throw Error(op + ": " + described(known.size(), param) + " was made by " + param.grad_fn() +
                  "; only leaves can be optimized");
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!known[i]->is(param)) continue;
      throw Error(op + ": " + described(known.size(), param) + " is parameter " +
                  std::to_string(i) + " again and would be stepped twice. List it once.");
    }
    known.push_back(&param);
    group.slots.push_back({.param = param, .state = std::vector<Tensor>(state_names_.size())});
  }
  groups_.push_back(std::move(group));
}

void Optimizer::check(const char* setting, double value, double low, double high) const {
  if (value >= low && value < high) return;
  throw Error(std::string(name_) + ": " + setting + " must be at least " + text(low) +
              (std::isinf(high) ? "" : " and below " + text(high)) + ", got " + text(value));
}

void Optimizer::step() {
  const NoGrad no_grad;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (Slot& slot : groups_[g].slots) {
      if (!slot.param.has_grad()) continue;
      ++slot.step;
      update(slot, slot.param.grad(), g, groups_[g].lr);
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

// ---- learning rates
// ------------------------------------------------------------------------------

double Optimizer::lr(std::size_t group) const {
  if (group >= groups_.size()) {
    throw IndexError(std::string(name_) + ": no group " + std::to_string(group) + " among " +
                     std::to_string(groups_.size()));
  }
  return groups_[group].lr;
}

void Optimizer::set_lr(double lr) {
  for (std::size_t g = 0; g < groups_.size(); ++g) set_lr(g, lr);
}

void Optimizer::set_lr(std::size_t group, double rate) {
  check("lr", rate, 0, INFINITY);
  lr(group);
  groups_[group].lr = rate;
}

// ---- saving
// --------------------------------------------------------------------------------------

StateDict Optimizer::state_dict() const {
  StateDict dict;
  std::size_t index = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::string prefix = "param_groups." + std::to_string(g) + ".";
    dict.emplace_back(prefix + "lr", tensor(groups_[g].lr, {.dtype = float64}));
    if (groups_[g].initial_lr) {
      dict.emplace_back(prefix + "initial_lr", tensor(*groups_[g].initial_lr, {.dtype = float64}));
    }
    for (const Slot& slot : groups_[g].slots) {
      const std::string own = "state." + std::to_string(index++) + ".";
      if (slot.step == 0) continue;
      dict.emplace_back(own + "step", tensor(slot.step));
      for (std::size_t i = 0; i < state_names_.size(); ++i) {
        if (slot.state[i].defined()) {
          dict.emplace_back(own + state_names_[i], slot.state[i].clone());
        }
      }
    }
  }
  return dict;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  std::vector<bool> used(dict.size());
  const auto find = [&](const std::string& key, DType dtype, const Shape& shape) {
    for (std::size_t i = 0; i < dict.size(); ++i) {
      const auto& [name, value] = dict[i];
      if (name != key) continue;
      if (value.dtype() != dtype || value.shape() != shape) {
        throw Error(std::string(name_) + ": load_state_dict: " + key + " is " +
                    xgrad::name(value.dtype()) + " " + value.shape().str() + ", expected " +
                    xgrad::name(dtype) + " " + shape.str());
      }
      used[i] = true;
      return value.clone();
    }
    return Tensor();
  };
  std::vector<Group> loaded = groups_;
  std::size_t index = 0;
  for (std::size_t g = 0; g < loaded.size(); ++g) {
    const std::string prefix = "param_groups." + std::to_string(g) + ".";
    const Tensor lr = find(prefix + "lr", float64, {});
    if (!lr.defined()) {
      throw Error(std::string(name_) + ": load_state_dict: " + prefix + "lr is missing");
    }
    loaded[g].lr = lr.item<double>();
    const Tensor initial = find(prefix + "initial_lr", float64, {});
    if (initial.defined()) loaded[g].initial_lr = initial.item<double>();
    for (Slot& slot : loaded[g].slots) {
      const std::string own = "state." + std::to_string(index++) + ".";
      const Tensor steps = find(own + "step", int64, {});
      slot.step = steps.defined() ? steps.item<std::int64_t>() : 0;
      for (std::size_t i = 0; i < state_names_.size(); ++i) {
        slot.state[i] = find(own + state_names_[i], slot.param.dtype(), slot.param.shape());
      }
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    throw Error(std::string(name_) + ": load_state_dict: this optimizer of " +
                detail::count(static_cast<std::int64_t>(index), "parameter") +
                " has no place for " + dict[i].first);
  }
  groups_ = std::move(loaded);
}

}  // namespace xgrad::optim
