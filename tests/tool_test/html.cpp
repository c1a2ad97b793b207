#include "html.hpp"

#include <regex>
#include <set>
#include <vector>

namespace {

/// What a reader who does not see, or has no mouse, would miss in an element. Empty: nothing.
std::string unreachable(const std::string& name, const std::string& attributes,
                        const std::string& rest) {
  const auto has = [&](const char* what) { return attributes.find(what) != attributes.npos; };
  const bool labelled = has(" aria-label=\"") && !has(" aria-label=\"\"");
  if (has("tabindex=\"0\"") != has("role=\"region\"")) return "scrolls, but is no named region";
  if ((has("role=\"region\"") || has("role=\"img\"")) && !labelled) return "has no name";
  if (name == "svg" && !has("role=\"img\"") && !has("aria-hidden=\"true\"")) {
    return "a drawing without a name";
  }
  if (name == "table" && rest.find("<caption>") > 1) return "a table without a caption";
  if (name == "th" && !has(" scope=\"")) return "a header of nothing";
  if (name == "title" && rest.starts_with("<")) return "a page without a title";
  return "";
}

}  // namespace

std::string html_fault(const std::string& html) {
  const std::set<std::string> empty = {"meta", "link", "br", "img", "hr"};
  const std::set<std::string> raw = {"script", "style"};
  if (!html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">")) return "does not begin as HTML5";
  std::vector<std::string> open;
  std::set<std::string> ids;
  bool in_drawing = false;
  char heading = '0';
  const std::regex tag(R"(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"]|"[^"]*")*?)(/?)>)");
  const std::regex id(R"re(\sid="([^"]*)")re");
  const std::regex outside(R"re((?:src|href)\s*=\s*"(?!#|data:))re");
  std::size_t at = 0;
  while ((at = html.find('<', at)) != html.npos) {
    if (html.compare(at, 4, "<!--") == 0 || html.compare(at, 2, "<!") == 0) {
      at = html.find('>', at);
      continue;
    }
    // Tags are short: never let the expression run over a megabyte.
    const std::string here = html.substr(at, 4000);
    std::smatch m;
    if (!std::regex_search(here, m, tag, std::regex_constants::match_continuous)) {
      return "not a tag: " + here.substr(0, 60);
    }
    const std::string name = m[2], attributes = m[3];
    if (std::regex_search(attributes, outside)) return "leads outside: " + m.str();
    at += static_cast<std::size_t>(m.length());
    if (std::smatch own; std::regex_search(attributes, own, id) && !ids.insert(own[1]).second) {
      return "an id twice: " + m.str();
    }
    in_drawing = in_drawing && !(name == "svg" && m[1].length() > 0);
    if (m[1].length() == 0 && !in_drawing) {  // within one they are not looked at
      const std::string fault = unreachable(name, attributes, html.substr(at, 20));
      if (!fault.empty()) return fault + ": " + m.str();
      in_drawing = name == "svg" && m[4].length() == 0;
    }
    if (m[1].length() > 0) {
      if (open.empty() || open.back() != name) return "closed but not open: " + m.str();
      open.pop_back();
    } else if (empty.count(name) == 0 && m[4].length() == 0) {
      open.push_back(name);
      if (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6') {
        if (name[1] > heading + 1) return "a heading level is skipped before " + m.str();
        heading = name[1];
      }
    }
    if (m[1].length() == 0 && raw.count(name) > 0) {
      const std::size_t end = html.find("</" + name, at);
      const std::string content = html.substr(at, end - at);
      if (name == "style" && (content.find("@import") != content.npos ||
                              std::regex_search(content, std::regex(R"(url\((?!data:))")))) {
        return "a style leads outside";
      }
      if (content.find("sourceMappingURL") != content.npos) return "a script has a source map";
      at = end;
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}
