#include <fmt/format.h>
#include <functional>

#include <algorithm>

#include "lab_view.hpp"

namespace tool {

namespace teach = xgrad::teach;
using nlohmann::ordered_json;
using teach::LabRun;
using teach::LabStep;
using teach::NormStep;

namespace {

ordered_json json_of(const teach::Moments& m) { return {{"mean", m.mean}, {"var", m.var}}; }
ordered_json json_of(const teach::Drift& d) { return {{"mean", d.mean}, {"var", d.var}}; }
ordered_json json_of(const teach::Gap& g) { return {{"max", g.max}, {"rms", g.rms}}; }
ordered_json json_of(double x) { return x; }
template <class T>
ordered_json json_of(const std::optional<T>& x) {
  return x ? json_of(*x) : ordered_json();
}

ordered_json json_of(const LabRun& run) {
  ordered_json steps = ordered_json::array();
  for (const LabStep& s : run.steps) {
    ordered_json norms = ordered_json::array();
    for (const NormStep& n : s.norms) {
      norms.push_back({{"batch", json_of(n.batch)},
                       {"all", json_of(n.all)},
                       {"running", json_of(n.running)},
                       {"drift_from_batch", json_of(n.from_batch)},
                       {"drift_from_all", json_of(n.from_all)},
                       {"gap", json_of(n.gap)},
                       {"alone_eval", n.alone_eval},
                       {"alone_train", json_of(n.alone_train)},
                       {"other_rows", n.other_rows}});
    }
    steps.push_back({{"loss", s.loss},
                     {"eval_loss", s.eval_loss},
                     {"test_accuracy", s.test_accuracy},
                     {"gap", json_of(s.gap)},
                     {"norms", norms}});
  }
  return {{"ended", run.ended}, {"alone_refused", run.alone_refused}, {"steps", steps}};
}

/// One row of numbers: what it is, and its value at a step.
struct Quantity {
  std::string name;
  std::function<std::optional<double>(const LabStep&)> at;
};

/// A number of norm layer i.
auto of_norm(std::size_t i, std::function<std::optional<double>(const NormStep&)> f) {
  return [i, f](const LabStep& s) { return f(s.norms[i]); };
}

std::vector<Quantity> quantities_of_net() {
  return {{"loss, train mode", [](const LabStep& s) { return s.loss; }},
          {"loss, eval mode", [](const LabStep& s) { return s.eval_loss; }},
          {"test accuracy, eval mode", [](const LabStep& s) { return s.test_accuracy; }},
          {"train - eval, largest", [](const LabStep& s) { return s.gap.max; }},
          {"train - eval, rms", [](const LabStep& s) { return s.gap.rms; }}};
}

std::vector<Quantity> quantities_of_norm(std::size_t i, bool batch_norm) {
  std::vector<Quantity> q;
  const auto add = [&](const char* name, std::optional<double> (*f)(const NormStep&)) {
    q.push_back({name, of_norm(i, f)});
  };
  using N = const NormStep&;
  add(batch_norm ? "mean, batch" : "row mean, batch",
      [](N n) { return std::optional(n.batch.mean); });
  if (batch_norm) add("mean, running", [](N n) { return std::optional(n.running->mean); });
  add(batch_norm ? "mean, all rows" : "row mean, all rows",
      [](N n) { return std::optional(n.all.mean); });
  add(batch_norm ? "variance, batch" : "row variance, batch",
      [](N n) { return std::optional(n.batch.var); });
  if (batch_norm) add("variance, running", [](N n) { return std::optional(n.running->var); });
  add(batch_norm ? "variance, all rows" : "row variance, all",
      [](N n) { return std::optional(n.all.var); });
  if (batch_norm) {
    add("mean drift from batch", [](N n) { return std::optional(n.from_batch->mean); });
    add("mean drift from all", [](N n) { return std::optional(n.from_all->mean); });
    add("var drift from batch", [](N n) { return std::optional(n.from_batch->var); });
    add("var drift from all", [](N n) { return std::optional(n.from_all->var); });
  }
  add("train - eval, largest", [](N n) { return std::optional(n.gap.max); });
  add("train - eval, rms", [](N n) { return std::optional(n.gap.rms); });
  add("row alone, eval mode", [](N n) { return std::optional(n.alone_eval); });
  add("row alone, train mode", [](N n) { return n.alone_train; });
  add("row among others", [](N n) { return std::optional(n.other_rows); });
  return q;
}

Table table_of(const LabRun& run, const std::vector<Quantity>& quantities) {
  Table table{{"step"}, {}};
  const std::vector<std::int64_t> columns = columns_of(static_cast<std::int64_t>(run.steps.size()));
  for (const std::int64_t step : columns) table.header.push_back(std::to_string(step));
  for (const Quantity& q : quantities) {
    auto& row = table.rows.emplace_back(1, q.name);
    for (const std::int64_t step : columns) {
      row.push_back(digits(q.at(run.steps[static_cast<std::size_t>(step - 1)])));
    }
  }
  return table;
}

Series series_of(const LabRun& run, const std::string& name, const Quantity& q) {
  Series series{name, {}, {}};
  for (const std::size_t i : thinned(run.steps.size())) {
    series.x.push_back(static_cast<double>(i + 1));
    series.y.push_back(q.at(run.steps[i]).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return series;
}

double largest(const LabRun& run, const std::function<double(const NormStep&)>& f) {
  double most = 0;
  for (const LabStep& step : run.steps) {
    for (const NormStep& norm : step.norms) most = std::max(most, f(norm));
  }
  return most;
}

std::string seen_of(const LabRun& run) {
  if (run.steps.empty()) return fmt::format("{} refused to train: {}", run.norm, run.ended);
  const LabStep &first = run.steps.front(), &last = run.steps.back();
  const std::string at = fmt::format("step {}", run.steps.size());
  std::string text = run.norm;
  const double modes = largest(run, [](const NormStep& n) { return n.gap.max; });
  const double rows = largest(run, [](const NormStep& n) {
    return std::max({n.alone_eval, n.alone_train.value_or(0), n.other_rows});
  });
  text += modes == 0
              ? ": train and eval mode gave bit for bit the same for the same input at every step"
              : fmt::format(": train and eval mode differed by up to {} for the same input",
                            digits(modes));
  text += rows == 0 ? ", and so did a row alone and among other rows"
                    : fmt::format(", and a row by up to {} with its neighbours", digits(rows));
  if (first.eval_loss != first.loss || last.eval_loss != last.loss) {
    text += fmt::format(
        "; the loss in eval mode was {} where train mode had {} at step 1, {} and {} at {}",
        digits(first.eval_loss), digits(first.loss), digits(last.eval_loss), digits(last.loss), at);
  }
  if (last.norms[0].from_all) {
    text += fmt::format(
        "; the running mean of norm 1 was off that of all rows by {} standard deviations at step "
        "1, by {} at {}",
        digits(first.norms[0].from_all->mean), digits(last.norms[0].from_all->mean), at);
  }
  if (!run.ended.empty()) text += fmt::format("; it ended after {}: {}", at, run.ended);
  return text;
}

Table table_of(const teach::RunningLaw& law) {
  Table table{{"batches", "running mean", "law", "running var", "law"}, {}};
  for (const std::int64_t t : columns_of(static_cast<std::int64_t>(law.running.size()))) {
    const auto i = static_cast<std::size_t>(t - 1);
    const auto cell = [](double x) { return fmt::format("{:.12f}", x); };
    table.rows.push_back({std::to_string(t), cell(law.running[i].mean), cell(law.law[i].mean),
                          cell(law.running[i].var), cell(law.law[i].var)});
  }
  return table;
}

void add_charts(View& view, const LabRun& layer, const LabRun& batch) {
  const auto both = [&](const char* name, auto f) {
    std::vector<Series> lines;
    for (const LabRun* run : {&layer, &batch}) {
      if (!run->steps.empty()) lines.push_back(series_of(*run, run->norm + name, {"", f}));
    }
    return lines;
  };
  std::vector<Series> losses = both(" in train mode", [](const LabStep& s) { return s.loss; });
  const std::vector<Series> evals =
      both(" in eval mode", [](const LabStep& s) { return s.eval_loss; });
  losses.insert(losses.end(), evals.begin(), evals.end());
  view.charts.emplace_back("Loss of the batch in both modes, with the same weights",
                           line_chart({"step", "loss"}, losses));
  view.charts.emplace_back(
      "Test accuracy in eval mode",
      line_chart({"step", "accuracy"}, both("", [](const LabStep& s) { return s.test_accuracy; })));
  const std::size_t norms = (layer.steps.empty() ? batch : layer).steps.at(0).norms.size();
  std::vector<Series> gaps;
  for (const LabRun* run : {&layer, &batch}) {
    for (std::size_t i = 0; i < norms && !run->steps.empty(); ++i) {
      gaps.push_back(series_of(*run, fmt::format("{}, norm {}", run->norm, i + 1),
                               {"", of_norm(i, [](const NormStep& n) { return n.gap.rms; })}));
    }
  }
  view.charts.emplace_back(
      "Gap between train and eval outputs of each norm layer for the same input, rms",
      line_chart({"step", "rms difference"}, gaps));
  for (std::size_t i = 0; i < norms && !batch.steps.empty(); ++i) {
    const auto line = [&](const char* name,
                          std::function<std::optional<double>(const NormStep&)> f) {
      return series_of(batch, name, {"", of_norm(i, std::move(f))});
    };
    using N = const NormStep&;
    view.charts.emplace_back(
        fmt::format("BatchNorm, norm {}, feature 0: means", i + 1),
        line_chart({"step", "mean"}, {line("batch", [](N n) { return n.batch.mean; }),
                                      line("running", [](N n) { return n.running->mean; }),
                                      line("all rows", [](N n) { return n.all.mean; })}));
    view.charts.emplace_back(
        fmt::format("BatchNorm, norm {}, feature 0: variances", i + 1),
        line_chart({"step", "variance"}, {line("batch", [](N n) { return n.batch.var; }),
                                          line("running", [](N n) { return n.running->var; }),
                                          line("all rows", [](N n) { return n.all.var; })}));
    view.charts.emplace_back(
        fmt::format("BatchNorm, norm {}: drift of the running statistics, rms over the features",
                    i + 1),
        line_chart({"step", "drift", true},
                   {line("mean, from batch", [](N n) { return n.from_batch->mean; }),
                    line("mean, from all rows", [](N n) { return n.from_all->mean; }),
                    line("variance, from batch", [](N n) { return n.from_batch->var; }),
                    line("variance, from all rows", [](N n) { return n.from_all->var; })}));
  }
}

}  // namespace

View view_of(const teach::Lab& lab, const teach::RunningLaw& law, const LabCommand& command) {
  View view;
  view.heading = "Train mode against eval mode";
  view.about =
      "The same net with LayerNorm and with BatchNorm, from the same weights and on the same "
      "batches. "
      "Statistics are those of what a norm layer is fed, of BatchNorm for its feature 0, of "
      "LayerNorm on "
      "average over rows. Drift: how far the running statistics are from those of the batch or of "
      "all rows, means in standard deviations, variances as a share. Train - eval: the outputs for "
      "the same input. A row alone, and among others in train mode: the largest difference from "
      "the same row in its batch.";
  view.formulas = {
      "\\text{running} \\leftarrow (1 - m)\\,\\text{running} + m\\,\\text{batch}",
      "\\mu_t = (1 - m)^t \\mu_0 + \\left(1 - (1 - m)^t\\right) \\mu \\quad\\text{on one batch}"};
  for (const LabRun* run : {&lab.layer, &lab.batch}) {
    view.data[run->norm] = json_of(*run);
    if (run->steps.empty()) continue;
    view.tables.emplace_back(run->norm + ": the net", table_of(*run, quantities_of_net()));
    for (std::size_t i = 0; i < run->steps[0].norms.size(); ++i) {
      view.tables.emplace_back(
          fmt::format("{}: norm {}, fed {} features", run->norm, i + 1, command.lab.hidden[i]),
          table_of(*run, quantities_of_norm(i, run == &lab.batch)));
    }
  }
  view.seen = sentence(seen_of(lab.layer)) + " " + sentence(seen_of(lab.batch));
  if (!law.running.empty()) {
    view.tables.emplace_back(
        fmt::format("BatchNorm fed one batch again and again, float64, feature 0; largest error of "
                    "all features {} in the mean, {} in the variance",
                    digits(law.mean_error), digits(law.var_error)),
        table_of(law));
  }
  if (!lab.batch.alone_refused.empty())
    view.seen += " A row alone in train mode: " + lab.batch.alone_refused;
  ordered_json& json = view.data["one_batch"];
  json = {{"mean_error", law.mean_error}, {"var_error", law.var_error}, {"ended", law.ended}};
  for (std::size_t t = 0; t < law.running.size(); ++t) {
    json["steps"].push_back({{"running", json_of(law.running[t])}, {"law", json_of(law.law[t])}});
  }
  if (!lab.layer.steps.empty()) add_charts(view, lab.layer, lab.batch);
  return view;
}

}  // namespace tool
