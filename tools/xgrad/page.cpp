#include "page.hpp"

#include <fmt/format.h>
#include <functional>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <xgrad/io.hpp>

#include "assets.hpp"

namespace tool {

namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light; --ink: #1b1f24; --page: #fff; --soft: #f3f5f7; --line: #cfd6dd; --link: #0b57a4;
  --c1: #0b62b0; --c2: #c4500a; --c3: #12805c; --c4: #a02c7c; --c5: #7a6a00; --c6: #b3261e; --c7: #4a5568; --c8: #0a7f92 }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --ink: #e4e8ec; --page: #14181d; --soft: #1f252c; --line: #3a434d; --link: #7cb8f5;
    --c1: #6db3f2; --c2: #f0a05a; --c3: #5fd0a3; --c4: #e08cc6; --c5: #d3c24a; --c6: #ff8a80; --c7: #b0bac8; --c8: #62d0e2 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 72rem; color: var(--ink); background: var(--page);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .3rem }
p { margin: .6rem 0; max-width: 46rem }
a { color: var(--link) }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1rem 0 0; padding: 0; list-style: none }
code, pre { font: .92em/1.45 ui-monospace, monospace; background: var(--soft); border-radius: 3px }
code { padding: .1em .3em }
pre { padding: .7rem .9rem; overflow-x: auto }
.scroll, .formula { overflow-x: auto; max-width: 100% }
.formula { margin: .8rem 0; padding: .2rem 0; overflow-y: hidden }
figure { margin: 1.2rem 0 }
figcaption, caption { text-align: left; font-size: .92rem; padding-bottom: .35rem; opacity: .85 }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin: .3rem 0 }
th, td { padding: .22rem .7rem; border-bottom: 1px solid var(--line); text-align: left; font-weight: normal; vertical-align: baseline }
thead th { font-weight: 600; border-bottom-width: 2px }
tbody th:not(.n) { min-width: 8rem }
.n { text-align: right; white-space: nowrap; font-family: ui-monospace, monospace }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--least)), 1fr)); gap: 0 2rem }
.beside > * { min-width: 0 }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin: .2rem 0 .4rem; padding: 0; list-style: none; font-size: .88rem }
.legend path { stroke-width: 2.5 }
summary { cursor: pointer; padding: .25rem 0; color: var(--link) }
:focus-visible { outline: 3px solid var(--c2); outline-offset: 2px }
svg { max-width: 100% }
.chart svg { height: auto; display: block }
.scroll > svg { max-width: none; background: #fff }
@media print { body { max-width: none; padding: 0 } nav { display: none } figure, tr, .formula { break-inside: avoid } h2, h3 { break-after: avoid } .scroll, .formula, pre { overflow: visible } }
)";

constexpr const char* formula_style =
    ".katex-display { margin: 0 } .katex-display > .katex { text-align: left }";

// Debian packs Vega as parts for a module loader (AMD), not as one file: this is the loader.
constexpr std::string_view vega_begin = R"(
const vega = (() => {
const parts = {};
let name;
const define = (needs, make) => {
  const part = {};
  make(...needs.map(need => need === "exports" ? part : parts[need]));
  parts[name] = parts[name + "s"] = part;  // vega-selection is asked for as vega-selections
};
define.amd = true;
)";
constexpr std::string_view vega_end = R"(
Object.assign(parts["vega-dataflow"].transforms, parts["vega-transforms"], parts["vega-view-transforms"], parts["vega-encode"]);
return {View: parts["vega-view"].View, parse: parts["vega-parser"].parse};
})();
for (const box of document.querySelectorAll(".chart")) {
  const spec = JSON.parse(box.nextElementSibling.textContent);
  const view = new vega.View(vega.parse(spec), {renderer: "svg", container: box, hover: true});
  const fit = () => { if (box.clientWidth > 0) view.width(box.clientWidth).resize().runAsync().then(v => v.resize().runAsync()); };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(box);
}
)";
constexpr std::string_view katex_run = R"(
for (const box of document.querySelectorAll(".tex")) {
  katex.render(box.textContent, box, {displayMode: box.parentElement.className === "formula", throwOnError: false});
}
)";
// What scrolls is reached by Tab and scrolled by the arrow keys; what does not is passed over.
constexpr std::string_view scroll_script = R"(
for (const box of document.querySelectorAll("[role=region]")) {
  const name = box.getAttribute("aria-label");
  const fit = () => {
    if (box.scrollWidth > box.clientWidth + 1) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", name);
    } else {
      for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
    }
  };
  new ResizeObserver(fit).observe(box);
}
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

