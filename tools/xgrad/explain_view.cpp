#include "explain_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <xgrad/ops.hpp>

#include "explain_words.hpp"
#include "text.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
using xg::Shape;
using xg::Tensor;
using xg::teach::Comparison;
using xg::teach::Explanation;
using xg::teach::Norm;

// ---- numbers: the one place where they become text ----------------------------------------------

std::string number(double v, const ExplainView& view) {
  return view.digits == 17 ? fmt::format("{}", v) : fmt::format("{:.{}g}", v, view.digits);
}

std::string yes(bool b) { return b ? "yes" : "no"; }
std::string small(double v) { return v == 0 ? "0" : fmt::format("{:.2g}", v); }

// ---- words --------------------------------------------------------------------------------------

const char* title_of(const Norm& n) {
  switch (n.kind) {
    case Norm::layer: return "LayerNorm";
    case Norm::rms: return "RMSNorm";
    case Norm::group: return "GroupNorm";
    case Norm::batch: break;
  }
  return n.training ? "BatchNorm in training" : "BatchNorm in eval";
}

/// Who shares a mean and a variance.
std::string sharing(const Explanation& e) {
  switch (e.norm.kind) {
    case Norm::batch: return "of a channel, over the batch";
    case Norm::group: return "of a group of channels in a sample";
    case Norm::layer:
    case Norm::rms: break;
  }
  return e.norm.normalized_shape.dim() == 1
             ? "of a row"
             : fmt::format("of the last {} dimensions", e.norm.normalized_shape.dim());
}

// ---- tables -------------------------------------------------------------------------------------

/// "[1, 0]" of the flat position in the first dimensions.
std::string position(std::int64_t flat, const Shape& shape) {
  std::string text;
  for (int d = shape.dim(); d-- > 0; flat /= shape[d]) {
    text = fmt::format("{}{}{}", flat % shape[d], text.empty() ? "" : ", ", text);
  }
  return fmt::format("[{}]", text);
}

/// As a matrix: the last dimension across, all others down; the first rows and columns of it.
Table matrix(const Tensor& x, const ExplainView& view) {
  const std::vector<double> values = elements(x);
  const Shape& shape = x.shape();
  const std::int64_t columns = shape.dim() == 0 ? 1 : shape.back();
  const std::int64_t rows = x.numel() / columns;
  const Shape outer = shape.slice(0, std::max(shape.dim() - 1, 0));
  Table table{{""}, {}};
  const std::int64_t shown = std::min<std::int64_t>(columns, view.show);
  for (std::int64_t c = 0; c < shown; ++c) table.header.push_back(fmt::format("[{}]", c));
  if (shown < columns) table.header.push_back("...");
  for (std::int64_t r = 0; r < std::min<std::int64_t>(rows, view.show); ++r) {
    auto& row = table.rows.emplace_back(1, outer.dim() == 0 ? "" : position(r, outer));
    for (std::int64_t c = 0; c < shown; ++c) {
      row.push_back(number(values[static_cast<std::size_t>(r * columns + c)], view));
    }
    if (shown < columns) row.push_back("...");
  }
  return table;
}

/// For what a table has no room for: how much is shown, and what all elements are like.
std::string summary(const Tensor& x, const ExplainView& view) {
  const std::int64_t columns = x.dim() == 0 ? 1 : x.shape().back(), rows = x.numel() / columns;
  if (columns <= view.show && rows <= view.show) return "";
  const std::vector<double> values = elements(x);
  double sum = 0, low = values[0], high = values[0];
  for (double v : values) sum += v, low = std::min(low, v), high = std::max(high, v);
  return fmt::format(
      "{} of {} rows and {} of {} columns; all {} elements: least {}, mean {}, "
      "greatest {}",
      std::min<std::int64_t>(rows, view.show), rows, std::min<std::int64_t>(columns, view.show),
      columns, values.size(), number(low, view),
      number(sum / static_cast<double>(values.size()), view), number(high, view));
}

double length(const Tensor& x) { return xg::norm(x.to(xg::float64)).item<double>(); }

// ---- the account --------------------------------------------------------------------------------

