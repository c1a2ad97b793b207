#include "op_table.hpp"

/// Shapes, and parts of a tensor.

namespace op_table {

using xg::Tensor;
using T = const Tensors&;

std::vector<Row> shape_rows() {
  const In rows{{2}, 0, 3, xg::int64};
  return {
      {"reshape",
       "ReshapeAliasBackward0",
       [](T in) {
         return reshape(in[0], {-1, 2});
       },
       {{{3, 4}}},
       {{{2}}, {{0, 3}}, {{2, 3, 4}}}},
      {"view (method)",
       "ViewBackward0",
       [](T in) {
         return in[0].view({2, -1});
       },
       {{{3, 4}}},
       {{{2}}, {{0, 3}}}},
      {"flatten",
       "ReshapeAliasBackward0",
       [](T in) { return flatten(in[0], 1); },
       {{{2, 3, 4}}},
       {{{1, 1, 1}}, {{2, 0, 3}}}},
      {"transpose",
       "TransposeBackward0",
       [](T in) { return transpose(in[0], 0, -1); },
       {{{2, 3, 4}}},
       {{{2, 3}}, {{1, 1}}, {{0, 3}}}},
      {"t (method)",
       "TBackward0",
       [](T in) { return in[0].t(); },
       {{{2, 3}}},
       {{{1, 1}}, {{0, 3}}}},
      {"permute",
       "PermuteBackward0",
       [](T in) {
         return permute(in[0], {2, 0, 1});
       },
       {{{2, 3, 4}}},
       {{{1, 1, 1}}, {{2, 0, 3}}}},
      {"squeeze",
       "SqueezeBackward0",
       [](T in) { return squeeze(in[0]); },
       {{{2, 1, 3, 1}}},
       {{{2, 3}}, {{1}}, {{0, 1}}}},
      {"squeeze (dim)",
       "SqueezeBackward1",
       [](T in) { return squeeze(in[0], 1); },
       {{{2, 1, 3}}},
       {{{2, 3}}, {{0, 1}}}},
      {"unsqueeze",
       "UnsqueezeBackward0",
       [](T in) { return unsqueeze(in[0], 1); },
       {{{2, 3}}},
       {{{1}}, {{0}}}},
      {"expand",
       "ExpandBackward0",
       [](T in) {
         return expand(in[0], {2, 3, 4});
       },
       {{{3, 1}}},
       {{{1}}, {{2, 3, 4}}, {{1, 3, 1}}, {{}}}},
      {"expand (to nothing)",
       "ExpandBackward0",
       [](T in) {
         return expand(in[0], {0, -1});
       },
       {{{1, 3}}},
       {{{0, 3}}}},
      {"repeat",
       "RepeatBackward0",
       [](T in) {
         return repeat(in[0], {2, 1, 3});
       },
       {{{2, 4}}},
       {{{1}}, {{0}}, {{}}, {{1, 2, 3}}}},
      {"flip",
       "FlipBackward0",
       [](T in) {
         return flip(in[0], {0, -1});
       },
       {{{2, 3}}},
       {{{2, 3, 4}}, {{1, 1}}, {{0, 3}}}},
      {"tril",
       "TrilBackward0",
       [](T in) { return tril(in[0]); },
       {{{3, 4}}},
       {{{4, 3}}, {{2, 3, 2}}, {{1, 1}}, {{0, 3}}}},
      {"triu",
       "TriuBackward0",
       [](T in) { return triu(in[0], 1); },
       {{{3, 4}}},
       {{{4, 3}}, {{2, 3, 2}}, {{1, 1}}, {{0, 3}}}},
      {"cat",
       "CatBackward0",
       [](T in) {
         return xg::cat({in[0], in[1], in[0]}, 1);
       },
       {{{2, 3}}, {{2, 4}}},
       {{{2, 3}, {2, 3}}, {{2, 0}, {2, 1}}, {{0, 1}, {0, 2}}}},
      {"stack",
       "StackBackward0",
       [](T in) {
         return xg::stack({in[0], in[1]}, 1);
       },
       {{{2, 3}}, {{2, 3}}},
       {{{1}, {1}}, {{0}, {0}}}},
      {"split",
       "SplitBackward0",
       [](T in) { return split(in[0], 2, 1).at(1); },
       {{{2, 5}}},
       {{{1, 3}}, {{0, 4}}}},
      {"split (sizes)",
       "SplitWithSizesBackward0",
       [](T in) {
         return split(in[0], std::vector<std::int64_t>{1, 3}, -1).at(1);
       },
       {{{2, 4}}},
       {{{1, 4}}, {{0, 4}}}},
      {"chunk",
       "SplitBackward0",
       [](T in) { return chunk(in[0], 3, 0).at(1); },
       {{{5, 2}}},
       {{{3, 1}}, {{3, 0}}}},

      {"index (number)",
       "SelectBackward0",
       [](T in) { return index(in[0], {1}); },
       {{{2, 3}}},
       {{{2}}, {{2, 0}}}},
      {"index (slice)",
       "SliceBackward0",
       [](T in) {
         return index(in[0], {xg::Slice{1, 3}});
       },
       {{{4, 3}}},
       {{{3}}, {{3, 0}}, {{1}}}},
      {"index (step)",
       "SliceBackward0",
       [](T in) {
         return index(in[0], {xg::Ellipsis(), xg::Slice{.start = 1, .step = 2}});
       },
       {{{2, 3, 5}}},
       {{{1}}, {{2}}, {{0, 4}}}},
      {"index (new axis)",
       "UnsqueezeBackward0",
       [](T in) { return index(in[0], {std::nullopt}); },
       {{{2, 3}}},
       {{{}}, {{0}}}},
      {"index (rows)",
       "IndexBackward0",
       [](T in) { return index(in[0], {in[1]}); },
       {{{3, 4}}, rows},
       {{{3}, {5}}, {{3, 2}, {0}}, {{3, 0}, {1}}}},
      {"index (mask)",
       "IndexBackward0",
       [](T in) { return index(in[0], {in[1]}); },
       {{{3, 4}}, {{3, 4}, 0, 2, xg::bool_}},
       {{{3, 4}, {3}}, {{5}, {5}}, {{0, 2}, {0}}}},
      {"select",
       "SelectBackward0",
       [](T in) { return select(in[0], -1, 1); },
       {{{2, 3}}},
       {{{2}}, {{0, 2}}}},
      {"narrow",
       "SliceBackward0",
       [](T in) { return narrow(in[0], 1, 1, 2); },
       {{{2, 4}}},
       {{{3, 3, 2}}, {{1, 3}}, {{0, 3}}}},
      {"index_select",
       "IndexSelectBackward0",
       [](T in) { return index_select(in[0], 0, in[1]); },
       {{{3, 4}}, rows},
       {{{3}, {5}}, {{3, 2, 2}, {1}}, {{3, 2}, {0}}, {{3, 0}, {2}}}},
      {"embedding",
       "EmbeddingBackward0",
       [](T in) { return embedding(in[1], in[0]); },
       {{{3, 4}}, {{2, 5}, 0, 3, xg::int64}},
       {{{3, 1}, {1}}, {{3, 2}, {}}, {{3, 2}, {0}}, {{3, 0}, {2}}}},
      {"embedding (padding)",
       "EmbeddingBackward0",
       // The row of zero gradient is made a constant, or the differences would find its slope.
       [](T in) {
         const Tensor padding = xg::tensor({{false}, {true}, {false}});
         return embedding(in[1], masked_fill(in[0], padding, 1), -2);
       },
       {{{3, 4}}, {{2, 5}, 0, 3, xg::int64}}},
      {"gather",
       "GatherBackward0",
       [](T in) { return gather(in[0], 0, in[1]); },
       {{{3, 4}}, {{2, 4}, 0, 3, xg::int64}},
       {{{3, 4}, {5, 2}}, {{3}, {4}}, {{3, 1}, {1, 1}}, {{3, 2}, {0, 2}}}},
  };
}

}  // namespace op_table
