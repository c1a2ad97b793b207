#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <xgrad/random.hpp>

#include "explain_view.hpp"
#include "html.hpp"

namespace {

namespace xg = xgrad;
using nlohmann::json;
using xg::Tensor;
using xg::teach::Norm;

/// Everything that a view can be asked to show.
std::vector<xg::teach::Explanation> explanations() {
  std::vector<xg::teach::Explanation> all;
  for (Norm::Kind kind : {Norm::layer, Norm::batch, Norm::batch, Norm::rms, Norm::group}) {
    xg::manual_seed(all.size());
    const auto dtype = all.size() == 3 ? xg::float32 : xg::float64;
    const xg::Shape shape = all.size() % 2 == 0 ? xg::Shape{3, 4, 2} : xg::Shape{3, 4};
    Norm norm;
    norm.kind = kind;
    norm.groups = 2;
    norm.training = all.size() != 2;
    const Tensor x = xg::randn(shape, {.dtype = dtype});
    all.push_back(xg::teach::explain(norm, x, xg::randn(shape, {.dtype = dtype})));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = xg::tensor({{1.0, nan, 4.0}, {3.0, 3.0, 3.0}}, {.dtype = xg::float64});
  Norm norm;
  norm.eps = 0;
  all.push_back(xg::teach::explain(norm, x, xg::randn({2, 3}, {.dtype = xg::float64})));
  norm.kind = Norm::batch;
  all.push_back(xg::teach::explain(norm, x, xg::randn({2, 3}, {.dtype = xg::float64})));
  return all;
}

const tool::ExplainView full{
    .settings = {{"norm", "any"}}, .digits = 17, .show = 100, .width = 10000};

/// The cells of the page's tables and of the text's, in order.
std::vector<std::string> cells_of_page(const std::string& html) {
  std::vector<std::string> cells;
  const std::regex cell(R"(<t[hd][^>]*>([^<]*)</t[hd]>)");
  // After the settings, before the scripts (which are too long for std::regex).
  std::string tables = html.substr(0, html.find("</main>"));
  tables.erase(0, tables.find("<section"));
  // What a chart says in numbers, the tables say, too.
  for (std::size_t at; (at = tables.find("<figure>")) != tables.npos;) {
    tables.erase(at, tables.find("</figure>") - at + 9);
  }
  for (std::sregex_iterator it(tables.begin(), tables.end(), cell), end; it != end; ++it) {
    cells.push_back((*it)[1]);
  }
  return cells;
}
std::vector<std::string> cells_of_text(const std::string& text) {
  std::vector<std::string> cells;
  const std::regex line(R"(\n    ([^\n]*))"), gap(R"(  +)");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    const std::string row = (*it)[1];
    std::sregex_token_iterator cell(row.begin(), row.end(), gap, -1);
    for (; cell != std::sregex_token_iterator(); ++cell) cells.push_back(*cell);
  }
  return cells;
}

/// All numbers in an array of arrays, in order, as text.
void numbers_of(const json& j, std::vector<std::string>& out) {
  if (j.is_array()) {
    for (const json& element : j) numbers_of(element, out);
  } else if (!j.is_null()) {
    out.push_back(j.is_string() ? j.get<std::string>() : fmt::format("{}", j.get<double>()));
  }
}

TEST(ExplainView, TextAndPageHaveTheSameCells) {
  for (const auto& e : explanations()) {
    for (int digits : {3, 6, 17}) {
      tool::ExplainView view = full;
      view.digits = digits;
      const auto of_page = cells_of_page(tool::explain_page(e, view).html());
      auto of_text = cells_of_text(tool::explain_text(e, view));
      std::vector<std::string> filled;
      for (const auto& cell : of_page) {
        if (!cell.empty()) filled.push_back(cell);
      }
      std::erase(of_text, "");
      EXPECT_GT(filled.size(), 100U);
      EXPECT_EQ(of_text, filled);
    }
  }
}

TEST(ExplainView, TextAgreesWithJsonToTheLastDigit) {
  for (const auto& e : explanations()) {
    const json j = json::parse(tool::explain_json(e, full));
    const std::string text = tool::explain_text(e, full);
    // Every step's value and gradient: the table below its caption.
    const auto expect_table = [&](const std::string& caption, const json& values) {
      const std::size_t at = text.find("\n  " + caption + " (");
      ASSERT_NE(at, text.npos) << caption;
      const std::size_t end = text.find("\n\n", at);
      std::vector<std::string> expected, found;
      numbers_of(values, expected);
      const std::regex number(R"((?:^|  )(-?(?:\d[\d.e+-]*|nan|inf))(?=  |\n|$))");
      const std::size_t rows = text.find('\n', text.find('\n', at + 1) + 1);  // after the header
      const std::string body = text.substr(rows, end - rows);
      for (std::sregex_iterator it(body.begin(), body.end(), number), last; it != last; ++it) {
        found.push_back((*it)[1]);
      }
      EXPECT_EQ(found, expected) << caption;
    };
    for (const json& step : j["steps"]) {
      const std::string name = step["name"];
      expect_table(name, step["value"]);
      if (!step["gradient"].is_null()) expect_table("d" + name, step["gradient"]);
    }
    // dx by its terms and from elsewhere: the columns of two tables.
    std::vector<std::vector<std::string>> columns(4);
    int c = 0;
    for (const char* term : {"direct", "through_mean", "through_variance", "sum"}) {
      numbers_of(j["dx"][term], columns[static_cast<std::size_t>(c++)]);
    }
    for (const json& check : j["checks"]) {
      if (!check["dx"].is_null()) numbers_of(check["dx"], columns.emplace_back());
    }
    const auto expect_rows = [&](std::size_t from, std::size_t end) {
      for (std::size_t i = 0; i < columns[0].size(); ++i) {
        std::string row = R"(\n    \[[0-9, ]+\])";
        for (std::size_t k = from; k < end; ++k)
          row += " +" + std::regex_replace(columns[k][i], std::regex(R"([.+])"), R"(\$&)");
        EXPECT_TRUE(std::regex_search(text, std::regex(row + "\n"))) << row;
      }
    };
    expect_rows(0, 4);               // the terms and their sum
    expect_rows(3, columns.size());  // the sum and dx from elsewhere
  }
}

TEST(ExplainView, JsonHasWhatTheExplanationHas) {
  for (const auto& e : explanations()) {
    const json j = json::parse(tool::explain_json(e, {}));
    const auto expect = [](const json& values, const Tensor& x) {
      std::vector<std::string> found;
      numbers_of(values, found);
      const std::vector<double> exact = x.to_vector<double>();
      ASSERT_EQ(found.size(), exact.size());
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double v = std::stod(found[i]);
        const bool same = x.dtype() == xg::float32
                              ? static_cast<float>(v) == static_cast<float>(exact[i])
                              : v == exact[i];
        EXPECT_TRUE(same || (std::isnan(v) && std::isnan(exact[i]))) << found[i] << " " << exact[i];
      }
    };
    for (std::size_t i = 0; i < e.steps.size(); ++i)
      expect(j["steps"][i]["value"], e.steps[i].value);
    expect(j["dx"]["sum"], e.sum);
    expect(j["upstream"], e.upstream);
  }
}

TEST(ExplainView, PagesAreWhole) {
  for (const auto& e : explanations()) {
    const std::string html = tool::explain_page(e, {.settings = {{"x", "<as given>"}}}).html();
    EXPECT_EQ(html_fault(html), "");
    EXPECT_EQ(html.find("<as given>"), html.npos);
  }
}

TEST(ExplainView, LargeTensorsAreSummarised) {
  const Tensor x = xg::randn({20, 30}, {.dtype = xg::float64});
  const std::string text = tool::explain_text(xg::teach::explain({}, x, x.flip({0})), {});
  EXPECT_NE(text.find("8 of 20 rows and 8 of 30 columns; all 600 elements: least "), text.npos);
  EXPECT_NE(text.find("The first 32 of 600 elements."), text.npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 550);
  EXPECT_EQ(text.find('\033'), text.npos);
  EXPECT_NE(tool::explain_text(xg::teach::explain({}, x, x), {.colour = true}).find("\033[1m"),
            text.npos);
}

}  // namespace
