#include "xgrad/nn/module.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "detail/message.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/extend.hpp"

namespace xgrad::nn {

using Tensors = std::vector<std::pair<std::string, std::unique_ptr<Tensor>>>;

struct Module::Contents {
  Tensors parameters;
  Tensors buffers;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> children;
  std::vector<std::pair<std::uint64_t, ForwardPreHook>> before;
  std::vector<std::pair<std::uint64_t, ForwardHook>> after;
};

Module::Module() : contents_(new Contents) {}
Module::Module(Module&& other) noexcept
    : name_(std::move(other.name_)),
      training_(other.training_),
      contents_(std::exchange(other.contents_, nullptr)) {}
Module::~Module() { delete contents_; }

void Module::check_not_moved() const {
  if (!contents_)
    throw Error(message(type_name(), ": this module has been moved into another one; use that"));
}
Module::Contents& Module::contents() const {
  check_not_moved();
  return *contents_;
}

std::int64_t Module::child_count() const {
  return static_cast<std::int64_t>(contents().children.size());
}
Module& Module::child(std::int64_t i) const {
  return *contents().children[static_cast<std::size_t>(i)].second;
}

Tensor Module::forward(const Tensor&) {
  throw Error(message(type_name(),
                      ": has no forward of one tensor. Override it, or call the forward it has."));
}

/// Calls the hooks there are, and puts what one returns into `value`. A hook may remove itself or
/// add others.
template <class Hooks, class Call>
static void run(const Hooks& hooks, Tensor& value, Call call) {
  const std::uint64_t newest = hooks.empty() ? 0 : hooks.back().first;
  for (std::uint64_t done = 0;;) {
    const auto next = std::find_if(hooks.begin(), hooks.end(),
                                   [done](const auto& hook) { return hook.first > done; });
    if (next == hooks.end() || next->first > newest) return;
    done = next->first;
    const auto hook = next->second;  // a copy, which outlives its removal
    if (Tensor other = call(hook); other.defined()) value = std::move(other);
  }
}

Tensor Module::operator()(const Tensor& x) {
  try {
    const Contents& all = contents();
    if (all.before.empty() && all.after.empty()) return forward(x);
    Tensor input = x;
    run(all.before, input, [&](const ForwardPreHook& hook) { return hook(*this, input); });
    Tensor output = forward(input);
    run(all.after, output, [&](const ForwardHook& hook) { return hook(*this, input, output); });
    return output;
  } catch (Error& error) {
    error.add_module(name_);
    throw;
  }
}

// ---- building -----------------------------------------------------------------------------------

void Module::check_not_sliced(const std::type_info& object, const std::type_info& type) {
  throw_if<Error>(
      object != type,
      "register_module: this would keep only the base part of a module of a derived class");
}

void Module::check_name(const std::string& name) const {
  const auto taken = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.first == name; });
  };
  if (name.empty() || name.find('.') != std::string::npos || taken(contents().parameters) ||
      taken(contents().buffers) || taken(contents().children)) {
    throw Error(message("register: the name \"", name, "\" in ", type_name(),
                        " is empty, taken or has a dot"));
  }
}

Module& Module::register_module(std::string name, std::unique_ptr<Module> module) {
  check_name(name);
  throw_if<Error>(!module, "register_module: \"", name, "\" is a null pointer");
  module->check_not_moved();
  module->name_ = name;
  return *contents().children.emplace_back(std::move(name), std::move(module)).second;
}

static Tensor& kept(Tensors& list, std::string name, Tensor value) {
  return *list.emplace_back(std::move(name), std::make_unique<Tensor>(std::move(value))).second;
}

Tensor& Module::register_parameter(std::string name, Tensor value) {
  check_name(name);
  if (value.defined()) value.requires_grad_().impl().is_parameter = true;
  return kept(contents().parameters, std::move(name), std::move(value));
}

Tensor& Module::register_buffer(std::string name, Tensor value) {
  check_name(name);
  return kept(contents().buffers, std::move(name), std::move(value));
}

// ---- listing ------------------------------------------------------------------------------------

template <class F>
void Module::each_module(const std::string& prefix, F&& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : contents().children) {
    child->each_module(prefix.empty() ? name : prefix + "." + name, f);
  }
}

/// `once`: a tensor with several names under its first one.
StateDict Module::collected(bool parameters, bool buffers, bool once) const {
  StateDict out;
  const auto add = [&](const std::string& prefix, const Tensors& tensors) {
    for (const auto& [name, pointer] : tensors) {
      const Tensor& x = *pointer;
      const auto same = [&x](const auto& entry) { return entry.second.is(x); };
      if (!x.defined() || (once && std::any_of(out.begin(), out.end(), same))) continue;
      out.emplace_back(prefix.empty() ? name : prefix + "." + name, x);
    }
  };
  each_module("", [&](const std::string& prefix, const Module& module) {
    if (parameters) add(prefix, module.contents().parameters);
    if (buffers) add(prefix, module.contents().buffers);
  });
  return out;
}

