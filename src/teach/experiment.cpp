#include "teach/experiment.hpp"

#include <algorithm>
#include <cmath>

#include "detail/message.hpp"
#include "xgrad/xgrad.hpp"

namespace xgrad::teach {

void check(const LabOptions& o, const data::Split& data) {
  const std::int64_t rows = data.train.size();
  const auto positive = [](std::int64_t n) { return n > 0; };
  throw_if<Error>(o.batch < 1 || o.batch > rows, "lab: batch must be from 1 to the ", rows,
                  " training rows, got ", o.batch);
  throw_if<Error>(o.hidden.empty() || !std::all_of(o.hidden.begin(), o.hidden.end(), positive),
                  "lab: hidden needs one size or more, each at least 1, got ", Shape(o.hidden));
  throw_if<Error>(o.steps < 1, "lab: steps must be at least 1, got ", o.steps);
  throw_if<Error>(!(o.lr > 0 && std::isfinite(o.lr)), "lab: lr must be greater than 0, got ", o.lr);
  throw_if<Error>(!(o.momentum >= 0 && o.momentum <= 1), "lab: momentum must be from 0 to 1, got ",
                  o.momentum);
  throw_if<Error>(!(o.eps >= 0 && std::isfinite(o.eps)), "lab: eps must be at least 0, got ",
                  o.eps);
}

nn::Sequential norm_net(const data::Dataset& data, const LabOptions& options,
                        const MakeNorm& norm) {
  const KeepGenerator keep;
  manual_seed(options.seed);
  nn::Sequential net;
  std::int64_t from = data.inputs.size(1);
  for (const std::int64_t width : options.hidden) {
    net.push_back(nn::Linear(from, width));
    net.push_back(norm(width));
    net.push_back(nn::ReLU());
    from = width;
  }
  net.push_back(nn::Linear(from, data.classes));
  return net;
}

std::vector<nn::Module*> norms_of(const nn::Sequential& net) {
  std::vector<nn::Module*> norms;
  for (std::int64_t i = 1; i < net.size(); i += 3) norms.push_back(&net[i]);
  return norms;
}

std::string ended_by(double loss, std::int64_t step) {
  return std::isfinite(loss) ? "" : message("the loss is ", loss, " at step ", step);
}

Gap gap(const Tensor& a, const Tensor& b) {
  const Tensor d = (a - b).to(float64).abs();
  return {d.amax().item<double>(), d.square().mean().sqrt().item<double>()};
}

KeepModule::KeepModule(nn::Module& module) : module_(module), training_(module.is_training()) {
  for (const Tensor& buffer : module.buffers()) before_.push_back(buffer.clone());
}
KeepModule::~KeepModule() {
  std::vector<Tensor> buffers = module_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(before_[i]);
  module_.train(training_);
}

Tensor output_in(nn::Module& module, bool training, const Tensor& x) {
  const KeepModule keep(module);
  const NoGrad no_grad;
  module.train(training);
  return module(x);
}

}  // namespace xgrad::teach
