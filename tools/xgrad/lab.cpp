#include "lab.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lab_view.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "train.hpp"

namespace tool {

namespace teach = xgrad::teach;
using nlohmann::ordered_json;

std::string digits(double x) { return x == 0 ? "0" : fmt::format("{:.4g}", x); }
std::string digits(const std::optional<double>& x) { return x ? digits(*x) : "refused"; }

std::string sentence(std::string text) { return text.ends_with('.') ? text : text + "."; }

std::vector<std::int64_t> columns_of(std::int64_t steps) {
  std::vector<std::int64_t> columns;
  for (std::int64_t power = 1; power < steps; power *= 10) {
    columns.push_back(power);
    if (3 * power < steps) columns.push_back(3 * power);
  }
  columns.push_back(steps);
  while (columns.size() > 5) columns.erase(columns.begin() + 1);
  return columns;
}

std::vector<std::size_t> thinned(std::size_t n) {
  const std::size_t most = 400, shown = std::min(n, most);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < shown; ++i) {
    indices.push_back(shown < 2 ? 0 : i * (n - 1) / (shown - 1));
  }
  return indices;
}

namespace {

void print(const View& view, std::size_t number) {
  const char* plain = std::getenv("NO_COLOR");
  const bool colours = isatty(STDOUT_FILENO) == 1 && !(plain && *plain);
  const auto strong = [&](const std::string& text) {
    return colours ? "\033[1m" + text + "\033[0m" : text;
  };
  fmt::print("\n{}\n{}", strong(fmt::format("{}. {}", number, view.heading)), wrapped(view.about));
  for (const auto& [caption, table] : view.tables) {
    fmt::print("\n{}{}", wrapped(caption), text_of(table));
  }
  fmt::print("{}\n{}", view.drawing, strong(wrapped("Seen: " + view.seen)));
  std::fflush(stdout);
}

void add_to(Page& page, const View& view) {
  page.section(view.heading);
  page.text(view.about);
  for (const std::string& formula : view.formulas) page.formula(formula);
  page.text("Seen in this run: " + view.seen);
  page.beside(view.chart_width, [&] {
    for (const auto& [caption, chart] : view.charts) page.chart(caption, chart);
  });
  for (const auto& [caption, table] : view.tables) page.table(caption, table);
}

/// Only a long experiment shows how far it is; Ctrl-C ends it.
teach::Watch watch_for(Progress& progress, const Clock& clock, std::int64_t all, bool quiet) {
  return [&progress, &clock, all, quiet, next = 0.5](std::int64_t done) mutable {
    if (!quiet && clock.seconds() > next) {
      next = clock.seconds() + 0.1;
      progress.show(static_cast<double>(done) / static_cast<double>(all),
                    fmt::format("  step {} of {}", done, all));
    }
    return !InterruptGuard::requested();
  };
}

View run_experiment(const std::string& name, const xgrad::data::Split& data,
                    const LabCommand& command) {
  const teach::LabOptions& lab = command.lab;
  const bool quiet = command.format == "json";
  Progress progress(name);
  const Clock clock;
  if (name == "gap") {
    const teach::Lab result =
        train_eval_lab(data, lab, watch_for(progress, clock, 2 * lab.steps, quiet));
    teach::LabOptions law = lab;
    law.steps = std::min<std::int64_t>(law.steps, 1000);
    return view_of(result, running_law(data, law), command);
  }
  if (name == "influence") {
    return view_of(teach::compare_influence({.samples = command.samples,
                                             .features = command.features,
                                             .momentum = lab.momentum,
                                             .eps = lab.eps,
                                             .seed = lab.seed}),
                   command);
  }
  if (name == "detach") {
    const auto all = 4 * command.seeds * lab.steps;
    return view_of(
        detach_experiment(data, lab, command.seeds, watch_for(progress, clock, all, quiet)),
        command);
  }
  return view_of(scale_experiment(data, lab), command);
}

}  // namespace

const std::vector<std::string>& lab_experiments() {
  static const std::vector<std::string> names = {"gap", "influence", "detach", "scale"};
  return names;
}

int run_lab(const LabCommand& command) {
  xgrad::set_num_threads(1);
  const xgrad::data::Split data = load_data(command.data);
  teach::check(command.lab, data);
  check_writable("html", command.html);
  const teach::LabOptions& o = command.lab;
  std::string layout = std::to_string(data.train.inputs.size(1));
  for (const std::int64_t width : o.hidden) layout += fmt::format("-{}", width);
  const std::string setting = fmt::format(
      "{}: {} training and {} test rows; nets {}-{}, plain gradient descent, lr {}, batches of {}, "
      "{} steps, eps {}, momentum {}, seed {}.",
      command.data, data.train.size(), data.test.size(), layout, data.train.classes, o.lr, o.batch,
      o.steps, o.eps, o.momentum, o.seed);
  ordered_json json{{"data", command.data},
                    {"training_rows", data.train.size()},
                    {"test_rows", data.test.size()},
                    {"options",
                     {{"hidden", o.hidden},
                      {"batch", o.batch},
                      {"lr", o.lr},
                      {"steps", o.steps},
                      {"eps", o.eps},
                      {"momentum", o.momentum},
                      {"seed", o.seed}}}};
  Page page("Normalization laboratory",
            "What LayerNorm and BatchNorm do, from one run of `xgrad lab`. " + setting);
  if (command.format == "text") fmt::print("{}", wrapped(setting));
  const InterruptGuard interrupt;
  std::size_t number = 0;
  for (const std::string& name : lab_experiments()) {
    const bool wanted =
        command.only.empty() || std::count(command.only.begin(), command.only.end(), name) > 0;
    if (!wanted || InterruptGuard::requested()) continue;
    const View view = run_experiment(name, data, command);
    if (command.format == "text") print(view, ++number);
    json["experiments"][name] = view.data;
    json["experiments"][name]["seen"] = view.seen;
    if (!command.html.empty()) add_to(page, view);
  }
  if (command.format == "json") fmt::print("{}\n", json.dump());
  if (!command.html.empty()) {
    page.write(command.html);
    if (command.format == "text") fmt::print("\nwritten to {}\n", command.html);
  }
  return 0;
}

}  // namespace tool
