#include "answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "xgrad/teach/statistics.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
namespace teach = xgrad::teach;
using xg::Tensor;

struct Answer {
  std::int64_t row, truth, said;
  double probability;
};

/// The most likely class of each test row; none where the net's outputs are not finite.
std::vector<Answer> answers(Mlp& net, const xg::data::Dataset& test) {
  const xg::NoGrad no_grad;
  const bool training = net.is_training();
  net.eval();
  std::vector<Answer> out;
  for (const xg::data::Batch& batch : xg::data::DataLoader(test, {.batch_size = 1000})) {
    const Tensor logits = net(batch.inputs);
    if (!teach::is_finite(logits)) {
      out.clear();
      break;
    }
    const auto [top, said] = logits.softmax(1).max(1);
    const auto probability = top.to_vector<double>();
    const auto classes = said.to_vector<std::int64_t>();
    const auto truth = batch.labels.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < truth.size(); ++i) {
      out.push_back({static_cast<std::int64_t>(out.size()), truth[i], classes[i], probability[i]});
    }
  }
  net.train(training);
  return out;
}

void confusion(Page& page, const std::vector<Answer>& all, std::int64_t classes) {
  page.section("Which class is taken for which");
  const auto n = static_cast<std::size_t>(classes);
  Grid grid{"true class", "answer", "test rows", {}, {}, {}};
  for (std::size_t i = 0; i < n; ++i) grid.rows.push_back(std::to_string(i));
  grid.columns = grid.rows;
  grid.values.assign(n, std::vector<double>(n));
  for (const Answer& a : all) {
    ++grid.values[static_cast<std::size_t>(a.truth)][static_cast<std::size_t>(a.said)];
  }
  std::vector<std::pair<double, std::string>> mistakes;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double times = grid.values[i][j];
      if (i != j && times > 0) mistakes.emplace_back(times, fmt::format("{} as {}", i, j));
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = mistakes.empty() ? "Every test row is classified right." : "Most often: ";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, mistakes.size()); ++i) {
    const auto& [times, pair] = mistakes[i];
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", pair,
                        times == 1 ? "once" : fmt::format("{} times", times));
  }
  page.text(mistakes.empty() ? text : text + ".");
  if (n <= 40) page.chart("Confusion matrix of the test data", heat_map(grid));
}

/// A square image in 16 shades of grey, each run of equal pixels a part of one path for its shade.
std::string image(const Tensor& pixels, std::int64_t side, double low, double high) {
  std::vector<std::string> paths(16);
  const auto values = pixels.to_vector<double>();
  const auto shade = [&](std::int64_t y, std::int64_t x) {
    const double share = (values[static_cast<std::size_t>(y * side + x)] - low) / (high - low);
    return static_cast<std::size_t>(std::clamp(std::lround(15 * share), 0L, 15L));
  };
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0, end = 0; x < side; x = end) {
      const std::size_t s = shade(y, x);
      for (end = x + 1; end < side && shade(y, end) == s;) ++end;
      if (s > 0) paths[s] += fmt::format("M{} {}h{}v1h-{}z", x, y, end - x, end - x);
    }
  }
  std::string out;
  for (std::size_t s = 1; s < paths.size(); ++s) {
    if (!paths[s].empty())
      out += fmt::format("<path fill=\"#{0:x}{0:x}{0:x}\" d=\"{1}\"/>", s, paths[s]);
  }
  return out;
}

void drawn(Page& page, const std::vector<Answer>& wrong, const Tensor& inputs, std::int64_t side) {
  const double low = inputs.amin().item<double>(), high = inputs.amax().item<double>();
  constexpr std::int64_t columns = 6, width = 112, height = 126, size = 84;
  std::string svg;
  std::int64_t i = 0;
  for (const Answer& a : wrong) {
    svg += fmt::format(
        "<g transform=\"translate({} {})\"><title>test row {}</title>"
        "<g transform=\"translate(14 4) scale({})\" shape-rendering=\"crispEdges\">"
        "<rect width=\"{}\" height=\"{}\"/>{}</g>"
        "<text x=\"56\" y=\"103\">is {}</text>"
        "<text x=\"56\" y=\"119\">said {}, {:.0f} %</text></g>\n",
        i % columns * width, i / columns * height, a.row,
        static_cast<double>(size) / static_cast<double>(side), side, side,
        image(inputs[a.row], side, low, high), a.truth, a.said, 100 * a.probability);
    ++i;
  }
  const std::int64_t shown = std::min(i, columns);
  page.svg("Wrong answers on the test data, the surest first, with the probability of the answer",
           fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                       "viewBox=\"0 0 {0} {1}\" font-family=\"system-ui, sans-serif\" "
                       "font-size=\"13\" text-anchor=\"middle\">{2}</svg>",
                       shown * width, (i + columns - 1) / columns * height, svg));
}

void wrong_answers(Page& page, std::vector<Answer> all, const Tensor& inputs, bool images) {
  std::erase_if(all, [](const Answer& a) { return a.truth == a.said; });
  if (all.empty()) return;
  std::stable_sort(all.begin(), all.end(),
                   [](const Answer& a, const Answer& b) { return a.probability > b.probability; });
  page.section("Wrong answers");
  const std::size_t shown = std::min<std::size_t>(24, all.size());
  page.text(fmt::format("{} of {} test rows are classified wrong{}.", all.size(), inputs.size(0),
                        shown < all.size() ? fmt::format("; here are {}", shown) : ""));
  all.resize(shown);
  const std::int64_t features = inputs.size(1);
  const auto side = std::lround(std::sqrt(static_cast<double>(features)));
  const bool square = images && side * side == features;
  Table table{{"row", "is", "said", "probability"}, {}};
  const std::int64_t columns = square ? 0 : std::min<std::int64_t>(12, features);
  for (std::int64_t i = 0; i < columns; ++i) table.header.push_back(fmt::format("x{}", i));
  for (const Answer& a : all) {
    auto& row = table.rows.emplace_back(std::vector<std::string>{
        std::to_string(a.row), std::to_string(a.truth), std::to_string(a.said),
        fmt::format("{:.2f} %", 100 * a.probability)});
    const auto values = inputs[a.row].to_vector<double>();
    for (std::int64_t i = 0; i < columns; ++i)
      row.push_back(fmt::format("{:.4g}", values[static_cast<std::size_t>(i)]));
  }
  const char* caption = "Wrong answers on the test data, the surest first";
  if (!square) return page.table(caption, table);
  drawn(page, all, inputs, side);
  page.details("The same in words", [&] { page.table(caption, table); });
}

}  // namespace

void add_answers(Page& page, Mlp& net, const xg::data::Dataset& test, bool images) {
  const std::vector<Answer> all = answers(net, test);
  if (all.empty()) {
    page.section("Answers");
    page.text(test.size() == 0
                  ? "There are no test rows."
                  : "The net's outputs on the test data are not finite: it has no answers.");
    return;
  }
  confusion(page, all, test.classes);
  wrong_answers(page, all, test.inputs, images);
}

}  // namespace tool
