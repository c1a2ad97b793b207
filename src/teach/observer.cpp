#include "xgrad/teach/observer.hpp"

#include <algorithm>
#include <cmath>

#include "detail/message.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/nn.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::teach {

namespace {

double share_beyond(const Tensor& y, double limit) {
  return y.numel() == 0 ? none : (y.abs() > limit).to(float64).mean().item<double>();
}

std::string bad_values(const Tensor& x) {
  const Tensor ok = isfinite(x.detach()).to(int64);
  return message(x.numel() - ok.sum().item<std::int64_t>(), " of ", x.numel(), " values");
}

/// All its numbers in their order, to write them or to read them.
template <class SomeRecord, class F>
void each_number(SomeRecord& record, F f) {
  f(record.step);
  f(record.loss);
  for (auto& layer : record.layers) {
    for (auto* s : {&layer.output, &layer.running_mean, &layer.running_var}) {
      f(s->mean), f(s->std), f(s->min), f(s->max);
    }
    f(layer.dead), f(layer.saturated), f(layer.gradient);
  }
  for (auto& p : record.parameters) f(p.norm), f(p.gradient), f(p.update);
}

}  // namespace

struct Observer::State : std::enable_shared_from_this<State> {
  /// A module of the net, and what it did in the present step.
  struct Watched {
    nn::Module* module;
    std::string name;
    std::vector<std::size_t> parameters{};  // its own
    std::size_t layer = no_layer;           // place among the layers
    bool relu = false, tanh = false, sigmoid = false;
    std::uint64_t forward_hook = 0, pre_hook = 0;
    bool ran = false;
    Tensor gradient{};
    std::string title() const {
      return name.empty() ? module->type_name() : module->type_name() + " \"" + name + "\"";
    }
  };
  static constexpr std::size_t no_layer = ~std::size_t{0};

  ObserverOptions options;
  std::int64_t step;  // those done
  std::vector<Watched> watched;
  std::vector<std::size_t> order{};  // of `watched`: as they ended in this step's forward pass
  Tensor last{};                     // the last output of a module: it is finite
  std::vector<Layer> layers{};
  std::vector<std::string> parameter_names{};
  std::vector<Tensor> parameters{};
  std::vector<Record> records{};
  Record now{};

  bool recording;  // the present step

  void begin(std::int64_t steps_done) {
    step = steps_done;
    recording = step == 0 || (step + 1) % options.every == 0;
    for (const std::size_t index : order) {
      watched[index].ran = false;
      watched[index].gradient = Tensor();
    }
    order.clear();
    last = {};
    now = {};
  }

  /// Where they have become too many, keeps what twice the interval would have given.
  void keep(Record record) {
    records.push_back(std::move(record));
    if (options.most == 0 || static_cast<std::int64_t>(records.size()) <= options.most) return;
    options.every *= 2;
    std::erase_if(records,
                  [&](const Record& r) { return r.step != 1 && r.step % options.every != 0; });
  }

  Record blank() const {
    return {.layers = std::vector<LayerRecord>(layers.size()),
            .parameters = std::vector<ParameterRecord>(parameters.size())};
  }
  std::int64_t width() const {
    std::int64_t numbers = 0;
    Record record = blank();
    each_number(record, [&](auto) { ++numbers; });
    return numbers;
  }

  bool counts(const nn::Module& module) const { return module.is_training() && is_grad_enabled(); }

  void before_batch_norm(const Watched& at, const Tensor& x) {
    // It refuses such a batch itself, but without the step; layers' outputs have been looked at.
    if (!counts(*at.module) || x.is(last) || is_finite(x)) return;
    fail(at, message("the input of ", at.title(), ", shape ", x.shape(), ", has ", bad_values(x),
                     " that are not finite. ", look_at()));
  }

  void after_forward(std::size_t index, const Tensor& x, const Tensor& out) {
    Watched& at = watched[index];
    if (!counts(*at.module)) return;
    const bool layer = at.layer != no_layer;
    const bool activation = at.relu || at.tanh || at.sigmoid;  // finite for finite values
    const bool finite = layer && recording ? record_output(at, out.detach())
                                           : out.is(last) || (activation && x.is(last));
    if (!finite && !is_finite(out)) fail_output(at, x, out);
    last = out;
    if (!at.ran) order.push_back(index);
    at.ran = true;
    if (!layer) return;
    // At other steps the gradients of parameters show whether this one is finite, and these
    // activations pass on what they get: they can do without.
    const bool shown = activation || !at.parameters.empty();
    if (!out.requires_grad() || (shown && !recording)) return;
    out.register_hook([weak = weak_from_this(), index](const Tensor& g) {
      const auto state = weak.lock();
      if (!state) return;
      Watched& here = state->watched[index];
      here.gradient = g.detach();
      if (!state->recording) return;
      state->now.layers.resize(state->layers.size());
      state->now.layers[here.layer].gradient = l2_norm(g);
    });
  }

