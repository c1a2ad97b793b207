#include <optional>

#include "xgrad/testing.hpp"
#include "xgrad/xgrad.hpp"

/// Every layer's gradients by its input and its parameters, in both modes and to second order; and
/// those of the norms over the whole range of offsets and eps.

namespace {

namespace xg = xgrad;
namespace nn = xgrad::nn;
using xg::Tensor, xg::Verdict;

Tensor leaf(const xg::Shape& shape, double offset = 0) {
  return (xg::randn(shape, {.dtype = xg::float64}) + offset).requires_grad_();
}

/// Checks a layer with parameters of its own: those of a new norm are all 1 and 0, and hide much.
template <class Layer>
void expect_gradients(Layer&& layer, const std::vector<xg::Shape>& shapes) {
  for (Tensor p : layer.parameters()) {
    const xg::NoGrad no_grad;
    p.copy_(xg::randn(p.shape()) + 0.3);
  }
  for (const xg::Shape& shape : shapes) {
    for (const bool training : {true, false}) {
      SCOPED_TRACE(layer.type_name() + " of " + shape.str() + (training ? "" : " in eval"));
      layer.train(training);
      const std::vector<Tensor> x{leaf(shape)};
      EXPECT_GRADIENTS(layer, x);
      EXPECT_GRADIENTS2(layer, x, {.full_jacobian = 8});
      if (layer.is_training()) layer(x[0].detach().to(xg::float32));  // statistics move
    }
  }
}

TEST(LayerGradients, LinearAndActivations) {
  xg::manual_seed(1);
  const std::vector<xg::Shape> shapes{{3}, {2, 3}, {4, 2, 3}, {0, 3}, {2, 1, 4, 3}};
  expect_gradients(nn::Linear(3, 5), shapes);
  expect_gradients(nn::Linear(3, 1, {.bias = false}), shapes);
  expect_gradients(nn::Identity(), {{2, 3}});
  expect_gradients(nn::Flatten(), {{2, 3, 4}});
  expect_gradients(nn::SiLU(), shapes);
  expect_gradients(nn::Tanh(), shapes);
  expect_gradients(nn::Sigmoid(), shapes);
  expect_gradients(nn::LogSigmoid(), shapes);
  expect_gradients(nn::ReLU(), shapes);
  expect_gradients(nn::LeakyReLU(0.2), shapes);
  expect_gradients(nn::ELU(0.7), shapes);
  expect_gradients(nn::GELU(), shapes);
  expect_gradients(nn::GELU({.approximate = "tanh"}), shapes);
  expect_gradients(nn::Softplus({.beta = 2, .threshold = 3}), shapes);
  expect_gradients(nn::Softmax(-1), shapes);
  expect_gradients(nn::LogSoftmax(0), shapes);
}

TEST(LayerGradients, NormsOfRowsAndGroups) {
  xg::manual_seed(2);
  const std::vector<xg::Shape> shapes{{4}, {3, 4}, {2, 3, 4}, {2, 1, 3, 4}, {0, 4}};
  expect_gradients(nn::LayerNorm(4), shapes);
  expect_gradients(nn::LayerNorm(4, {.eps = 1, .bias = false}), shapes);
  expect_gradients(nn::LayerNorm(4, {.elementwise_affine = false}), shapes);
  expect_gradients(nn::LayerNorm({3, 4}), {{3, 4}, {2, 3, 4}, {5, 2, 3, 4}});
  expect_gradients(nn::LayerNorm(1), {{3, 1}});
  expect_gradients(nn::RMSNorm(4), shapes);
  expect_gradients(nn::RMSNorm({3, 4}, {.eps = 0.1, .elementwise_affine = false}), {{2, 3, 4}});
  expect_gradients(nn::GroupNorm(2, 6), {{3, 6}, {1, 6}, {2, 6, 3}, {2, 6, 1, 2}, {0, 6, 2}});
  expect_gradients(nn::GroupNorm(3, 6, {.affine = false}), {{2, 6, 3}});
  expect_gradients(nn::InstanceNorm1d(3), {{3, 4}, {2, 3, 5}});
  expect_gradients(nn::InstanceNorm1d(3, {.affine = true}), {{2, 3, 5}});
  expect_gradients(nn::InstanceNorm2d(3, {.affine = true}), {{3, 4, 2}, {2, 3, 4, 2}});
}

TEST(LayerGradients, BatchNorm) {
  xg::manual_seed(3);
  for (const std::optional<double> momentum : {std::optional(0.3), std::optional<double>()}) {
    for (const bool affine : {true, false}) {
      for (const bool tracks : {true, false}) {
        const nn::BatchNormOptions options{
            .momentum = momentum, .affine = affine, .track_running_stats = tracks};
        expect_gradients(nn::BatchNorm1d(3, options), {{5, 3}, {2, 3}, {4, 3, 2}, {1, 3, 5}});
        expect_gradients(nn::BatchNorm2d(2, options), {{3, 2, 4, 1}, {1, 2, 3, 5}});
      }
    }
  }
  nn::BatchNorm1d frozen(3);
  frozen(xg::randn({7, 3}));
  frozen.freeze();
  expect_gradients(frozen, {{5, 3}, {1, 3}});
}

TEST(LayerGradients, EmbeddingAndAttention) {
  xg::manual_seed(4);
  nn::Embedding embedding(3, 4);
  const Tensor words = xg::tensor({{0, 2, 2, 0, 1}, {2, 2, 1, 0, 2}});
  const xg::CheckedFunction look_up(
      [&](const Tensor& x) { return embedding(words).to(xg::float64) * x; });
  const xg::GradcheckReport rows = xg::gradcheck(embedding, look_up, {leaf({2, 5, 1})});
  EXPECT_TRUE(rows) << rows;
  for (const bool causal : {false, true}) {
    nn::MultiheadAttention attention(6, 2, {.is_causal = causal});
    const xg::CheckedFunction forward([&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return attention.forward(q, k, v);
    });
    const std::vector<Tensor> inputs{leaf({2, 3, 6}), leaf({2, 4, 6}), leaf({2, 4, 6})};
    const xg::GradcheckReport report = xg::gradcheck(attention, forward, inputs);
    EXPECT_TRUE(report) << report;
  }
}

/// An offset of a million takes six digits from x, and a small eps makes the norm as steep as the
/// values are close. Then a check may end as too noisy, but a right rule is never called wrong.
TEST(LayerGradients, NormsAtAnyOffsetAndEps) {
  xg::manual_seed(5);
  using Norm = Tensor (*)(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
  const std::vector<std::pair<const char*, Norm>> norms{
      {"layer_norm",
       [](auto& x, auto& w, auto& b, double eps) { return layer_norm(x, 6, w, b, eps); }},
      {"rms_norm",
       [](auto& x, auto& w, auto& b, double eps) { return rms_norm(x, 6, w, eps) + b; }},
      {"group_norm",
       [](auto& x, auto& w, auto& b, double eps) { return group_norm(x, 2, w, b, eps); }},
      {"instance_norm",
       [](auto& x, auto& w, auto& b, double eps) {
         return instance_norm(x.unsqueeze(1).expand({4, 6, 6}) * 1.0, w, b, eps);
       }},
      {"batch_norm",
       [](auto& x, auto& w, auto& b, double eps) {
         return batch_norm(x, {}, {}, w, b, {.training = true, .eps = eps});
       }},
      {"batch_norm in eval",
       [](auto& x, auto& w, auto& b, double eps) {
         const Tensor mean = x.detach().mean(0) * 0 + 1.5;
         return batch_norm(x, mean, mean + 1, w, b, {.eps = eps});
       }},
  };
  for (const auto& [name, norm] : norms) {
    for (const double offset : {0.0, 1.0, 1e3, 1e6}) {
      for (const double eps : {1e-12, 1e-8, 1e-5, 1e-2, 1.0}) {
        SCOPED_TRACE(std::string(name) + " at offset " + std::to_string(offset) + " with eps " +
                     std::to_string(eps));
        const auto f = [&norm = norm, eps](const Tensor& x, const Tensor& w, const Tensor& b) {
          return norm(x, w, b, eps);
        };
        const std::vector<Tensor> inputs{leaf({4, 6}, offset), leaf({6}, 1), leaf({6})};
        const xg::GradcheckReport first = xg::gradcheck(f, inputs);
        const xg::GradcheckReport second = xg::gradgradcheck(f, inputs, {.full_jacobian = 0});
        for (const xg::GradcheckReport& report : {first, second}) {
          EXPECT_TRUE(report || (offset > 1 && report.verdict == Verdict::too_noisy)) << report;
        }
        EXPECT_LE(first.max_error, offset <= 1 ? 1e-8 : 1e-7);
        EXPECT_LE(second.max_error, 1e-5);
      }
    }
  }
}

}  // namespace
