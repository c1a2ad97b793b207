#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "page.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
namespace teach = xgrad::teach;
using teach::LayerRecord;
using teach::Record;
using xg::Tensor;

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string cell(double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : ""; }

/// At most some 250 records, evenly chosen, the last one included.
std::vector<const Record*> chosen(const std::vector<Record>& records) {
  const std::size_t stride = records.size() / 250 + 1;
  std::vector<const Record*> out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i % stride == 0 || i + 1 == records.size()) out.push_back(&records[i]);
  }
  return out;
}

/// A line for each layer (or parameter) that has such numbers.
class Lines {
 public:
  explicit Lines(const std::vector<Record>& records) : records_(chosen(records)) {}
  template <class Value>
  void add(std::vector<Series>& lines, const std::string& name, Value value) const {
    Series line{name, {}, {}};
    bool any = false;
    for (const Record* record : records_) {
      line.x.push_back(static_cast<double>(record->step));
      line.y.push_back(value(*record));
      any = any || std::isfinite(line.y.back());
    }
    if (any) lines.push_back(std::move(line));
  }

 private:
  std::vector<const Record*> records_;
};

void chart(Page& page, const char* caption, const char* y, const std::vector<Series>& lines,
           bool log = false) {
  if (!lines.empty()) page.chart(caption, line_chart({"step", y, log}, lines));
}

void curves(Page& page, const std::vector<Record>& records,
            const std::vector<EpochResult>& epochs) {
  page.section("Loss and accuracy");
  std::vector<Series> loss, accuracy{{"train", {}, {}}, {"test", {}, {}}};
  Lines(records).add(loss, "train, this batch", [](const Record& r) { return r.loss; });
  const std::size_t first = loss.size();
  loss.push_back({"train, mean of the epoch", {}, {}});
  loss.push_back({"test", {}, {}});
  for (const EpochResult& e : epochs) {
    const auto step = static_cast<double>(e.step);
    for (Series* line : {&loss[first], &loss[first + 1], &accuracy[0], &accuracy[1]}) {
      line->x.push_back(step);
    }
    loss[first].y.push_back(e.train_loss);
    loss[first + 1].y.push_back(e.test_loss);
    accuracy[0].y.push_back(100 * e.train_accuracy);
    accuracy[1].y.push_back(100 * e.test_accuracy);
  }
  if (epochs.empty()) loss.resize(first);
  chart(page, "Cross-entropy. Those of training are measured while the weights still move.", "loss",
        loss);
  if (epochs.empty()) return;
  chart(page, "Share of right answers", "accuracy, %", accuracy);
}

void layers(Page& page, const teach::Observer& observer) {
  const std::vector<Record>& records = observer.records();
  if (records.empty()) return;
  const Lines lines(records);
  const auto of_layers = [&](auto value) {
    std::vector<Series> out;
    for (std::size_t i = 0; i < observer.layers().size(); ++i) {
      lines.add(out, observer.layers()[i].name,
                [&, i](const Record& r) { return value(r.layers[i]); });
    }
    return out;
  };
  page.section("The layers over time");
  page.text(
      "Of the outputs in training, one line for each layer. Healthy layers keep a spread that "
      "neither dies out nor explodes, and gradients of like size from the first to the last.");
  chart(page, "Standard deviation of the outputs", "std",
        of_layers([](const LayerRecord& r) { return r.output.std; }));
  chart(page, "Mean of the outputs", "mean",
        of_layers([](const LayerRecord& r) { return r.output.mean; }));
  chart(page, "Dead units: 0 for every row of the batch, so that they learn nothing from it",
        "share of dead ReLU units", of_layers([](const LayerRecord& r) { return r.dead; }));
  chart(page, "Saturated outputs: so near the end of their range that little gradient passes",
        "share saturated", of_layers([](const LayerRecord& r) { return r.saturated; }));
  chart(page, "Norm of the gradient by each layer's output", "gradient",
        of_layers([](const LayerRecord& r) { return r.gradient; }), true);
  std::vector<Series> updates;
  for (std::size_t i = 0; i < observer.parameters().size(); ++i) {
    if (!observer.parameters()[i].ends_with("weight")) continue;
    lines.add(updates, observer.parameters()[i],
              [i](const Record& r) { return r.parameters[i].update; });
  }
  chart(
      page,
      "How far a step moves the weights, in parts of their norm. Near 0.001 is usual; far more is "
      "restless, far less learns slowly",
      "update / data", updates, true);

  page.subsection(fmt::format("At step {}", records.back().step));
  Table table{
      {"layer", "type", "mean", "std", "smallest", "largest", "dead", "saturated", "gradient"}, {}};
  for (std::size_t i = 0; i < observer.layers().size(); ++i) {
    const LayerRecord& r = records.back().layers[i];
    table.rows.push_back({observer.layers()[i].name, observer.layers()[i].type, cell(r.output.mean),
                          cell(r.output.std), cell(r.output.min), cell(r.output.max), cell(r.dead),
                          cell(r.saturated), cell(r.gradient)});
  }
  page.table("Outputs", table);
  Table parameters{{"parameter", "norm", "gradient", "update / data"}, {}};
  for (std::size_t i = 0; i < observer.parameters().size(); ++i) {
    const teach::ParameterRecord& r = records.back().parameters[i];
    parameters.rows.push_back(
        {observer.parameters()[i], cell(r.norm), cell(r.gradient), cell(r.update)});
  }
  page.table("Parameters: norms, and that of the step's change divided by the one before",
             parameters);
}

