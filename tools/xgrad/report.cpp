#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "answers.hpp"
#include "text.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
namespace teach = xgrad::teach;
using teach::LayerRecord;
using teach::Record;
using xg::Tensor;

std::string cell(double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : ""; }

/// A line for each layer (or parameter) that has such numbers.
class Lines {
 public:
  explicit Lines(const std::vector<Record>& records) : records_(records) {}
  template <class Value>
  void add(std::vector<Series>& lines, const std::string& name, Value value) const {
    Series line{name, {}, {}};
    bool any = false;
    for (const Record& record : records_) {
      line.x.push_back(static_cast<double>(record.step));
      line.y.push_back(value(record));
      any = any || std::isfinite(line.y.back());
    }
    if (any) lines.push_back(std::move(line));
  }

 private:
  const std::vector<Record>& records_;
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
  chart(page, "Cross-entropy. In training it is measured while the weights still change.", "loss",
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
  const auto share = [&page](const char* caption, const char* y, const std::vector<Series>& found) {
    const bool all_zero = std::all_of(found.begin(), found.end(), [](const Series& s) {
      return std::all_of(s.y.begin(), s.y.end(), [](double v) { return v == 0; });
    });
    if (found.empty()) return;
    if (all_zero) return page.text(std::string(caption) + ": none in any recorded step.");
    chart(page, caption, y, found);
  };
  share("Dead units, 0 for every row of the batch, so that they learn nothing from it",
        "share of dead ReLU units", of_layers([](const LayerRecord& r) { return r.dead; }));
  share("Saturated outputs, so near the end of their range that little gradient passes",
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
  page.table(
      "Parameters: norm, norm of the gradient, norm of the step's change divided by that before",
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
  chart(page, "`running_mean`, which starts at 0", "running mean", means);
  chart(page, "`running_var`, which starts at 1", "running variance", variances, true);
}

// ---- in words -----------------------------------------------------------------------------------

std::string summary(const std::vector<EpochResult>& epochs, const teach::Observer& observer) {
  std::string text;
  if (!epochs.empty()) {
    const EpochResult& last = epochs.back();
    const EpochResult& best = *std::max_element(
        epochs.begin(), epochs.end(),
        [](const auto& a, const auto& b) { return a.test_accuracy < b.test_accuracy; });
    text = fmt::format(
        "After {} epochs ({} steps, {:.2f} s) the net gives the right answer for {}{} "
        "of the training rows",
        last.epoch, last.step, last.seconds,
        std::isnan(last.test_accuracy) ? ""
                                       : percent(last.test_accuracy) + " of the test rows and ",
        percent(last.train_accuracy));
    if (best.test_accuracy > last.test_accuracy) {
      text += fmt::format("; it was best after epoch {} with {}", best.epoch,
                          percent(best.test_accuracy));
    }
    text += fmt::format(". The training loss went from {:.4g} in epoch {} to {:.4g} in the last",
                        epochs.front().train_loss, epochs.front().epoch, last.train_loss);
    text += ". ";
  }
  const std::vector<Record>& records = observer.records();
  if (records.empty()) return text + "No step was recorded, so there are no curves.";
  if (records.front().step > 1) {
    text += fmt::format(
        "This begins at step {}: the run went on from a checkpoint that was made without "
        "`--report`. ",
        records.front().step);
  }
  const auto shares = [&](const char* what, double LayerRecord::*share) {
    std::string found;
    bool measured = false;
    for (std::size_t i = 0; i < observer.layers().size(); ++i) {
      const double s = records.back().layers[i].*share;
      measured = measured || std::isfinite(s);
      if (s > 0) {
        found += fmt::format("{}{} of {}", found.empty() ? "" : ", ", percent(s),
                             observer.layers()[i].name);
      }
    }
    if (!measured) return;
    text += fmt::format("{} at step {}: {}. ", what, records.back().step,
                        found.empty() ? "none" : found);
  };
  shares("Dead ReLU units", &LayerRecord::dead);
  shares("Saturated outputs", &LayerRecord::saturated);
  return text;
}

/// In their order.
template <class Result, class F>
void each_number(Result& e, F f) {
  f(e.epoch), f(e.step), f(e.train_loss), f(e.train_accuracy), f(e.test_loss), f(e.test_accuracy);
  f(e.seconds);
}
constexpr std::int64_t numbers_of_epoch = 7;

}  // namespace

Report::Report(Mlp& net, const xg::data::Split& data, const TrainOptions& options,
               std::int64_t steps_done)
    : net_(net),
      data_(data),
      options_(options),
      observer_(net,
                {.every = options.report.empty() ? std::numeric_limits<std::int64_t>::max() : 10,
                 .steps_done = steps_done,
                 .most = 400}) {}

xg::StateDict Report::state() const {
  if (options_.report.empty()) return {};
  xg::StateDict all = observer_.state_dict();
  std::vector<double> numbers;
  for (const EpochResult& epoch : epochs_) {
    each_number(epoch, [&](auto x) { numbers.push_back(static_cast<double>(x)); });
  }
  const auto rows = static_cast<std::int64_t>(epochs_.size());
  all.emplace_back("epochs",
                   xg::tensor(numbers, {.dtype = xg::float64}).reshape({rows, numbers_of_epoch}));
  return all;
}

void Report::load(const xg::StateDict& state) {
  const Tensor* epochs = find(state, "epochs");
  if (!epochs || options_.report.empty()) return;  // nobody has recorded, or wants to know
  if (epochs->dtype() != xg::float64 || epochs->dim() != 2 || epochs->size(1) != numbers_of_epoch) {
    throw xg::ShapeError(
        fmt::format("the checkpoint's results of epochs have shape {}, not (*, {})",
                    epochs->shape().str(), numbers_of_epoch));
  }
  for (const double count : epochs->narrow(1, 0, 2).to_vector<double>()) {  // epoch, step
    if (!(count >= 0 && count < 1e15)) throw xg::Error("the checkpoint has results of no epoch");
  }
  observer_.load_state_dict(state);
  epochs_.resize(static_cast<std::size_t>(epochs->size(0)));
  const double* from = epochs->data<double>().data();
  for (EpochResult& epoch : epochs_) {
    each_number(epoch,
                [&](auto& x) { x = static_cast<std::remove_reference_t<decltype(x)>>(*from++); });
  }
}

void Report::update(xg::optim::Optimizer& optimizer, const Tensor& loss) {
  observer_.step(optimizer, loss);
}

void Report::write(const std::string& ended_by) {
  if (options_.report.empty()) return;
  const std::string first = summary(epochs_, observer_);
  Page page("Training on " + options_.data,
            ended_by.empty() ? first
                             : fmt::format("Ended early: {}{} {}", ended_by,
                                           ended_by.ends_with('.') ? "" : ".", first));
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
  add_answers(page, net_, data_.test, is_image_data(options_.data));
  page.write(options_.report);
}

}  // namespace tool
