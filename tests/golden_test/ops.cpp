#include "golden_test/golden.hpp"

/// The op table: how each op of the golden data is called.

namespace golden {

using xg::Tensor;
using Outputs = std::vector<Tensor>;
using Attrs = const Json&;
using In = const Inputs&;

namespace {

std::int64_t whole(Attrs attrs, const char* key) { return attrs.at(key).get<std::int64_t>(); }
double real(Attrs attrs, const char* key) { return number(attrs.at(key)); }
bool flag(Attrs attrs, const char* key) { return attrs.at(key).get<bool>(); }
xg::Dims dims(Attrs attrs, const char* key = "dim") { return dims_from(attrs.at(key)); }
std::vector<std::int64_t> list(Attrs attrs, const char* key) { return attrs.at(key); }

xg::ReduceOptions reduce(Attrs attrs) {
  return {.dim = dims(attrs), .keepdim = flag(attrs, "keepdim")};
}
xg::VarOptions variance(Attrs attrs) {
  return {
      .dim = dims(attrs), .unbiased = flag(attrs, "unbiased"), .keepdim = flag(attrs, "keepdim")};
}
xg::Reduction reduction(Attrs attrs) { return xg::reduction_from(attrs.at("reduction")); }

std::optional<xg::Scalar> bound(Attrs attrs, const char* key) {
  if (attrs.at(key).is_null()) return std::nullopt;
  return scalar(attrs.at(key));
}

/// Over all elements where `dim` is null, else along one dimension.
template <Tensor (*all)(const Tensor&), Tensor (*along)(const Tensor&, std::int64_t, bool)>
Tensor over(In in, Attrs attrs) {
  if (attrs.at("dim").is_null()) return all(in[0]);
  return along(in[0], whole(attrs, "dim"), attrs.value("keepdim", false));
}

xg::Index index_entry(const Json& json) {
  if (json.is_number()) return json.get<std::int64_t>();
  xg::Slice slice;
  if (!json.at(0).is_null()) slice.start = json[0].get<std::int64_t>();
  if (!json.at(1).is_null()) slice.stop = json[1].get<std::int64_t>();
  if (!json.at(2).is_null()) slice.step = json[2].get<std::int64_t>();
  return slice;
}

Tensor sliced(const Tensor& x, const Json& json) {
  std::vector<xg::Index> e;
  for (const Json& entry : json) e.push_back(index_entry(entry));
  switch (e.size()) {  // the lengths of an initializer_list are fixed at compile time
    case 1: return index(x, {e[0]});
    case 2: return index(x, {e[0], e[1]});
    case 3: return index(x, {e[0], e[1], e[2]});
    case 4: return index(x, {e[0], e[1], e[2], e[3]});
    default: throw Unknown{"slice of " + std::to_string(e.size()) + " dimensions"};
  }
}

/// An instance norm, whose ranks are those of the module.
template <class Layer>
Tensor by_module(In in, Attrs attrs) {
  Layer layer(whole(attrs, "num_features"),
              {.eps = real(attrs, "eps"), .affine = flag(attrs, "affine")});
  layer.weight = in.optional("weight");
  layer.bias = in.optional("bias");
  return layer(in[0]);
}

}  // namespace

const std::vector<Op>& op_table() {
  static const std::vector<Op> table = {
      // ---- arithmetic and comparison
      {"add", [](In in, Attrs) { return in[0] + in[1]; }},
      {"sub", [](In in, Attrs) { return in[0] - in[1]; }},
      {"mul", [](In in, Attrs) { return in[0] * in[1]; }},
      {"div", [](In in, Attrs) { return in[0] / in[1]; }},
      {"pow", [](In in, Attrs) { return pow(in[0], in[1]); }},
      {"maximum", [](In in, Attrs) { return maximum(in[0], in[1]); }},
      {"minimum", [](In in, Attrs) { return minimum(in[0], in[1]); }},
      {"eq", [](In in, Attrs) { return in[0] == in[1]; }},
      {"ne", [](In in, Attrs) { return in[0] != in[1]; }},
      {"lt", [](In in, Attrs) { return in[0] < in[1]; }},
      {"le", [](In in, Attrs) { return in[0] <= in[1]; }},
      {"gt", [](In in, Attrs) { return in[0] > in[1]; }},
      {"ge", [](In in, Attrs) { return in[0] >= in[1]; }},
      {"where", [](In in, Attrs) { return where(in[0], in[1], in[2]); }},
      {"add_scalar", [](In in, Attrs a) { return in[0] + scalar(a.at("scalar")); }},
      {"sub_scalar", [](In in, Attrs a) { return in[0] - scalar(a.at("scalar")); }},
      {"mul_scalar", [](In in, Attrs a) { return in[0] * scalar(a.at("scalar")); }},
      {"div_scalar", [](In in, Attrs a) { return in[0] / scalar(a.at("scalar")); }},
      {"rsub_scalar", [](In in, Attrs a) { return scalar(a.at("scalar")) - in[0]; }},
      {"rdiv_scalar", [](In in, Attrs a) { return scalar(a.at("scalar")) / in[0]; }},
      {"rpow_scalar", [](In in, Attrs a) { return pow(scalar(a.at("scalar")), in[0]); }},
      {"pow_scalar", [](In in, Attrs a) { return pow(in[0], scalar(a.at("exponent"))); }},

      // ---- functions of each element
      {"neg", [](In in, Attrs) { return -in[0]; }},
      {"exp", [](In in, Attrs) { return exp(in[0]); }},
      {"log", [](In in, Attrs) { return log(in[0]); }},
      {"sqrt", [](In in, Attrs) { return sqrt(in[0]); }},
      {"abs", [](In in, Attrs) { return abs(in[0]); }},
      {"tanh", [](In in, Attrs) { return tanh(in[0]); }},
      {"sigmoid", [](In in, Attrs) { return sigmoid(in[0]); }},
      {"relu", [](In in, Attrs) { return relu(in[0]); }},
      {"silu", [](In in, Attrs) { return silu(in[0]); }},
      {"square", [](In in, Attrs) { return square(in[0]); }},
      {"sin", [](In in, Attrs) { return sin(in[0]); }},
      {"cos", [](In in, Attrs) { return cos(in[0]); }},
      {"rsqrt", [](In in, Attrs) { return rsqrt(in[0]); }},
      {"reciprocal", [](In in, Attrs) { return reciprocal(in[0]); }},
      {"log1p", [](In in, Attrs) { return log1p(in[0]); }},
      {"expm1", [](In in, Attrs) { return expm1(in[0]); }},
      {"erf", [](In in, Attrs) { return erf(in[0]); }},
      {"logsigmoid", [](In in, Attrs) { return logsigmoid(in[0]); }},
      {"sign", [](In in, Attrs) { return sign(in[0]); }},
      {"floor", [](In in, Attrs) { return floor(in[0]); }},
      {"ceil", [](In in, Attrs) { return ceil(in[0]); }},
      {"round", [](In in, Attrs) { return round(in[0]); }},
      {"gelu", [](In in, Attrs a) { return gelu(in[0], {.approximate = a.at("approximate")}); }},
      {"softplus",
       [](In in, Attrs a) { return softplus(in[0], real(a, "beta"), real(a, "threshold")); }},
      {"leaky_relu", [](In in, Attrs a) { return leaky_relu(in[0], real(a, "negative_slope")); }},
      {"elu", [](In in, Attrs a) { return elu(in[0], real(a, "alpha")); }},
      {"clamp", [](In in, Attrs a) { return clamp(in[0], bound(a, "min"), bound(a, "max")); }},

      // ---- reductions
      {"sum", [](In in, Attrs a) { return sum(in[0], reduce(a)); }},
      {"mean", [](In in, Attrs a) { return mean(in[0], reduce(a)); }},
      {"amax", [](In in, Attrs a) { return amax(in[0], reduce(a)); }},
      {"amin", [](In in, Attrs a) { return amin(in[0], reduce(a)); }},
      {"logsumexp", [](In in, Attrs a) { return logsumexp(in[0], dims(a), flag(a, "keepdim")); }},
      {"var", [](In in, Attrs a) { return var(in[0], variance(a)); }},
      {"std", [](In in, Attrs a) { return xg::std(in[0], variance(a)); }},
      {"norm",
       [](In in, Attrs a) {
         return norm(in[0], {.p = real(a, "p"), .dim = dims(a), .keepdim = flag(a, "keepdim")});
       }},
      {"max_dim", [](In in, Attrs a) { return max(in[0], whole(a, "dim"), flag(a, "keepdim")); }},
      {"min_dim", [](In in, Attrs a) { return min(in[0], whole(a, "dim"), flag(a, "keepdim")); }},
      {"max_all", [](In in, Attrs) { return max(in[0]); }},
      {"min_all", [](In in, Attrs) { return min(in[0]); }},
      {"argmax", [](In in, Attrs a) { return over<xg::argmax, xg::argmax>(in, a); }},
      {"argmin", [](In in, Attrs a) { return over<xg::argmin, xg::argmin>(in, a); }},
      {"prod", [](In in, Attrs a) { return over<xg::prod, xg::prod>(in, a); }},
      {"cumsum", [](In in, Attrs a) { return cumsum(in[0], whole(a, "dim")); }},
      {"softmax", [](In in, Attrs a) { return softmax(in[0], whole(a, "dim")); }},
      {"log_softmax", [](In in, Attrs a) { return log_softmax(in[0], whole(a, "dim")); }},

      // ---- shape
      {"reshape", [](In in, Attrs a) { return reshape(in[0], list(a, "shape")); }},
      {"view", [](In in, Attrs a) { return in[0].view(list(a, "shape")); }},
      {"expand", [](In in, Attrs a) { return expand(in[0], list(a, "shape")); }},
      {"transpose",
       [](In in, Attrs a) { return transpose(in[0], whole(a, "dim0"), whole(a, "dim1")); }},
      {"permute", [](In in, Attrs a) { return permute(in[0], dims(a, "dims")); }},
      {"flip", [](In in, Attrs a) { return flip(in[0], dims(a, "dims")); }},
      {"squeeze",
       [](In in, Attrs a) {
         return a.at("dim").is_null() ? squeeze(in[0]) : squeeze(in[0], whole(a, "dim"));
       }},
      {"unsqueeze", [](In in, Attrs a) { return unsqueeze(in[0], whole(a, "dim")); }},
      {"flatten",
       [](In in, Attrs a) { return flatten(in[0], whole(a, "start_dim"), whole(a, "end_dim")); }},
      {"narrow",
       [](In in, Attrs a) {
         return narrow(in[0], whole(a, "dim"), whole(a, "start"), whole(a, "length"));
       }},
      {"select", [](In in, Attrs a) { return select(in[0], whole(a, "dim"), whole(a, "index")); }},
      {"repeat", [](In in, Attrs a) { return repeat(in[0], list(a, "repeats")); }},
      {"slice", [](In in, Attrs a) { return sliced(in[0], a.at("index")); }},
      {"cat", [](In in, Attrs a) { return cat(in.tensors, whole(a, "dim")); }},
      {"stack", [](In in, Attrs a) { return stack(in.tensors, whole(a, "dim")); }},
      {"split",
       [](In in, Attrs a) {
         const char* key = "split_size_or_sections";
         if (a.at(key).is_number()) return split(in[0], whole(a, key), whole(a, "dim"));
         return split(in[0], list(a, key), whole(a, "dim"));
       }},
      {"chunk", [](In in, Attrs a) { return chunk(in[0], whole(a, "chunks"), whole(a, "dim")); }},
      {"index_select", [](In in, Attrs a) { return index_select(in[0], whole(a, "dim"), in[1]); }},
      {"embedding",
       [](In in, Attrs a) {
         const Json& padding = a.at("padding_idx");
         if (padding.is_null()) return embedding(in[0], in[1]);
         return embedding(in[0], in[1], padding.get<std::int64_t>());
       }},
      {"gather", [](In in, Attrs a) { return gather(in[0], whole(a, "dim"), in[1]); }},
      {"tril", [](In in, Attrs a) { return tril(in[0], whole(a, "diagonal")); }},
      {"triu", [](In in, Attrs a) { return triu(in[0], whole(a, "diagonal")); }},
      {"masked_fill",
       [](In in, Attrs a) { return masked_fill(in[0], in[1], scalar(a.at("value"))); }},

      // ---- products
      {"matmul", [](In in, Attrs) { return matmul(in[0], in[1]); }},
      {"bmm", [](In in, Attrs) { return bmm(in[0], in[1]); }},
      {"outer", [](In in, Attrs) { return outer(in[0], in[1]); }},
      {"linear", [](In in, Attrs) { return linear(in[0], in[1], in.optional("bias")); }},

      // ---- normalization
      {"layer_norm",
       [](In in, Attrs a) {
         return layer_norm(in[0], list(a, "normalized_shape"), in.optional("weight"),
                           in.optional("bias"), real(a, "eps"));
       }},
      {"rms_norm",
       [](In in, Attrs a) {
         return rms_norm(in[0], list(a, "normalized_shape"), in.optional("weight"), real(a, "eps"));
       }},
      {"group_norm",
       [](In in, Attrs a) {
         return group_norm(in[0], whole(a, "num_groups"), in.optional("weight"),
                           in.optional("bias"), real(a, "eps"));
       }},
      {"instance_norm",
       [](In in, Attrs a) {
         return whole(a, "nd") == 1 ? by_module<xg::nn::InstanceNorm1d>(in, a)
                                    : by_module<xg::nn::InstanceNorm2d>(in, a);
       }},
      {"batch_norm_train",
       [](In in, Attrs a) {
         return batch_norm(in[0], {}, {}, in.optional("weight"), in.optional("bias"),
                           {.training = true, .eps = real(a, "eps")});
       }},
      {"batch_norm_eval",
       [](In in, Attrs a) {
         return batch_norm(in[0], in.optional("running_mean"), in.optional("running_var"),
                           in.optional("weight"), in.optional("bias"),
                           {.training = false, .eps = real(a, "eps")});
       }},
      {"dropout", [](In in, Attrs a) { return dropout(in[0], real(a, "p"), flag(a, "training")); }},

      // ---- attention
      {"sdpa",
       [](In in, Attrs a) -> Outputs {
         const xg::AttentionOptions with{
             .mask = in.optional("mask"),
             .is_causal = flag(a, "causal"),
             .scale = a.at("scale").is_null() ? std::optional<double>() : real(a, "scale")};
         return {scaled_dot_product_attention(in[0], in[1], in[2], with),
                 attention_weights(in[0], in[1], with)};
       }},
      {"mha",
       [](In in, Attrs a) {
         xg::nn::MultiheadAttention layer(in[0].size(-1), whole(a, "num_heads"),
                                          {.is_causal = flag(a, "causal")});
         layer.in_proj_weight = in.optional("in_proj_weight");
         layer.in_proj_bias = in.optional("in_proj_bias");
         layer.out_proj.weight = in.optional("out_proj_weight");
         layer.out_proj.bias = in.optional("out_proj_bias");
         return layer(in[0]);
       }},

      // ---- losses
      {"mse_loss", [](In in, Attrs a) { return mse_loss(in[0], in[1], reduction(a)); }},
      {"cross_entropy",
       [](In in, Attrs a) {
         return cross_entropy(in[0], in[1],
                              {.weight = in.optional("weight"),
                               .reduction = reduction(a),
                               .ignore_index = whole(a, "ignore_index"),
                               .label_smoothing = real(a, "label_smoothing")});
       }},
      {"l1_loss", [](In in, Attrs a) { return l1_loss(in[0], in[1], reduction(a)); }},
      {"smooth_l1_loss",
       [](In in, Attrs a) {
         return smooth_l1_loss(in[0], in[1], {reduction(a), real(a, "beta")});
       }},
      {"huber_loss",
       [](In in, Attrs a) {
         return huber_loss(in[0], in[1], {reduction(a), real(a, "delta")});
       }},
      {"bce",
       [](In in, Attrs a) {
         return binary_cross_entropy(in[0], in[1], {in.optional("weight"), reduction(a)});
       }},
      {"bce_with_logits",
       [](In in, Attrs a) {
         return binary_cross_entropy_with_logits(
             in[0], in[1], {in.optional("weight"), reduction(a), in.optional("pos_weight")});
       }},
      {"kl_div",
       [](In in, Attrs a) {
         return kl_div(in[0], in[1], {reduction(a), flag(a, "log_target")});
       }},
      {"nll_loss",
       [](In in, Attrs a) {
         return nll_loss(in[0], in[1],
                         {.weight = in.optional("weight"),
                          .reduction = reduction(a),
                          .ignore_index = whole(a, "ignore_index")});
       }},
  };
  return table;
}

}  // namespace golden