  /// Returns whether all are finite for sure: their mean is.
  bool record_output(const Watched& at, const Tensor& y) {
    const NoGrad no_grad;
    now.layers.resize(layers.size());
    LayerRecord& record = now.layers[at.layer] = {.output = statistics(y)};
    if (at.relu) record.dead = dead_share(y);
    if (at.tanh) record.saturated = share_beyond(y, 0.97);
    if (at.sigmoid) record.saturated = share_beyond(y * 2 - 1, 0.97);
    return std::isfinite(record.output.mean);
  }

  const char* look_at() const {
    return order.empty() ? "Look at the data." : "Look at the operations before it.";
  }

  [[noreturn]] void fail_output(const Watched& at, const Tensor& x, const Tensor& out) {
    std::string why =
        "Its input and parameters are, but have grown too large: a lower learning rate or "
        "clip_grad_norm_ may help.";
    const auto bad = std::find_if(at.parameters.begin(), at.parameters.end(),
                                  [&](std::size_t p) { return !is_finite(parameters[p]); });
    if (bad != at.parameters.end()) {
      why = message("Its parameter ", parameter_names[*bad], " has ", bad_values(parameters[*bad]),
                    " that are not: the update before made them.");
    } else if (!is_finite(x)) {
      why = message("So has its input. ", look_at());
    }
    fail(at, message("the output of ", at.title(), ", shape ", out.shape(), ", has ",
                     bad_values(out), " that are not finite. ", why));
  }

  void check_gradients() {
    const auto bad = [this](std::size_t p) {
      return parameters[p].has_grad() && !is_finite(parameters[p].grad());
    };
    const Watched* after = nullptr;  // the last one whose gradients are finite
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
      const Watched& at = watched[*index];
      const auto first = std::find_if(at.parameters.begin(), at.parameters.end(), bad);
      const bool own = first != at.parameters.end();
      if (!own && (!at.gradient.defined() || is_finite(at.gradient))) {
        const bool known = at.gradient.defined() || !at.parameters.empty();
        if (known && at.layer != no_layer) after = &at;
        continue;
      }
      const Tensor& g = own ? parameters[*first].grad() : at.gradient;
      fail(at, message("the gradient of ", at.title(),
                       own ? " (" + parameter_names[*first] + ")" : " (by its output)", " has ",
                       bad_values(g), " that are not finite. The outputs are finite",
                       after ? ", and so is the gradient of " + after->title() +
                                   ", which comes after it: look at the backward pass of both."
                             : "."));
    }
    for (std::size_t p = 0; p < parameters.size(); ++p) {  // used without calling its module
      if (!bad(p)) continue;
      fail(parameter_names[p], message("the gradient of ", parameter_names[p], " has ",
                                       bad_values(parameters[p].grad()), " that are not finite."));
    }
  }

  [[noreturn]] void fail(const Watched& at, const std::string& what) {
    fail(at.name.empty() ? at.module->type_name() : at.name, what);
  }
  [[noreturn]] void fail(const std::string& where, const std::string& what) {
    begin(step);  // this one has not been made
    throw NonFiniteError(message("step ", step + 1, ": ", what), where, step + 1);
  }
};

Observer::Observer(nn::Module& module, ObserverOptions options) : state_(new State) {
  throw_if<Error>(options.every < 1, "observer: every must be at least 1, got ", options.every);
  throw_if<Error>(options.most < 0, "observer: most must not be negative, got ", options.most);
  State& s = *state_;
  s.options = options;
  s.begin(options.steps_done);
  for (auto& [name, p] : module.named_parameters()) {
    s.parameter_names.push_back(name);
    s.parameters.push_back(p);
  }
  for (auto& [name, m] : module.named_modules()) {
    // Its output is that of its last layer.
    if (typeid(*m) == typeid(nn::Sequential) && !m->named_children().empty()) continue;
    s.watched.push_back({.module = m, .name = name});
    State::Watched& at = s.watched.back();
    for (std::size_t p = 0; p < s.parameters.size(); ++p) {
      const std::string& full = s.parameter_names[p];
      const std::size_t dot = full.rfind('.');
      if (name == (dot == full.npos ? "" : full.substr(0, dot))) at.parameters.push_back(p);
    }
    at.relu = dynamic_cast<nn::ReLU*>(m);
    at.tanh = dynamic_cast<nn::Tanh*>(m);
    at.sigmoid = dynamic_cast<nn::Sigmoid*>(m);
    if (m->named_children().empty()) {
      at.layer = s.layers.size();
      s.layers.push_back({name.empty() ? m->type_name() : name, m->type_name()});
    }
  }
  for (std::size_t i = 0; i < s.watched.size(); ++i) {
    State::Watched& at = s.watched[i];
    at.forward_hook = at.module->register_forward_hook(
        [&s, i](nn::Module&, const Tensor& x, const Tensor& y) { s.after_forward(i, x, y); });
    if (!dynamic_cast<nn::BatchNorm*>(at.module)) continue;
    at.pre_hook = at.module->register_forward_pre_hook(
        [&s, i](nn::Module&, const Tensor& x) { s.before_batch_norm(s.watched[i], x); });
  }
}

