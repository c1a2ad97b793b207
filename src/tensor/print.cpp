#include "xgrad/print.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <ostream>

#include "detail/dispatch.hpp"
#include "detail/message.hpp"
#include "detail/python.hpp"

/// A translation of torch/_tensor_str.py: the text is that of PyTorch 1.13 to the last blank.

namespace xgrad {

namespace {

PrintOptions current_options;

std::string number(double v, std::chars_format format, int precision) {
  if (std::isnan(v)) return "nan";  // PyTorch prints no -nan
  char buffer[512];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format, precision).ptr};
}

std::string spaces(std::int64_t n) {
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(0, n)), ' ');
}

class Printer {
 public:
  Printer(const Tensor& x, const PrintOptions& options)
      : options_(options), shape_(x.shape()), summarize_(x.numel() > options.threshold) {
    detail::dispatch(x.dtype(), [&]<class T>(T) {
      const T* values = x.data<T>().data();
      std::vector<double> reals;
      each_visible(0, 0, [&](std::int64_t i) {
        if constexpr (std::is_same_v<T, bool>) {
          add(values[i] ? "True" : "False");
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          add(std::to_string(values[i]));
        } else {
          reals.push_back(values[i]);
        }
      });
      if (std::is_floating_point_v<T>) add_reals(reals);
    });
  }

  /// The visible elements from dimension `dim` on that were not printed yet.
  std::string str(int dim, int indent) {
    if (dim == shape_.dim()) {
      const std::string& cell = cells_[next_++];
      return spaces(width_ - static_cast<std::int64_t>(cell.size())) + cell;
    }
    // Within a row, lines are broken where they are full; above, after every entry.
    const int below = shape_.dim() - 1 - dim;
    const std::int64_t per_line =
        below > 0 ? 1 : std::max<std::int64_t>(1, (options_.linewidth - indent) / (width_ + 2));
    const std::string line_break =
        "," + std::string(static_cast<std::size_t>(std::max(1, below)), '\n') + spaces(indent + 1);
    std::string out = "[";
    std::int64_t count = 0;
    for (std::int64_t i : visible(shape_[dim])) {
      if (count > 0) out += count % per_line == 0 ? line_break : ", ";
      out += i != gap ? str(dim + 1, indent + 1) : below > 0 ? "..." : " ...";
      ++count;
    }
    return out + "]";
  }

 private:
  static constexpr std::int64_t gap = -1;

  std::vector<std::int64_t> visible(std::int64_t size) const {
    std::vector<std::int64_t> out;
    const std::int64_t edge = options_.edgeitems;
    const bool cut = summarize_ && size > 2 * edge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (cut && i == edge) out.push_back(gap), i = size - edge;
      out.push_back(i);
    }
    return out;
  }

  /// f(flat index) in order, `first` being the index of this part's first element.
  template <class F>
  void each_visible(int dim, std::int64_t first, F&& f) const {
    if (dim == shape_.dim()) return f(first);
    std::int64_t stride = 1;
    for (int d = dim + 1; d < shape_.dim(); ++d) stride *= shape_[d];
    for (std::int64_t i : visible(shape_[dim])) {
      if (i != gap) each_visible(dim + 1, first + i * stride, f);
    }
  }

  void widen(const std::string& cell) {
    width_ = std::max(width_, static_cast<std::int64_t>(cell.size()));
  }
  void add(std::string cell) {
    widen(cell);
    cells_.push_back(std::move(cell));
  }

  /// The finite elements other than 0 decide on whole numbers, decimals or scientific notation, and
  /// on the width.
  void add_reals(const std::vector<double>& reals) {
    std::vector<double> deciding;
    std::copy_if(reals.begin(), reals.end(), std::back_inserter(deciding),
                 [](double v) { return std::isfinite(v) && v != 0; });
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    bool whole = true;
    for (double v : deciding) {
      least = std::min(least, std::abs(v));
      most = std::max(most, std::abs(v));
      whole = whole && v == std::ceil(v);
    }
    bool scientific = most > 0 && (most / least > 1000 || most > 1e8 || (!whole && least < 1e-4));
    const auto text = [&](double v) {
      if (scientific) return number(v, std::chars_format::scientific, options_.precision);
      if (!whole) return number(v, std::chars_format::fixed, options_.precision);
      return number(v, std::chars_format::fixed, 0) + (std::isfinite(v) ? "." : "");
    };
    for (double v : deciding) widen(text(v));
    // An imposed notation keeps the width of the other one, as in PyTorch.
    if (most > 0) scientific = options_.sci_mode.value_or(scientific);
    for (double v : reals) cells_.push_back(text(v));
  }

  const PrintOptions& options_;
  const Shape& shape_;
  bool summarize_;
  std::vector<std::string> cells_;
  std::size_t next_ = 0;
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
      throw Error(
          message("set_printoptions: profile must be default, short or full, got ", profile));
    }
  }
  next.precision = changes.precision.value_or(next.precision);
  next.threshold = changes.threshold.value_or(next.threshold);
  next.edgeitems = changes.edgeitems.value_or(next.edgeitems);
  next.linewidth = changes.linewidth.value_or(next.linewidth);
  next.sci_mode = changes.sci_mode;
  throw_if<Error>(next.precision < 0 || next.precision > 100 || next.edgeitems < 1,
                  "set_printoptions: needs a precision of 0 to 100 and edgeitems >= 1, got ",
                  next.precision, " and ", next.edgeitems);
  current_options = next;
}

