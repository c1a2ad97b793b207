#pragma once

#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

/// Modules named "0", "1", ... in order: `ModuleList(Linear(5, 6), ReLU())`. Has no forward: go
/// through it with `for (Module& layer : layers) x = layer(x);`.
class ModuleList : public Module {
 public:
  template <Layer... M>
  explicit ModuleList(M&&... modules) {
    (push_back(std::move(modules)), ...);
  }

  template <Layer M>
  /// At the end; the reference stays valid.
  M& push_back(M&& module) {
    return register_module(std::to_string(size()), std::move(module));
  }
  /// The same, of any type.
  Module& push_back(std::unique_ptr<Module> module) {
    return register_module(std::to_string(size()), std::move(module));
  }

  std::int64_t size() const { return child_count(); }  ///< how many
  /// Negative counts from the end. Throws IndexError.
  Module& operator[](std::int64_t i) const;
  /// The same by its own type, `net.at<Linear>(0).weight`. Throws Error if it has another.
  template <Layer M>
  M& at(std::int64_t i) const {
    M* module = dynamic_cast<M*>(&(*this)[i]);
    if (!module) throw_other_type(i);
    return *module;
  }

  /// Goes through the modules.
  struct Iterator {
    const ModuleList* list;
    std::int64_t i;
    Module& operator*() const { return list->child(i); }
    Iterator& operator++() { return ++i, *this; }
    bool operator==(const Iterator&) const = default;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  [[noreturn]] void throw_other_type(std::int64_t i) const;
};

/// Runs its modules one after the other: `Sequential(Linear(5, 6), ReLU())`.
class Sequential : public ModuleList {
 public:
  template <Layer... M>
  explicit Sequential(M&&... modules) : ModuleList(std::move(modules)...) {}
  Tensor forward(const Tensor& x) override;
};

}  // namespace xgrad::nn
