#include "xgrad/gradcheck.hpp"

#include <algorithm>

#include "xgrad/nn/module.hpp"

namespace xgrad {

/// Lends a module other tensors. Its own are never touched, only taken out and put back.
class LentModule {
 public:
  explicit LentModule(nn::Module& module) : modules_(module.named_modules()) {
    for (bool parameters : {true, false}) {
      for (Tensor* slot : module.slots(parameters)) {
        if (slot->defined()) places_.push_back({slot, *slot, parameters});
      }
    }
    for (const auto& entry : modules_) training_.push_back(entry.second->is_training());
  }
  ~LentModule() {
    for (const Place& place : places_) *place.slot = place.own;
    for (std::size_t i = 0; i < modules_.size(); ++i) modules_[i].second->train(training_[i]);
  }
  LentModule(const LentModule&) = delete;
  LentModule& operator=(const LentModule&) = delete;

  /// Until the next call: these in the places of `parameters`, and copies of the buffers.
  void lend(const std::vector<Tensor>& parameters, std::span<const Tensor> instead) {
    for (const Place& place : places_) {
      if (place.parameter) {
        const auto same = [&](const Tensor& p) { return p.is(place.own); };
        const auto at = std::find_if(parameters.begin(), parameters.end(), same);
        *place.slot = instead[static_cast<std::size_t>(at - parameters.begin())];
      } else {
        *place.slot = wide(place.own).clone();
      }
    }
  }
  static Tensor wide(const Tensor& x) {
    return is_floating_point(x.dtype()) ? x.detach().to(float64) : x.detach();
  }

 private:
  struct Place {
    Tensor* slot;
    Tensor own;
    bool parameter;
  };
  std::vector<Place> places_{};
  std::vector<std::pair<std::string, nn::Module*>> modules_;  // each before those below it
  std::vector<bool> training_{};
};

namespace {

using Run = GradcheckReport(const CheckedFunction&, const std::vector<Tensor>&,
                            const GradcheckOptions&);

GradcheckReport check_module(Run run, nn::Module& module, const CheckedFunction& forward,
                             std::vector<Tensor> inputs, GradcheckOptions options) {
  const std::size_t n = inputs.size();
  for (std::size_t i = options.names.size(); i < n; ++i) {
    options.names.push_back(n == 1 ? "input" : "input " + std::to_string(i));
  }
  std::vector<Tensor> parameters;
  for (const auto& [name, p] : module.named_parameters()) {
    options.names.push_back(name);
    parameters.push_back(p);
    inputs.push_back(LentModule::wide(p).clone().requires_grad_(p.requires_grad()));
  }
  LentModule lent(module);
  const auto f = [&](const std::vector<Tensor>& all) {
    lent.lend(parameters, std::span(all).subspan(n));
    return forward({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)});
  };
  return run(f, inputs, options);
}

CheckedFunction call(nn::Module& module) {
  return [&module](const Tensor& x) { return module(x); };
}

}  // namespace

GradcheckReport gradcheck(nn::Module& module, const CheckedFunction& forward,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  return check_module(gradcheck, module, forward, inputs, options);
}
GradcheckReport gradcheck(nn::Module& module, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  return gradcheck(module, call(module), inputs, options);
}
GradcheckReport gradgradcheck(nn::Module& module, const CheckedFunction& forward,
                              const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  return check_module(gradgradcheck, module, forward, inputs, options);
}
GradcheckReport gradgradcheck(nn::Module& module, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options) {
  return gradgradcheck(module, call(module), inputs, options);
}

}  // namespace xgrad
