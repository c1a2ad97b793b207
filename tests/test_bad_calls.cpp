#include <limits>

#include "support/bad_calls.hpp"

/// Norms and attention that must be refused. To add a call, add a row to its part.

namespace xg = xgrad;
namespace nn = xgrad::nn;

namespace {

xg::Tensor f32(xg::Shape shape) { return xg::ones(shape); }
xg::Tensor i64(xg::Shape shape) { return xg::ones(shape, {.dtype = xg::int64}); }
xg::Tensor f64(xg::Shape shape) { return xg::ones(shape, {.dtype = xg::float64}); }

const std::vector<BadCall> norm_calls = {
    {"rms_norm undefined", [] { rms_norm(xg::Tensor(), 3); }, {"rms_norm", "undefined"}},
    {"rms_norm int64",
     [] {
       rms_norm(i64({2, 3}), 3);
     },
     {"rms_norm", "int64", "(2, 3)"}},
    {"rms_norm shape",
     [] {
       rms_norm(f32({2, 3}), 4);
     },
     {"rms_norm", "(4,)", "(2, 3)", "(*, 4)"}},
    {"rms_norm no shape",
     [] {
       rms_norm(f32({2, 3}), xg::Shape{});
     },
     {"rms_norm", "()"}},
    {"rms_norm weight",
     [] {
       rms_norm(f32({2, 3}), 3, f32({2}));
     },
     {"rms_norm", "weight", "(2,)"}},
    {"rms_norm weight dtype",
     [] {
       rms_norm(f32({2, 3}), 3, f64({3}));
     },
     {"rms_norm", "weight", "float64", "float32"}},
    {"rms_norm eps",
     [] {
       rms_norm(f32({2, 3}), 3, {}, -1e-5);
     },
     {"rms_norm", "eps", "-1e-05"}},
    {"rms_norm eps NaN",
     [] {
       rms_norm(f32({2, 3}), 3, {}, std::numeric_limits<double>::quiet_NaN());
     },
     {"rms_norm", "eps", "nan"}},
    {"RMSNorm eps", [] { nn::RMSNorm(3, {.eps = -1.0}); }, {"RMSNorm", "eps", "-1.0"}},

    {"group_norm undefined", [] { group_norm(xg::Tensor(), 2); }, {"group_norm", "undefined"}},
    {"group_norm int64",
     [] {
       group_norm(i64({2, 4}), 2);
     },
     {"group_norm", "int64"}},
    {"group_norm rank", [] { group_norm(f32({4}), 2); }, {"group_norm", "(N, C, *)", "(4,)"}},
    {"group_norm groups",
     [] {
       group_norm(f32({2, 3, 2}), 2);
     },
     {"group_norm", "num_groups=2", "(2, 3, 2)"}},
    {"group_norm no groups",
     [] {
       group_norm(f32({2, 3}), 0);
     },
     {"group_norm", "num_groups=0"}},
    {"group_norm single",
     [] {
       group_norm(f32({1, 2}), 2);
     },
     {"group_norm", "more than 1 value", "(1, 2)"}},
    {"group_norm weight",
     [] {
       group_norm(f32({2, 4}), 2, f32({2}));
     },
     {"group_norm", "weight", "(2,)", "(4,)"}},
    {"group_norm bias",
     [] {
       group_norm(f32({2, 4}), 2, {}, f32({4, 1}));
     },
     {"group_norm", "bias", "(4, 1)"}},
    {"group_norm eps",
     [] {
       group_norm(f32({2, 4}), 2, {}, {}, -1);
     },
     {"group_norm", "eps", "-1"}},
    {"GroupNorm groups", [] { nn::GroupNorm(2, 3); }, {"GroupNorm", "3", "not divisible", "2"}},
    {"GroupNorm no groups", [] { nn::GroupNorm(0, 3); }, {"GroupNorm", "not divisible", "0"}},
    {"GroupNorm eps", [] { nn::GroupNorm(1, 3, {.eps = -1}); }, {"GroupNorm", "eps", "-1.0"}},
    {"GroupNorm channels",
     [] {
       nn::GroupNorm(2, 4)(f32({2, 6}));
     },
     {"GroupNorm", "4 channels", "(2, 6)"}},
    {"GroupNorm rank", [] { nn::GroupNorm(2, 4)(f32({4})); }, {"GroupNorm", "(N, C, *)", "(4,)"}},

    {"instance_norm undefined",
     [] { instance_norm(xg::Tensor()); },
     {"instance_norm", "undefined"}},
    {"instance_norm int64",
     [] {
       instance_norm(i64({2, 3, 4}));
     },
     {"instance_norm", "int64"}},
    {"instance_norm rank",
     [] {
       instance_norm(f32({3, 4}));
     },
     {"instance_norm", "(3, 4)"}},
    {"instance_norm single",
     [] {
       instance_norm(f32({2, 3, 1}));
     },
     {"instance_norm", "more than 1 value", "(2, 3, 1)"}},
    {"instance_norm weight",
     [] {
       instance_norm(f32({2, 3, 4}), f32({4}));
     },
     {"instance_norm", "weight", "(4,)", "(3,)"}},
    {"instance_norm eps",
     [] {
       instance_norm(f32({2, 3, 4}), {}, {}, -1);
     },
     {"instance_norm", "eps", "-1"}},
    {"InstanceNorm1d rank",
     [] {
       nn::InstanceNorm1d(3)(f32({2, 3, 4, 5}));
     },
     {"InstanceNorm1d", "(N, C, L) or (C, L)", "(2, 3, 4, 5)"}},
    {"InstanceNorm2d rank",
     [] {
       nn::InstanceNorm2d(3)(f32({3, 2}));
     },
     {"InstanceNorm2d", "(N, C, H, W) or (C, H, W)", "(3, 2)"}},
    {"InstanceNorm1d channels",
     [] {
       nn::InstanceNorm1d(3)(f32({3, 2, 4}));
     },
     {"InstanceNorm1d", "3 channels in dimension 1", "(3, 2, 4)"}},
    {"InstanceNorm1d channels of one row",
     [] {
       nn::InstanceNorm1d(3)(f32({2, 4}));
     },
     {"InstanceNorm1d", "3 channels in dimension 0", "(2, 4)"}},
    {"layer_norm undefined", [] { xg::layer_norm({}, 3); }, {"layer_norm", "undefined"}},
    {"batch_norm undefined", [] { xg::batch_norm({}, {}, {}); }, {"batch_norm", "undefined"}},
    {"BatchNorm1d undefined", [] { nn::BatchNorm1d(3)({}); }, {"BatchNorm1d", "undefined"}},
    {"InstanceNorm1d undefined",
     [] { nn::InstanceNorm1d(3)({}); },
     {"InstanceNorm1d", "undefined"}},
    {"LayerNorm sizes",
     [] {
       nn::LayerNorm({2, -3});
     },
     {"LayerNorm", "negative", "(2, -3)"}},
    {"GroupNorm sizes", [] { nn::GroupNorm(2, -4, {.affine = false}); }, {"GroupNorm", "(-4,)"}},
    {"InstanceNorm sizes", [] { nn::InstanceNorm1d(-1); }, {"InstanceNorm", "(-1,)"}},
    {"BatchNorm sizes", [] { nn::BatchNorm1d(-1); }, {"BatchNorm", "(-1,)"}},
    {"GELU", [] { nn::GELU({"x"}); }, {"gelu", "approximate", "\"x\""}},
    {"Linear int64",
     [] {
       nn::Linear(2, 2)(i64({3, 2}));
     },
     {"linear", "to(xg::float32)"}},
    {"linear undefined",
     [] {
       linear({}, f32({2, 2}));
     },
     {"linear", "undefined"}},
    {"InstanceNorm eps", [] { nn::InstanceNorm1d(3, {.eps = -1}); }, {"InstanceNorm", "eps"}},
};

constexpr const char* sdpa = "scaled_dot_product_attention";
void attend(xg::Shape q, xg::Shape k, xg::Shape v, xg::Tensor mask = {}) {
  scaled_dot_product_attention(f32(q), f32(k), f32(v), {.mask = std::move(mask)});
}

const std::vector<BadCall> attention_calls = {
    {"sdpa undefined",
     [] {
       scaled_dot_product_attention(xg::Tensor(), f32({2, 3}), f32({2, 3}));
     },
     {sdpa, "undefined"}},
    {"sdpa undefined key",
     [] {
       scaled_dot_product_attention(f32({2, 3}), {}, f32({2, 3}));
     },
     {sdpa, "undefined"}},
    {"sdpa undefined value",
     [] {
       scaled_dot_product_attention(f32({2, 3}), f32({2, 3}), {});
     },
     {sdpa, "undefined"}},
    {"sdpa int64",
     [] {
       attention_weights(i64({2, 3}), i64({2, 3}));
     },
     {"attention_weights", "int64"}},
    {"sdpa rank",
     [] {
       attend({3}, {2, 3}, {2, 3});
     },
     {sdpa, "(*, L, E)", "(3,)", "(2, 3)"}},
    {"sdpa features",
     [] {
       attend({2, 3}, {4, 5}, {4, 3});
     },
     {sdpa, "(2, 3)", "(4, 5)"}},
    {"sdpa keys and values",
     [] {
       attend({2, 3}, {4, 3}, {5, 3});
     },
     {sdpa, "(4, 3)", "(5, 3)"}},
    {"sdpa batches",
     [] {
       attend({2, 5, 3}, {4, 5, 3}, {4, 5, 3});
     },
     {sdpa, "(2,)", "(4,)"}},
    {"sdpa batch of values",
     [] {
       attend({2, 5, 3}, {2, 5, 3}, {4, 5, 3});
     },
     {sdpa, "(4,)"}},
    {"sdpa dtype",
     [] {
       scaled_dot_product_attention(f32({2, 3}), f32({4, 3}), f64({4, 3}));
     },
     {sdpa, "v is float64"}},
    {"sdpa mask",
     [] {
       attend({2, 3}, {4, 3}, {4, 3}, f32({4, 2}));
     },
     {sdpa, "mask", "(4, 2)", "(2, 4)"}},
    {"sdpa larger mask",
     [] {
       attend({2, 3}, {4, 3}, {4, 3}, f32({5, 2, 4}));
     },
     {sdpa, "mask", "(5, 2, 4)", "(2, 4)"}},
    {"sdpa mask dtype",
     [] {
       attend({2, 3}, {4, 3}, {4, 3}, i64({2, 4}));
     },
     {sdpa, "mask", "bool or float32", "int64"}},
    {"heads", [] { nn::MultiheadAttention(5, 2); }, {"embed_dim 5", "num_heads 2"}},
    {"no heads", [] { nn::MultiheadAttention(4, 0); }, {"embed_dim 4", "num_heads 0"}},
    {"no features", [] { nn::MultiheadAttention(0, 1); }, {"embed_dim 0"}},
    {"attention's features",
     [] {
       nn::MultiheadAttention(4, 2)(f32({2, 3, 5}));
     },
     {"MultiheadAttention", "E = 4", "(2, 3, 5)"}},
    {"attention's features without a batch",
     [] {
       nn::MultiheadAttention(4, 2)(f32({3, 5}));
     },
     {"MultiheadAttention", "E = 4", "got (3, 5), (3, 5) and (3, 5)"}},
    {"attention of two ranks",
     [] {
       nn::MultiheadAttention(4, 2).forward(f32({3, 4}), f32({2, 3, 4}), f32({2, 3, 4}));
     },
     {"MultiheadAttention", "got (3, 4), (2, 3, 4) and"}},
    {"attention of a vector",
     [] { nn::MultiheadAttention(4, 2)(f32({4})); },
     {"MultiheadAttention", "got (4,)"}},
    {"attention undefined",
     [] { nn::MultiheadAttention(4, 2)({}); },
     {"MultiheadAttention", "undefined"}},
    {"attention int64",
     [] {
       nn::MultiheadAttention(4, 2)(i64({3, 4}));
     },
     {"linear", "to(xg::float32)"}},
    {"attention's keys and values",
     [] {
       nn::MultiheadAttention(4, 2).forward(f32({2, 3, 4}), f32({2, 5, 4}), f32({2, 6, 4}));
     },
     {"MultiheadAttention", "(2, 5, 4)", "(2, 6, 4)"}},
    {"attention's batches",
     [] {
       nn::MultiheadAttention(4, 2).forward(f32({2, 3, 4}), f32({1, 5, 4}), f32({1, 5, 4}));
     },
     {"MultiheadAttention", "(1, 5, 4)"}},
};

TEST(BadCalls, Norms) { expect_refused(norm_calls); }
TEST(BadCalls, Attention) { expect_refused(attention_calls); }

/// What has no meaning has no name: these calls must not compile.
template <class Options>
concept HasRunningStatistics = requires(Options options) {
  options.track_running_stats;
};
static_assert(HasRunningStatistics<nn::BatchNormOptions>);
static_assert(!HasRunningStatistics<nn::InstanceNormOptions>);
static_assert(!HasRunningStatistics<nn::GroupNormOptions>);

}  // namespace
