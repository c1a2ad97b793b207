#include <set>

#include "op_table.hpp"
#include "xgrad/testing.hpp"

/// Right gradients are called right: 10,000 cases with operations, shapes and values drawn at
/// random, to first order, and every fifth to second.

namespace op_table {

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}
  std::int64_t below(std::int64_t n) {
    return generator_.next_u32() % static_cast<std::uint32_t>(n);
  }

  /// One to four dimensions of different sizes, now and then one of 1 or 0.
  xg::Shape shape(int dim) {
    std::vector<std::int64_t> sizes = {2, 3, 4, 5};
    xg::Shape out;
    for (int d = 0; d < dim; ++d) {
      const auto at = sizes.begin() + below(static_cast<std::int64_t>(sizes.size()));
      out.push_back(below(12) == 0 ? 1 : below(60) == 0 ? 0 : *at);
      sizes.erase(at);
    }
    return out;
  }
  /// What broadcasts with it.
  xg::Shape broadcast(const xg::Shape& shape) {
    xg::Shape out;
    for (int d = static_cast<int>(below(shape.dim() + 1)); d < shape.dim(); ++d) {
      out.push_back(below(3) == 0 ? 1 : shape[d]);
    }
    return out;
  }

 private:
  xg::Generator generator_;
};

/// Shapes drawn freely, or as the row's own with other sizes. A row may refuse them.
std::vector<xg::Shape> drawn_shapes(const Row& row, Draw& draw) {
  const int dim = static_cast<int>(1 + draw.below(4));
  const xg::Shape first = draw.shape(dim);
  if (row.inputs.size() == 1) return {first};
  if (row.inputs.size() == 2 && draw.below(2) == 0) return {first, draw.broadcast(first)};
  return shapes_like(row, draw.shape(row.inputs.front().shape.dim()));
}

TEST(OpTableRandom, NoFalseAlarmIn10000Cases) {
  const std::vector<Row> rows = all_rows();
  std::set<std::string> seen;
  int cases = 0, refused = 0;
  double worst[2] = {};
  for (std::uint64_t seed = 0; cases < 10000; ++seed) {
    Draw draw(seed);
    const Row& row =
        rows[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(rows.size())))];
    if (!row.grad_fn) continue;
    Tensors inputs;
    std::string shapes;
    try {
      const std::vector<xg::Shape> drawn = drawn_shapes(row, draw);
      for (const xg::Shape& shape : drawn) shapes += shape.str() + " ";
      inputs = leaves(inputs_of(row, drawn, seed));
      const xg::Tensor out = row.f(inputs);
      if (!out.requires_grad() || (out != out).sum().item<int>() > 0) continue;  // 0 / 0 of nothing
    } catch (const std::exception&) {  // out_of_range too: of a list that is split()'s
      ++refused;
      continue;
    }
    ++cases;
    seen.insert(row.name);
    for (int order = 0; order < (cases % 5 == 0 ? 2 : 1); ++order) {
      const xg::GradcheckOptions options{.seed = seed};
      const xg::GradcheckReport report = order == 0 ? xg::gradcheck(row.f, inputs, options)
                                                    : xg::gradgradcheck(row.f, inputs, options);
      EXPECT_TRUE(report) << row.name << " " << shapes << "seed " << seed << "\n" << report.message;
      worst[order] = std::max(worst[order], report.max_error);
    }
  }
  // Most of the table takes part; the rest wants one shape and no other.
  EXPECT_GT(seen.size(), rows.size() * 9 / 10) << refused << " refused";
  RecordProperty("worst_first", ::testing::PrintToString(worst[0]));
  RecordProperty("worst_second", ::testing::PrintToString(worst[1]));
  std::cout << seen.size() << " rows, " << refused << " draws refused, worst errors " << worst[0]
            << " and " << worst[1] << "\n";
}

}  // namespace

}  // namespace op_table
