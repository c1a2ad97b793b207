#include "xgrad/teach/detach.hpp"

#include "detail/message.hpp"
#include "teach/experiment.hpp"
#include "xgrad/xgrad.hpp"

namespace xgrad::teach {

DetachNorm::DetachNorm(std::int64_t features, DetachOptions with)
    : options(with),
      weight(register_parameter("weight", ones({features}))),
      bias(register_parameter("bias", zeros({features}))) {}

Tensor DetachNorm::forward(const Tensor& x) {
  const auto constant_if = [](bool on, const Tensor& v) { return on ? v.detach() : v; };
  const Tensor centred = x - constant_if(options.mean, x.mean(-1, true));
  const Tensor var = constant_if(options.var, centred.square().mean(-1, true));
  return centred / (var + options.eps).sqrt() * weight + bias;
}

static DetachRun train(const data::Split& data, const LabOptions& options, DetachRun run,
                       const Watch& watch, std::int64_t done) {
  nn::Sequential net = norm_net(data.train, options, [&](std::int64_t width) {
    return std::make_unique<DetachNorm>(
        width, DetachOptions{.eps = options.eps, .mean = run.mean, .var = run.var});
  });
  optim::SGD sgd(net.parameters(), {.lr = options.lr});
  Batches batches(data.train, options);
  const Tensor& first = net.at<nn::Linear>(0).weight;
  for (std::int64_t t = 1; t <= options.steps; ++t) {
    const auto [x, labels] = batches.next();
    const Tensor loss = cross_entropy(net(x), labels);
    DetachStep step{.loss = loss.item<double>()};
    run.ended = ended_by(step.loss, t);
    if (!run.ended.empty()) break;
    sgd.zero_grad(true);
    loss.backward();
    step.gradient = first.grad().norm().item<double>();
    sgd.step();
    step.test_accuracy = accuracy(output_in(net, false, data.test.inputs), data.test.labels);
    run.steps.push_back(step);
    if (!watch(done + t)) {
      run.ended = "stopped";
      break;
    }
  }
  return run;
}

std::vector<DetachRun> detach_experiment(const data::Split& data, const LabOptions& options,
                                         std::int64_t seeds, const Watch& watch) {
  check(options, data);
  throw_if<Error>(seeds < 1, "detach: seeds must be at least 1, got ", seeds);
  std::vector<DetachRun> runs;
  for (std::int64_t i = 0; i < seeds; ++i) {
    LabOptions with = options;
    with.seed += static_cast<std::uint64_t>(i);
    for (const auto& [mean, var] :
         {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      const auto done = static_cast<std::int64_t>(runs.size()) * options.steps;
      runs.push_back(train(data, with, {.mean = mean, .var = var, .seed = with.seed}, watch, done));
      if (runs.back().ended == "stopped") return runs;
    }
  }
  return runs;
}

}  // namespace xgrad::teach
