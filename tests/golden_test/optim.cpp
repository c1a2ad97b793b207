#include <cmath>
#include <map>
#include <memory>

#include "golden_test/golden.hpp"

/// Kinds "optimizer", "scheduler", "clip_grad_norm" and "clip_grad_value".

namespace golden {

namespace optim = xg::optim;
using xg::Tensor;

/// One number, or one for each group.
static void take(const Json& args, const char* key, optim::PerGroup& option) {
  if (!args.contains(key)) return;
  option = args[key].is_array() ? optim::PerGroup(args[key].get<std::vector<double>>())
                                : optim::PerGroup(args[key].get<double>());
}

namespace {

/// The options of a group or of a schedule: each that it has is taken by its name.
template <class Options>
Options options_from(const Json& args) {
  Options o;
#define TAKE(name) \
  if constexpr (requires { o.name; }) take(args, #name, o.name);
  // clang-format off
  TAKE(lr) TAKE(momentum) TAKE(dampening) TAKE(weight_decay) TAKE(nesterov) TAKE(maximize)
  TAKE(betas) TAKE(eps) TAKE(amsgrad) TAKE(alpha) TAKE(centered) TAKE(lr_decay)
  TAKE(initial_accumulator_value)
  TAKE(step_size) TAKE(gamma) TAKE(milestones) TAKE(factor) TAKE(total_iters) TAKE(start_factor)
  TAKE(end_factor) TAKE(power) TAKE(T_max) TAKE(T_0) TAKE(T_mult) TAKE(eta_min) TAKE(max_lr)
  TAKE(total_steps) TAKE(epochs) TAKE(steps_per_epoch) TAKE(pct_start) TAKE(anneal_strategy)
  TAKE(cycle_momentum) TAKE(base_momentum) TAKE(max_momentum) TAKE(div_factor)
  TAKE(final_div_factor) TAKE(three_phase) TAKE(mode) TAKE(patience) TAKE(threshold)
  TAKE(threshold_mode) TAKE(cooldown) TAKE(min_lr)
  return o;
  // clang-format on
#undef TAKE
}

struct Group {
  std::vector<Tensor> params;
  Json own;  // overrides
};

/// The defaults go through the groups like the overrides, so that what neither names is xgrad's.
template <class Optimizer, class GroupType>
std::unique_ptr<optim::Optimizer> make(const Json& hyper, const std::vector<Group>& groups) {
  std::vector<GroupType> list;
  for (const Group& group : groups) {
    Json own = hyper.is_object() ? hyper : Json::object();
    if (group.own.is_object()) own.update(group.own);
    list.push_back(options_from<GroupType>(own));
    list.back().params = group.params;
  }
  return std::make_unique<Optimizer>(list);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const Json& hyper,
                                                 const std::vector<Group>& groups) {
  if (name == "SGD") return make<optim::SGD, optim::SGDGroup>(hyper, groups);
  if (name == "Adam") return make<optim::Adam, optim::AdamGroup>(hyper, groups);
  if (name == "AdamW") return make<optim::AdamW, optim::AdamGroup>(hyper, groups);
  if (name == "RMSprop") return make<optim::RMSprop, optim::RMSpropGroup>(hyper, groups);
  if (name == "Adagrad") return make<optim::Adagrad, optim::AdagradGroup>(hyper, groups);
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

/// A scheduler and, for SequentialLR, its parts.
using Schedulers = std::vector<std::unique_ptr<optim::LRScheduler>>;

/// Appends the scheduler, after its parts.
void make_scheduler(Schedulers& list, optim::Optimizer& optimizer, const std::string& name,
                    const Json& args) {
  const auto add = [&]<class Options>(Options options) {
    list.push_back(std::make_unique<optim::ScheduleOf<Options>>(optimizer, options));
  };
  if (name == "StepLR") return add(options_from<optim::StepLROptions>(args));
  if (name == "MultiStepLR") return add(options_from<optim::MultiStepLROptions>(args));
  if (name == "ExponentialLR") return add(options_from<optim::ExponentialLROptions>(args));
  if (name == "ConstantLR") return add(options_from<optim::ConstantLROptions>(args));
  if (name == "LinearLR") return add(options_from<optim::LinearLROptions>(args));
  if (name == "PolynomialLR") return add(options_from<optim::PolynomialLROptions>(args));
  if (name == "CosineAnnealingLR") return add(options_from<optim::CosineAnnealingLROptions>(args));
  if (name == "CosineAnnealingWarmRestarts") {
    return add(options_from<optim::CosineAnnealingWarmRestartsOptions>(args));
  }
  if (name == "OneCycleLR") return add(options_from<optim::OneCycleLROptions>(args));
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
    list.push_back(std::make_unique<optim::ReduceLROnPlateau>(
        optimizer, options_from<optim::ReduceLROnPlateauOptions>(args)));
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
