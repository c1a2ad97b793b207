#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "autograd/gradcheck.hpp"
#include "detail/check.hpp"

/// What a check has found, in words: the table, the pattern of the errors, and what to do next.

namespace xgrad {

namespace {

using detail::Findings;
using detail::Record;

struct Words {
  const char* name;
  const char* next;
};

constexpr Words words[] = {
    {"correct", ""},
    {"null direction",
     "Beyond its rounding f does not depend on it here, so its gradient, as good as 0, was not put "
     "to a test. The sum of a normalized row is such a function: check f itself, not its sum."},
    {"too noisy",
     "Rounding in f hides the derivative, so this is neither right nor wrong. Bring the inputs "
     "nearer to 0 and 1 (a smaller offset, a greater eps) and check again."},
    {"kink",
     "The slope on the left is not that on the right: there is no derivative to compare with. Move "
     "the input away from the kink by more than 1e-6."},
    {"not finite",
     "The analytic gradient is nan or infinite. Run backward under xg::AnomalyMode to see which "
     "operation it comes from."},
    {"shared memory", ""},
    {"not deterministic", ""},
    {"wrong shape", ""},
    {"missing",
     "f depends on the input, but no gradient arrives: the graph is cut on the way. Look for "
     "detach(), NoGrad, data() or item() in f, and for an input that record() was not given."},
    {"wrong", ""}};

std::string digits(double v, const char* format = "%.9g") {
  char text[40];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string path_of(const Findings& f, const Record& r) {
  const detail::Analytic& way = f.ways[r.way];
  std::string text = f.seeds[way.seed] + (way.create_graph ? ", backward with create_graph" : "");
  if (way.asked == f.ways.front().asked) return text;
  text += ", only ";
  for (std::size_t w = 0; w < f.wanted.size(); ++w) {
    if (w < 64 && (way.asked >> w & 1U) != 0) text += f.input_name(f.wanted[w]) + " ";
  }
  return text + "requiring a gradient";
}

bool is_bad(const Record& r) { return r.verdict > Verdict::null_direction; }
/// A worse verdict, or the same and further off.
bool worse(const Record& a, const Record& b) {
  return a.verdict != b.verdict ? a.verdict > b.verdict : a.relative() > b.relative();
}

// ---- the pattern of wrong elements --------------------------------------------------------------

/// All |v| are at most a millionth of `size`.
bool all_small(const std::vector<double>& v, double size) {
  return std::all_of(v.begin(), v.end(), [&](double x) { return std::abs(x) <= 1e-6 * size; });
}

/// The dimension along which the values are, in each row, a constant plus (with `multiples`) a
/// multiple of x; -1: there is none.
int fits_along(const std::vector<double>& v, const Tensor& x, bool multiples, double size) {
  const std::span<const double> xs = x.data<double>();
  std::size_t stride = 1;
  for (int d = x.shape().dim(); d-- > 0; stride *= static_cast<std::size_t>(x.shape()[d])) {
    const auto n = static_cast<std::size_t>(x.shape()[d]);
    bool fits = n > (multiples ? 3 : 1);
    for (std::size_t i = 0; i < v.size() && fits; ++i) {
      const std::size_t first = i - i / stride % n * stride;
      double mx = 0, mv = 0, xx = 0, xv = 0;
      for (std::size_t at = first; at < first + n * stride; at += stride) {
        mx += xs[at] / static_cast<double>(n);
        mv += v[at] / static_cast<double>(n);
      }
      for (std::size_t at = first; multiples && at < first + n * stride; at += stride) {
        xx += (xs[at] - mx) * (xs[at] - mx);
        xv += (xs[at] - mx) * (v[at] - mv);
      }
      fits = std::abs(v[i] - mv - (xx > 0 ? xv / xx : 0) * (xs[i] - mx)) <= 1e-6 * size;
    }
    if (fits) return d;
  }
  return -1;
}

/// What the wrong gradient of one way has in common with the right one.
std::string pattern(const Findings& f, Record worst) {
  for (const Record& r : f.records) {  // a mixture of all outputs tells more than one of them
    const detail::Analytic &way = f.ways[r.way], &its = f.ways[worst.way];
    if (r.input == worst.input && is_bad(r) && way.seed == 0 && way.asked == its.asked &&
        way.create_graph == its.create_graph) {
      worst = r;
      break;
    }
  }
  std::vector<double> analytic, numeric, difference;
  double size = 0, product = 0, square = 0;
  std::int64_t wrong = 0;
  for (const Record& r : f.records) {
    if (r.way != worst.way || r.input != worst.input || r.count != 1) continue;
    analytic.push_back(r.analytic);
    numeric.push_back(r.numeric);
    difference.push_back(r.analytic - r.numeric);
    size = std::max(size, std::abs(r.analytic - r.numeric));
    product += r.analytic * r.numeric;
    square += r.numeric * r.numeric;
    wrong += is_bad(r) ? 1 : 0;
  }
  const Tensor& x = f.inputs[worst.input];
  const auto n = static_cast<std::int64_t>(difference.size());
  if (n != x.numel()) return "";
  std::string text = std::to_string(wrong) + " of its " + detail::count(n, "element") +
                     (wrong == 1 ? " is" : " are") + " wrong. ";
  if (n < 2 || wrong < 2) return text;
  const double factor = product / square;
  std::vector<double> rest;
  for (std::size_t i = 0; i < analytic.size(); ++i)
    rest.push_back(analytic[i] - factor * numeric[i]);
  if (all_small(rest, size)) {
    return text + "Each is " + digits(factor, "%.6g") +
           " times what it should be: look for a factor" +
           (factor < 0 ? " and a sign." : ", or a count that is divided by.");
  }
  if (const int d = fits_along(difference, x, false, size); d >= 0) {
    return text + "The error is the same all along dimension " + std::to_string(d) +
           ": look for a term that is a sum or a mean over it.";
  }
  if (const int d = fits_along(difference, x, true, size); d >= 0) {
    return text + "Along dimension " + std::to_string(d) +
           " the error is a multiple of the input, plus a constant: look for the term with the "
           "normalized values, which comes from the variance.";
  }
  std::sort(analytic.begin(), analytic.end());
  std::sort(numeric.begin(), numeric.end());
  for (std::size_t i = 0; i < analytic.size(); ++i) rest[i] = analytic[i] - numeric[i];
  if (all_small(rest, size)) {
    return text +
           "They are the right numbers in another order: look for a transpose, a reversal "
           "or a wrong index.";
  }
  return text;
}

/// Which inputs and which ways are right, where others are wrong.
std::string who_is_wrong(const Findings& f, const Record& worst) {
  std::string right, text;
  bool fused = false, recorded = false, together = false;
  for (std::size_t i : f.wanted) {
    bool bad = false;
    for (const Record& r : f.records) {
      if (r.input == i) bad = bad || is_bad(r);
      if (r.input != worst.input || !is_bad(r)) continue;
      const detail::Analytic& way = f.ways[r.way];
      if (way.seed == 0) (way.create_graph ? recorded : fused) = true;
      together = together || way.asked == f.ways.front().asked;
    }
    if (!bad) right += (right.empty() ? "" : ", ") + f.input_name(i);
  }
  if (!right.empty()) text += "Right: " + right + ". ";
  if (!together) {
    text +=
        "Right where all inputs require gradients: look at what the rule leaves out for `needs`. ";
  }
  if (recorded && !fused) {
    text += "Right in plain backward, wrong with create_graph: look at the branch for recording. ";
  } else if (fused && !recorded) {
    text += "Right with create_graph, wrong in plain backward: look at the fast branch. ";
  }
  return text;
}

std::string table(const std::vector<GradcheckEntry>& entries) {
  std::vector<std::vector<std::string>> rows = {
      {"input", "index", "analytic", "numeric", "error", "relative", "numeric error", "verdict"}};
  for (const GradcheckEntry& e : entries) {
    rows.push_back({e.input_name, e.index.str(), digits(e.analytic), digits(e.numeric),
                    digits(e.error, "%.1e"), digits(e.relative_error, "%.1e"),
                    digits(e.numeric_error, "%.1e"), name(e.verdict)});
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      text += " " + (c < 2 ? row[c] + space : c + 1 == row.size() ? " " + row[c] : space + row[c]);
    }
    text += "\n";
  }
  return text;
}

std::string title(int order, Verdict verdict) {
  return std::string(order == 2 ? "gradcheck, second order: " : "gradcheck: ") + name(verdict);
}

}  // namespace

Shape detail::index_of(const Shape& shape, std::int64_t element) {
  Shape index = shape;
  for (int d = shape.dim(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

const char* name(Verdict verdict) { return words[static_cast<std::size_t>(verdict)].name; }

GradcheckReport detail::report_of(Verdict verdict, const std::string& what, int order) {
  return {.ok = false,
          .order = order,
          .verdict = verdict,
          .message = title(order, verdict) + ": " + what + "\n"};
}

std::optional<GradcheckReport> detail::shared_memory(const std::vector<Tensor>& inputs, int order) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = i + 1; j < inputs.size(); ++j) {
      const Tensor &a = inputs[i], &b = inputs[j];
      const auto &x = a.impl(), &y = b.impl();
      if ((a.requires_grad() || b.requires_grad()) && x.storage == y.storage &&
          x.offset < y.offset + b.numel() && y.offset < x.offset + a.numel()) {
        return report_of(Verdict::shared_memory,
                         message("inputs ", i, " and ", j,
                                 " share memory, so a change of one is a change of the "
                                 "other. Pass a clone(), or one input that f uses twice."),
                         order);
      }
    }
  }
  return std::nullopt;
}

GradcheckReport detail::report_of(const Findings& f) {
  GradcheckReport report{.order = f.order};
  std::map<std::pair<std::size_t, std::int64_t>, const Record*> worst_of;  // input and element
  std::int64_t bad = 0;
  for (const Record& r : f.records) {
    const Record*& at = worst_of[{r.input, r.first}];
    if (!at) report.checked += r.count;
    if (!at || worse(r, *at)) at = &r;
    report.verdict = std::max(report.verdict, r.verdict);
    if (r.verdict == Verdict::correct || r.verdict == Verdict::wrong) {
      report.max_error = std::max(report.max_error, r.relative());
    }
  }
  report.ok = report.verdict <= Verdict::null_direction;
  std::vector<const Record*> order;
  for (const auto& entry : worst_of) {
    order.push_back(entry.second);
    bad += is_bad(*entry.second) ? 1 : 0;
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Record* a, const Record* b) { return worse(*a, *b); });
  if (order.size() > f.options.worst) order.resize(std::max<std::size_t>(f.options.worst, 1));
  for (const Record* r : order) {
    report.worst.push_back({r->verdict, r->input, f.input_name(r->input), r->first,
                            detail::index_of(f.inputs[r->input].shape(), r->first), r->analytic,
                            r->numeric, r->error(), r->relative(), r->numeric_error, r->left,
                            r->right, path_of(f, *r)});
  }