/// Where it is written: the terminal, or a page.
class Sheet {
 public:
  virtual ~Sheet() = default;
  virtual void section(const std::string& heading) = 0;
  virtual void text(const std::string& words) = 0;
  virtual void formula(const char* plain, const char* tex) = 0;
  virtual void table(const std::string& caption, const Table& table) = 0;
  virtual void chart(const std::string&, const Chart&) {}
};

void show_tensor(Sheet& sheet, const std::string& name, const Tensor& x, const ExplainView& view) {
  sheet.table(fmt::format("{} {}", name, x.shape().str()), matrix(x, view));
  const std::string more = summary(x, view);
  if (!more.empty()) sheet.text(more);
}

std::string verdict(const Comparison& c) {
  return fmt::format("Against autograd: exact: {}, approximate: {}, largest difference: {}",
                     yes(c.exact), yes(c.approximate), small(c.largest));
}

void forward(const Explanation& e, Sheet& sheet, const ExplainView& view) {
  sheet.section("Forward: from x to y");
  sheet.text(
      e.norm.own_statistics()
          ? fmt::format("The n = {} values {} share {}.", e.count, sharing(e),
                        e.norm.centred() ? "a mean and a variance" : "a mean square")
          : "Mean and variance are the running statistics: constants, which no value of this "
            "batch can move.");
  for (const auto& step : e.steps) {
    const Words words = words_of(step.name, e.norm);
    if (*words.forward) sheet.formula(words.forward, words.forward_tex);
    show_tensor(sheet, step.name, step.value, view);
  }
}

void backward(const Explanation& e, Sheet& sheet, const ExplainView& view) {
  sheet.section("Backward: from dy to dx, one step of the chain rule at a time");
  sheet.text(
      "`dy` is short for the derivative of the loss by y, and so on. Each is found by hand from "
      "those above it, then compared with autograd's: exact means to the last bit, approximate up "
      "to rounding.");
  for (auto step = e.steps.rbegin(); step != e.steps.rend(); ++step) {
    if (!step->gradient.defined()) {
      sheet.text(fmt::format("`{}` is a constant: no gradient flows into it.", step->name));
      continue;
    }
    const Words words = words_of(step->name, e.norm);
    sheet.formula(words.backward, words.backward_tex);
    show_tensor(sheet, "d" + step->name, step->gradient, view);
    if (step->name != "y") sheet.text(verdict(step->comparison));
  }
}

/// A row for each of the first elements, a column for each tensor.
Table by_element(const std::vector<std::pair<std::string, Tensor>>& columns, std::int64_t shown,
                 const ExplainView& view) {
  Table table{{"element"}, {}};
  for (std::int64_t i = 0; i < shown; ++i) {
    table.rows.push_back({position(i, columns[0].second.shape())});
  }
  for (const auto& [name, x] : columns) {
    table.header.push_back(name);
    const std::vector<double> values = elements(x);
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      table.rows[i].push_back(number(values[i], view));
  }
  return table;
}
std::int64_t shown_elements(const Explanation& e, const ExplainView& view) {
  return std::min<std::int64_t>(e.x.numel(), 4 * view.show);
}

