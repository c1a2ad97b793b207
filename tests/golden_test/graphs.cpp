#include "golden_test/golden.hpp"

/// The ops "graph_...": small compositions that exercise the engine.

namespace golden {

using xg::Tensor;
using Outputs = std::vector<Tensor>;

const std::vector<Op>& graph_table() {
  static const std::vector<Op> table = {
      {"graph_square_plus",
       [](const Inputs& in, const Json&) -> Outputs { return {in[0] * in[0] + in[0]}; }},
      {"graph_self_sub", [](const Inputs& in, const Json&) -> Outputs { return {in[0] - in[0]}; }},
      {"graph_diamond",
       [](const Inputs& in, const Json&) -> Outputs {
         const Tensor y = exp(in[0]);
         return {y * y + sin(y) * in[0]};
       }},
      {"graph_detach",
       [](const Inputs& in, const Json&) -> Outputs { return {in[0] * in[0].detach()}; }},
      {"graph_center",
       [](const Inputs& in, const Json&) -> Outputs { return {in[0] - mean(in[0], -1, true)}; }},
      {"graph_normalize",
       [](const Inputs& in, const Json& attrs) -> Outputs {
         const Tensor& x = in[0];
         const Tensor v = var(x, {.dim = -1, .unbiased = false, .keepdim = true});
         return {(x - mean(x, -1, true)) / sqrt(v + number(attrs.at("eps")))};
       }},
      {"graph_deep",
       [](const Inputs& in, const Json& attrs) -> Outputs {
         Tensor y = in[0];
         for (int i = attrs.at("depth"); i > 0; --i) y = tanh(y + in[0]);
         return {y};
       }},
      {"graph_wide",
       [](const Inputs& in, const Json& attrs) -> Outputs {
         const Tensor& x = in[0];
         Tensor y = x * 0;
         const int count = attrs.at("count");
         for (int k = 0; k < count; ++k) y = y + narrow(x, 0, k % x.numel(), 1) * (k + 1);
         return {y};
       }},
      {"graph_tied_linear",
       [](const Inputs& in, const Json&) -> Outputs {
         return {linear(tanh(linear(in[0], in[1])), in[1])};
       }},
      {"graph_split_partial",
       [](const Inputs& in, const Json& attrs) -> Outputs {
         return {split(in[0], attrs.at("size").get<std::int64_t>(), -1).at(1) * 2};
       }},
      {"graph_where_log",
       [](const Inputs& in, const Json&) -> Outputs {
         const Tensor& x = in[0];
         return {where(x > 0, log(x), x * 0)};
       }},
      {"graph_sub_max_softmax",
       [](const Inputs& in, const Json&) -> Outputs {
         const Tensor e = exp(in[0] - amax(in[0], -1, true));
         return {e / sum(e, -1, true)};
       }},
      {"graph_transpose_matmul",
       [](const Inputs& in, const Json&) -> Outputs { return {matmul(in[0].t(), in[0])}; }},
      {"graph_unused_input", [](const Inputs& in, const Json&) -> Outputs { return {2 * in[0]}; }},
  };
  return table;
}

}  // namespace golden
