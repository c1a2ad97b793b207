#include "explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <xgrad/error.hpp>
#include <xgrad/io.hpp>
#include <xgrad/random.hpp>
#include <xgrad/tensor.hpp>

#include "explain_view.hpp"
#include "options.hpp"
#include "text.hpp"

namespace tool {

namespace {

namespace xg = xgrad;
using xg::Tensor;
using xg::teach::Norm;

struct Options {
  std::string norm = "layer", mode = "train", format = "text", html{};
  std::optional<std::string> x{}, upstream{}, weight{}, bias{}, running_mean{}, running_var{};
  std::string csv{}, upstream_csv{}, safetensors{}, name = "x", upstream_name{};
  std::vector<std::int64_t> shape{};
  std::int64_t groups = 1;
  int last_dims = 1;
  std::uint64_t seed = 0;
  std::optional<double> eps{};
  std::string dtype{};
  int digits = 6, show = 8;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  if (begin == text.npos) return "";
  const std::string word = text.substr(begin, end - begin + 1);
  const bool quoted = word.size() > 1 && word.front() == '"' && word.back() == '"';
  return quoted ? word.substr(1, word.size() - 2) : word;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) c == at ? void(parts.emplace_back()) : void(parts.back() += c);
  return parts;
}

/// Rows of numbers. `source` begins the errors; the rows end with `end`, the last one may not.
Tensor parse(const std::string& source, const std::string& text, char end, xg::DType dtype) {
  std::vector<double> values;
  std::int64_t rows = 0, columns = 0, line = 0;
  for (const std::string& row : split(text, end)) {
    ++line;
    if (trimmed(row).empty() && (end == '\n' || rows > 0)) continue;
    const std::vector<std::string> cells = split(row, ',');
    std::size_t numbers = 0;
    std::string bad;
    for (const std::string& cell : cells) {
      char* rest = nullptr;
      const std::string word = trimmed(cell);
      values.push_back(std::strtod(word.c_str(), &rest));
      const bool ok = !word.empty() && *rest == '\0';
      numbers += ok ? 1 : 0;
      if (!ok && bad.empty()) bad = fmt::format("\"{}\" is not a number", word);
    }
    const auto count = static_cast<std::int64_t>(cells.size());
    if (end == '\n' && rows == 0 && numbers == 0) {  // a line of names
      values.clear();
      continue;
    }
    const std::string where = fmt::format("{}, {} {}", source, end == '\n' ? "line" : "row", line);
    if (!bad.empty()) throw xg::Error(fmt::format("{}: {}", where, bad));
    if (rows > 0 && count != columns) {
      throw xg::Error(fmt::format("{}: {} values, but {} in the first", where, count, columns));
    }
    columns = count;
    ++rows;
  }
  if (rows == 0) throw xg::Error(source + ": no numbers");
  return xg::tensor(values, {.dtype = xg::float64}).reshape({rows, columns}).to(dtype);
}

Tensor parse_csv(const std::string& path, xg::DType dtype) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw xg::FileError(path + ": no such file, or it cannot be read");
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the mark of the byte order
  return parse(path, text, '\n', dtype);
}

Tensor from_safetensors(const std::string& path, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, tensor] : xg::load_safetensors(path)) {
    if (known == name) return tensor;
    names.push_back(known);
  }
  throw xg::FileError(
      fmt::format("{}: no tensor \"{}\"; it has {}", path, name, fmt::join(names, ", ")));
}

xg::DType dtype_of(const Options& o) { return o.dtype == "float32" ? xg::float32 : xg::float64; }

/// What is given in one of three ways, in the shape asked for; undefined if in none.
Tensor given(const Options& o, const char* flag, const std::optional<std::string>& text,
             const std::string& csv, const std::string& name,
             const std::vector<std::int64_t>& sizes, std::string& source) {
  Tensor x;
  if (text) {
    x = parse(flag, *text, ';', dtype_of(o));
    source = "as given";
  } else if (!csv.empty()) {
    x = parse_csv(csv, dtype_of(o));
    source = csv;
  } else if (!o.safetensors.empty() && !name.empty()) {
    x = from_safetensors(o.safetensors, name);
    const bool floating = x.dtype() == xg::float32 || x.dtype() == xg::float64;
    if (!o.dtype.empty() || !floating) x = x.to(dtype_of(o));
    source = fmt::format("{} of {}", name, o.safetensors);
  }
  if (!x.defined() || sizes.empty()) return x;
  const xg::Shape shape(sizes);
  if (shape.numel() == x.numel()) return x.reshape(shape);
  throw xg::ShapeError(fmt::format("{}: {} values do not make up the shape {}",
                                   text ? flag : source, x.numel(), shape.str()));
}

