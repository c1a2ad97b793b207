#include "xgrad/teach/influence.hpp"

#include "detail/message.hpp"
#include "teach/experiment.hpp"
#include "xgrad/xgrad.hpp"

namespace xgrad::teach {

Influence influence(nn::Module& layer, const Tensor& x) {
  throw_if<ShapeError>(x.dim() != 2, "influence: needs x of shape (N, C), got ", x.shape());
  throw_if<ShapeError>(x.numel() == 0, "influence: there is nothing in x of shape ", x.shape());
  const KeepModule keep(layer);
  const EnableGrad recording;
  const Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor y = layer(leaf);
  throw_if<ShapeError>(y.shape() != x.shape(), "influence: the layer makes ", y.shape(), " of ",
                       x.shape(), ", needs the same shape");
  const std::int64_t n = x.numel();
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    Tensor one_hot = zeros({n}, {.dtype = x.dtype()});
    one_hot.index_put_({i}, 1);
    rows.push_back(
        grad(y, {leaf}, {.grad_output = one_hot.reshape(x.shape()), .retain_graph = true})[0]
            .reshape({n}));
  }
  Influence result{.samples = x.size(0), .features = x.size(1), .jacobian = stack(rows)};
  const Tensor sample = floor(arange(n).to(float64) / static_cast<double>(x.size(1)));
  const Tensor same = sample.unsqueeze(1) == sample;
  const Tensor size = result.jacobian.abs(), others = where(same, 0.0, size);
  result.within = where(same, size, 0.0).amax().item<double>();
  result.across = others.amax().item<double>();
  result.nonzero_across = sum(others != 0).item<std::int64_t>();
  return result;
}

std::vector<LayerInfluence> compare_influence(const InfluenceOptions& o) {
  throw_if<Error>(o.samples < 1 || o.features < 1 || o.samples * o.features > 4096,
                  "influence: needs from 1 to 4096 values, got ", o.samples, " samples of ",
                  o.features, " features");
  Generator generator(o.seed);
  const auto rows = [&](std::int64_t n) {
    return randn({n, o.features}, generator, {.dtype = float64});
  };
  const Tensor x = rows(o.samples);
  std::vector<LayerInfluence> result;
  const auto add = [&](const char* name, nn::Module& layer) {
    layer.to(float64);
    try {
      result.push_back({name, influence(layer, x), ""});
    } catch (const ShapeError& error) {
      result.push_back({name, {}, error.what()});
    }
  };
  nn::BatchNorm1d batch(o.features, {.eps = o.eps, .momentum = o.momentum});
  nn::LayerNorm layer(o.features, {.eps = o.eps});
  nn::RMSNorm rms(o.features, {.eps = o.eps});
  add("BatchNorm in train mode", batch);
  for (int i = 0; i < 20; ++i) batch(rows(16));
  batch.eval();
  add("BatchNorm in eval mode", batch);
  add("LayerNorm", layer);
  add("RMSNorm", rms);
  if (o.features % 2 == 0 && o.features > 2) {
    nn::GroupNorm group(2, o.features, {.eps = o.eps});
    add("GroupNorm in 2 groups", group);
  }
  return result;
}

}  // namespace xgrad::teach
