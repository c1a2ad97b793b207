#include "page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <xgrad/error.hpp>

#include "html.hpp"

namespace {

using tool::Page;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++n;
  return n;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// One of everything.
Page everything() {
  Page page("Backprop <through> \"norms\" & more",
            "The lead, with `code <b>` and \\(x_i < y_i\\).");
  page.section("Formulas & text");
  page.text("One of <script>alert(1)</script>, an open ` and an open \\( stay as they are.");
  page.formula(
      R"(\frac{\partial L}{\partial x_i} = \frac{r}{n}\left(n\,h_i - \sum_j h_j - \hat x_i \sum_j h_j \hat x_j\right) < \mathbf{1})");
  page.code("xgrad explain --x \"1,2,3\" <in >out");
  page.section("Tables");
  page.table("A table of \\(\\hat x\\)",
             {{"name", "value", "share"}, {{"a<b", "-1.5e-3", "12 %"}, {"c", "refused", ""}}});
  page.table("Of one kind", {{"setting", "value"}, {{"norm", "layer"}, {"eps", "1e-05"}}});
  page.subsection("A wide one");
  tool::Table wide{{"row"}, {{"0"}}};
  for (int i = 0; i < 40; ++i) {
    wide.header.push_back("column " + std::to_string(i));
    wide.rows[0].push_back(std::to_string(i * 1.125));
  }
  page.table("Scrolls in its own box", wide);
  page.section("Charts");
  std::vector<tool::Series> series;
  for (const char* name : {"train", "eval </script>", "of BatchNorm's running mean"}) {
    tool::Series& s = series.emplace_back(tool::Series{name, {}, {}});
    for (int i = 0; i < 120; ++i) {
      s.x.push_back(i);
      s.y.push_back(i == 50 ? nan
                            : std::exp(-i * 0.03 * static_cast<double>(series.size())) +
                                  0.01 * std::sin(i));
    }
  }
  page.beside(28, [&] {
    page.chart("Loss", tool::line_chart({"step", "loss"}, series));
    page.chart("Loss, log", tool::line_chart({"step", "loss", true}, series));
  });
  page.chart("One", tool::line_chart({"x", "y"}, {{"only", {1, 2, 4}, {3, -1, 2}}}));
  tool::Grid grid{"output", "input", "derivative", {}, {}, {}};
  for (int r = 0; r < 8; ++r) {
    grid.rows.push_back("y" + std::to_string(r));
    grid.columns.push_back("x" + std::to_string(r));
    grid.values.emplace_back();
    for (int c = 0; c < 8; ++c) {
      grid.values.back().push_back((r < 4) == (c < 4) ? std::cos(r + 2 * c) : r == 7 ? nan : 0);
    }
  }
  page.chart("Who gets gradient from whom", tool::heat_map(grid));
  page.section("A drawing");
  page.svg("Boxes",
           "<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\" \"http://x/svg.dtd\">\n"
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"40\"><rect "
           "width=\"900\" height=\"40\" fill=\"#8ac\"/></svg>");
  page.details("More", [&] { page.text("inside"); });
  return page;
}

TEST(Page, HasOneOfEverythingAndNothingFromOutside) {
  const std::string html = everything().html();
  EXPECT_EQ(html_fault(html), "");
  EXPECT_NE(html.find("<title>Backprop &lt;through&gt; &quot;norms&quot; &amp; more</title>"),
            html.npos);
  EXPECT_NE(
      html.find("One of &lt;script&gt;alert(1)&lt;/script&gt;, an open ` and an open \\( stay"),
      html.npos);
  EXPECT_NE(html.find("<code>code &lt;b&gt;</code> and <span class=\"tex\">x_i &lt; y_i</span>"),
            html.npos);
  EXPECT_EQ(
      count(html,
            "<th scope=\"row\">a&lt;b</th><td class=\"n\">-1.5e-3</td><td class=\"n\">12 %</td>"),
      1U);
  EXPECT_EQ(count(html, "<td class=\"n\">refused</td>"), 1U);
  EXPECT_EQ(count(html, "<td>1e-05</td>"), 1U);
  EXPECT_EQ(count(html, "class=\"chart\""), 4U);
  EXPECT_EQ(count(html, "http://x/svg.dtd"), 0U);
  EXPECT_EQ(count(html, "<svg role=\"img\" aria-label=\"Boxes\" xmlns"), 1U);
  // Three tables and those of four charts, a formula, the drawing, and the code.
  EXPECT_EQ(count(html, " tabindex=\"0\" role=\"region\" aria-label=\""), 10U);
  // Each font once, inside the file.
  EXPECT_EQ(count(html, "data:font/woff2;base64,d09GMg"), 7U);
}

TEST(Page, CarriesOnlyWhatItUses) {
  Page plain("Title", "Lead.");
  plain.text("Words.");
  EXPECT_EQ(html_fault(plain.html()), "");
  EXPECT_LT(plain.html().size(), 6000U);
  EXPECT_EQ(plain.html().find("<script"), std::string::npos);
  Page formulas("Title", "Lead.");
  formulas.table("Caption", {{"\\(x\\)"}, {{"1"}}});
  EXPECT_NE(formulas.html().find("katex"), std::string::npos);
  EXPECT_EQ(formulas.html().find("vega"), std::string::npos);
  Page charts("Title", "Lead.");
  charts.chart("Caption", tool::line_chart({"x", "y"}, {{"s", {1}, {2}}}));
  EXPECT_EQ(charts.html().find("katex"), std::string::npos);
  EXPECT_NE(charts.html().find("vega"), std::string::npos);
}

TEST(Page, FaultsAreFound) {
  const std::string html = everything().html();
  const auto with = [&](const std::string& body) {
    std::string changed = html;
    return html_fault(changed.insert(changed.find("<main>"), body));
  };
  EXPECT_EQ(with("<p>fine</p>"), "");
  EXPECT_NE(with("<p>open"), "");
  EXPECT_NE(with("<b><i></b></i>"), "");
  EXPECT_NE(with("<h4>skipped</h4>"), "");
  EXPECT_NE(with("<a href=\"https://example.org\">x</a>"), "");
  EXPECT_NE(with("<style>@import 'x'</style>"), "");
  EXPECT_NE(with("a < b"), "");
  EXPECT_NE(with("<p id=\"s1\">twice</p>"), "");
  EXPECT_NE(with("<div tabindex=\"0\">no name</div>"), "");
  EXPECT_NE(with("<div role=\"region\" aria-label=\"x\">no Tab</div>"), "");
  EXPECT_NE(with("<div tabindex=\"0\" role=\"region\" aria-label=\"\">no name</div>"), "");
  EXPECT_NE(with("<div role=\"img\">no name</div>"), "");
  EXPECT_NE(with("<svg></svg>"), "");
  EXPECT_EQ(with("<svg role=\"img\" aria-label=\"x\"><title>y</title></svg>"), "");
  EXPECT_NE(with("<table><tbody></tbody></table>"), "");
  EXPECT_NE(with("<table><caption>x</caption><tr><th>y</th></tr></table>"), "");
}

TEST(Page, ChartsCarryTheirNumbers) {
  const tool::Chart chart =
      tool::line_chart({"step", "loss", true}, {{"a", {1, 2, 3}, {0.1, nan, -1}}, {"b", {2}, {7}}});
  EXPECT_EQ(chart.numbers.header, (std::vector<std::string>{"step", "a", "b"}));
  EXPECT_EQ(chart.numbers.rows, (std::vector<std::vector<std::string>>{
                                    {"1", "0.1", ""}, {"2", "nan", "7"}, {"3", "-1", ""}}));
  const auto& values = chart.spec["data"][0]["values"];
  EXPECT_EQ(values[0]["y"], 0.1);
  EXPECT_TRUE(values[1]["y"].is_null());
  EXPECT_TRUE(values[2]["y"].is_null());  // has no logarithm
  tool::Series longer{"s", {}, {}};
  for (int i = 0; i < 1234; ++i) longer.x.push_back(i), longer.y.push_back(i);
  const auto rows = tool::line_chart({"x", "y"}, {longer}).numbers.rows;
  EXPECT_LE(rows.size(), 101U);
  EXPECT_EQ(rows.back().front(), "1233");
}

TEST(Page, HeatMapsHaveBlueOnlyForWhatIsNegative) {
  tool::Grid grid{"row", "column", "value", {"a"}, {"b", "c"}, {{0, 3}}};
  EXPECT_EQ(tool::heat_map(grid).spec["scales"][2]["domain"], nlohmann::json({0, 3}));
  EXPECT_EQ(tool::heat_map(grid).spec["scales"][2]["range"].size(), 2U);
  grid.values[0][1] = -3;
  EXPECT_EQ(tool::heat_map(grid).spec["scales"][2]["domain"], nlohmann::json({-3, 0, 3}));
  EXPECT_EQ(tool::heat_map(grid).spec["scales"][2]["range"].size(), 3U);
}

TEST(Page, WritesAllOrNothing) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(testing::TempDir()) / "xgrad_page_test";
  fs::create_directories(dir);
  const std::string path = dir / "page.html";
  everything().write(path);
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), everything().html());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), 1);  // no temporary file is left
  EXPECT_THROW(everything().write(dir / "none" / "page.html"), xgrad::FileError);
  EXPECT_THROW(everything().write(dir), xgrad::FileError);
  fs::remove_all(dir);
}

}  // namespace
