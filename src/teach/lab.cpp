#include "xgrad/teach/lab.hpp"

#include <algorithm>
#include <cmath>

#include "teach/experiment.hpp"
#include "xgrad/xgrad.hpp"

namespace xgrad::teach {

namespace {

/// Per feature (or per row) of x in float64; `unbiased` divides by n - 1 where n > 1.
struct TensorMoments {
  Tensor mean, var;
  Moments at(std::int64_t i) const { return {mean[i].item<double>(), var[i].item<double>()}; }
};
TensorMoments moments(const Tensor& x, std::int64_t dim, bool unbiased) {
  const Tensor wide = x.to(float64);
  return {wide.mean(dim), wide.var(dim, unbiased && x.size(dim) > 1)};
}
Moments average(const TensorMoments& m) {
  return {m.mean.mean().item<double>(), m.var.mean().item<double>()};
}

Drift drift(const TensorMoments& running, const TensorMoments& from, double eps) {
  const auto rms = [](const Tensor& d) { return d.square().mean().sqrt().item<double>(); };
  const Tensor var = from.var + eps;
  return {rms((running.mean - from.mean) / var.sqrt()), rms((running.var - from.var) / var)};
}

/// Keeps what the norm layers of a net were fed last.
class Inputs {
 public:
  explicit Inputs(std::vector<nn::Module*> norms) : norms_(std::move(norms)), last_(norms_.size()) {
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      hooks_.push_back(norms_[i]->register_forward_hook(
          [this, i](nn::Module&, const Tensor& x, const Tensor&) { last_[i] = x.detach(); }));
    }
  }
  ~Inputs() {
    for (std::size_t i = 0; i < norms_.size(); ++i) norms_[i]->remove_hook(hooks_[i]);
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  std::vector<Tensor> last() const { return last_; }

 private:
  std::vector<nn::Module*> norms_;
  std::vector<Tensor> last_;
  std::vector<std::uint64_t> hooks_;
};

/// `h` is what the layer was fed for the batch, `all` for all training rows.
NormStep measure(nn::Module& norm, const Tensor& h, const Tensor& all, double eps, LabRun& run) {
  NormStep step;
  const auto* bn = dynamic_cast<const nn::BatchNorm*>(&norm);
  const TensorMoments batch = moments(h, bn ? 0 : 1, bn), whole = moments(all, bn ? 0 : 1, bn);
  step.batch = bn ? batch.at(0) : average(batch);
  step.all = bn ? whole.at(0) : average(whole);
  if (bn) {
    const TensorMoments running{bn->running_mean.to(float64), bn->running_var.to(float64)};
    step.running = running.at(0);
    step.from_batch = drift(running, batch, eps);
    step.from_all = drift(running, whole, eps);
  }
  const Tensor trained = output_in(norm, true, h), evaluated = output_in(norm, false, h);
  step.gap = gap(trained, evaluated);
  const Tensor row = h.narrow(0, 0, 1);
  step.alone_eval = gap(output_in(norm, false, row), evaluated.narrow(0, 0, 1)).max;
  const Tensor in_batch = trained.narrow(0, 0, 1);
  try {
    step.alone_train = gap(output_in(norm, true, row), in_batch).max;
  } catch (const Error& error) {
    if (run.alone_refused.empty()) run.alone_refused = error.what();
  }
  const std::int64_t others = std::max<std::int64_t>(h.size(0) - 1, 1);
  const Tensor among_others = output_in(norm, true, cat({row, all.narrow(0, 0, others)}));
  step.other_rows = gap(among_others.narrow(0, 0, 1), in_batch).max;
  return step;
}

LabRun train(const char* name, const MakeNorm& make, const data::Split& data,
             const LabOptions& options, const Watch& watch, std::int64_t done) {
  LabRun run{.norm = name};
  nn::Sequential net = norm_net(data.train, options, make);
  optim::SGD sgd(net.parameters(), {.lr = options.lr});
  Batches batches(data.train, options);
  const std::vector<nn::Module*> norms = norms_of(net);
  const Inputs inputs(norms);
  try {
    for (std::int64_t t = 1; t <= options.steps; ++t) {
      const auto [x, labels] = batches.next();
      const Tensor logits = net(x);
      const Tensor loss = cross_entropy(logits, labels);
      LabStep step{.loss = loss.item<double>()};
      run.ended = ended_by(step.loss, t);
      if (!run.ended.empty()) break;
      const std::vector<Tensor> of_batch = inputs.last();
      output_in(net, true, data.train.inputs);
      const std::vector<Tensor> of_all = inputs.last();
      for (std::size_t i = 0; i < norms.size(); ++i) {
        step.norms.push_back(measure(*norms[i], of_batch[i], of_all[i], options.eps, run));
      }
      const Tensor evaluated = output_in(net, false, x);
      step.eval_loss = cross_entropy(evaluated, labels).item<double>();
      step.gap = gap(logits.detach(), evaluated);
      step.test_accuracy = accuracy(output_in(net, false, data.test.inputs), data.test.labels);
      run.steps.push_back(std::move(step));
      sgd.zero_grad(true);
      loss.backward();
      sgd.step();
      if (!watch(done + t)) {
        run.ended = "stopped";
        break;
      }
    }
  } catch (const Error& error) {  // BatchNorm refuses a batch of one, or one that is not finite
    run.ended = error.what();
  }
  return run;
}

}  // namespace

Lab train_eval_lab(const data::Split& data, const LabOptions& options, const Watch& watch) {
  check(options, data);
  const auto layer = [&](std::int64_t width) {
    return std::make_unique<nn::LayerNorm>(width, nn::LayerNormOptions{.eps = options.eps});
  };
  const auto batch = [&](std::int64_t width) {
    return std::make_unique<nn::BatchNorm1d>(
        width, nn::BatchNormOptions{.eps = options.eps, .momentum = options.momentum});
  };
  Lab lab;
  lab.layer = train("LayerNorm", layer, data, options, watch, 0);
  lab.batch = train("BatchNorm", batch, data, options, watch, options.steps);
  return lab;
}

RunningLaw running_law(const data::Split& data, const LabOptions& options) {
  check(options, data);
  RunningLaw result;
  const auto identity = [](std::int64_t) { return std::make_unique<nn::Identity>(); };
  const Tensor inputs = Batches(data.train, options).next().inputs;
  const Tensor x = output_in(norm_net(data.train, options, identity)[0], true, inputs).to(float64);
  nn::BatchNorm1d norm(x.size(1), {.eps = options.eps, .momentum = options.momentum});
  norm.to(float64);
  const TensorMoments batch = moments(x, 0, true);
  const auto largest = [](const Tensor& a, const Tensor& b, double& error) {
    error = std::max(error, gap(a, b).max);
  };
  try {
    for (std::int64_t t = 1; t <= options.steps; ++t) {
      const NoGrad no_grad;
      norm(x);
      const double kept = std::pow(1 - options.momentum, static_cast<double>(t));
      const TensorMoments law{(1 - kept) * batch.mean, kept + (1 - kept) * batch.var};
      const TensorMoments running{norm.running_mean, norm.running_var};
      largest(running.mean, law.mean, result.mean_error);
      largest(running.var, law.var, result.var_error);
      result.running.push_back(running.at(0));
      result.law.push_back(law.at(0));
    }
  } catch (const ShapeError& error) {
    result.ended = error.what();
  }
  return result;
}

}  // namespace xgrad::teach
