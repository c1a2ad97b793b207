#include "xgrad/teach/graph.hpp"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "xgrad/error.hpp"
#include "xgrad/extend.hpp"
#include "xgrad/teach/statistics.hpp"

namespace xgrad::teach {

namespace {

using NodeRef = detail::Ref<Node>;

/// Text inside a label, which Graphviz reads as HTML: escaped, rows of blanks kept.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\\': out += "&#92;"; break;
      case ' ': out += i > 0 && text[i - 1] != ' ' && text[i - 1] != '\n' ? " " : "&#160;"; break;
      case '\n': out += "<br align=\"left\"/>"; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// All elements, one line for each row, in columns.
std::string table(const Tensor& x) {
  std::vector<std::string> cells;
  std::size_t width = 0;
  for (const double value : x.to_vector<double>()) {
    width = std::max(width, cells.emplace_back(number(value)).size());
  }
  const auto columns = static_cast<std::size_t>(x.dim() == 0 ? 1 : x.size(-1));
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += i % columns == 0 ? "\n" : "  ";
    out += std::string(width - cells[i].size(), ' ') + cells[i];
  }
  return cells.empty() ? "(no element)" : out;
}

std::string contents(const Tensor& x, std::int64_t numbers) {
  if (x.numel() <= numbers) return table(x);
  const Statistics s = statistics(x);
  return "mean " + number(s.mean) + "  std " + number(s.std) + "\nmin " + number(s.min) + "  max " +
         number(s.max);
}

class Dot {
 public:
  Dot(const Tensor& y, const DotOptions& options) : options_(options) {
    for (const auto& [name, x] : options.names) {
      if (x.defined() && x.requires_grad()) named_.try_emplace(x.impl().node.get(), &name, &x);
    }
    text_ =
        "digraph xgrad {\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, color=\"#475569\",\n"
        "        margin=\"0.16,0.06\", fontname=\"Helvetica,Arial,sans-serif\", fontsize=12]\n"
        "  edge [color=\"#475569\", arrowsize=0.7]\n";
    if (y.requires_grad()) {
      walk(y);
    } else {
      text_ += "  n0 [label=\"no graph: a tensor of shape " + y.shape().str() +
               " that requires no gradient\", shape=plaintext, style=\"\"]\n";
    }
    text_ += "}\n";
  }
  std::string take() { return std::move(text_); }

 private:
  /// Breadth first, so that what is left out is what lies furthest from y.
  void walk(const Tensor& y) {
    std::vector<const NodeRef*> found{&y.impl().node};
    std::unordered_map<const Node*, std::size_t> ids{{found[0]->get(), 0}};
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const NodeRef& edge : (*found[i])->edges()) {
        if (edge && ids.try_emplace(edge.get(), found.size()).second) found.push_back(&edge);
      }
    }
    const std::size_t shown = std::min(found.size(), std::max<std::size_t>(1, options_.max_nodes));
    for (std::size_t i = 0; i < shown; ++i) box(i, *found[i], i == 0 ? &y : nullptr);
    std::string cut;
    for (std::size_t i = 0; i < shown; ++i) {
      bool from_cut = false;
      for (const NodeRef& edge : (*found[i])->edges()) {
        if (!edge) continue;
        const std::size_t from = ids.at(edge.get());
        from_cut = from_cut || from >= shown;
        if (from >= shown) continue;
        // The way through the operations is drawn straight, what joins it stands beside.
        text_ += "  n" + std::to_string(from) + " -> n" + std::to_string(i) +
                 (edge->is_leaf() ? "\n" : " [weight=20]\n");
      }
      if (from_cut) cut.append(cut.empty() ? "" : ", ").append("n").append(std::to_string(i));
    }
    if (cut.empty()) return;
    text_ += "  more [label=\"... " + std::to_string(found.size() - shown) +
             " more\", shape=plaintext, style=\"\"]\n  more -> {" + cut + "} [style=dashed]\n";
  }

  void box(std::size_t id, const NodeRef& node, const Tensor* y) {
    const auto at = named_.find(node.get());
    const std::string* name = at == named_.end() ? nullptr : at->second.first;
    const Tensor* known = at == named_.end() ? y : at->second.second;

    std::string op = node->name;
    op = op.substr(0, op.rfind("Backward"));
    std::string label = "<b>" + escaped(name ? *name : node->is_leaf() ? "leaf" : op) + "</b><br/>";
    if (name && !node->is_leaf()) label += escaped(op) + "<br/>";
    label += "<font point-size=\"10\">" +
             escaped(node->shape.str() + " " + xgrad::name(node->dtype)) + "</font><br/>";
    const auto edges = node->edges();
    const bool spent = !node->is_leaf() && std::none_of(edges.begin(), edges.end(),
                                                        [](const NodeRef& e) { return bool(e); });
    if (spent) label += "<i>inputs freed by backward</i><br/>";
    if (options_.values) label += part("value", value_of(*node, known));
    if (options_.gradients) {
      // A handle with no elements: all that is asked of it is the node's gradient.
      const Tensor handle(detail::Ref<detail::TensorImpl>(new detail::TensorImpl));
      handle.impl().node = node;
      if (handle.has_grad()) label += part("gradient", contents(handle.grad(), options_.numbers));
    }
    const bool parameter = known && known->is_parameter();
    text_ += "  n" + std::to_string(id) + " [label=<" + label + ">, tooltip=\"" +
             (node->is_leaf() ? parameter ? "parameter" : "leaf" : node->name) + "\"";
    if (y)
      text_ += ", fillcolor=\"#fef3c7\", color=\"#b45309\"";
    else if (parameter)
      text_ += ", fillcolor=\"#dbeafe\", color=\"#1d4ed8\"";
    else if (node->is_leaf())
      text_ += ", fillcolor=\"#dcfce7\", color=\"#15803d\"";
    text_ += node->is_leaf() ? ", style=filled]\n" : "]\n";
  }

  std::string value_of(const Node& node, const Tensor* known) const {
    try {
      const Tensor& x = known ? *known : node.kept_output();
      return x.defined() ? contents(x.detach(), options_.numbers) : "";
    } catch (const GraphError&) {
      return "changed in place since";
    }
  }

  static std::string part(const char* what, const std::string& text) {
    if (text.empty()) return "";
    return std::string("<font point-size=\"9\" color=\"#475569\">") + what +
           "<br align=\"left\"/></font><font face=\"monospace\" point-size=\"9\">" + escaped(text) +
           "<br align=\"left\"/></font>";
  }

  const DotOptions& options_;
  std::unordered_map<const Node*, std::pair<const std::string*, const Tensor*>> named_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Tensor& y, const DotOptions& options) { return Dot(y, options).take(); }

}  // namespace xgrad::teach
