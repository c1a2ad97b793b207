#include "mlp.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>

namespace tool {

namespace nn = xgrad::nn;

namespace {

using Add = std::function<nn::Module&(Mlp&, const std::string& name)>;

template <class Layer>
Add layer() {
  return [](Mlp& net, const std::string& name) -> nn::Module& {
    return net.register_module(name, Layer());
  };
}

const std::map<std::string, Add>& activation_table() {
  static const std::map<std::string, Add> table = {{"relu", layer<nn::ReLU>()},
                                                   {"gelu", layer<nn::GELU>()},
                                                   {"silu", layer<nn::SiLU>()},
                                                   {"tanh", layer<nn::Tanh>()},
                                                   {"sigmoid", layer<nn::Sigmoid>()}};
  return table;
}

}  // namespace

const std::vector<std::string>& Mlp::norms() {
  static const std::vector<std::string> names = {"none", "layer", "batch"};
  return names;
}

const std::vector<std::string>& Mlp::activations() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> keys;
    for (const auto& [key, add] : activation_table()) keys.push_back(key);
    return keys;
  }();
  return names;
}

Mlp::Mlp(std::int64_t inputs, std::int64_t classes, const Options& options)
    : layout_(std::to_string(inputs)) {
  std::int64_t from = inputs;
  for (std::size_t i = 0; i < options.hidden.size(); ++i) {
    const std::string norm = fmt::format("norm{}", i + 1);
    const std::int64_t width = options.hidden[i];
    layers_.push_back(&register_module(fmt::format("fc{}", i + 1), nn::Linear(from, width)));
    if (options.norm == "layer") {
      norm_layers_.push_back(&register_module(norm, nn::LayerNorm(width)));
    } else if (options.norm == "batch") {
      norm_layers_.push_back(&register_module(norm, nn::BatchNorm1d(width)));
    }
    if (options.norm != "none") layers_.push_back(norm_layers_.back());
    activation_layers_.push_back(&activation_table().at(options.activation)(
        *this, fmt::format("{}{}", options.activation, i + 1)));
    layers_.push_back(activation_layers_.back());
    layout_ += fmt::format("-{}", width);
    from = width;
  }
  layers_.push_back(&register_module("out", nn::Linear(from, classes)));
  layout_ += fmt::format("-{}", classes);
}

xgrad::Tensor Mlp::forward(const xgrad::Tensor& x) {
  xgrad::Tensor h = x;
  for (nn::Module* layer : layers_) h = (*layer)(h);
  return h;
}

}  // namespace tool