void terms(const Explanation& e, Sheet& sheet, const ExplainView& view) {
  sheet.section("The three ways from dy to dx");
  sheet.text(
      "x reaches y directly, through the mean of its group, and through its variance. With h = dy "
      "* weight:");
  const bool rms = !e.norm.centred(), own = e.norm.own_statistics();
  sheet.formula(rms ? "direct = rrms * h" : "direct = rstd * h", R"(\text{direct}_i = r\, h_i)");
  sheet.formula(own && !rms ? "through mean = -rstd * mean(h)" : "through mean = 0",
                own && !rms ? R"(\text{through mean}_i = -\frac{r}{n}\sum_j h_j)"
                            : R"(\text{through mean}_i = 0)");
  sheet.formula(!own  ? "through variance = 0"
                : rms ? "through variance = -rrms * x_hat * mean(h * x_hat)"
                      : "through variance = -rstd * x_hat * mean(h * x_hat)",
                own ? R"(\text{through variance}_i = -\frac{r}{n}\,\hat x_i \sum_j h_j \hat x_j)"
                    : R"(\text{through variance}_i = 0)");
  const std::vector<std::pair<std::string, Tensor>> columns = {
      {"direct", e.direct},
      {"through mean", e.through_mean},
      {"through variance", e.through_variance},
      {"sum", e.sum}};
  const std::int64_t shown = shown_elements(e, view);
  const Table table = by_element(columns, shown, view);
  sheet.table("dx, element by element: the terms and their sum", table);
  if (e.x.numel() <= 32) {
    Grid grid{"term", "element", "part of dx", {}, {}, {}};
    for (const auto& row : table.rows) grid.columns.push_back(row[0]);
    for (std::size_t term = 0; term < 4; ++term) {
      grid.rows.push_back(columns[term].first);
      grid.values.push_back(elements(columns[term].second));
    }
    sheet.chart("The three terms and their sum", heat_map(grid));
  }
  if (shown < e.x.numel())
    sheet.text(fmt::format("The first {} of {} elements.", shown, e.x.numel()));
  if (!own) {
    sheet.text("In eval there is nothing but the direct term: both corrections are exactly 0.");
  } else if (const double from = length(e.direct), to = length(e.sum);
             from > 0 && std::isfinite(to)) {
    sheet.text(fmt::format("The corrections leave {:.1f} % of the direct term's length ({} of {}).",
                           100 * to / from, number(to, view), number(from, view)));
  }
}

void checks(const Explanation& e, Sheet& sheet, const ExplainView& view) {
  sheet.section("Is it right?");
  Table table{{"dx", "exact", "approximate", "largest difference"}, {}};
  static const std::map<std::string, std::string> sources = {
      {"kernel", "kernel: the fused operation"},
      {"autograd", "autograd: of the steps above"},
      {"numeric", "numeric: difference quotients"}};
  std::vector<std::string> refusals;  // often the same one from two sources
  std::vector<std::pair<std::string, Tensor>> columns = {{"sum of the terms", e.sum}};
  for (const auto& check : e.checks) {
    if (check.gradient.defined()) {
      columns.emplace_back(check.name, check.gradient);
      table.rows.push_back({sources.at(check.name), yes(check.comparison.exact),
                            yes(check.comparison.approximate), small(check.comparison.largest)});
    } else {
      table.rows.push_back({sources.at(check.name), "-", "-", "-"});
      if (std::find(refusals.begin(), refusals.end(), check.refusal) == refusals.end()) {
        refusals.push_back(check.refusal);
      }
    }
  }
  sheet.table("dx, element by element, beside dx from elsewhere",
              by_element(columns, shown_elements(e, view), view));
  sheet.table("The sum of the terms against dx from elsewhere", table);
  for (const std::string& refusal : refusals) sheet.text("Without a gradient: " + refusal);
  if (e.identities.empty()) return;
  sheet.text(e.norm.centred()
                 ? "Two things hold whatever dy is: dx adds up to 0, since moving all x of a group "
                   "together changes nothing; and what dx has in common with x_hat is 0 but for "
                   "eps, since scaling them changes nothing else."
                 : "Whatever dy is, what dx has in common with x_hat is 0 but for eps, since "
                   "scaling x changes nothing else.");
  for (const auto& identity : e.identities) {
    const bool first = identity.name == "sum(dx)";
    const char* r = e.norm.centred()
                        ? "sum(dx * x_hat) = rstd * sum(h * x_hat) * eps / (variance + eps)"
                        : "sum(dx * x_hat) = rrms * sum(h * x_hat) * eps / (mean_square + eps)";
    sheet.formula(
        first ? "sum(dx) = 0" : r,
        first ? R"(\sum_i \frac{\partial L}{\partial x_i} = 0)"
        : e.norm.centred()
            ? R"(\sum_i \frac{\partial L}{\partial x_i}\hat x_i = r \sum_i h_i \hat x_i\,\frac{\varepsilon}{\sigma^2 + \varepsilon})"
            : R"(\sum_i \frac{\partial L}{\partial x_i}\hat x_i = r \sum_i h_i \hat x_i\,\frac{\varepsilon}{m + \varepsilon})");
    Table sides{{"group", "left", "right", "difference"}, {}};
    const std::vector<double> left = elements(identity.left), right = elements(identity.right);
    for (std::size_t i = 0; i < left.size() && i < static_cast<std::size_t>(view.show); ++i) {
      sides.rows.push_back({position(static_cast<std::int64_t>(i), identity.left.shape()),
                            number(left[i], view), number(right[i], view),
                            small(std::abs(left[i] - right[i]))});
    }
    sheet.table(identity.name, sides);
    if (left.size() > sides.rows.size())
      sheet.text(fmt::format("The first {} of {}; largest difference of all: {}.",
                             sides.rows.size(), left.size(), small(identity.comparison.largest)));
  }
}

