#include <cmath>
#include <map>
#include <memory>

#include "golden_test/golden.hpp"

/// Kinds "optimizer", "scheduler", "clip_grad_norm" and "clip_grad_value".

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

optim::RMSpropGroup rmsprop_group(std::vector<Tensor> params, const Json& own) {
  return {.params = std::move(params),
          .lr = maybe_number(own, "lr"),
          .alpha = maybe_number(own, "alpha"),
          .eps = maybe_number(own, "eps"),
          .weight_decay = maybe_number(own, "weight_decay"),
          .momentum = maybe_number(own, "momentum"),
          .centered = maybe_flag(own, "centered"),
          .maximize = maybe_flag(own, "maximize")};
}

optim::AdagradGroup adagrad_group(std::vector<Tensor> params, const Json& own) {
  return {.params = std::move(params),
          .lr = maybe_number(own, "lr"),
          .lr_decay = maybe_number(own, "lr_decay"),
          .weight_decay = maybe_number(own, "weight_decay"),
          .initial_accumulator_value = maybe_number(own, "initial_accumulator_value"),
          .eps = maybe_number(own, "eps"),
          .maximize = maybe_flag(own, "maximize")};
}

struct Group {
  std::vector<Tensor> params;
  Json own;  // overrides
};

/// The defaults go through the groups like the overrides, so that what neither names is xgrad's.
template <class Optimizer, class GroupType>
std::unique_ptr<optim::Optimizer> make(const Json& hyper, const std::vector<Group>& groups,
                                       GroupType (*convert)(std::vector<Tensor>, const Json&)) {
  std::vector<GroupType> list;
  for (const Group& group : groups) {
    Json own = hyper.is_object() ? hyper : Json::object();
    if (group.own.is_object()) own.update(group.own);
    list.push_back(convert(group.params, own));
  }
  return std::make_unique<Optimizer>(list);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const Json& hyper,
                                                 const std::vector<Group>& groups) {
  if (name == "SGD") return make<optim::SGD>(hyper, groups, sgd_group);
  if (name == "Adam") return make<optim::Adam>(hyper, groups, adam_group);
  if (name == "AdamW") return make<optim::AdamW>(hyper, groups, adam_group);
  if (name == "RMSprop") return make<optim::RMSprop>(hyper, groups, rmsprop_group);
  if (name == "Adagrad") return make<optim::Adagrad>(hyper, groups, adagrad_group);
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

/// args[key] into the option, where it is given.
template <class T>
void take(const Json& args, const char* key, T& option) {
  if (args.contains(key) && !args[key].is_null()) option = args[key].get<T>();
}
void take(const Json& args, const char* key, std::optional<std::int64_t>& option) {
  if (args.contains(key) && !args[key].is_null()) option = args[key].get<std::int64_t>();
}
void take(const Json& args, const char* key, optim::PerGroup& option) {
  if (!args.contains(key)) return;
  option = args[key].is_array() ? optim::PerGroup(args[key].get<std::vector<double>>())
                                : optim::PerGroup(args[key].get<double>());
}

/// A scheduler and, for SequentialLR, its parts.
using Schedulers = std::vector<std::unique_ptr<optim::LRScheduler>>;

template <class Options, class... Take>
void add(Schedulers& list, optim::Optimizer& optimizer, Options options, Take... takes) {
  (takes(options), ...);
  list.push_back(std::make_unique<optim::ScheduleOf<Options>>(optimizer, options));
}

/// Appends the scheduler, after its parts.
void make_scheduler(Schedulers& list, optim::Optimizer& optimizer, const std::string& name,
                    const Json& args) {
  const auto from = [&](const char* key, auto member) {
    return [&args, key, member](auto& options) { take(args, key, options.*member); };
  };
  if (name == "StepLR") {
    using O = optim::StepLROptions;
    return add(list, optimizer, O(), from("step_size", &O::step_size), from("gamma", &O::gamma));
  }
  if (name == "MultiStepLR") {
    using O = optim::MultiStepLROptions;
    return add(list, optimizer, O(), from("milestones", &O::milestones), from("gamma", &O::gamma));
  }
  if (name == "ExponentialLR") {
    using O = optim::ExponentialLROptions;
    return add(list, optimizer, O(), from("gamma", &O::gamma));
  }
  if (name == "ConstantLR") {
    using O = optim::ConstantLROptions;
    return add(list, optimizer, O(), from("factor", &O::factor),
               from("total_iters", &O::total_iters));
  }
  if (name == "LinearLR") {
    using O = optim::LinearLROptions;
    return add(list, optimizer, O(), from("start_factor", &O::start_factor),
               from("end_factor", &O::end_factor), from("total_iters", &O::total_iters));
  }
  if (name == "PolynomialLR") {
    using O = optim::PolynomialLROptions;
    return add(list, optimizer, O(), from("total_iters", &O::total_iters),
               from("power", &O::power));
  }
  if (name == "CosineAnnealingLR") {
    using O = optim::CosineAnnealingLROptions;
    return add(list, optimizer, O(), from("T_max", &O::T_max), from("eta_min", &O::eta_min));
  }
  if (name == "CosineAnnealingWarmRestarts") {
    using O = optim::CosineAnnealingWarmRestartsOptions;
    return add(list, optimizer, O(), from("T_0", &O::T_0), from("T_mult", &O::T_mult),
               from("eta_min", &O::eta_min));
  }
  if (name == "OneCycleLR") {
    using O = optim::OneCycleLROptions;
    return add(
        list, optimizer, O(), from("max_lr", &O::max_lr), from("total_steps", &O::total_steps),
        from("epochs", &O::epochs), from("steps_per_epoch", &O::steps_per_epoch),
        from("pct_start", &O::pct_start), from("anneal_strategy", &O::anneal_strategy),
        from("cycle_momentum", &O::cycle_momentum), from("base_momentum", &O::base_momentum),
        from("max_momentum", &O::max_momentum), from("div_factor", &O::div_factor),
        from("final_div_factor", &O::final_div_factor), from("three_phase", &O::three_phase));
  }
  if (name == "LambdaLR") {
    list.push_back(std::make_unique<optim::LambdaLR>(
        optimizer,
        [formula = args.at("lambda").get<std::string>(), warmup = args.value("warmup", 1.0)](
            int epoch) { return lambda_factor(formula, warmup, epoch); }));
    return;
  }
  if (name == "SequentialLR") {
    optim::SequentialLROptions options{.milestones = args.at("milestones")};
    for (const Json& part : args.at("parts")) {
      make_scheduler(list, optimizer, part.at("name"), part.value("args", Json::object()));
      options.schedulers.push_back(list.back().get());
    }
    list.push_back(std::make_unique<optim::SequentialLR>(optimizer, options));
    return;
  }
  if (name == "ReduceLROnPlateau") {
    optim::ReduceLROnPlateauOptions o;
    take(args, "mode", o.mode);
    take(args, "factor", o.factor);
    take(args, "patience", o.patience);
    take(args, "threshold", o.threshold);
    take(args, "threshold_mode", o.threshold_mode);
    take(args, "cooldown", o.cooldown);
    take(args, "min_lr", o.min_lr);
    take(args, "eps", o.eps);
    list.push_back(std::make_unique<optim::ReduceLROnPlateau>(optimizer, o));
    return;
  }
  throw Unknown{"scheduler " + name};
}

/// metrics[k], where the case has them, is fed to the next step.
void step(optim::LRScheduler& scheduler, Case& c, std::size_t k) {
  if (auto* plateau = dynamic_cast<optim::ReduceLROnPlateau*>(&scheduler)) {
    plateau->step(number(c["metrics"].at(k)));
  } else {
    scheduler.step();
  }
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
  Schedulers schedulers;
  if (c.has("scheduler")) {
    const Json& s = c["scheduler"];
    make_scheduler(schedulers, *optimizer, s.at("name"), s.value("args", Json::object()));
  }
  int number_of_step = 0;
  for (const Json& step : c["steps"]) {
    const std::string at = "step " + std::to_string(++number_of_step) + " ";
    optimizer->zero_grad({.set_to_none = true});
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
    if (!schedulers.empty()) schedulers.back()->step();
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
  Json hyper = Json::object();
  if (c.has("momentum")) hyper["momentum"] = c["momentum"];
  const auto optimizer = make_optimizer("SGD", hyper, groups);
  Schedulers schedulers;
  make_scheduler(schedulers, *optimizer, c["scheduler"], c["args"]);
  const optim::LRScheduler& scheduler = *schedulers.back();
  std::size_t epoch = 0;
  for (const Json& lrs : c["lrs"]) {
    if (epoch > 0) step(*schedulers.back(), c, epoch - 1);
    const std::string at = "epoch " + std::to_string(epoch) + " ";
    for (std::size_t g = 0; g < lrs.size(); ++g) {
      const std::string of = at + "group " + std::to_string(g);
      c.expect(of, optimizer->lr(g), number(lrs[g]));
      c.expect(of + " get_last_lr", scheduler.get_last_lr().at(g), number(lrs[g]));
    }
    if (c.has("momentums")) {
      c.expect(at + "momentum", optimizer->momentum().value(), number(c["momentums"].at(epoch)));
    }
    ++epoch;
  }
}

namespace {

/// Parameters with the gradients of the case, null for none; `clip` runs and they are compared.
template <class F>
void run_clip(Case& c, F clip) {
  std::vector<Tensor> params;
  for (const Json& json : c["grads_before"]) {
    const Tensor grad = json.is_null() ? xg::ones(2, {.dtype = c.dtype()}) : c.tensor(json);
    params.push_back(zeros_like(grad).requires_grad_());
    if (!json.is_null()) params.back().set_grad(grad);
  }
  if (c.has("raises")) return c.expect_raises([&] { clip(params); });
  clip(params);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Json& expected = c["grads_after"].at(i);
    const std::string what = "gradient " + std::to_string(i);
    if (expected.is_null()) {
      c.expect_true(what + " is none", !params[i].has_grad());
    } else {
      c.expect(what, params[i].grad(), expected);
    }
  }
}

}  // namespace

void run_clip_grad_norm(Case& c) {
  run_clip(c, [&](const std::vector<Tensor>& params) {
    const double norm = optim::clip_grad_norm_(
        params, number(c["max_norm"]),
        {.norm_type = number(c["norm_type"]), .error_if_nonfinite = c["error_if_nonfinite"]});
    c.expect("total_norm", norm, number(c["total_norm"]));
  });
}

void run_clip_grad_value(Case& c) {
  run_clip(c, [&](const std::vector<Tensor>& params) {
    optim::clip_grad_value_(params, number(c["clip_value"]));
  });
}

void refuse_optimizer(const std::string& optimizer, const Json& hyper, bool no_params) {
  std::vector<Tensor> params;
  if (!no_params) params.push_back(xg::zeros(1, {.requires_grad = true}));
  make_optimizer(optimizer, hyper, {{.params = params, .own = {}}});
}

}  // namespace golden
