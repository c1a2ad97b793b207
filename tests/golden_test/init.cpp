#include "golden_test/golden.hpp"

/// The kinds about first values. Bounds and deviations are checked through the generator: the same
/// seed must give the same numbers as a plain uniform or normal draw with the expected ones.

namespace golden {

namespace nn = xg::nn;
using xg::Tensor;

namespace {

std::optional<double> maybe(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(number(json));
}

/// Both fill a tensor; they must draw the same numbers, up to rounding.
template <class F, class G>
void expect_same_draws(Case& c, const std::string& what, const xg::Shape& shape, F actual,
                       G expected) {
  Tensor a = xg::empty(shape, {.dtype = xg::float64}), b = xg::empty_like(a);
  xg::manual_seed(7);
  actual(a);
  xg::manual_seed(7);
  expected(b);
  c.expect_true(what + " draws", allclose(a, b, 1e-12, 0));
}

template <class F, class G>
void expect_init(Case& c, F uniform, G normal) {
  const double bound = number(c["uniform_bound"]), deviation = number(c["normal_std"]);
  const xg::Shape shape = shape_from(c["shape"]);
  expect_same_draws(c, "uniform", shape, uniform,
                    [&](Tensor& x) { nn::init::uniform_(x, -bound, bound); });
  expect_same_draws(c, "normal", shape, normal,
                    [&](Tensor& x) { nn::init::normal_(x, 0, deviation); });
}

void expect_all(Case& c, const std::string& what, const Tensor& x, double value) {
  for (double v : x.to_vector<double>()) c.expect(what, v, value);
}

}  // namespace

void run_calculate_gain(Case& c) {
  c.expect("gain", nn::init::calculate_gain(c["nonlinearity"], maybe(c["param"])),
           number(c["gain"]));
}

void run_fan(Case& c) {
  const nn::init::Fan fan = nn::init::calculate_fan(shape_from(c["shape"]));
  c.expect("fan_in", static_cast<double>(fan.in), number(c["fan_in"]));
  c.expect("fan_out", static_cast<double>(fan.out), number(c["fan_out"]));
}

void run_kaiming(Case& c) {
  const nn::init::KaimingOptions options{
      .a = number(c["a"]), .mode = c["mode"], .nonlinearity = c["nonlinearity"]};
  c.expect("gain", nn::init::calculate_gain(options.nonlinearity, options.a), number(c["gain"]));
  expect_init(
      c, [&](Tensor& x) { nn::init::kaiming_uniform_(x, options); },
      [&](Tensor& x) { nn::init::kaiming_normal_(x, options); });
}

void run_xavier(Case& c) {
  const double gain = number(c["gain"]);
  expect_init(
      c, [&](Tensor& x) { nn::init::xavier_uniform_(x, gain); },
      [&](Tensor& x) { nn::init::xavier_normal_(x, gain); });
}

void run_linear_default(Case& c) {
  xg::manual_seed(7);
  const nn::Linear linear(c["in_features"], c["out_features"]);
  xg::manual_seed(7);
  Tensor weight = xg::empty_like(linear.weight.detach()),
         bias = xg::empty_like(linear.bias.detach());
  const double weight_bound = number(c["weight_bound"]), bias_bound = number(c["bias_bound"]);
  nn::init::uniform_(weight, -weight_bound, weight_bound);
  nn::init::uniform_(bias, -bias_bound, bias_bound);
  c.expect_true("weight draws", allclose(linear.weight, weight, 1e-6, 0));
  c.expect_true("bias draws", allclose(linear.bias, bias, 1e-6, 0));
}

void run_embedding_default(Case& c) {
  xg::manual_seed(7);
  const nn::Embedding layer(6, 5, {.padding_idx = 2});
  xg::manual_seed(7);
  Tensor weight = xg::empty({6, 5});
  nn::init::normal_(weight, number(c["mean"]), number(c["std"]));
  weight.index_put_({2}, 0);
  c.expect_true("weight draws", allclose(layer.weight, weight, 1e-6, 0));
}

void run_norm_default(Case& c) {
  const nn::LayerNorm layer(5);
  const nn::BatchNorm1d batch(5);
  const auto affine = [&](const std::string& what, const auto& module) {
    expect_all(c, what + " weight", module.weight, number(c["weight"]));
    expect_all(c, what + " bias", module.bias, number(c["bias"]));
  };
  affine("LayerNorm", layer);
  affine("BatchNorm1d", batch);
  affine("BatchNorm2d", nn::BatchNorm2d(5));
  expect_all(c, "running_mean", batch.running_mean, number(c["running_mean"]));
  expect_all(c, "running_var", batch.running_var, number(c["running_var"]));
  expect_all(c, "num_batches_tracked", batch.num_batches_tracked, number(c["num_batches_tracked"]));
}

/// The errors of this family, "calculate_gain('swish')" and the like.
void refuse_init(const std::string& formula, const std::optional<xg::Shape>& given) {
  const std::size_t quote = formula.find('\'');
  const std::string quoted =
      quote == std::string::npos
          ? ""
          : formula.substr(quote + 1, formula.find('\'', quote + 1) - quote - 1);
  Tensor x = xg::zeros(given.value_or(xg::Shape{4, 3}));
  if (mentions(formula, "calculate_gain")) {
    nn::init::calculate_gain(quoted);
  } else if (mentions(formula, "xavier_uniform")) {
    nn::init::xavier_uniform_(x);
  } else if (mentions(formula, "xavier_normal")) {
    nn::init::xavier_normal_(x);
  } else {
    nn::init::KaimingOptions options;
    if (mentions(formula, "with mode")) options.mode = quoted;
    if (mentions(formula, "with nonlinearity")) options.nonlinearity = quoted;
    if (mentions(formula, "kaiming_uniform")) {
      nn::init::kaiming_uniform_(x, options);
    } else if (mentions(formula, "kaiming_normal")) {
      nn::init::kaiming_normal_(x, options);
    } else {
      throw Unknown{formula};
    }
  }
}

}  // namespace golden
