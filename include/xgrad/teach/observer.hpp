#pragma once

#include <memory>

#include "xgrad/error.hpp"
#include "xgrad/nn/module.hpp"
#include "xgrad/optim/optimizer.hpp"
#include "xgrad/teach/statistics.hpp"

namespace xgrad::teach {

/// Values that are not finite have appeared: in which layer, and at which step (the first is 1).
class NonFiniteError : public Error {
 public:
  NonFiniteError(const std::string& text, std::string in_layer, std::int64_t at_step)
      : Error(text), layer(std::move(in_layer)), step(at_step) {}
  const char* what() const noexcept override { return std::runtime_error::what(); }  ///< the text
  std::string layer;
  std::int64_t step;
};

/// One layer at one step, under its output in training. NaN: does not apply, or did not run.
struct LayerRecord {
  Statistics output{};
  double dead = none;       ///< of a ReLU: share of units that are 0 for every row of the batch
  double saturated = none;  ///< of Tanh: share with |y| > 0.97; of Sigmoid: with |2y - 1| > 0.97
  double gradient = none;   ///< norm of the gradient by the output
  /// Of a BatchNorm, over its features, after the step.
  Statistics running_mean{}, running_var{};
};

/// One parameter at one step.
struct ParameterRecord {
  double norm = none;      ///< before the update
  double gradient = none;  ///< norm of its gradient
  double update = none;    ///< norm of its change by the step, divided by the norm before
};

/// One step.
struct Record {
  std::int64_t step = 0;
  double loss = none;
  std::vector<LayerRecord> layers{};          ///< as in Observer::layers
  std::vector<ParameterRecord> parameters{};  ///< as in Observer::parameters
};

struct ObserverOptions {
  std::int64_t every = 10;      ///< the steps that are recorded: the first and each 10th
  std::int64_t steps_done = 0;  ///< where a training goes on
  /// So many records are kept (0: all). One more, and `every` is doubled, and those that it would
  /// not have given are dropped: at least half of `most` remain, evenly spaced.
  std::int64_t most = 0;
};

/// Watches a net in training, which goes through it instead of calling the optimizer:
///
///   xg::teach::Observer observer(net);
///   for (const auto& batch : loader) {
///     const xg::Tensor loss = xg::cross_entropy(net(batch.inputs), batch.labels);
///     optimizer.zero_grad();
///     loss.backward();
///     observer.step(optimizer, loss);  // optimizer.step(), and the record
///   }
///   for (const auto& record : observer.records()) ...
///
/// Layers are the modules without children; what a forward does by functions is not seen. Forward
/// passes in eval mode or under NoGrad do not count, and of several in a step the last one does.
///
/// NaN and infinities are noticed in the step where they appear, recorded or not:
/// - in the output of any module, in forward, before a ReLU makes 0 of -inf or Sigmoid 1 of inf.
///   The layer named is the first whose output has them;
/// - in what BatchNorm is given, the loss, and the gradients of parameters, before the update. The
///   layer named is the first in the backward pass with such a gradient; in a step that is not
///   recorded a ReLU, Tanh or Sigmoid is not asked, and the layer on its other side named as well.
/// Not noticed: what a function that is no module makes and another makes finite again, as in
/// relu(a - b), data that the first layer makes finite, and a gradient by an output that no
/// parameter gets, since a ReLU whose output is 0 lets nothing pass: it changes no weight.
///
/// The module must outlive the observer and stay where it is. Nothing remains in it afterwards.
class Observer {
 public:
  /// Throws Error unless `every` is positive and `most` at least 0.
  explicit Observer(nn::Module& module, ObserverOptions options = {});
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Between backward and the next forward. Throws NonFiniteError, before the update, if the loss
  /// or the gradient of a parameter is not finite. (Outputs that are not throw it in forward.) The
  /// step may be tried again with other data.
  void step(optim::Optimizer& optimizer, const Tensor& loss);

  /// Where a record of a layer belongs.
  struct Layer {
    std::string name;  ///< in the module, "encoder.fc1"
    std::string type;  ///< "Linear"
  };
  const std::vector<Layer>& layers() const;            ///< in the order of the module
  const std::vector<std::string>& parameters() const;  ///< their names
  const std::vector<Record>& records() const;          ///< one a step, those loaded first

  /// The records and the steps done, to go on later: among a Checkpoint's `values`, for one.
  StateDict state_dict() const;
  /// Throws Error, and leaves all as it is, for the state of an observer of another module.
  void load_state_dict(const StateDict& state);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace xgrad::teach
