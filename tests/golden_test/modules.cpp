#include <memory>

#include "golden_test/golden.hpp"

/// Kinds "batch_norm_sequence", "training" and "state": modules over several steps.

namespace golden {

namespace nn = xg::nn;
using xg::Tensor;

namespace {

const Tensor& tensor_of(const xg::StateDict& state, const std::string& name) {
  for (const auto& [key, tensor] : state) {
    if (key == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

nn::BatchNormOptions batch_norm_options(const Json& attrs) {
  nn::BatchNormOptions options{.eps = number(attrs.at("eps")), .momentum = std::nullopt};
  if (!attrs.at("momentum").is_null()) options.momentum = number(attrs["momentum"]);
  options.affine = attrs.value("affine", true);
  options.track_running_stats = attrs.value("track_running_stats", true);
  return options;
}

std::unique_ptr<nn::BatchNorm> batch_norm(const Json& attrs) {
  const std::int64_t features = attrs.at("num_features");
  switch (attrs.at("nd").get<int>()) {
    case 1: return std::make_unique<nn::BatchNorm1d>(features, batch_norm_options(attrs));
    case 2: return std::make_unique<nn::BatchNorm2d>(features, batch_norm_options(attrs));
    default: throw Unknown{"BatchNorm" + attrs["nd"].dump() + "d"};
  }
}

void expect_running(Case& c, const std::string& at, const nn::BatchNorm& bn, const Json& expected) {
  if (expected.at("running_mean").is_null()) {
    c.expect_true(at + "no running statistics", !bn.running_mean.defined());
    return;
  }
  c.expect(at + "running_mean", bn.running_mean, expected["running_mean"]);
  c.expect(at + "running_var", bn.running_var, expected["running_var"]);
  c.expect(at + "num_batches_tracked", bn.num_batches_tracked.item<double>(),
           number(expected["num_batches_tracked"]));
}

}  // namespace

void run_batch_norm_sequence(Case& c) {
  const auto bn = batch_norm(c["attrs"]);
  bn->to(c.dtype());
  {
    const xg::NoGrad no_grad;
    for (const Json& input : c["inputs"]) {
      (input.at("name") == "weight" ? bn->weight : bn->bias).copy_(c.tensor(input));
    }
    if (!c["initial"].at("running_mean").is_null()) {
      bn->running_mean.copy_(c.tensor(c["initial"]["running_mean"]));
      bn->running_var.copy_(c.tensor(c["initial"]["running_var"]));
      bn->num_batches_tracked.fill_(c["initial"]["num_batches_tracked"].get<std::int64_t>());
    }
  }
  int count = 0;
  for (const Json& step : c["steps"]) {
    const std::string at = "step " + std::to_string(++count) + " ";
    bn->train(step.at("mode") == "train");
    const Tensor x = c.tensor(step.at("x")).requires_grad_();
    if (step.contains("raises")) {
      c.expect_raises([&] { (*bn)(x); });
    } else {
      const Tensor out = (*bn)(x);
      c.expect(at + "output", out, step.at("output"));
      bn->zero_grad();
      out.backward(c.tensor(step.at("grad_output")));
      for (const Json& grad : step.at("grads")) {
        const std::string name = grad.at("input");
        const Tensor& of = name == "x" ? x : name == "weight" ? bn->weight : bn->bias;
        c.expect(at + "grad of " + name, of.grad(), grad);
      }
    }
    expect_running(c, at, *bn, step);
  }
}

// ---- training -----------------------------------------------------------------------------------

namespace {

/// "linear(fc1)", "layer_norm(norm)", "relu" ... one after the other.
struct Net : nn::Module {
  explicit Net(Case& c) {
    const Json& sizes = c["sizes"];
    const double eps = c.has("norm_eps") ? number(c["norm_eps"]) : 1e-5;
    bool first = true;
    for (const std::string layer : c["model"]) {
      const std::size_t open = std::min(layer.find('('), layer.size());
      const std::string kind = layer.substr(0, open);
      std::unique_ptr<nn::Module> module;
      if (kind == "linear") {
        module = std::make_unique<nn::Linear>(sizes.at(first ? "in" : "hidden"),
                                              sizes.at(first ? "hidden" : "out"));
        first = false;
      } else if (kind == "layer_norm") {
        module = std::make_unique<nn::LayerNorm>(sizes.at("hidden").get<std::int64_t>(),
                                                 nn::LayerNormOptions{.eps = eps});
      } else if (kind == "batch_norm") {
        const Json attrs = {{"eps", eps}, {"momentum", c["bn_momentum"]}};
        module = std::make_unique<nn::BatchNorm1d>(sizes.at("hidden"), batch_norm_options(attrs));
      } else if (kind == "relu") {
        module = std::make_unique<nn::ReLU>();
      } else {
        throw Unknown{"layer " + layer};
      }
      const std::string name =
          open < layer.size() ? layer.substr(open + 1, layer.size() - open - 2) : kind;
      layers.push_back(&register_module(name, std::move(module)));
    }
    to(c.dtype());
  }
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    for (nn::Module* layer : layers) y = (*layer)(y);
    return y;
  }
  std::vector<nn::Module*> layers;
};

Tensor loss_of(const std::string& name, const Tensor& output, const Tensor& y) {
  if (name == "mse_loss") return mse_loss(output, y);
  if (name == "cross_entropy") return cross_entropy(output, y);
  throw Unknown{"loss " + name};
}

void load_initial(Case& c, nn::Module& net) {
  xg::StateDict initial;
  for (const Json& json : c["initial"]) initial.emplace_back(json.at("name"), c.tensor(json));
  const nn::LoadResult result = net.load_state_dict(initial, {.strict = false});
  c.expect_true("every initial weight has a parameter", result.unexpected.empty());
  for (const std::string& name : result.missing) {
    c.expect_true(name + " is a buffer", mentions(name, "running_") || mentions(name, "num_"));
  }
}

}  // namespace

void run_training(Case& c) {
  Net net(c);
  load_initial(c, net);
  const Tensor x = c.tensor(c["x"]), y = c.tensor(c["y"]);
  const std::int64_t rows = x.size(0), batch = c["batch_size"];
  const std::string loss_name = c["loss"];

  net.eval();
  const Json& before = c["eval_output_before"];
  c.expect("eval_output_before", net(x.narrow(0, 0, before.at("shape").at(0))), before);

  net.train();
  const auto optimizer = make_optimizer(c["optimizer"], c["hyper"], net.parameters());
  const Json& losses = c["losses"];
  for (std::size_t k = 0; k < losses.size(); ++k) {
    const std::int64_t start = static_cast<std::int64_t>(k) * batch % rows;
    optimizer->zero_grad({.set_to_none = true});
    const Tensor loss =
        loss_of(loss_name, net(x.narrow(0, start, batch)), y.narrow(0, start, batch));
    loss.backward();
    c.expect("loss of step " + std::to_string(k), loss.item<double>(), number(losses[k]));
    if (k == 0) {
      for (const Json& grad : c["first_grads"]) {
        const std::string name = grad.at("name");
        c.expect("first grad of " + name, tensor_of(net.named_parameters(), name).grad(), grad);
      }
    }
    optimizer->step();
  }
  const xg::StateDict state = net.state_dict();
  for (const Json& json : c["final"]) {
    const std::string name = json.at("name");
    c.expect("final " + name, tensor_of(state, name), json);
  }
  if (c.has("running_mean")) {
    c.expect("running_mean", tensor_of(state, "norm.running_mean"), c["running_mean"]);
    c.expect("running_var", tensor_of(state, "norm.running_var"), c["running_var"]);
    c.expect("num_batches_tracked", tensor_of(state, "norm.num_batches_tracked").item<double>(),
             number(c["num_batches_tracked"]));
  }
  net.eval();
  const Tensor output = net(x);
  c.expect("eval_output", output, c["eval_output"]);
  c.expect("eval_loss", loss_of(loss_name, output, y).item<double>(), number(c["eval_loss"]));
  if (c.has("train_output")) {
    net.train();
    c.expect("train_output", net(x), c["train_output"]);
  }
}

// ---- state --------------------------------------------------------------------------------------

namespace {

/// "eps" of "eps=1e-05, momentum=0.1"; the fallback where it is not there.
std::string argument(const std::string& text, const std::string& key, const std::string& fallback) {
  const std::size_t at = text.find(key + "=");
  if (at == std::string::npos) return fallback;
  const std::size_t start = at + key.size() + 1;
  return text.substr(start, text.find_first_of(",)", start) - start);
}
double number_argument(const std::string& text, const std::string& key) {
  return std::stod(argument(text, key, "nan"));
}

/// One line of PyTorch's print of a Sequential: "(0): Linear(in_features=7, out_features=12, ...)".
std::unique_ptr<nn::Module> module_from(const std::string& line) {
  const std::size_t start = line.find(": ") + 2;
  const std::string type = line.substr(start, line.find('(', start) - start);
  const std::string arguments = line.substr(start + type.size());
  const auto flag = [&](const char* key) { return argument(arguments, key, "True") == "True"; };
  if (type == "Linear") {
    return std::make_unique<nn::Linear>(
        static_cast<std::int64_t>(number_argument(arguments, "in_features")),
        static_cast<std::int64_t>(number_argument(arguments, "out_features")),
        nn::LinearOptions{.bias = flag("bias")});
  }
  if (type == "LayerNorm") {
    xg::Shape shape;
    for (double n : numbers_in(arguments.substr(0, arguments.find(')')))) {
      shape.push_back(static_cast<std::int64_t>(n));
    }
    return std::make_unique<nn::LayerNorm>(
        shape, nn::LayerNormOptions{.eps = number_argument(arguments, "eps"),
                                    .elementwise_affine = flag("elementwise_affine")});
  }
  if (type == "BatchNorm1d" || type == "BatchNorm2d") {
    const std::string momentum = argument(arguments, "momentum", "None");
    const Json attrs = {{"nd", type[9] - '0'},
                        {"num_features", static_cast<std::int64_t>(numbers_in(arguments).at(0))},
                        {"eps", number_argument(arguments, "eps")},
                        {"momentum", momentum == "None" ? Json() : Json(std::stod(momentum))},
                        {"affine", flag("affine")},
                        {"track_running_stats", flag("track_running_stats")}};
    return batch_norm(attrs);
  }
  if (type == "ReLU") return std::make_unique<nn::ReLU>();
  if (type == "Tanh") return std::make_unique<nn::Tanh>();
  if (type == "Sigmoid") return std::make_unique<nn::Sigmoid>();
  if (type == "SiLU") return std::make_unique<nn::SiLU>();
  if (type == "GELU") {
    const bool tanh = mentions(argument(arguments, "approximate", "'none'"), "tanh");
    return std::make_unique<nn::GELU>(xg::GeluOptions{.approximate = tanh ? "tanh" : "none"});
  }
  throw Unknown{"module " + type};
}

}  // namespace

void run_state(Case& c) {
  const std::string model = c["model"];
  nn::Sequential net;
  for (std::size_t at = model.find("\n  ("); at != std::string::npos;
       at = model.find("\n  (", at + 1)) {
    net.push_back(module_from(model.substr(at + 1, model.find('\n', at + 1) - at - 1)));
  }
  c.expect_text("model", to_string(net), model);
  net.load_state_dict(xg::load_safetensors(c.folder() / c["file"].get<std::string>()));
  const xg::StateDict state = net.state_dict();
  for (std::size_t i = 0; i < c["keys"].size(); ++i) {
    c.expect_text("key", i < state.size() ? state[i].first : "", c["keys"][i]);
  }
  const auto to_1e_6 = [](Json expected) {
    expected.update({{"rtol", 0}, {"atol", 1e-6}});
    return expected;
  };
  net.eval();
  c.expect("y_eval", net(c.tensor(c["x"])), to_1e_6(c["y_eval"]));
  net.train();
  c.expect("y_train", net(c.tensor(c["x"])), to_1e_6(c["y_train"]));
  for (const auto& [name, expected] : c["buffers_after_train_forward"].items()) {
    const Tensor& got = tensor_of(state, name);
    Json typed = expected;
    if (!typed.contains("dtype")) typed["dtype"] = xg::name(got.dtype());
    c.expect(name, got, typed);
  }
}

}  // namespace golden