const PrintOptions& get_printoptions() { return current_options; }
ScopedPrintOptions::~ScopedPrintOptions() { current_options = before_; }

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "None";
  const std::string prefix = x.is_parameter() ? "Parameter containing:\ntensor(" : "tensor(";
  const int indent = 7;  // of tensor(
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

  std::string out = prefix + (empty ? "[]" : Printer(x, current_options).str(0, indent));
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

// ---- nested lists -------------------------------------------------------------------------------

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

static void check_digits(const char* what, int digits) {
  if (digits < 0 || digits > 100) {
    throw Error(std::string(what) + ": digits must be 0 to 100, got " + std::to_string(digits));
  }
}

NestedList::NestedList(const Tensor& x)
    : values_(is_floating_point(x.dtype()) ? x.detach().to(float64).clone() : x.clone()) {}

NestedList Tensor::tolist() const { return NestedList(*this); }

NestedList NestedList::round(int digits) const {
  check_digits("round", digits);
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

std::string NestedList::fixed(int digits) const {
  check_digits("fixed", digits);
  return text(digits);
}

std::string NestedList::text(int digits) const {
  const Shape& shape = values_.shape();
  const bool real = digits >= 0 || values_.dtype() == float64;
  const std::vector<double> reals = real ? values_.to_vector<double>() : std::vector<double>();
  const std::vector<std::int64_t> whole =
      real ? std::vector<std::int64_t>() : values_.to_vector<std::int64_t>();
  const auto part = [&](auto self, int dim, std::int64_t& at) -> std::string {
    if (dim == shape.dim()) {
      const auto i = static_cast<std::size_t>(at++);
      if (digits >= 0) return number(reals[i], std::chars_format::fixed, digits);
      if (real) return detail::python_repr(reals[i]);
      return values_.dtype() == bool_ ? to_string(whole[i] != 0) : std::to_string(whole[i]);
    }
    std::string out = "[";
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
      out += (i > 0 ? ", " : "") + self(self, dim + 1, at);
    }
    return out + "]";
  };
  std::int64_t at = 0;
  return part(part, 0, at);
}

std::string to_string(const NestedList& list) { return list.text(-1); }

std::ostream& operator<<(std::ostream& os, const NestedList& list) { return os << to_string(list); }

std::ostream& operator<<(std::ostream& os, const StateDict& tensors) {
  const char* separator = "[";
  for (const auto& [name, tensor] : tensors) {
    os << separator << "('" << name << "', " << tensor << ")";
    separator = ", ";
  }
  return os << (tensors.empty() ? "[]" : "]");
}

}  // namespace xgrad
