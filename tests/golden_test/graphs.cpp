#include "golden_test/golden.hpp"

/// The ops "graph_...": small compositions that exercise the engine.

namespace golden {

using xg::Tensor;
using In = const Inputs&;
using Attrs = const Json&;

const std::vector<Op>& graph_table() {
  static const std::vector<Op> table = {
      {"graph_square_plus", [](In in, Attrs) { return in[0] * in[0] + in[0]; }},
      {"graph_self_sub", [](In in, Attrs) { return in[0] - in[0]; }},
      {"graph_diamond",
       [](In in, Attrs) {
         const Tensor y = exp(in[0]);
         return y * y + sin(y) * in[0];
       }},
      {"graph_detach", [](In in, Attrs) { return in[0] * in[0].detach(); }},
      {"graph_center", [](In in, Attrs) { return in[0] - mean(in[0], -1, true); }},
      {"graph_normalize",
       [](In in, Attrs attrs) {
         const Tensor& x = in[0];
         const Tensor v = var(x, {.dim = -1, .unbiased = false, .keepdim = true});
         return (x - mean(x, -1, true)) / sqrt(v + number(attrs.at("eps")));
       }},
      {"graph_deep",
       [](In in, Attrs attrs) {
         Tensor y = in[0];
         for (int i = attrs.at("depth"); i > 0; --i) y = tanh(y + in[0]);
         return y;
       }},
      {"graph_wide",
       [](In in, Attrs attrs) {
         const Tensor& x = in[0];
         Tensor y = x * 0;
         const int count = attrs.at("count");
         for (int k = 0; k < count; ++k) y = y + narrow(x, 0, k % x.numel(), 1) * (k + 1);
         return y;
       }},
      {"graph_tied_linear", [](In in, Attrs) { return linear(tanh(linear(in[0], in[1])), in[1]); }},
      {"graph_split_partial",
       [](In in, Attrs attrs) {
         return split(in[0], attrs.at("size").get<std::int64_t>(), -1).at(1) * 2;
       }},
      {"graph_where_log",
       [](In in, Attrs) {
         const Tensor& x = in[0];
         return where(x > 0, log(x), x * 0);
       }},
      {"graph_sub_max_softmax",
       [](In in, Attrs) {
         const Tensor e = exp(in[0] - amax(in[0], -1, true));
         return e / sum(e, -1, true);
       }},
      {"graph_transpose_matmul", [](In in, Attrs) { return matmul(in[0].t(), in[0]); }},
      {"graph_unused_input", [](In in, Attrs) { return 2 * in[0]; }},
  };
  return table;
}

}  // namespace golden