Observer::~Observer() {
  for (const State::Watched& at : state_->watched) {
    at.module->remove_hook(at.forward_hook);
    at.module->remove_hook(at.pre_hook);
  }
}

void Observer::step(optim::Optimizer& optimizer, const Tensor& loss) {
  State& s = *state_;
  throw_if<ShapeError>(loss.numel() != 1, "observer: the loss has shape ", loss.shape(),
                       ", not one element");
  if (!is_finite(loss)) {
    s.fail("loss", message("the loss is not finite (", loss.detach().item<double>(),
                           "), though the outputs of all layers are."));
  }
  const NoGrad no_grad;
  std::vector<Tensor> before;
  for (const Tensor& p : s.parameters) {
    const Tensor g = p.grad();
    double norm = none;
    if (s.recording) {
      before.push_back(p.clone());
      if (g.defined()) norm = l2_norm(g);
      s.now.parameters.push_back({.norm = l2_norm(p), .gradient = norm});
    }
    if (g.defined() && !std::isfinite(norm) && !is_finite(g)) s.check_gradients();
  }
  optimizer.step();
  if (s.recording) {
    s.now.layers.resize(s.layers.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      ParameterRecord& record = s.now.parameters[i];
      if (record.norm > 0) record.update = distance(s.parameters[i], before[i]) / record.norm;
    }
    for (const State::Watched& at : s.watched) {
      const auto* norm = dynamic_cast<nn::BatchNorm*>(at.module);
      if (!norm || !norm->running_mean.defined()) continue;
      s.now.layers[at.layer].running_mean = statistics(norm->running_mean);
      s.now.layers[at.layer].running_var = statistics(norm->running_var);
    }
    s.now.step = s.step + 1;
    s.now.loss = loss.detach().item<double>();
    s.keep(std::move(s.now));
  }
  s.begin(s.step + 1);
}

StateDict Observer::state_dict() const {
  const State& s = *state_;
  std::vector<double> numbers;
  for (const Record& record : s.records) {
    each_number(record, [&](auto x) { numbers.push_back(static_cast<double>(x)); });
  }
  const auto rows = static_cast<std::int64_t>(s.records.size());
  return {{"step", tensor(s.step)},
          {"every", tensor(s.options.every)},
          {"records", tensor(numbers, {.dtype = float64}).reshape({rows, s.width()})}};
}

void Observer::load_state_dict(const StateDict& state) {
  State& s = *state_;
  const auto entry = [&](const char* name, DType dtype, int dim) {
    const Tensor* x = find(state, name);
    throw_if<Error>(!x || x->dtype() != dtype || x->dim() != dim, "observer: the state has no \"",
                    name, "\" of ", dtype, " in ", dim, " dimensions");
    return *x;
  };
  const auto step = entry("step", int64, 0).item<std::int64_t>();
  const auto every = entry("every", int64, 0).item<std::int64_t>();
  const Tensor numbers = entry("records", float64, 2);
  throw_if<ShapeError>(numbers.size(1) != s.width(), "observer: \"records\" has shape ",
                       numbers.shape(), ", but a record of this module has ", s.width(),
                       " numbers");
  throw_if<Error>(step < 0 || every < 1, "observer: the state has step ", step, " and every ",
                  every);
  const std::vector<double> steps = numbers.narrow(1, 0, 1).to_vector<double>();
  throw_if<Error>(
      !std::all_of(steps.begin(), steps.end(),
                   [=](double at) { return at >= 1 && at <= static_cast<double>(step); }),
      "observer: the state has records of other steps than 1 to ", step);
  s.records.assign(static_cast<std::size_t>(numbers.size(0)), s.blank());
  const double* from = numbers.data<double>().data();
  for (Record& record : s.records) {
    each_number(record,
                [&](auto& x) { x = static_cast<std::remove_reference_t<decltype(x)>>(*from++); });
  }
  s.options.every = every;
  s.begin(step);
}

const std::vector<Observer::Layer>& Observer::layers() const { return state_->layers; }
const std::vector<std::string>& Observer::parameters() const { return state_->parameter_names; }
const std::vector<Record>& Observer::records() const { return state_->records; }

}  // namespace xgrad::teach