void running_statistics(Page& page, const teach::Observer& observer) {
  const Lines lines(observer.records());
  const auto add = [&](std::vector<Series>& out, teach::Statistics LayerRecord::*which) {
    for (std::size_t i = 0; i < observer.layers().size(); ++i) {
      const std::string& name = observer.layers()[i].name;
      const auto part = [&](const char* what, double teach::Statistics::*of) {
        lines.add(out, name + what, [=](const Record& r) { return r.layers[i].*which.*of; });
      };
      part(" smallest", &teach::Statistics::min);
      part(" mean", &teach::Statistics::mean);
      part(" largest", &teach::Statistics::max);
    }
  };
  std::vector<Series> means, variances;
  add(means, &LayerRecord::running_mean);
  add(variances, &LayerRecord::running_var);
  if (means.empty()) return;
  page.section("Running statistics of BatchNorm");
  page.text("What BatchNorm will use in eval mode, over the features of each layer.");
  chart(page, "running_mean", "running_mean", means);
  chart(page, "running_var", "running_var", variances, true);
}

// ---- what the net says of the test data
// -----------------------------------------------------------

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
    text +=
        fmt::format("{}{} ({} times)", i == 0 ? "" : ", ", mistakes[i].second, mistakes[i].first);
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

void wrong_answers(Page& page, std::vector<Answer> all, const TrainOptions& options,
                   const Tensor& inputs) {
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
  if (is_image_data(options.data) && side * side == features) return drawn(page, all, inputs, side);
  Table table{{"row", "is", "said", "probability"}, {}};
  const std::int64_t columns = std::min<std::int64_t>(12, features);
  for (std::int64_t i = 0; i < columns; ++i) table.header.push_back(fmt::format("x{}", i));
  for (const Answer& a : all) {
    auto& row = table.rows.emplace_back(
        std::vector<std::string>{std::to_string(a.row), std::to_string(a.truth),
                                 std::to_string(a.said), percent(a.probability)});
    const auto values = inputs[a.row].to_vector<double>();
    for (std::int64_t i = 0; i < columns; ++i)
      row.push_back(cell(values[static_cast<std::size_t>(i)]));
  }
  page.table("Wrong answers on the test data, the surest first", table);
}

// ---- in words
// -------------------------------------------------------------------------------------

std::string summary(const std::vector<EpochResult>& epochs, const teach::Observer& observer) {
  std::string text;
  if (!epochs.empty()) {
    const EpochResult& last = epochs.back();
    const EpochResult& best = *std::max_element(
        epochs.begin(), epochs.end(),
        [](const auto& a, const auto& b) { return a.test_accuracy < b.test_accuracy; });
    text = fmt::format(
        "After {} epochs ({} steps, {:.3g} s) the net gives the right answer for {} "
        "of the test rows and {} of the training rows",
        last.epoch, last.step, last.seconds, percent(last.test_accuracy),
        percent(last.train_accuracy));
    if (best.test_accuracy > last.test_accuracy) {
      text += fmt::format("; it was best after epoch {} with {}", best.epoch,
                          percent(best.test_accuracy));
    }
    text +=
        fmt::format(". The training loss went from {:.4g} in the first epoch to {:.4g} in the last",
                    epochs.front().train_loss, last.train_loss);
    text += ". ";
  }
  const std::vector<Record>& records = observer.records();
  if (records.empty()) return text;
  std::string dead;
  for (std::size_t i = 0; i < observer.layers().size(); ++i) {
    const double share = records.back().layers[i].dead;
    if (share > 0)
      dead += fmt::format("{}{} ({})", dead.empty() ? "" : ", ", observer.layers()[i].name,
                          percent(share));
  }
  const bool has_relu = std::any_of(records.back().layers.begin(), records.back().layers.end(),
                                    [](const LayerRecord& r) { return std::isfinite(r.dead); });
  if (has_relu) {
    text += dead.empty()
                ? fmt::format("No ReLU unit was dead at step {}. ", records.back().step)
                : fmt::format("Dead ReLU units at step {}: {}. ", records.back().step, dead);
  }
  return text;
}

}  // namespace

Report::Report(Mlp& net, const xg::data::Split& data, const TrainOptions& options,
               std::int64_t steps_done)
    : net_(net),
      data_(data),
      options_(options),
      observer_(net,
                {.every = options.report.empty() ? std::numeric_limits<std::int64_t>::max() : 10,
                 .steps_done = steps_done}) {}

void Report::update(xg::optim::Optimizer& optimizer, const Tensor& loss) {
  observer_.step(optimizer, loss);
}

void Report::write(const std::string& ended_by) {
  if (options_.report.empty()) return;
  const std::string first = summary(epochs_, observer_);
  Page page("Training on " + options_.data,
            ended_by.empty() ? first : fmt::format("Ended early: {}. {}", ended_by, first));
  page.section("Settings");
  page.text("The same run again:");
  page.code(options_.command);
  Table settings{{"setting", "value"}, {}};
  for (const auto& [name, value] : options_.settings) settings.rows.push_back({name, value});
  settings.rows.push_back({"layers", net_.layout()});
  settings.rows.push_back({"training rows", std::to_string(data_.train.size())});
  settings.rows.push_back({"test rows", std::to_string(data_.test.size())});
  page.details("All settings", [&] { page.table("Settings", settings); });
  curves(page, observer_.records(), epochs_);
  layers(page, observer_);
  running_statistics(page, observer_);
  const std::vector<Answer> all = answers(net_, data_.test);
  if (all.empty()) {
    page.section("Answers");
    page.text("The net's outputs on the test data are not finite: it has no answers.");
  } else {
    confusion(page, all, data_.test.classes);
    wrong_answers(page, all, options_, data_.test.inputs);
  }
  page.write(options_.report);
}

}  // namespace tool
