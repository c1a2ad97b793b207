#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab_view.hpp"
#include "text.hpp"

namespace tool {

namespace teach = xgrad::teach;
using nlohmann::ordered_json;

// ---- influence ----------------------------------------------------------------------------------

namespace {

std::vector<std::vector<double>> rows_of(const teach::Influence& map) {
  const auto n = static_cast<std::size_t>(map.jacobian.size(0));
  const std::vector<double> values = map.jacobian.to_vector<double>();
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * n);
    rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(n));
  }
  return rows;
}

/// One character for each derivative, blocks of samples apart; the name above.
std::vector<std::string> drawing_of(const teach::LayerInfluence& layer) {
  const std::vector<std::vector<double>> rows = rows_of(layer.influence);
  const double most = std::max(layer.influence.within, layer.influence.across);
  const auto block = static_cast<std::size_t>(layer.influence.features);
  std::vector<std::string> lines{layer.layer};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && i % block == 0) lines.emplace_back();
    std::string& line = lines.emplace_back();
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (j > 0 && j % block == 0) line += ' ';
      const double d = rows[i][j];
      const bool large = std::abs(d) >= 0.1 * most;
      line += !std::isfinite(d) ? '?'
              : d == 0          ? '.'
              : d > 0           ? (large ? '#' : '+')
              : large           ? '='
                                : '-';
    }
  }
  return lines;
}

/// Those of all layers, as many side by side as fit.
std::string drawing_of(const std::vector<teach::LayerInfluence>& layers) {
  std::string text;
  std::vector<std::string> band;
  std::size_t width = 0;
  const auto finish = [&] {
    for (std::string& line : band) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    band.clear();
    width = 0;
  };
  for (const teach::LayerInfluence& layer : layers) {
    if (!layer.refused.empty()) continue;
    const std::vector<std::string> lines = drawing_of(layer);
    const std::size_t own = std::max(lines[0].size(), lines[1].size());
    if (width > 0 && width + 2 + own > terminal_width()) finish(), text += "\n";
    const std::size_t begin = width + 2;
    band.resize(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      band[i].resize(begin, ' ');
      band[i] += lines[i];
    }
    width = begin + own;
  }
  finish();
  if (text.empty()) return "";
  return "\n" +
         wrapped(
             "dy/dx with its sign, outputs (rows) by inputs (columns): . exactly 0, + above "
             "0, - below 0; # and = likewise, from a tenth of the layer's largest on") +
         "\n" + text;
}

}  // namespace

View view_of(const std::vector<teach::LayerInfluence>& layers, const LabCommand& command) {
  View view;
  view.heading = "Who gets gradient from whom";
  view.about = fmt::format(
      "The derivative of each output by each input of a layer, for {} random samples of {} "
      "features in "
      "float64, by backward passes with an upstream gradient of 1 at one output and 0 at the "
      "others. It is shown with its sign: above 0 an output follows the input, below 0 it gives "
      "way to it.",
      command.samples, command.features);
  view.formulas = {"\\frac{\\partial y_{n,c}}{\\partial x_{n',c'}}"};
  view.chart_width = 19;
  Table table{{"layer", "largest in a sample", "largest across", "not 0 across"}, {}};
  std::vector<std::string> apart, mixed, refused;
  const std::int64_t n = command.samples * command.features;
  for (const teach::LayerInfluence& l : layers) {
    const teach::Influence& map = l.influence;
    ordered_json json{{"layer", l.layer}, {"refused", l.refused}};
    if (l.refused.empty()) {
      const std::int64_t others = n * (n - command.features);
      table.rows.push_back({l.layer, digits(map.within), digits(map.across),
                            fmt::format("{} of {}", map.nonzero_across, others)});
      (map.nonzero_across == 0 ? apart : mixed).push_back(l.layer);
      const std::vector<std::vector<double>> rows = rows_of(map);
      json.update(
          {{"within", map.within}, {"across", map.across}, {"nonzero_across", map.nonzero_across}});
      json["jacobian"] = rows;
      Grid grid{"output (sample.feature)", "input", "dy/dx", {}, {}, rows};
      for (std::int64_t i = 0; i < n; ++i) {
        grid.rows.push_back(fmt::format("{}.{}", i / command.features, i % command.features));
      }
      grid.columns = grid.rows;
      view.charts.emplace_back(
          l.layer + ": dy/dx with its sign, orange above 0, blue below, grey exactly 0",
          heat_map(grid));
    } else {
      refused.push_back(fmt::format("{} refused: {}", l.layer, l.refused));
    }
    view.data["layers"].push_back(json);
  }
  view.tables.emplace_back(
      "Derivatives by size: the largest by an input of the same sample, the largest by one of "
      "another sample, and how many of the latter are not 0",
      table);
  view.drawing = drawing_of(layers);
  std::vector<std::string> parts = refused;
  if (!mixed.empty()) {
    parts.push_back(
        fmt::format("samples get gradient from each other through {}", fmt::join(mixed, ", ")));
  }
  if (!apart.empty()) {
    parts.push_back(
        fmt::format("every derivative across samples is exactly 0 for {}", fmt::join(apart, ", ")));
  }
  view.seen = sentence(fmt::format("{}", fmt::join(parts, "; ")));
  return view;
}

