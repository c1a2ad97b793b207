#include "xgrad/teach/scale.hpp"

#include <cmath>

#include "detail/message.hpp"
#include "teach/experiment.hpp"
#include "xgrad/xgrad.hpp"

namespace xgrad::teach {

std::vector<ScaleCase> scale_experiment(const data::Split& data, const LabOptions& options,
                                        const std::vector<double>& alphas) {
  check(options, data);
  for (const double alpha : alphas) {
    throw_if<Error>(!(alpha > 0 && std::isfinite(alpha)),
                    "scale: alpha must be greater than 0, got ", alpha);
  }
  const auto identity = [](std::int64_t) { return std::make_unique<nn::Identity>(); };
  const Tensor weight =
      norm_net(data.train, options, identity).at<nn::Linear>(0).weight.detach().to(float64);
  const Tensor x = Batches(data.train, options).next().inputs.to(float64);
  Generator generator(options.seed);
  const Tensor upstream = randn({x.size(0), weight.size(0)}, generator, {.dtype = float64});

  const auto measure = [&](const char* name, nn::Module& norm) {
    ScaleCase result{.norm = name};
    const auto run = [&](double alpha) {
      const KeepModule keep(norm);
      const Tensor w = (weight * alpha).requires_grad_();
      const Tensor y = norm(x.matmul(w.t()));
      y.backward(upstream);
      return std::pair(y.detach(), w.grad());
    };
    try {
      const auto [y1, dw1] = run(1);
      for (const double alpha : alphas) {
        const auto [y, dw] = run(alpha);
        result.rows.push_back({alpha, gap(y, y1).max,
                               dw.norm().item<double>() / dw1.norm().item<double>(),
                               gap(alpha * dw, dw1).max / dw1.abs().amax().item<double>()});
      }
    } catch (const ShapeError& error) {
      result.refused = error.what();
    }
    return result;
  };

  nn::LayerNorm layer(weight.size(0), {.eps = options.eps});
  nn::BatchNorm1d batch(weight.size(0), {.eps = options.eps, .momentum = 1.0});
  layer.to(float64);
  batch.to(float64);
  std::vector<ScaleCase> cases{measure("LayerNorm", layer),
                               measure("BatchNorm in train mode", batch)};
  if (x.size(0) > 1) batch(x.matmul(weight.t()));
  batch.eval();
  cases.push_back(measure("BatchNorm in eval mode", batch));
  return cases;
}

}  // namespace xgrad::teach
