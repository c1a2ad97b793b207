#include "golden_test/golden.hpp"

/// Kinds "lesson_...": worked examples, the numbers and the text they print as.

namespace golden {

namespace nn = xg::nn;
using xg::Tensor;

namespace {

Tensor variance(const Tensor& x, bool unbiased) {
  return var(x, {.dim = -1, .unbiased = unbiased, .keepdim = true});
}
Tensor normalized(const Tensor& x, bool unbiased, double eps) {
  return (x - mean(x, -1, true)) / sqrt(variance(x, unbiased) + eps);
}

/// The golden values themselves, printed.
void expect_printed(Case& c, const std::string& what, const Json& tensor, const Json& holder,
                    const char* key, const Json& options) {
  if (!holder.contains(key)) return;
  const xg::ScopedPrintOptions scope(print_changes(options));
  c.expect_text(what + " " + key, to_string(c.tensor(tensor)), holder[key]);
}

void flatten_into(const Json& json, std::vector<double>& numbers) {
  if (!json.is_array()) return numbers.push_back(number(json));
  for (const Json& entry : json) flatten_into(entry, numbers);
}

/// A copy of the module's answer in the other mode.
Tensor in_eval(nn::Module& module, const Tensor& x) {
  module.eval();
  return module(x);
}

}  // namespace

void run_lesson_layernorm(Case& c) {
  const Tensor x = c.tensor(c["x"]);
  const double eps = number(c["eps"]);
  nn::LayerNorm norm(x.shape().back(), {.eps = eps});
  norm.to(c.dtype());
  const Tensor out = norm(x).detach();
  c.expect("output", out, c["output"]);
  c.expect("mean", mean(x, -1, true), c["mean"]);
  c.expect("var_biased", variance(x, false), c["var_biased"]);
  c.expect("var_unbiased", variance(x, true), c["var_unbiased"]);
  c.expect("by_hand", normalized(x, false, eps), c["by_hand"]);
  c.expect_true("eval equals train",
                equal(in_eval(norm, x).detach(), out) == c["eval_equals_train"]);

  const Json none = Json::object();
  expect_printed(c, "output", c["output"], c.json(), "printed", none);
  expect_printed(c, "output", c["output"], c.json(), "printed_no_sci", {{"sci_mode", false}});
  if (!c.has("rounded4")) return;
  std::vector<double> rounded, expected;
  flatten_into(Json::parse(to_string(c.tensor(c["output"]).tolist().round(4))), rounded);
  flatten_into(c["rounded4"], expected);
  c.expect_true("rounded4", rounded == expected);
}

void run_lesson_linear_relu(Case& c) {
  const Tensor x = c.tensor(c["x"]);
  const Tensor weight = c.tensor(c["weight"]), bias = c.tensor(c["bias"]);
  nn::Sequential net(nn::Linear(weight.size(1), weight.size(0)), nn::ReLU());
  net.to(c.dtype());
  net.load_state_dict({{"0.weight", weight}, {"0.bias", bias}});
  const Tensor out = net(x).detach();
  const Tensor no_eps = normalized(out, false, 0), unbiased_no_eps = normalized(out, true, 0);
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"out", out},
      {"mean", mean(out, -1, true)},
      {"var_biased", variance(out, false)},
      {"var_unbiased", variance(out, true)},
      {"normalized_no_eps", no_eps},
      {"normalized_eps", normalized(out, false, 1e-5)},
      {"normalized_unbiased_no_eps", unbiased_no_eps},
      {"mean_of_normalized", mean(no_eps, -1, true)},
      {"var_of_normalized", variance(no_eps, false)},
      {"var_unbiased_of_normalized_unbiased", variance(unbiased_no_eps, true)},
  };
  const Json none = Json::object();
  const Json options = c.has("print_options") ? c["print_options"] : none;
  expect_printed(c, "x", c["x"], c["x"], "printed", options);
  for (const Json& expected : c["tensors"]) {
    const std::string name = expected.at("name");
    bool known = false;
    for (const auto& [key, tensor] : tensors) {
      if (key != name) continue;
      c.expect(name, tensor, expected);
      known = true;
    }
    if (!known) throw Unknown{"tensor " + name};
    expect_printed(c, name, expected, expected, "printed", options);
    expect_printed(c, name, expected, expected, "printed_default", none);
  }
  const std::vector<std::pair<std::string, Tensor>> reduced = {
      {"mean_keepdim", mean(out, -1, true)},
      {"mean_no_keepdim", mean(out, -1)},
      {"mean_dim0", mean(out, 0)},
      {"mean_dim0_keepdim", mean(out, 0, true)},
      {"mean_all", mean(out)},
  };
  for (const auto& [name, tensor] : reduced) {
    if (!c["shapes"].contains(name)) continue;
    c.expect_true("shape of " + name, tensor.shape() == shape_from(c["shapes"][name]));
  }
}

void run_lesson_square(Case& c) {
  const Tensor x = c.tensor(c["x"]);
  c.expect("x_minus_mean_keepdim", x - mean(x, -1, true), c["x_minus_mean_keepdim"]);
  c.expect("x_minus_mean_no_keepdim", x - mean(x, -1), c["x_minus_mean_no_keepdim"]);
}

void run_lesson_bn_ln(Case& c) {
  const Tensor x = c.tensor(c["x"]);
  nn::BatchNorm1d batch(x.size(1));
  nn::LayerNorm layer(x.size(1));
  batch.to(c.dtype());
  layer.to(c.dtype());
  c.expect("batchnorm_train", batch(x), c["batchnorm_train"]);
  c.expect("running_mean", batch.running_mean, c["running_mean"]);
  c.expect("running_var", batch.running_var, c["running_var"]);
  c.expect("batchnorm_eval", in_eval(batch, x), c["batchnorm_eval"]);
  c.expect("layernorm", layer(x), c["layernorm"]);
  c.expect("layernorm_first_row_alone", layer(x.narrow(0, 0, 1)), c["layernorm_first_row_alone"]);
}

}  // namespace golden