std::vector<Tensor*> Module::slots(bool parameters) const {
  std::vector<Tensor*> out;
  each_module("", [&](const std::string&, const Module& module) {
    const Contents& all = module.contents();
    for (const auto& entry : parameters ? all.parameters : all.buffers) {
      out.push_back(entry.second.get());
    }
  });
  return out;
}

static std::vector<Tensor> without_names(const StateDict& named) {
  std::vector<Tensor> out;
  for (const auto& entry : named) out.push_back(entry.second);
  return out;
}

StateDict Module::named_parameters() const { return collected(true, false, true); }
StateDict Module::named_buffers() const { return collected(false, true, true); }
std::vector<Tensor> Module::parameters() const { return without_names(named_parameters()); }
std::vector<Tensor> Module::buffers() const { return without_names(named_buffers()); }

std::vector<std::pair<std::string, Module*>> Module::named_children() const {
  std::vector<std::pair<std::string, Module*>> out;
  for (const auto& [name, child] : contents().children) out.emplace_back(name, child.get());
  return out;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> out;
  each_module("", [&](const std::string& name, const Module& module) {
    out.emplace_back(name, const_cast<Module*>(&module));  // this is not const, so neither are they
  });
  return out;
}

// ---- changing -----------------------------------------------------------------------------------

void Module::train(bool on) {
  apply([on](Module& module) { module.training_ = on; });
}

void Module::zero_grad(ZeroGradOptions options) {
  for (const Tensor& p : parameters()) xgrad::detail::zero_grad(p, options);
}

void Module::requires_grad_(bool on) {
  for (const Tensor& p : parameters()) p.requires_grad_(on);
}

void Module::to(DType dtype) {
  throw_if<DTypeError>(!is_floating_point(dtype),
                       "to: a module's parameters are float32 or float64, not ", dtype);
  for (const auto& entry : collected(true, true, true)) {
    const Tensor& x = entry.second;
    if (!is_floating_point(x.dtype()) || x.dtype() == dtype) continue;
    const Tensor grad = x.has_grad() ? x.grad().to(dtype) : Tensor();
    x.set_grad({});
    const Tensor converted = x.detach().to(dtype);
    xgrad::detail::TensorImpl& impl = x.impl();
    converted.impl().storage->version = impl.storage->version + 1;  // graphs that saved x notice
    impl.storage = converted.impl().storage;
    impl.offset = 0;
    impl.dtype = dtype;
    if (impl.node) impl.node->dtype = dtype;
    if (grad.defined()) x.set_grad(grad);
  }
}

template <class Hooks, class Hook>
static std::uint64_t add(Hooks& hooks, Hook hook) {
  static std::atomic<std::uint64_t> last_id{0};
  return hooks.emplace_back(++last_id, std::move(hook)).first;
}

std::uint64_t Module::register_forward_hook(ForwardHook hook) {
  return add(contents().after, std::move(hook));
}
std::uint64_t Module::register_forward_pre_hook(ForwardPreHook hook) {
  return add(contents().before, std::move(hook));
}
void Module::remove_hook(std::uint64_t id) {
  const auto is_it = [id](const auto& hook) { return hook.first == id; };
  std::erase_if(contents().before, is_it);
  std::erase_if(contents().after, is_it);
}

// ---- printing -----------------------------------------------------------------------------------

std::string Module::type_name() const {
  const char* mangled = typeid(*this).name();
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : mangled;
  std::free(demangled);
  name = name.substr(0, name.find('<'));
  return name.substr(name.rfind(':') + 1);
}

std::string to_string(const Module& module) {
  const auto children = module.named_children();  // first: refuses a module that was moved from
  std::string body = module.extra_repr();
  for (const auto& [name, child] : children) {
    body += (body.empty() ? "(" : "\n(") + name + "): " + to_string(*child);
  }
  if (children.empty() && body.find('\n') == body.npos) {
    return module.type_name() + "(" + body + ")";
  }
  body.insert(0, "\n");
  for (std::size_t at = 0; at != body.npos; at = body.find('\n', at + 1)) body.insert(at + 1, "  ");
  return module.type_name() + "(" + body + "\n)";
}

std::ostream& operator<<(std::ostream& os, const Module& module) { return os << to_string(module); }

}  // namespace xgrad::nn
