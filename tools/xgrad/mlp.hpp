#pragma once

#include <string>
#include <vector>

#include "xgrad/xgrad.hpp"

namespace tool {

/// A multilayer perceptron: for each hidden size fc, norm (if any), activation; then the output
/// layer.
class Mlp : public xgrad::nn::Module {
 public:
  struct Options {
    std::vector<std::int64_t> hidden{64, 32};
    std::string norm = "layer";  // none, layer, batch
    std::string activation = "relu";
  };
  static const std::vector<std::string>& norms();
  static const std::vector<std::string>& activations();

  Mlp(std::int64_t inputs, std::int64_t classes, const Options& options);
  xgrad::Tensor forward(const xgrad::Tensor& x) override;

  /// "784-128-10".
  const std::string& layout() const { return layout_; }
  /// The normalization and activation layers, first to last; no norms for "none".
  const std::vector<xgrad::nn::Module*>& norm_layers() const { return norm_layers_; }
  const std::vector<xgrad::nn::Module*>& activation_layers() const { return activation_layers_; }

 private:
  std::string layout_;
  std::vector<xgrad::nn::Module*> layers_;  // in order; owned by the base
  std::vector<xgrad::nn::Module*> norm_layers_;
  std::vector<xgrad::nn::Module*> activation_layers_;
};

}  // namespace tool
