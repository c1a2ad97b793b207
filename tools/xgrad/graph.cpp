#include "graph.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "op_table.hpp"
#include "page.hpp"
#include "train.hpp"
#include "xgrad/teach/graph.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
using xg::Tensor;

/// What is drawn: the root, what is known by name, and in words.
struct Drawing {
  Tensor y{};
  xg::StateDict names{};
  std::string title{};
};

Drawing of_net(const GraphOptions& o) {
  Mlp net(o.inputs, o.classes, o.net);
  Drawing d{.title = fmt::format("the loss of a net {}", net.layout())};
  const Tensor x = xg::randn({o.batch_size, o.inputs}, {.requires_grad = true});
  d.names = net.named_parameters();
  d.names.emplace_back("x", x);
  for (const auto& [name, module] : net.named_children()) {
    module->register_forward_hook(
        [&d, label = name](xg::nn::Module&, const Tensor&, const Tensor& out) {
          d.names.emplace_back(label, out);
        });
  }
  const Tensor labels = xg::randint(0, o.classes, {o.batch_size});
  d.y = cross_entropy(net(x), labels);
  d.names.emplace_back("loss", d.y);
  return d;
}

/// The forward pass of LayerNorm, an operation for each step of the formula.
Drawing layer_norm_by_hand(const GraphOptions& o) {
  const xg::Shape shape = o.shape.empty() ? xg::Shape{3, 4} : xg::Shape(o.shape);
  if (shape.dim() == 0) throw xg::ShapeError("graph: layer_norm_by_hand needs a dimension");
  const auto leaf = [](const Tensor& values) { return values.requires_grad_(); };
  const Tensor x = leaf(xg::randn(shape));
  const Tensor weight = leaf(xg::ones({shape.back()})), bias = leaf(xg::zeros({shape.back()}));
  const Tensor mean = x.mean(-1, true);
  const Tensor centred = x - mean;
  const Tensor var = centred.square().mean(-1, true);
  const Tensor rstd = (var + 1e-5).rsqrt();
  const Tensor normalized = centred * rstd;
  const Tensor y = normalized * weight + bias;
  return {y,
          {{"x", x},
           {"weight", weight},
           {"bias", bias},
           {"mean", mean},
           {"centred", centred},
           {"var", var},
           {"rstd", rstd},
           {"x_hat", normalized},
           {"y", y}},
          "LayerNorm, step by step"};
}

Drawing of_operation(const GraphOptions& o) {
  if (o.op == "layer_norm_by_hand") return layer_norm_by_hand(o);
  for (const op_table::Row& row : op_table::all_rows()) {
    const std::string name = row.name;
    if (name != o.op && name.substr(0, name.find(' ')) != o.op) continue;
    const auto shapes =
        o.shape.empty() ? op_table::shapes_of(row) : op_table::shapes_like(row, o.shape);
    const op_table::Tensors inputs = op_table::leaves(op_table::inputs_of(row, shapes, o.seed));
    Drawing d{.y = row.f(inputs), .title = name};
    const std::vector<std::string> names = op_table::names_of(row);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      d.names.emplace_back(i < names.size() ? names[i] : fmt::format("input {}", i), inputs[i]);
    }
    return d;
  }
  throw xg::Error(fmt::format(
      "graph: there is no operation \"{}\" (xgrad gradcheck lists them; also: layer_norm_by_hand)",
      o.op));
}

/// What Graphviz makes of the text.
std::string rendered(const std::string& dot) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("xgrad-{}.dot", getpid())).string();
  xg::write_file(path, dot);
  std::string svg;
  FILE* pipe = popen(
      fmt::format("command -v dot >/dev/null || exit 127; exec dot -Tsvg '{}'", path).c_str(), "r");
  char block[4096];
  for (std::size_t n; pipe && (n = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    svg.append(block, n);
  }
  const int status = pipe ? pclose(pipe) : -1;
  std::filesystem::remove(path);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw xg::Error(
        "graph: a picture needs Graphviz's program dot (Debian: apt install graphviz). Without "
        "--svg and --html the graph is printed as text, to be drawn elsewhere.");
  }
  if (status != 0) throw xg::Error("graph: Graphviz's program dot failed");
  return svg;
}

std::string page_of(const GraphOptions& o, const Drawing& d, const std::string& dot,
                    const std::string& svg) {
  Page page("Graph of " + d.title,
            "Every box is a node that the forward pass recorded: what an operation returned, under "
            "PyTorch's name for it. Arrows lead from inputs to outputs; `backward` walks them the "
            "other way, from the amber box to the leaves.");
  page.section("Graph");
  std::string caption =
      "Blue: parameters. Green: other leaves. White: operations. Amber: the root.";
  if (o.values || o.gradients) {
    caption += fmt::format(
        " In the boxes: {}; of tensors with more than 16 elements mean, std, "
        "smallest and largest.",
        o.values && o.gradients ? "values and gradients"
        : o.values              ? "values"
                                : "gradients");
  }
  page.svg(caption, svg);
  page.details("The same as text for Graphviz", [&] { page.code(dot); });
  return page.html();
}

}  // namespace

int run_graph(const GraphOptions& o) {
  if (!o.shape.empty() && o.op.empty()) {
    throw xg::Error("graph: --shape needs an --op whose first input has that shape");
  }
  check_distinct({{"--svg", o.svg}, {"--html", o.html}});
  xg::manual_seed(o.seed);
  const xg::KeepValues keep;
  const Drawing d = o.op.empty() ? of_net(o) : of_operation(o);
  if (o.gradients && d.y.requires_grad()) {
    // Random for an operation: what a norm does to a gradient of ones is nothing.
    d.y.backward(o.op.empty() ? Tensor() : randn_like(d.y.detach()), true);
  }
  const std::string dot =
      xg::teach::to_dot(d.y, {.names = d.names,
                              .values = o.values,
                              .gradients = o.gradients,
                              .max_nodes = static_cast<std::size_t>(o.max_nodes)});
  if (o.svg.empty() && o.html.empty()) {
    fmt::print("{}", dot);
    return 0;
  }
  const std::string svg = rendered(dot);
  if (!o.svg.empty()) xg::write_file(o.svg, svg);
  if (!o.html.empty()) xg::write_file(o.html, page_of(o, d, dot, svg));
  for (const std::string& path : {o.svg, o.html}) {
    if (!path.empty()) fmt::print("graph of {}: {}\n", d.title, path);
  }
  return 0;
}

}  // namespace tool