// ---- detach -------------------------------------------------------------------------------------

namespace {

constexpr const char* detached[] = {"full LayerNorm", "mean detached", "variance detached",
                                    "both detached"};

std::size_t variant(const teach::DetachRun& run) {
  return (run.mean ? 1U : 0U) + (run.var ? 2U : 0U);
}

/// The average over the last ten steps up to this one.
double average(const teach::DetachRun& run, std::size_t step, double teach::DetachStep::*what) {
  const std::size_t from = step < 10 ? 0 : step - 10;
  double sum = 0;
  for (std::size_t i = from; i < step; ++i) sum += run.steps[i].*what;
  return sum / static_cast<double>(step - from);
}

/// The same over the seeds whose run came that far; none did: NaN.
double average(const std::vector<teach::DetachRun>& runs, std::size_t which, std::size_t step,
               double teach::DetachStep::*what) {
  double sum = 0, count = 0;
  for (const teach::DetachRun& run : runs) {
    if (variant(run) != which || run.steps.size() < step) continue;
    sum += average(run, step, what);
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

}  // namespace

View view_of(const std::vector<teach::DetachRun>& runs, const LabCommand& command) {
  using Step = teach::DetachStep;
  View view;
  view.heading = "What the terms of LayerNorm's gradient are worth";
  view.about = fmt::format(
      "The same net trained with LayerNorm whose backward pass takes mean, variance or both for "
      "constants "
      "(Xu et al. 2019, arXiv 1911.07013, call the last DetachNorm); the forward pass is always "
      "the same. "
      "Averages over {} and the last 10 steps.",
      command.seeds == 1 ? "1 seed" : fmt::format("{} seeds", command.seeds));
  view.formulas = {
      "\\mathrm{d}x = r\\left(h - \\underbrace{\\overline{h}}_{\\text{mean}} - "
      "\\underbrace{\\hat x\\,\\overline{h \\hat x}}_{\\text{variance}}\\right)",
      "h = g \\odot w,\\quad r = \\frac{1}{\\sqrt{\\sigma^2 + \\varepsilon}}"};
  std::size_t longest = 0;
  for (const teach::DetachRun& run : runs) {
    longest = std::max(longest, run.steps.size());
    ordered_json json{{"mean_detached", run.mean},
                      {"var_detached", run.var},
                      {"seed", run.seed},
                      {"ended", run.ended}};
    for (const Step& s : run.steps) {
      json["loss"].push_back(s.loss);
      json["test_accuracy"].push_back(s.test_accuracy);
      json["gradient"].push_back(s.gradient);
    }
    view.data["runs"].push_back(json);
  }
  const auto add = [&](const char* title, double Step::*what) {
    Table table{{"step"}, {}};
    const std::vector<std::int64_t> columns = columns_of(static_cast<std::int64_t>(longest));
    for (const std::int64_t step : columns) table.header.push_back(std::to_string(step));
    std::vector<Series> lines;
    for (std::size_t v = 0; v < 4; ++v) {
      auto& row = table.rows.emplace_back(1, detached[v]);
      for (const std::int64_t step : columns)
        row.push_back(digits(average(runs, v, static_cast<std::size_t>(step), what)));
      Series& line = lines.emplace_back(Series{detached[v], {}, {}});
      for (const std::size_t i : thinned(longest)) {
        line.x.push_back(static_cast<double>(i + 1));
        line.y.push_back(average(runs, v, i + 1, what));
      }
    }
    view.tables.emplace_back(title, table);
    view.charts.emplace_back(title, line_chart({"step", title}, lines));
  };
  add("loss", &Step::loss);
  add("test accuracy", &Step::test_accuracy);
  add("norm of the gradient of the first weight", &Step::gradient);

  // In words: how the three compare with the full gradient at the end.
  const auto at_end = [&](std::size_t v, double Step::*what) {
    return average(runs, v, longest, what);
  };
  const double full = at_end(0, &Step::loss);
  view.seen =
      fmt::format("after {} steps the loss with the full gradient was {} (test accuracy {})",
                  longest, digits(full), digits(at_end(0, &Step::test_accuracy)));
  for (std::size_t v = 1; v < 4; ++v) {
    const double loss = at_end(v, &Step::loss);
    view.seen += fmt::format("{}with {} {} ({}){}", v == 3 ? ", and " : ", ", detached[v],
                             digits(loss), digits(at_end(v, &Step::test_accuracy)),
                             !(loss > 1.02 * full || loss < 0.98 * full) ? ", about the same"
                             : loss > full                               ? ", worse"
                                                                         : ", better");
  }
  for (const teach::DetachRun& run : runs) {
    if (!run.ended.empty())
      view.seen +=
          fmt::format("; {} with seed {}: {}", detached[variant(run)], run.seed, run.ended);
  }
  view.seen = sentence(view.seen);
  return view;
}

// ---- scale --------------------------------------------------------------------------------------

View view_of(const std::vector<teach::ScaleCase>& cases, const LabCommand& command) {
  View view;
  view.heading = "The size of a weight before a norm";
  view.about = fmt::format(
      "norm(x (alpha W)^T) for the first batch and the first layer's W in float64, eps {}: how far "
      "the outputs are from those of alpha 1, and what becomes of the gradient by W: \"dW off by\" "
      "is how far alpha dW is from dW at 1, as a share of its largest. Where alpha^2 times the "
      "variance is not far above eps, eps shows.",
      command.lab.eps);
  view.formulas = {"\\mathrm{norm}(\\alpha W x) = \\mathrm{norm}(W x)\\quad(\\varepsilon = 0)",
                   "\\nabla_{\\alpha W} L = \\tfrac{1}{\\alpha} \\nabla_W L"};
  std::vector<Series> changes, gradients;
  for (const teach::ScaleCase& c : cases) {
    ordered_json json{{"norm", c.norm}, {"refused", c.refused}, {"rows", ordered_json::array()}};
    if (!c.refused.empty()) {
      view.seen +=
          fmt::format("{}{} refused: {}", view.seen.empty() ? "" : "; ", c.norm, c.refused);
      view.data["cases"].push_back(json);
      continue;
    }
    Table table{
        {"alpha", "largest change of y", "|dW| / |dW at 1|", "... times alpha", "dW off by"}, {}};
    Series change{c.norm, {}, {}}, gradient{c.norm, {}, {}};
    double output = 0, off = 0;
    for (const teach::ScaleRow& r : c.rows) {
      table.rows.push_back({digits(r.alpha), digits(r.output), digits(r.gradient),
                            digits(r.gradient * r.alpha), digits(r.off)});
      json["rows"].push_back(
          {{"alpha", r.alpha}, {"output", r.output}, {"gradient", r.gradient}, {"off", r.off}});
      for (Series* s : {&change, &gradient}) s->x.push_back(std::log10(r.alpha));
      change.y.push_back(r.output);
      gradient.y.push_back(r.gradient);
      if (r.alpha >= 1) output = std::max(output, r.output), off = std::max(off, r.off);
    }
    const teach::ScaleRow& least = c.rows.front();
    view.seen += fmt::format(
        "{}for alpha from 1 up {} {} its output (off by at most {}) and {} alpha dW (off by {} of "
        "the largest); at alpha {} they are off by {} and {}",
        view.seen.empty() ? "" : "; ", c.norm, output < 0.01 ? "keeps" : "changes", digits(output),
        off < 0.01 ? "keeps" : "changes", digits(off), digits(least.alpha), digits(least.output),
        digits(least.off));
    view.data["cases"].push_back(json);
    view.tables.emplace_back(c.norm, table);
    changes.push_back(std::move(change));
    gradients.push_back(std::move(gradient));
  }
  if (!changes.empty()) {
    view.charts.emplace_back("Gradient by W, as a multiple of that at alpha 1",
                             line_chart({"log10 of alpha", "|dW| / |dW at 1|", true}, gradients));
    view.charts.emplace_back("Largest change of an output (none at alpha 1)",
                             line_chart({"log10 of alpha", "change", true}, changes));
  }
  view.seen = sentence(view.seen);
  return view;
}

}  // namespace tool