void account(const Explanation& e, Sheet& sheet, const ExplainView& view) {
  forward(e, sheet, view);
  backward(e, sheet, view);
  terms(e, sheet, view);
  checks(e, sheet, view);
}

class TextSheet : public Sheet {
 public:
  explicit TextSheet(const ExplainView& view) : view_(view) {}
  void section(const std::string& heading) override {
    out += fmt::format("\n{}\n\n", paint("1", heading));
  }
  void text(const std::string& words) override {
    std::string plain;
    std::copy_if(words.begin(), words.end(), std::back_inserter(plain),
                 [](char c) { return c != '`'; });
    out += wrapped(plain, 2, view_.width) + "\n";
  }
  void formula(const char* plain, const char*) override {
    out += fmt::format("  {}\n", paint("36", plain));
  }
  void table(const std::string& caption, const Table& table) override {
    out += fmt::format("  {}\n{}\n", paint("1", caption),
                       text_of(table, 4, view_.width, view_.colour ? "2" : ""));
  }
  std::string out;

 private:
  std::string paint(const char* style, const std::string& words) const {
    return view_.colour ? fmt::format("\033[{}m{}\033[0m", style, words) : words;
  }
  const ExplainView& view_;
};

class PageSheet : public Sheet {
 public:
  explicit PageSheet(Page& page) : page_(page) {}
  void section(const std::string& heading) override { page_.section(heading); }
  void text(const std::string& words) override { page_.text(words); }
  void formula(const char*, const char* tex) override { page_.formula(tex); }
  void table(const std::string& caption, const Table& table) override {
    page_.table(caption, table);
  }
  void chart(const std::string& caption, const Chart& chart) override {
    page_.chart(caption, chart);
  }

 private:
  Page& page_;
};

}  // namespace

std::string explain_text(const Explanation& e, const ExplainView& view) {
  TextSheet sheet(view);
  for (const auto& [name, what] : view.settings) sheet.out += fmt::format("{:<14}{}\n", name, what);
  account(e, sheet, view);
  while (sheet.out.ends_with("\n\n")) sheet.out.pop_back();
  return std::move(sheet.out);
}

Page explain_page(const Explanation& e, const ExplainView& view) {
  Page page(fmt::format("{}: how the gradient gets through", title_of(e.norm)),
            "A normalization taken apart: every value on the way from x to y, the gradient of each "
            "on the way back, and the three ways by which the gradient reaches x.");
  Table settings{{"setting", "value"}, {}};
  for (const auto& [name, what] : view.settings) settings.rows.push_back({name, what});
  page.table("Where the numbers come from", settings);
  page.text(
      e.norm.centred()
          ? "In the formulas \\(x\\) is `x`, \\(\\mu\\) `mean`, \\(c\\) `centred`, \\(\\sigma^2\\) "
            "`variance`, "
            "\\(s\\) `std`, \\(r\\) `rstd`, \\(\\hat x\\) `x_hat`, \\(w\\) `weight`, \\(b\\) "
            "`bias`, "
            "\\(g\\) the upstream gradient, \\(L\\) the loss, and `dx` is \\(\\partial L / "
            "\\partial x\\)."
          : "In the formulas \\(x\\) is `x`, \\(m\\) `mean_square`, \\(s\\) `rms`, \\(r\\) `rrms`, "
            "\\(\\hat x\\) `x_hat`, \\(w\\) `weight`, \\(g\\) the upstream gradient, \\(L\\) the "
            "loss, "
            "and `dx` is \\(\\partial L / \\partial x\\).");
  PageSheet sheet(page);
  account(e, sheet, view);
  return page;
}

}  // namespace tool