int run(const Options& o) {
  static const std::vector<std::string> kinds = {"layer", "batch", "rms", "group"};
  std::string x_source, g_source;
  Tensor x = given(o, "--x", o.x, o.csv, o.name, o.shape, x_source);
  xg::manual_seed(o.seed);
  if (!x.defined()) {
    x = xg::randn(o.shape.empty() ? xg::Shape{2, 3} : xg::Shape(o.shape), {.dtype = dtype_of(o)});
    x_source = fmt::format("random, seed {}", o.seed);
  }
  Tensor g = given(o, "--upstream", o.upstream, o.upstream_csv, o.upstream_name,
                   {x.shape().begin(), x.shape().end()}, g_source);
  if (!g.defined()) {
    g = xg::randn(x.shape(), {.dtype = x.dtype()});
    g_source = fmt::format("random, seed {}", o.seed);
  }

  Norm norm;
  norm.kind =
      static_cast<Norm::Kind>(std::find(kinds.begin(), kinds.end(), o.norm) - kinds.begin());
  norm.training = o.mode == "train";
  norm.groups = o.groups;
  norm.eps = o.eps;
  const bool rows = norm.kind == Norm::layer || norm.kind == Norm::rms;
  if (rows && o.last_dims > x.dim()) {
    throw xg::ShapeError(
        fmt::format("--last-dims {}, but x has shape {}", o.last_dims, x.shape().str()));
  }
  const xg::Shape parameter = rows ? x.shape().slice(x.shape().dim() - o.last_dims)
                                   : xg::Shape(x.dim() < 2 ? 0 : x.size(1));
  if (rows) norm.normalized_shape = parameter;
  const auto part = [&](const char* flag, const std::optional<std::string>& text) {
    if (!text) return Tensor();
    const Tensor t = parse(flag, *text, ';', x.dtype());
    return t.numel() == parameter.numel() ? t.reshape(parameter) : t.flatten();
  };
  norm.weight = part("--weight", o.weight);
  norm.bias = part("--bias", o.bias);
  norm.running_mean = part("--running-mean", o.running_mean);
  norm.running_var = part("--running-var", o.running_var);

  const xg::teach::Explanation e = xg::teach::explain(norm, x, g.to(x.dtype()));
  ExplainView view{.digits = o.digits, .show = o.show};
  view.settings = {
      {"norm", o.norm + (norm.kind == Norm::batch   ? ", " + o.mode
                         : norm.kind == Norm::group ? fmt::format(", {} groups", o.groups)
                                                    : "")},
      {"eps", fmt::format("{}", *e.norm.eps)},
      {"x", fmt::format("{} {}, {}", x.shape().str(), xg::name(x.dtype()), x_source)},
      {"upstream", g_source}};
  const auto parameters = [&](const char* name, bool is_given, const Tensor& t,
                              const char* initial) {
    if (t.defined()) view.settings.emplace_back(name, is_given ? "as given" : initial);
  };
  parameters("weight", o.weight.has_value(), e.norm.weight, "ones");
  parameters("bias", o.bias.has_value(), e.norm.bias, "zeros");
  parameters("running mean", o.running_mean.has_value(), e.norm.running_mean, "zeros");
  parameters("running var", o.running_var.has_value(), e.norm.running_var, "ones");
  const bool json = o.format == "json";
  if (!o.html.empty()) explain_page(e, view).write(o.html);
  view.colour = !json && isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  view.width = terminal_width();
  fmt::print("{}", json ? explain_json(e, view) : explain_text(e, view));
  if (!o.html.empty()) fmt::print(stderr, "wrote {}\n", o.html);
  return 0;
}

}  // namespace