/// What stands between two marks in captions is for the eye; a label has the bare words.
std::string label(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == ')')) {
      ++i;
      continue;
    }
    out += text[i];
  }
  return escaped(out);
}

/// The attributes of a box that may be too narrow for what is in it.
std::string scrolls(std::string_view what) {
  return fmt::format(" tabindex=\"0\" role=\"region\" aria-label=\"{}\"", label(what));
}

/// A number, perhaps with a short unit.
bool is_number(const std::string& cell) {
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  return end != cell.c_str() && (*end == '\0' || (*end == ' ' && std::strlen(end) <= 4));
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

std::string_view asset(std::string_view name) {
  for (const Asset& a : assets()) {
    if (a.name == name) return a.bytes;
  }
  throw std::logic_error(fmt::format("no asset {}", name));
}

/// KaTeX's style with the fonts that are there inside it; the others are left out.
std::string katex_style() {
  constexpr std::string_view face = "@font-face{", source = "src:url(fonts/";
  std::string_view css = asset("katex.min.css");
  std::string out;
  for (std::size_t at; (at = css.find(face)) != css.npos;) {
    out += css.substr(0, at);
    css.remove_prefix(at);
    const std::string_view rule = css.substr(0, css.find('}') + 1);
    css.remove_prefix(rule.size());
    const std::size_t src = rule.find(source), semicolon = rule.find(';', src);
    for (const Asset& font : assets()) {
      if (rule.substr(src + source.size()).starts_with(font.name)) {
        out += fmt::format("{}src:url(data:font/woff2;base64,{}) format('woff2'){}",
                           rule.substr(0, src), base64(font.bytes), rule.substr(semicolon));
      }
    }
  }
  return out.append(css);
}

std::string vega_script() {
  std::string out(vega_begin);
  for (const Asset& part : assets()) {
    if (!part.name.starts_with("vega-")) continue;
    // Without the address of its source map, which a browser's debugger would ask for.
    out += fmt::format("name = \"{}\";\n{}\n", part.name.substr(0, part.name.find('.')),
                       part.bytes.substr(0, part.bytes.find("//# sourceMappingURL")));
  }
  return out.append(vega_end);
}

}  // namespace

Page::Page(std::string title, const std::string& lead) : title_(std::move(title)) {
  body_ = fmt::format("<p>{}</p>\n", markup(lead));
}

std::string Page::markup(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find('`'), text.find("\\("));
    const bool math = begin != text.npos && text[begin] == '\\';
    const std::size_t skip = math ? 2 : 1;
    const std::size_t end =
        begin == text.npos ? begin : text.find(math ? "\\)" : "`", begin + skip);
    if (end == text.npos) return out + escaped(text);
    const std::string inner = escaped(text.substr(begin + skip, end - begin - skip));
    out += escaped(text.substr(0, begin));
    out += math ? fmt::format("<span class=\"tex\">{}</span>", inner)
                : fmt::format("<code>{}</code>", inner);
    formulas_ = formulas_ || math;
    text.remove_prefix(end + skip);
  }
  return out;
}

void Page::section(std::string_view heading) {
  body_ += sections_.empty() ? "" : "</section>\n";
  sections_.push_back(escaped(heading));
  body_ += fmt::format("<section aria-labelledby=\"s{0}\">\n<h2 id=\"s{0}\">{1}</h2>\n",
                       sections_.size(), sections_.back());
}

void Page::subsection(std::string_view heading) {
  body_ += fmt::format("<h3>{}</h3>\n", escaped(heading));
}

