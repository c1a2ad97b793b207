#include "xgrad/print.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>

#include "detail/python.hpp"
#include "xgrad/error.hpp"

/// A translation of torch/_tensor_str.py: the text is that of PyTorch 1.13 to the last blank.

namespace xgrad {

namespace {

PrintOptions current_options;

std::string number(double v, std::chars_format format, int precision) {
  if (std::isnan(v)) return "nan";  // PyTorch prints no -nan
  char buffer[512];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format, precision).ptr};
}

std::string spaces(std::int64_t n) { return std::string(static_cast<std::size_t>(n), ' '); }

class Printer {
 public:
  Printer(const Tensor& x, const PrintOptions& options)
      : options_(options), shape_(x.shape()), summarize_(x.numel() > options.threshold) {
    real_ = is_floating_point(x.dtype());
    bool_ = x.dtype() == DType::bool_;
    if (real_) {
      reals_ = x.to_vector<double>();
    } else {
      whole_ = x.to_vector<std::int64_t>();
    }
    choose_format();
  }

  /// The elements of dimension `dim` on, from the flat index `first`.
  std::string str(int dim, std::int64_t first, int indent) const {
    if (dim == shape_.dim()) return cell(first);
    const bool row = dim == shape_.dim() - 1;
    // Within a row, lines are broken where they are full; above, after every entry.
    const std::int64_t per_line =
        row ? std::max<std::int64_t>(1, (options_.linewidth - indent) / (width_ + 2)) : 1;
    const std::string line_break =
        std::string(static_cast<std::size_t>(row ? 1 : shape_.dim() - dim - 1), '\n') +
        spaces(indent + 1);
    std::string out = "[";
    std::int64_t count = 0;
    for (std::int64_t i : visible(shape_[dim])) {
      if (count > 0) out += count % per_line == 0 ? "," + line_break : ", ";
      ++count;
      out += i < 0 ? (row ? " ..." : "...") : str(dim + 1, first + i * stride(dim), indent + 1);
    }
    return out + "]";
  }

 private:
  static constexpr std::int64_t gap = -1;

  std::int64_t stride(int dim) const {
    std::int64_t n = 1;
    for (int d = dim + 1; d < shape_.dim(); ++d) n *= shape_[d];
    return n;
  }

  std::vector<std::int64_t> visible(std::int64_t size) const {
    std::vector<std::int64_t> out;
    const std::int64_t edge = options_.edgeitems;
    const bool cut = summarize_ && size > 2 * edge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (!cut || i < edge || i >= size - edge) out.push_back(i);
      if (cut && i == edge) out.push_back(gap), i = size - edge - 1;
    }
    return out;
  }

  template <class F>
  void each_visible(int dim, std::int64_t first, F&& f) const {
    if (dim == shape_.dim()) return f(static_cast<std::size_t>(first));
    for (std::int64_t i : visible(shape_[dim])) {
      if (i != gap) each_visible(dim + 1, first + i * stride(dim), f);
    }
  }

  /// Whole numbers, decimals or scientific, and the width: decided by the finite elements other
  /// than 0 that will be seen.
  void choose_format() {
    if (!real_) {
      each_visible(0, 0, [&](std::size_t i) { widen(integer(i)); });
      return;
    }
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    const auto each_number = [&](auto f) {
      each_visible(0, 0, [&](std::size_t i) {
        if (std::isfinite(reals_[i]) && reals_[i] != 0) f(reals_[i]);
      });
    };
    each_number([&](double v) {
      least = std::min(least, std::abs(v));
      most = std::max(most, std::abs(v));
      whole_numbers_ = whole_numbers_ && v == std::ceil(v);
    });
    if (most == 0) return;
    scientific_ = most / least > 1000.0 || most > 1e8 || (!whole_numbers_ && least < 1e-4);
    each_number([&](double v) { widen(real(v)); });
    // An imposed notation keeps the width of the other one, as in PyTorch.
    if (options_.sci_mode) scientific_ = *options_.sci_mode;
  }

  void widen(const std::string& text) {
    width_ = std::max(width_, static_cast<std::int64_t>(text.size()));
  }

  std::string real(double v) const {
    if (scientific_) return number(v, std::chars_format::scientific, options_.precision);
    if (!whole_numbers_) return number(v, std::chars_format::fixed, options_.precision);
    return number(v, std::chars_format::fixed, 0) + (std::isfinite(v) ? "." : "");
  }

  std::string integer(std::size_t i) const {
    return bool_ ? (whole_[i] != 0 ? "True" : "False") : std::to_string(whole_[i]);
  }

  std::string cell(std::int64_t at) const {
    const auto i = static_cast<std::size_t>(at);
    const std::string text = real_ ? real(reals_[i]) : integer(i);
    return spaces(std::max<std::int64_t>(0, width_ - static_cast<std::int64_t>(text.size()))) +
           text;
  }

  const PrintOptions& options_;
  const Shape& shape_;
  bool summarize_;
  bool real_ = false;
  bool bool_ = false;
  std::vector<double> reals_;
  std::vector<std::int64_t> whole_;
  bool whole_numbers_ = true;
  bool scientific_ = false;
  std::int64_t width_ = 1;
};

}  // namespace

