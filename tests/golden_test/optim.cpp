#include <cmath>
#include <map>
#include <memory>

#include "golden_test/golden.hpp"

/// Kinds "optimizer" and "scheduler".

namespace golden {

namespace optim = xg::optim;
using xg::Tensor;

namespace {

std::optional<double> maybe_number(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(number(json[key])) : std::nullopt;
}
std::optional<bool> maybe_flag(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(json[key].get<bool>()) : std::nullopt;
}

optim::SGDGroup sgd_group(std::vector<Tensor> params, const Json& own) {
  return {.params = std::move(params),
          .lr = maybe_number(own, "lr"),
          .momentum = maybe_number(own, "momentum"),
          .dampening = maybe_number(own, "dampening"),
          .weight_decay = maybe_number(own, "weight_decay"),
          .nesterov = maybe_flag(own, "nesterov"),
          .maximize = maybe_flag(own, "maximize")};
}

optim::AdamGroup adam_group(std::vector<Tensor> params, const Json& own) {
  optim::AdamGroup group{.params = std::move(params),
                         .lr = maybe_number(own, "lr"),
                         .eps = maybe_number(own, "eps"),
                         .weight_decay = maybe_number(own, "weight_decay"),
                         .amsgrad = maybe_flag(own, "amsgrad"),
                         .maximize = maybe_flag(own, "maximize")};
  if (own.contains("betas")) group.betas = {number(own["betas"][0]), number(own["betas"][1])};
  return group;
}

struct Group {
  std::vector<Tensor> params;
  Json own;  // overrides
};

/// The defaults go through the constructor's options, the overrides through the groups.
template <class Optimizer, class Options, class GroupType>
std::unique_ptr<optim::Optimizer> make(const std::vector<Group>& groups, const Options& options,
                                       GroupType (*convert)(std::vector<Tensor>, const Json&)) {
  std::vector<GroupType> list;
  for (const Group& group : groups) list.push_back(convert(group.params, group.own));
  return std::make_unique<Optimizer>(list, options);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const Json& hyper,
                                                 const std::vector<Group>& groups) {
  if (name == "SGD") {
    const optim::SGDGroup h = sgd_group({}, hyper);
    const optim::SGDOptions options{.lr = h.lr,
                                    .momentum = h.momentum.value_or(0),
                                    .dampening = h.dampening.value_or(0),
                                    .weight_decay = h.weight_decay.value_or(0),
                                    .nesterov = h.nesterov.value_or(false),
                                    .maximize = h.maximize.value_or(false)};
    return make<optim::SGD>(groups, options, sgd_group);
  }
  optim::AdamOptions options;
  const optim::AdamGroup h = adam_group({}, hyper);
  options.lr = h.lr.value_or(options.lr);
  options.betas = h.betas.value_or(options.betas);
  options.eps = h.eps.value_or(options.eps);
  options.weight_decay = h.weight_decay;
  options.amsgrad = h.amsgrad.value_or(false);
  options.maximize = h.maximize.value_or(false);
  if (name == "Adam") return make<optim::Adam>(groups, options, adam_group);
  if (name == "AdamW") return make<optim::AdamW>(groups, options, adam_group);
  throw Unknown{"optimizer " + name};
}

/// LambdaLR's factor, in words: the formulas of the files.
double lambda_factor(const std::string& formula, double warmup, int epoch) {
  if (formula == "min((epoch+1)/warmup, 1)") return std::min((epoch + 1) / warmup, 1.0);
  if (formula == "min((epoch+1)**-0.5, (epoch+1)*warmup**-1.5)") {
    return std::min(std::pow(epoch + 1, -0.5), (epoch + 1) * std::pow(warmup, -1.5));
  }
  throw Unknown{"lambda " + formula};
}

std::unique_ptr<optim::LRScheduler> make_scheduler(optim::Optimizer& optimizer,
                                                   const std::string& name, const Json& args) {
  if (name == "StepLR") {
    return std::make_unique<optim::StepLR>(
        optimizer,
        optim::StepLROptions{.step_size = args.at("step_size"), .gamma = args.value("gamma", 0.1)});
  }
  if (name == "CosineAnnealingLR") {
    return std::make_unique<optim::CosineAnnealingLR>(
        optimizer, optim::CosineAnnealingLROptions{.T_max = args.at("T_max"),
                                                   .eta_min = args.value("eta_min", 0.0)});
  }
  if (name == "LambdaLR") {
    return std::make_unique<optim::LambdaLR>(
        optimizer,
        [formula = args.at("lambda").get<std::string>(), warmup = args.value("warmup", 1.0)](
            int epoch) { return lambda_factor(formula, warmup, epoch); });
  }
  throw Unknown{"scheduler " + name};
}

/// The losses that the recorded gradients are of.
Tensor problem_loss(Case& c, const std::map<std::string, Tensor>& p) {
  const auto data = [&](const char* name) { return c.tensor(named(c["data"], name)); };
  if (c["problem"] == "quadratic") {
    const Tensor &w = p.at("w"), &b = p.at("b");
    return 0.5 * sum(data("c") * square(w - data("t"))) +
           0.5 * sum(data("d") * square(b - data("u"))) + 0.1 * sum(square(matmul(w, b)));
  }
  if (c["problem"] == "mlp") {
    const Tensor hidden = tanh(linear(data("x"), p.at("w1"), p.at("b1")));
    return mse_loss(linear(hidden, p.at("w2"), p.at("b2")), data("y"));
  }
  throw Unknown{"problem " + c["problem"].dump()};
}

bool taken_away(const Json& grad) {  // by hand: set to None or to zeros
  for (const Json& v : grad.at("values")) {
    if (number(v) != 0) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const Json& hyper,
                                                 std::vector<Tensor> params) {
  return make_optimizer(name, hyper, {Group{.params = std::move(params), .own = Json::object()}});
}

void run_optimizer(Case& c) {
  std::map<std::string, Tensor> params;
  for (const Json& json : c["params"]) params[json.at("name")] = c.tensor(json).requires_grad_();
  std::vector<Group> groups;
  for (const Json& data : c["groups"]) {
    Group group{.params = {}, .own = data};
    for (const Json& name : data.at("params")) group.params.push_back(params.at(name));
    groups.push_back(std::move(group));
  }
  const auto optimizer = make_optimizer(c["optimizer"], c["hyper"], groups);
  std::unique_ptr<optim::LRScheduler> scheduler;
  if (c.has("scheduler")) {
    const Json& s = c["scheduler"];
    scheduler = make_scheduler(*optimizer, s.at("name"), s.value("args", Json::object()));
  }
  int number_of_step = 0;
  for (const Json& step : c["steps"]) {
    const std::string at = "step " + std::to_string(++number_of_step) + " ";
    optimizer->zero_grad(true);
    const Tensor loss = problem_loss(c, params);
    c.expect(at + "loss", loss.item<double>(), number(step.at("loss")));
    loss.backward();
    for (const Json& grad : step.at("grads")) {
      const std::string name = grad.at("name");
      if (!taken_away(grad)) c.expect(at + "grad of " + name, params.at(name).grad(), grad);
      const bool none = grad.at("values").is_null();
      params.at(name).set_grad(none ? Tensor() : c.tensor(grad));
    }
    if (step.contains("lr_used")) {
      for (std::size_t g = 0; g < groups.size(); ++g) {
        c.expect(at + "lr", optimizer->lr(g), number(step["lr_used"].at(g)));
      }
    }
    optimizer->step();
    if (scheduler) scheduler->step();
    for (const Json& expected : step.at("params")) {
      const std::string name = expected.at("name");
      c.expect(at + name, params.at(name), expected);
    }
  }
}

void run_scheduler(Case& c) {
  std::vector<Group> groups;
  for (const Json& lr : c["base_lrs"]) {
    groups.push_back({.params = {xg::zeros(1, {.requires_grad = true})}, .own = {{"lr", lr}}});
  }
  const auto optimizer = make_optimizer("SGD", Json::object(), groups);
  const auto scheduler = make_scheduler(*optimizer, c["scheduler"], c["args"]);
  int epoch = 0;
  for (const Json& lrs : c["lrs"]) {
    if (epoch > 0) scheduler->step();
    for (std::size_t g = 0; g < lrs.size(); ++g) {
      const std::string at = "epoch " + std::to_string(epoch) + " group " + std::to_string(g);
      c.expect(at, optimizer->lr(g), number(lrs[g]));
      c.expect(at + " get_last_lr", scheduler->get_last_lr().at(g), number(lrs[g]));
    }
    ++epoch;
  }
}

void refuse_optimizer(const std::string& optimizer, const Json& hyper, bool no_params) {
  std::vector<Tensor> params;
  if (!no_params) params.push_back(xg::zeros(1, {.requires_grad = true}));
  make_optimizer(optimizer, hyper, {{.params = params, .own = {}}});
}

}  // namespace golden
