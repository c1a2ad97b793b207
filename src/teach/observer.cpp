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
    Tensor input{}, output{}, gradient{};
    std::string title() const {
      return name.empty() ? module->type_name() : module->type_name() + " \"" + name + "\"";
    }
  };
  static constexpr std::size_t no_layer = ~std::size_t{0};

  ObserverOptions options;
  std::int64_t step;  // those done
  std::vector<Watched> watched;
  std::vector<std::size_t> order{};  // of `watched`: as they ended in this step's forward pass
  std::vector<Layer> layers{};
  std::vector<std::string> parameter_names{};
  std::vector<Tensor> parameters{};
  std::vector<Record> records{};
  Record now{};

  bool recording;  // the present step

  void done() {
    ++step;
    recording = (step + 1) % options.every == 0;
    for (const std::size_t index : order) {
      watched[index].input = watched[index].output = watched[index].gradient = Tensor();
    }
    order.clear();
    now = {};
  }

  void after_forward(std::size_t index, const Tensor& x, const Tensor& out) {
    Watched& at = watched[index];
    if (!at.module->is_training() || !is_grad_enabled()) return;
    if (!at.output.defined()) order.push_back(index);
    at.input = x;
    at.output = out;
    if (at.layer == no_layer) return;
    if (recording) record_output(at, out.detach());
    // At other steps the gradients of parameters show whether this one is finite, and these
    // activations pass on what they get: they can do without.
    const bool shown = !at.parameters.empty() || at.relu || at.tanh || at.sigmoid;
    if (!out.requires_grad() || (shown && !recording)) return;
    out.register_hook([weak = weak_from_this(), index](const Tensor& g) {
      const auto state = weak.lock();
      if (!state) return;
      state->watched[index].gradient = g.detach();
      if (state->recording) state->now.layers[state->watched[index].layer].gradient = l2_norm(g);
    });
  }

  void record_output(const Watched& at, const Tensor& y) {
    const NoGrad no_grad;
    now.layers.resize(layers.size());
    LayerRecord& record = now.layers[at.layer] = {.output = statistics(y)};
    if (!std::isfinite(record.output.mean)) check_outputs();
    if (at.relu) record.dead = dead_share(y);
    if (at.tanh) record.saturated = share_beyond(y, 0.97);
    if (at.sigmoid) record.saturated = share_beyond(y * 2 - 1, 0.97);
  }

  /// Throws for the first module of this forward pass whose output is not finite, if there is one.
  void check_outputs() const {
    for (const std::size_t index : order) {
      const Watched& at = watched[index];
      if (is_finite(at.output)) continue;
      std::string why;
      for (const std::size_t p : at.parameters) {
        if (!is_finite(parameters[p])) {
          why = message(" Its parameter ", parameter_names[p], " has ", bad_values(parameters[p]),
                        " that are not: the update before made them.");
          break;
        }
      }
      if (why.empty() && !is_finite(at.input)) {
        why = message(" So has its input: look at ",
                      index == order.front() ? "the data." : "the operations before it.");
      }
      if (why.empty()) {
        why =
            " Its input and parameters are, but have grown too large: a lower learning rate or "
            "clip_grad_norm_ may help.";
      }
      fail(at, message("the output of ", at.title(), ", shape ", at.output.shape(), ", has ",
                       bad_values(at.output), " that are not finite.", why));
    }
  }

  void check_gradients() const {
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
      throw NonFiniteError(
          message("step ", step + 1, ": the gradient of ", parameter_names[p], " has ",
                  bad_values(parameters[p].grad()), " that are not finite."),
          parameter_names[p], step + 1);
    }
  }

  [[noreturn]] void fail(const Watched& at, const std::string& what) const {
    throw NonFiniteError(message("step ", step + 1, ": ", what),
                         at.name.empty() ? at.module->type_name() : at.name, step + 1);
  }
};

Observer::Observer(nn::Module& module, ObserverOptions options) : state_(new State) {
  throw_if<Error>(options.every < 1, "observer: every must be at least 1, got ", options.every);
  State& s = *state_;
  s.options = options;
  s.step = options.steps_done;
  s.recording = s.step == 0 || (s.step + 1) % options.every == 0;
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
    // It refuses such a batch itself, but is not the layer where the values come from.
    at.pre_hook = at.module->register_forward_pre_hook([&s, i](nn::Module& norm, const Tensor& x) {
      if (!norm.is_training() || !is_grad_enabled() || is_finite(x)) return;
      s.check_outputs();
      s.fail(s.watched[i], message("the input of ", s.watched[i].title(), ", shape ", x.shape(),
                                   ", has ", bad_values(x), " that are not finite."));
    });
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
  const bool finite_gradients =
      std::all_of(s.parameters.begin(), s.parameters.end(), [](const Tensor& p) {
        const Tensor g = p.grad();
        return !g.defined() || is_finite(g);
      });
  if (!is_finite(loss) || !finite_gradients) {
    s.check_outputs();
    if (!is_finite(loss)) {
      throw NonFiniteError(
          message("step ", s.step + 1, ": the loss is not finite (", loss.detach().item<double>(),
                  "), though the outputs of all layers are."),
          "loss", s.step + 1);
    }
    s.check_gradients();
  }
  if (!s.recording) {
    optimizer.step();
  } else {
    const NoGrad no_grad;
    std::vector<Tensor> before;
    s.now.layers.resize(s.layers.size());
    s.now.parameters.clear();
    for (const Tensor& p : s.parameters) {
      before.push_back(p.detach().clone());
      s.now.parameters.push_back({.norm = l2_norm(p)});
      if (p.has_grad()) s.now.parameters.back().gradient = l2_norm(p.grad());
    }
    optimizer.step();
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
    s.records.push_back(std::move(s.now));
  }
  s.done();
}

const std::vector<Observer::Layer>& Observer::layers() const { return state_->layers; }
const std::vector<std::string>& Observer::parameters() const { return state_->parameter_names; }
const std::vector<Record>& Observer::records() const { return state_->records; }

}  // namespace xgrad::teach