CLI::App* add_explain(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* c =
      app.add_subcommand("explain", "Take the gradient of a normalization apart, number by number");
  const auto choice = [&](const char* flag, std::string& value, const char* what,
                          const std::vector<std::string>& names) {
    return c->add_option(flag, value, fmt::format("{}: {}", what, fmt::join(names, ", ")))
        ->check(CLI::IsMember(names).description(""))
        ->type_name("NAME");
  };
  choice("--norm", o.norm, "Normalization", {"layer", "batch", "rms", "group"})
      ->capture_default_str();
  choice("--mode", o.mode, "Of BatchNorm", {"train", "eval"})->capture_default_str();
  c->add_option("--groups", o.groups, "Of GroupNorm")
      ->check(whole(1, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--last-dims", o.last_dims,
                "Dimensions that LayerNorm and RMSNorm normalize together")
      ->check(whole(1, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--eps", o.eps, "Added to the variance; default 1e-5, for rms the dtype's epsilon")
      ->type_name("E");
  auto* x = c->add_option("--x", o.x, "Input: numbers with commas, rows with semicolons")
                ->type_name("ROWS");
  auto* csv = c->add_option("--csv", o.csv, "Input from a file with a row on each line")
                  ->check(not_empty())
                  ->type_name("FILE");
  auto* file = c->add_option("--safetensors", o.safetensors, "Input from a file of tensors")
                   ->check(not_empty())
                   ->type_name("FILE");
  c->add_option("--name", o.name, "Which of its tensors")
      ->check(not_empty())
      ->type_name("NAME")
      ->capture_default_str();
  x->excludes(csv);
  x->excludes(file);
  csv->excludes(file);
  c->add_option("--shape", o.shape, "Shape of the input; it is random (2, 3) if nothing is given")
      ->delimiter(',')
      ->check(whole(1, 1 << 20))
      ->type_name("N,N");
  seed(*c, o.seed, "Of random numbers");
  auto* up =
      c->add_option("--upstream", o.upstream, "Gradient of the loss by y; random if not given")
          ->type_name("ROWS");
  auto* up_csv = c->add_option("--upstream-csv", o.upstream_csv, "The same from a file")
                     ->check(not_empty())
                     ->type_name("FILE");
  auto* up_name =
      c->add_option("--upstream-name", o.upstream_name, "The same from the safetensors file")
          ->check(not_empty())
          ->type_name("NAME");
  up->excludes(up_csv);
  up->excludes(up_name);
  up_csv->excludes(up_name);
  up_name->needs(file);
  const auto numbers = [&](const char* flag, std::optional<std::string>& value, const char* what) {
    c->add_option(flag, value, what)->type_name("N,N");
  };
  numbers("--weight", o.weight, "Scale; ones if not given");
  numbers("--bias", o.bias, "Shift; zeros if not given");
  numbers("--running-mean", o.running_mean, "For --mode eval; zeros if not given");
  numbers("--running-var", o.running_var, "For --mode eval; ones if not given");
  choice("--dtype", o.dtype, "Of the input; else float64, or that of the file",
         {"float32", "float64"});
  choice("--format", o.format, "What is printed", {"text", "json"})->capture_default_str();
  c->add_option("--html", o.html, "Also write a page with the formulas to this file")
      ->check(not_empty())
      ->type_name("FILE");
  c->add_option("--digits", o.digits,
                "Significant digits of text and page; 17 shows all. JSON has all")
      ->check(CLI::Range(1, 17).description(""))
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--show", o.show, "Rows and columns of a table, at most")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N")
      ->capture_default_str();
  c->footer(
      "Examples:\n"
      "xgrad explain --x \"1,2,3; 10,20,40\"\n"
      "xgrad explain --norm batch --mode eval --x \"1,2;3,5\" --running-mean 2,3 --running-var "
      "1,4\n"
      "xgrad explain --norm group --groups 2 --shape 2,4,3 --html lens.html\n"
      "xgrad explain --safetensors run.safetensors --name hidden --format json");
  c->callback([options, &status] { status = run(*options); });
  return c;
}

}  // namespace tool
