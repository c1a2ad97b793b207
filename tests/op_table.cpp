#include <cmath>

#include "op_table.hpp"

/// Arithmetic, functions of each element, and reductions.

namespace op_table {

using xg::Tensor;
using T = const Tensors&;

namespace {

const std::vector<std::vector<xg::Shape>> one_input = {
    {{}}, {{1}}, {{0}}, {{2, 0, 3}}, {{2, 1, 4}}};

const std::vector<std::vector<xg::Shape>> broadcast = {
    {{2, 3}, {3}}, {{3}, {2, 3}}, {{4, 1}, {1, 3}}, {{}, {2, 3}},     {{2, 3}, {}},
    {{1}, {1}},    {{}, {}},      {{0, 3}, {3}},    {{2, 0}, {2, 1}}, {{2, 1, 3}, {4, 1}}};

/// A row of a function of each element.
Row each(const char* name, const char* grad_fn, Tensor (*f)(const Tensors&), double low = -2,
         double high = 2) {
  return {name, grad_fn, f, {{{2, 3}, low, high}}, one_input};
}

/// A row of an operation on two broadcast tensors.
Row both(const char* name, const char* grad_fn, Tensor (*f)(const Tensors&), double low = -2,
         double high = 2) {
  return {name, grad_fn, f, {{{2, 3}, low, high}, {{2, 3}, low, high}}, broadcast};
}

const std::vector<std::vector<xg::Shape>> matrices = {{{1, 1}}, {{4, 1}}, {{1, 5}}, {{2, 3, 4}}};
const std::vector<std::vector<xg::Shape>> matrices_or_none = {{{1, 1}},    {{4, 1}}, {{1, 5}},
                                                              {{2, 3, 4}}, {{0, 3}}, {{2, 0}}};

/// A row of a reduction of a matrix or more. `more` has no empty shapes unless `matrices_or_none`
/// is given, and no 0-d ones: those reduce over all elements, with one of the lists in
/// reduction_rows.
Row reduction(const char* name, const char* grad_fn, Tensor (*f)(const Tensors&),
              const std::vector<std::vector<xg::Shape>>& more = matrices) {
  return {name, grad_fn, f, {{{3, 4}}}, more};
}

}  // namespace

std::vector<Row> arithmetic_rows() {
  return {
      both("add", "AddBackward0", [](T in) { return add(in[0], in[1]); }),
      both("sub", "SubBackward0", [](T in) { return sub(in[0], in[1]); }),
      both("mul", "MulBackward0", [](T in) { return mul(in[0], in[1]); }),
      both(
          "div", "DivBackward0", [](T in) { return div(in[0], in[1]); }, 0.5, 2),
      {"pow",
       "PowBackward1",
       [](T in) { return pow(in[0], in[1]); },
       {{{2, 3}, 0.3, 2}, {{2, 3}, 0.5, 2.5}},
       broadcast},
      both("maximum", "MaximumBackward0", [](T in) { return maximum(in[0], in[1]); }),
      both("minimum", "MinimumBackward0", [](T in) { return minimum(in[0], in[1]); }),
      each("add (number)", "AddBackward0", [](T in) { return in[0] + 2.5; }),
      each("sub (number)", "SubBackward0", [](T in) { return in[0] - 2.5; }),
      each("rsub", "RsubBackward1", [](T in) { return rsub(in[0], 2.5); }),
      each("mul (number)", "MulBackward0", [](T in) { return in[0] * 2.5; }),
      each("div (number)", "DivBackward0", [](T in) { return in[0] / 2.5; }),
      each(
          "rdiv", "MulBackward0", [](T in) { return rdiv(in[0], 2.5); }, 0.5, 2),
      each(
          "pow (exponent)", "PowBackward0", [](T in) { return pow(in[0], 2.5); }, 0.3, 2),
      each("pow (whole exponent)", "PowBackward0", [](T in) { return pow(in[0], 3); }),
      each("pow (negative exponent)", "PowBackward0", [](T in) { return pow(in[0], -2); }),
      each("pow (base)", "PowBackward1", [](T in) { return pow(2.5, in[0]); }),

      both("eq", nullptr, [](T in) { return eq(in[0], in[1]); }),
      both("ne", nullptr, [](T in) { return ne(in[0], in[1]); }),
      both("lt", nullptr, [](T in) { return lt(in[0], in[1]); }),
      both("le", nullptr, [](T in) { return le(in[0], in[1]); }),
      both("gt", nullptr, [](T in) { return gt(in[0], in[1]); }),
      both("ge", nullptr, [](T in) { return ge(in[0], in[1]); }),
      each("gt (number)", nullptr, [](T in) { return in[0] > 0.5; }),
      each("logical_not", nullptr, [](T in) { return logical_not(in[0] > 0.5); }),
      each("isfinite", nullptr, [](T in) { return isfinite(in[0]); }),
      {"where",
       "WhereBackward0",
       [](T in) { return where(in[0], in[1], in[2]); },
       {{{2, 3}, 0, 2, xg::bool_}, {{2, 3}}, {{2, 3}}},
       {{{2, 1}, {3}, {4, 1, 1}}, {{}, {2, 3}, {3}}, {{2, 3}, {}, {}}, {{0}, {1}, {0}}}},
      {"where (number)",
       "WhereBackward0",
       [](T in) { return where(in[0], in[1], 0.5); },
       {{{2, 3}, 0, 2, xg::bool_}, {{2, 3}}},
       {{{2, 1}, {3}}, {{}, {}}, {{0, 3}, {3}}}},
      {"where (number first)",
       "WhereBackward0",
       [](T in) { return where(in[0], 0.5, in[1]); },
       {{{2, 3}, 0, 2, xg::bool_}, {{2, 3}}},
       {{{2, 1}, {3}}, {{}, {}}, {{0, 3}, {3}}}},
      {"masked_fill",
       "MaskedFillBackward0",
       [](T in) { return masked_fill(in[0], in[1], 7); },
       {{{2, 3}}, {{2, 3}, 0, 2, xg::bool_}},
       {{{2, 3}, {3}}, {{}, {}}, {{2, 0}, {1}}}},
  };
}

std::vector<Row> elementwise_rows() {
  return {
      each("neg", "NegBackward0", [](T in) { return neg(in[0]); }),
      each("abs", "AbsBackward0", [](T in) { return abs(in[0]); }),
      each("sign", "SignBackward0", [](T in) { return sign(in[0]); }),
      each("floor", "FloorBackward0", [](T in) { return floor(in[0]); }),
      each("ceil", "CeilBackward0", [](T in) { return ceil(in[0]); }),
      each("round", "RoundBackward0", [](T in) { return round(in[0]); }),
      each("exp", "ExpBackward0", [](T in) { return exp(in[0]); }),
      each("expm1", "Expm1Backward0", [](T in) { return expm1(in[0]); }),
      each(
          "log", "LogBackward0", [](T in) { return log(in[0]); }, 0.3, 3),
      each(
          "log1p", "Log1PBackward0", [](T in) { return log1p(in[0]); }, -0.6, 3),
      each(
          "sqrt", "SqrtBackward0", [](T in) { return sqrt(in[0]); }, 0.3, 3),
      each(
          "rsqrt", "RsqrtBackward0", [](T in) { return rsqrt(in[0]); }, 0.3, 3),
      each(
          "reciprocal", "ReciprocalBackward0", [](T in) { return reciprocal(in[0]); }, 0.3, 3),
      each("square", "PowBackward0", [](T in) { return square(in[0]); }),
      each("sin", "SinBackward0", [](T in) { return sin(in[0]); }),
      each("cos", "CosBackward0", [](T in) { return cos(in[0]); }),
      each("tanh", "TanhBackward0", [](T in) { return tanh(in[0]); }),
      each("erf", "ErfBackward0", [](T in) { return erf(in[0]); }),
      each("sigmoid", "SigmoidBackward0", [](T in) { return sigmoid(in[0]); }),
      each("logsigmoid", "LogSigmoidBackward0", [](T in) { return logsigmoid(in[0]); }),
      each("relu", "ReluBackward0", [](T in) { return relu(in[0]); }),
      each("leaky_relu", "LeakyReluBackward0", [](T in) { return leaky_relu(in[0], 0.2); }),
      each("elu", "EluBackward0", [](T in) { return elu(in[0], 1.5); }),
      each("silu", "SiluBackward0", [](T in) { return silu(in[0]); }),
      each("gelu", "GeluBackward0", [](T in) { return gelu(in[0]); }),
      each("gelu (tanh)", "GeluBackward0",
           [](T in) { return gelu(in[0], {.approximate = "tanh"}); }),
      each("softplus", "SoftplusBackward0", [](T in) { return softplus(in[0], 1.5, 2); }),
      each("clamp", "ClampBackward1", [](T in) { return clamp(in[0], -1, 1.3); }),
      each("clamp (one side)", "ClampBackward1",
           [](T in) { return clamp(in[0], std::nullopt, 1); }),
      each("clone", "CloneBackward0", [](T in) { return in[0].clone(); }),
  };
}

std::vector<Row> reduction_rows() {
  const std::vector<std::vector<xg::Shape>> any_shape = {{{}}, {{1}}, {{5}}, {{2, 3, 4}}};
  const std::vector<std::vector<xg::Shape>> any_or_none = {
      {{}}, {{1}}, {{0}}, {{2, 0}}, {{2, 3, 4}}};
  const std::vector<std::vector<xg::Shape>> some = {{{2}}, {{5}}, {{2, 3, 4}}};
  return {
      reduction(
          "sum", "SumBackward0", [](T in) { return sum(in[0]); }, any_or_none),
      reduction(
          "sum (dim)", "SumBackward1", [](T in) { return sum(in[0], 1); }, matrices_or_none),
      reduction(
          "sum (dims)", "SumBackward1",
          [](T in) {
            return sum(in[0], {0, -1}, true);
          },
          matrices_or_none),
      reduction(
          "sum (by name)", "SumBackward1",
          [](T in) { return sum(in[0], {.dim = 0, .keepdim = true}); }, matrices_or_none),
      reduction(
          "mean", "MeanBackward0", [](T in) { return mean(in[0]); }, any_shape),
      reduction("mean (dim)", "MeanBackward1", [](T in) { return mean(in[0], -1, true); }),
      reduction("mean (dims)", "MeanBackward1",
                [](T in) {
                  return mean(in[0], {0, 1});
                }),
      reduction(
          "amax", "AmaxBackward0", [](T in) { return amax(in[0]); }, any_shape),
      reduction("amax (dim)", "AmaxBackward0", [](T in) { return amax(in[0], 0); }),
      reduction("amax (dims)", "AmaxBackward0",
                [](T in) {
                  return amax(in[0], {-2, -1}, true);
                }),
      reduction(
          "amin", "AminBackward0", [](T in) { return amin(in[0]); }, any_shape),
      reduction("amin (dim)", "AminBackward0", [](T in) { return amin(in[0], 1, true); }),
      reduction(
          "var", "VarBackward0", [](T in) { return var(in[0]); }, some),
      reduction(
          "var (biased)", "VarBackward0", [](T in) { return var(in[0], false); }, any_shape),
      reduction("var (dim)", "VarBackward0",
                [](T in) { return var(in[0], {.dim = 1, .keepdim = true}); },
                {{{1, 2}}, {{2, 3, 4}}}),
      reduction("var (dims)", "VarBackward0",
                [](T in) {
                  return var(in[0], {.dim = {0, -1}, .unbiased = false});
                }),
      reduction(
          "std", "StdBackward0", [](T in) { return xg::std(in[0]); }, some),
      reduction("std (dim)", "StdBackward0",
                [](T in) { return xg::std(in[0], {.dim = 0, .unbiased = false}); },
                {{{2, 1}}, {{3, 2, 4}}}),
      reduction(
          "norm", "NormBackward1", [](T in) { return norm(in[0]); }, any_shape),
      reduction("norm (dim)", "NormBackward1",
                [](T in) { return norm(in[0], {.dim = 1, .keepdim = true}); }),
      reduction("norm (1)", "NormBackward1", [](T in) { return norm(in[0], {.p = 1, .dim = 0}); }),
      reduction(
          "norm (3)", "NormBackward1", [](T in) { return norm(in[0], {.p = 3}); }, any_shape),
      reduction("norm (inf)", "NormBackward1",
                [](T in) {
                  return norm(in[0], {.p = INFINITY, .dim = {0, 1}});
                }),
      reduction(
          "max", "MaxBackward1", [](T in) { return max(in[0]); }, any_shape),
      reduction(
          "min", "MinBackward1", [](T in) { return min(in[0]); }, any_shape),
      reduction("max (dim)", "MaxBackward0", [](T in) { return max(in[0], 1).values; }),
      reduction("min (dim)", "MinBackward0", [](T in) { return min(in[0], 0, true).values; }),
      reduction("max (indices)", nullptr, [](T in) { return max(in[0], 1).indices; }),
      reduction(
          "argmax", nullptr, [](T in) { return argmax(in[0]); }, any_shape),
      reduction(
          "any", nullptr, [](T in) { return any(in[0] > 1.5); }, any_shape),
      reduction("any (dim)", nullptr, [](T in) { return any(in[0] > 1.5, -1, true); }),
      reduction(
          "all", nullptr, [](T in) { return all(in[0] < 1.5); }, any_shape),
      reduction("all (dim)", nullptr, [](T in) { return all(in[0] < 1.5, 0); }),
      reduction("argmax (dim)", nullptr, [](T in) { return argmax(in[0], -1, true); }),
      reduction(
          "argmin", nullptr, [](T in) { return argmin(in[0]); }, any_shape),
      reduction(
          "prod", "ProdBackward0", [](T in) { return prod(in[0]); }, any_or_none),
      reduction(
          "prod (dim)", "ProdBackward1", [](T in) { return prod(in[0], 1); }, matrices_or_none),
      reduction(
          "cumsum", "CumsumBackward0", [](T in) { return cumsum(in[0], 1); }, matrices_or_none),
      reduction("logsumexp", "LogsumexpBackward0", [](T in) { return logsumexp(in[0], 1); }),
      reduction("logsumexp (dims)", "LogsumexpBackward0",
                [](T in) {
                  return logsumexp(in[0], {0, -1}, true);
                }),
  };
}

}  // namespace op_table