void set_printoptions(const PrintChanges& changes) {
  PrintOptions next = current_options;
  if (changes.profile) {
    const std::string& profile = *changes.profile;
    next = {};
    if (profile == "short") {
      next.precision = 2;
      next.edgeitems = 2;
    } else if (profile == "full") {
      next.threshold = std::numeric_limits<std::int64_t>::max();
    } else if (profile != "default") {
      throw Error("set_printoptions: profile must be default, short or full, got " + profile);
    }
  }
  next.precision = changes.precision.value_or(next.precision);
  next.threshold = changes.threshold.value_or(next.threshold);
  next.edgeitems = changes.edgeitems.value_or(next.edgeitems);
  next.linewidth = changes.linewidth.value_or(next.linewidth);
  next.sci_mode = changes.sci_mode;
  if (next.precision < 0 || next.precision > 100 || next.edgeitems < 1) {
    throw Error("set_printoptions: needs a precision of 0 to 100 and edgeitems >= 1, got " +
                std::to_string(next.precision) + " and " + std::to_string(next.edgeitems));
  }
  current_options = next;
}

const PrintOptions& get_printoptions() { return current_options; }
ScopedPrintOptions::~ScopedPrintOptions() { current_options = before_; }

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "None";
  const std::string prefix = "tensor(";
  const int indent = static_cast<int>(prefix.size());
  const bool empty = x.numel() == 0;
  std::vector<std::string> suffixes;
  if (empty && x.dim() != 1) suffixes.push_back("size=" + x.shape().str());
  if (empty ? x.dtype() != float32 : x.dtype() == float64) {
    suffixes.push_back(std::string("dtype=torch.") + name(x.dtype()));
  }
  if (const std::string grad_fn = x.grad_fn(); !grad_fn.empty()) {
    suffixes.push_back("grad_fn=<" + grad_fn + ">");
  } else if (x.requires_grad()) {
    suffixes.push_back("requires_grad=True");
  }

  std::string out = prefix + (empty ? "[]" : Printer(x, current_options).str(0, 0, indent));
  // PyTorch counts two more than the length of the last line.
  std::size_t length = out.size() - (out.rfind('\n') + 1) + 2;
  for (const std::string& suffix : suffixes) {
    if (length + suffix.size() + 2 > static_cast<std::size_t>(current_options.linewidth)) {
      out += ",\n" + spaces(indent) + suffix;
      length = static_cast<std::size_t>(indent) + suffix.size();
    } else {
      out += ", " + suffix;
      length += suffix.size() + 2;
    }
  }
  return out + ")";
}

std::ostream& operator<<(std::ostream& os, const Tensor& x) { return os << to_string(x); }

// ---- nested lists
// --------------------------------------------------------------------------------

std::string detail::python_repr(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  std::string text(
      buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return text;
  text.assign(buffer,
              std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::fixed).ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

NestedList::NestedList(const Tensor& x)
    : values_(is_floating_point(x.dtype()) ? x.detach().to(float64).clone() : x.clone()) {}

NestedList Tensor::tolist() const { return NestedList(*this); }

NestedList NestedList::round(int digits) const {
  if (digits < 0 || digits > 100) {
    throw Error("round: digits must be 0 to 100, got " + std::to_string(digits));
  }
  NestedList out(values_);
  if (values_.dtype() == bool_) out.values_ = values_.to(int64);
  if (values_.dtype() == float64) {
    for (double& v : out.values_.mut<double>()) {
      if (!std::isfinite(v)) continue;
      const std::string decimal = number(v, std::chars_format::fixed, digits);
      std::from_chars(decimal.data(), decimal.data() + decimal.size(), v);
    }
  }
  return out;
}

std::string to_string(const NestedList& list) {
  const Tensor& x = list.values_;
  const Shape& shape = x.shape();
  const bool real = x.dtype() == float64;
  const std::vector<double> reals = real ? x.to_vector<double>() : std::vector<double>();
  const std::vector<std::int64_t> whole =
      real ? std::vector<std::int64_t>() : x.to_vector<std::int64_t>();
  const auto text = [&](auto self, int dim, std::int64_t& at) -> std::string {
    if (dim == shape.dim()) {
      const auto i = static_cast<std::size_t>(at++);
      if (real) return detail::python_repr(reals[i]);
      if (x.dtype() == bool_) return whole[i] != 0 ? "True" : "False";
      return std::to_string(whole[i]);
    }
    std::string out = "[";
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
      out += (i > 0 ? ", " : "") + self(self, dim + 1, at);
    }
    return out + "]";
  };
  std::int64_t at = 0;
  return text(text, 0, at);
}

std::ostream& operator<<(std::ostream& os, const NestedList& list) { return os << to_string(list); }

}  // namespace xgrad