void Page::text(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", markup(text)); }

void Page::code(std::string_view text) {
  body_ += fmt::format("<pre{}><code>{}</code></pre>\n", scrolls("Text"), escaped(text));
}

void Page::formula(std::string_view tex) {
  formulas_ = true;
  body_ += fmt::format("<div class=\"formula\"{}><span class=\"tex\">{}</span></div>\n",
                       scrolls("Formula"), escaped(tex));
}

void Page::table(std::string_view caption, const Table& table) {
  // A column is set right where its first entry is a number.
  const auto right = [&table](std::size_t column) {
    for (const auto& row : table.rows) {
      if (column < row.size() && !row[column].empty()) return is_number(row[column]);
    }
    return false;
  };
  std::vector<const char*> classes;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    classes.push_back(right(i) ? " class=\"n\"" : "");
  }
  const auto cell = [&](std::size_t column, const std::string& text, const char* tag,
                        const char* scope) {
    body_ += fmt::format("<{}{}{}>{}</{}>", tag, scope, classes.at(column), markup(text), tag);
  };
  body_ += fmt::format("<div class=\"scroll\"{}><table>\n<caption>{}</caption>\n<thead><tr>",
                       scrolls(caption), markup(caption));
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    cell(i, table.header[i], "th", " scope=\"col\"");
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      i == 0 ? cell(i, row[i], "th", " scope=\"row\"") : cell(i, row[i], "td", "");
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::chart(std::string_view caption, const Chart& chart) {
  ++charts_;
  std::string spec = chart.spec.dump();
  for (std::size_t at; (at = spec.find('<')) != spec.npos;) spec.replace(at, 1, "\\u003c");
  body_ += fmt::format(
      "<figure><figcaption>{}</figcaption>\n<div class=\"chart\" role=\"img\" "
      "aria-label=\"{}\"></div>"
      "<script type=\"application/json\">{}</script>\n",
      markup(caption), escaped(chart.spec.value("description", std::string(caption))), spec);
  if (!chart.legend.empty()) body_ += "<ul class=\"legend\">";
  for (const Chart::Key& key : chart.legend) {
    body_ += fmt::format(
        "<li><svg width=\"34\" height=\"8\" aria-hidden=\"true\"><path d=\"M0 4h34\" "
        "style=\"stroke: {}; stroke-dasharray: {}\"/></svg> {}</li>",
        key.colour, key.dashes, escaped(key.name));
  }
  if (!chart.legend.empty()) body_ += "</ul>\n";
  details("The numbers", [&] { table(caption, chart.numbers); });
  body_ += "</figure>\n";
}

void Page::svg(std::string_view caption, std::string_view svg) {
  const std::size_t begin = svg.find("<svg");
  if (begin == svg.npos) throw std::logic_error("Page::svg: no <svg> in the drawing");
  body_ += fmt::format(
      "<figure><figcaption>{}</figcaption>\n<div class=\"scroll\"{}><svg role=\"img\" "
      "aria-label=\"{}\"{}</div></figure>\n",
      markup(caption), scrolls(caption), label(caption), svg.substr(begin + 4));
}

void Page::beside(int width, const std::function<void()>& content) {
  body_ += fmt::format("<div class=\"beside\" style=\"--least: {}rem\">\n", width);
  content();
  body_ += "</div>\n";
}

void Page::details(std::string_view summary, const std::function<void()>& content) {
  body_ += fmt::format("<details><summary>{}</summary>\n", markup(summary));
  content();
  body_ += "</details>\n";
}

std::string Page::html() const {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n",
      escaped(title_));
  if (charts_ > 0) out += "<!-- Carries Vega, BSD-3-Clause, University of Washington. -->\n";
  if (formulas_) {
    out += "<!-- Carries KaTeX, MIT, Khan Academy and other contributors. -->\n<style>";
    out += katex_style() + formula_style + "</style>\n";
  }
  out += fmt::format("<style>{}</style>\n</head>\n<body>\n<header><h1>{}</h1></header>\n", style,
                     escaped(title_));
  if (sections_.size() > 2) {
    out += "<nav aria-label=\"Sections\"><ul>";
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      out += fmt::format("<li><a href=\"#s{}\">{}</a></li>", i + 1, sections_[i]);
    }
    out += "</ul></nav>\n";
  }
  out += "<main>\n" + body_ + (sections_.empty() ? "" : "</section>\n") + "</main>\n";
  if (formulas_) {
    out +=
        fmt::format("<script>{}</script>\n<script>{}</script>\n", asset("katex.min.js"), katex_run);
  }
  if (charts_ > 0) out += fmt::format("<script>{}</script>\n", vega_script());
  if (body_.find(" role=\"region\"") != body_.npos) {
    out += fmt::format("<script>{}</script>\n", scroll_script);
  }
  return out + "</body>\n</html>\n";
}

void Page::write(const std::string& path) const { xgrad::write_file(path, html()); }

}  // namespace tool
