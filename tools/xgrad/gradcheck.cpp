#include "gradcheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "op_table.hpp"
#include "progress.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
using nlohmann::ordered_json;
using op_table::Row;

/// The rows of that operation (or of all) which have a gradient.
std::vector<Row> rows_of(const std::string& op) {
  std::vector<Row> rows;
  bool known = op.empty();
  for (Row& row : op_table::all_rows()) {
    const std::string name = row.name;
    if (!op.empty() && name != op && name.substr(0, name.find(' ')) != op) continue;
    known = true;
    if (row.grad_fn) rows.push_back(std::move(row));
  }
  if (!known) throw xg::Error(fmt::format("gradcheck: there is no operation \"{}\"", op));
  if (rows.empty()) throw xg::Error(fmt::format("gradcheck: {} has no gradient", op));
  return rows;
}

std::string text_of(const std::vector<xg::Shape>& shapes) {
  std::string text;
  for (const xg::Shape& shape : shapes) text.append(text.empty() ? "" : " ").append(shape.str());
  return text;
}

/// What one row comes to: the worst report of each order over its sets of shapes.
struct Result {
  std::string shapes[2];
  xg::GradcheckReport worst[2];
  std::int64_t elements = 0;
};

Result check(const Row& row, const std::vector<std::vector<xg::Shape>>& sets, std::uint64_t seed) {
  Result result;
  const xg::GradcheckOptions with{.names = op_table::names_of(row)};
  for (const std::vector<xg::Shape>& shapes : sets) {
    const auto inputs = op_table::leaves(op_table::inputs_of(row, shapes, seed));
    for (int order : {0, 1}) {
      xg::GradcheckReport report =
          order == 0 ? xg::gradcheck(row.f, inputs, with) : xg::gradgradcheck(row.f, inputs, with);
      result.elements += report.checked;
      xg::GradcheckReport& worst = result.worst[order];
      const bool first = &shapes == &sets.front();
      if (!first && std::pair(report.ok ? 0 : 1, report.max_error) <=
                        std::pair(worst.ok ? 0 : 1, worst.max_error)) {
        continue;
      }
      result.shapes[order] = text_of(shapes);
      worst = std::move(report);
    }
  }
  return result;
}

}  // namespace

int run_gradcheck(const GradcheckOptions& options) {
  if (!options.shape.empty() && options.op.empty()) {
    throw xg::Error("gradcheck: --shape needs an --op whose first input has that shape");
  }
  const std::vector<Row> rows = rows_of(options.op);
  const Clock clock;
  Progress progress("gradcheck");
  ordered_json json = ordered_json::array();
  std::string table, failures, refused;
  std::size_t done = 0, wrong = 0, checked = 0;
  std::int64_t elements = 0;
  for (const Row& row : rows) {
    if (!options.json) {
      progress.show(static_cast<double>(done) / static_cast<double>(rows.size()),
                    fmt::format(" {}/{}  {}", done, rows.size(), row.name));
    }
    ++done;
    std::vector<std::vector<xg::Shape>> sets = row.more;
    sets.insert(sets.begin(), op_table::shapes_of(row));
    Result result;
    try {
      if (!options.shape.empty()) sets = {op_table::shapes_like(row, options.shape)};
      result = check(row, sets, options.seed);
    } catch (const xg::Error& error) {
      if (options.shape.empty()) throw;
      refused += fmt::format("{}: {}\n", row.name, error.what());
      continue;
    }
    ++checked;
    elements += result.elements;
    const bool ok = result.worst[0].ok && result.worst[1].ok;
    wrong += ok ? 0 : 1;
    table += fmt::format("{:<42}", row.name);
    for (int order : {0, 1}) {
      const xg::GradcheckReport& report = result.worst[order];
      table += fmt::format("  {:>8.1e} {:<14}", report.max_error, xg::name(report.verdict));
      if (!report.ok) {
        failures += fmt::format("\n{} of {}\n{}", row.name, result.shapes[order], report.message);
      }
    }
    table.erase(table.find_last_not_of(' ') + 1);
    table += "\n";
    json.push_back({{"op", row.name},
                    {"ok", ok},
                    {"shapes", {result.shapes[0], result.shapes[1]}},
                    {"first", ordered_json::parse(result.worst[0].to_json())},
                    {"second", ordered_json::parse(result.worst[1].to_json())}});
  }
  if (checked == 0) throw xg::Error(refused.substr(0, refused.find('\n')));
  if (options.json) {
    fmt::print("{}\n", ordered_json{{"ok", wrong == 0}, {"ops", json}}.dump());
    return wrong == 0 ? 0 : 1;
  }
  progress.show(1, "");
  fmt::print("{}{:<42}  {:<23}  {}\n{}{}{}", "\r", "operation", "first order: worst error",
             "second order", table, refused, failures);
  fmt::print("\n{} operations and forms, {} derivatives by elements, {} wrong, {:.1f} s\n", checked,
             elements, wrong, clock.seconds());
  return wrong == 0 ? 0 : 1;
}

}  // namespace tool
