#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>

#include "xgrad/autograd.hpp"
#include "xgrad/state_dict.hpp"

namespace xgrad {
class LentModule;
}

namespace xgrad::nn {

class Module;

/// A module of its own type, as `register_module` and containers take it: by move.
template <class M>
concept Layer = std::derived_from<M, Module>;

/// After forward.
using ForwardHook = xgrad::detail::Function<Tensor(Module&, const Tensor& x, const Tensor& out)>;
/// Before forward.
using ForwardPreHook = xgrad::detail::Function<Tensor(Module&, const Tensor& x)>;

struct LoadOptions {
  bool strict = true;  ///< missing and unexpected names are an error
};
/// Names that did not fit, where that is no error.
struct LoadResult {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
};

/// Base of everything with parameters:
///
///   struct Mlp : xg::nn::Module {
///     xg::nn::Linear& fc1 = register_module("fc1", xg::nn::Linear(64, 32));
///     xg::nn::Linear& fc2 = register_module("fc2", xg::nn::Linear(32, 10));
///     xg::Tensor forward(const xg::Tensor& x) override { return fc2(relu(fc1(x))); }
///   };
///
/// The base owns children, parameters and buffers, each in a heap block of its own; the members
/// are references to them. So a module can be moved (returned, kept in a vector) and its members
/// stay valid, but it cannot be copied or assigned: for a copy, build another one and give it this
/// one's `state_dict()`. Give a forward with other arguments another overload, next to
/// `using Module::forward;`, and call it by name.
///
/// Names must not be empty, contain a dot or occur twice. Parameters, buffers and modules are
/// listed in the order of registration, a module's own before those of its children, under
/// PyTorch's dotted names.
class Module {
 public:
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& x);  ///< what it does, of its own; call the module instead
  /// Runs the forward pre-hooks, forward and the forward hooks. An Error that passes through names
  /// the module: `linear "encoder.fc1": ...`.
  Tensor operator()(const Tensor& x);

  /// Takes over a module built for it.
  template <Layer M>
  M& register_module(std::string name, M&& module) {
    static_assert(!std::same_as<M, Module>, "register a layer by its own type: this would slice");
    check_not_sliced(typeid(module), typeid(M));
    auto owned = std::make_unique<M>(std::move(module));
    M& child = *owned;
    register_module(std::move(name), std::unique_ptr<Module>(std::move(owned)));
    return child;
  }
  Module& register_module(std::string name, std::unique_ptr<Module> module);
  /// A floating point leaf, or an undefined tensor for a parameter that this module goes without.
  /// Registering a parameter of another module ties them: one tensor, listed once.
  Tensor& register_parameter(std::string name, Tensor value);
  /// A tensor that is saved but not trained. May be undefined.
  Tensor& register_buffer(std::string name, Tensor value);

  /// Sets the mode here and below, and nothing else.
  void train(bool on = true);
  void eval() { train(false); }                   ///< the other mode
  bool is_training() const { return training_; }  ///< the mode

  std::vector<Tensor> parameters() const;  ///< here and below, each once
  StateDict named_parameters() const;      ///< "fc1.weight" ...
  std::vector<Tensor> buffers() const;     ///< here and below
  StateDict named_buffers() const;         ///< "norm.running_mean" ...
  std::vector<std::pair<std::string, Module*>> named_children() const;  ///< those registered here
  /// This module, named "", and all below.
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// Calls f on every module, children first.
  template <class F>
  void apply(F&& f) {
    for (std::int64_t i = 0; i < child_count(); ++i) child(i).apply(f);
    f(*this);
  }

  /// Takes the gradients away, or fills them with zeros.
  void zero_grad(ZeroGradOptions options = {.set_to_none = true});
  /// Freezes (false) or frees all parameters.
  void requires_grad_(bool on = true);
  /// Converts floating point parameters, their gradients and buffers, in place: whoever holds them
  /// sees the new type.
  void to(DType dtype);

  /// Parameters and buffers, sharing memory.
  StateDict state_dict() const;
  /// Copies values into the existing tensors. Throws one Error for all missing, unexpected and
  /// misshapen names (the last also without `strict`), and then changes nothing.
  LoadResult load_state_dict(const StateDict& state, LoadOptions options = {});

  /// `hook(module, input, output)` runs after forward; what it returns, if anything, replaces the
  /// output. The result is for `remove_hook`.
  std::uint64_t register_forward_hook(ForwardHook hook);
  /// `hook(module, input)` runs before forward and may return another input.
  std::uint64_t register_forward_pre_hook(ForwardPreHook hook);
  void remove_hook(std::uint64_t id);  ///< of either kind

  /// What stands between the parentheses in PyTorch's print of the module.
  virtual std::string extra_repr() const { return ""; }
  /// The name of the class, and the one its parent knows it by (empty: none).
  std::string type_name() const;
  const std::string& name() const { return name_; }  ///< in the parent

 protected:
  Module();
  Module(Module&&) noexcept;
  /// Throws Error for a module whose contents another one has taken over.
  void check_not_moved() const;
  std::int64_t child_count() const;     ///< of modules registered here
  Module& child(std::int64_t i) const;  ///< no check of i

 private:
  struct Contents;  // children, parameters, buffers, hooks
  Contents& contents() const;

  static void check_not_sliced(const std::type_info& object, const std::type_info& type);
  void check_name(const std::string& name) const;
  template <class F>
  void each_module(const std::string& prefix, F&& f) const;
  StateDict collected(bool parameters, bool buffers, bool once) const;
  friend class xgrad::LentModule;
  std::vector<Tensor*> slots(bool parameters) const;  // where they are kept, here and below

  std::string name_;
  bool training_ = true;
  Contents* contents_;  // owned; null once moved from
};

/// PyTorch's tree of modules.
std::string to_string(const Module& module);
std::ostream& operator<<(std::ostream& os, const Module& module);  ///< the same text

}  // namespace xgrad::nn