  std::string& text = report.message;
  text = title(f.order, report.verdict);
  if (report.ok) {
    text += ". " + count(report.checked, "element") + ", largest relative error " +
            digits(report.max_error, "%.1e") + "\n";
    std::string null;
    for (const auto& [where, r] : worst_of) {
      if (r->verdict == Verdict::null_direction && where.second == 0) {
        null += (null.empty() ? "" : ", ") + f.input_name(where.first);
      }
    }
    if (!null.empty()) text += null + ": " + words[1].next + "\n";
    return report;
  }
  const Record& worst = *order.front();
  const GradcheckEntry& entry = report.worst.front();
  text += ". " + std::to_string(bad) + " of " + count(report.checked, "element") +
          ". The worst is " + entry.input_name + " of shape " +
          f.inputs[worst.input].shape().str() + ", element " + std::to_string(entry.element) +
          " (" + entry.path + "):\n" + table(report.worst);
  text += words[static_cast<std::size_t>(report.verdict)].next;
  if (report.verdict == Verdict::kink) {
    text += " Over a step of 1e-6 it is " + digits(entry.left, "%.6g") + " on the left and " +
            digits(entry.right, "%.6g") + " on the right.";
  }
  if (report.verdict == Verdict::too_noisy) {
    text +=
        " Where the inputs move in their last digit, f moves by " + digits(f.noise, "%.1e") + ".";
  }
  if (report.verdict == Verdict::wrong) {
    text += who_is_wrong(f, worst) + entry.input_name + ": " + pattern(f, worst);
    if (f.order == 2) text += " These are the derivatives of the rule's own results.";
  }
  text += "\n";
  return report;
}

std::string GradcheckReport::to_json() const {
  nlohmann::ordered_json elements = nlohmann::ordered_json::array();
  for (const GradcheckEntry& e : worst) {
    elements.push_back({{"input", e.input_name},
                        {"index", std::vector<std::int64_t>(e.index.begin(), e.index.end())},
                        {"analytic", e.analytic},
                        {"numeric", e.numeric},
                        {"error", e.error},
                        {"relative_error", e.relative_error},
                        {"numeric_error", e.numeric_error},
                        {"verdict", name(e.verdict)},
                        {"path", e.path}});
    if (e.verdict == Verdict::kink) {
      elements.back()["left"] = e.left;
      elements.back()["right"] = e.right;
    }
  }
  return nlohmann::ordered_json{{"ok", ok},
                                {"order", order},
                                {"verdict", name(verdict)},
                                {"max_error", max_error},
                                {"checked", checked},
                                {"worst", elements},
                                {"message", message}}
      .dump();
}

std::ostream& operator<<(std::ostream& os, const GradcheckReport& report) {
  return os << report.message;
}

}  // namespace xgrad
