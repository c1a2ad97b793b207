#pragma once

#include "xgrad/state_dict.hpp"

namespace xgrad {

/// How tensors print.
struct PrintOptions {
  int precision = 4;              ///< digits after the point
  std::int64_t threshold = 1000;  ///< more elements than this are summarised
  std::int64_t edgeitems = 3;     ///< elements at both ends of a summarised dimension
  int linewidth = 80;
  /// Scientific notation: always, never, or (std::nullopt) where the values span more than three
  /// decades, exceed 1e8 or fall below 1e-4.
  std::optional<bool> sci_mode = std::nullopt;
};

/// What set_printoptions changes. As in PyTorch, `sci_mode` is set with every call, so leaving it
/// out makes it automatic again.
struct PrintChanges {
  std::optional<std::string> profile = std::nullopt;  ///< "default", "short" or "full" first
  std::optional<int> precision = std::nullopt;
  std::optional<std::int64_t> threshold = std::nullopt;
  std::optional<std::int64_t> edgeitems = std::nullopt;
  std::optional<int> linewidth = std::nullopt;
  std::optional<bool> sci_mode = std::nullopt;
};

/// `set_printoptions({.precision = 2, .sci_mode = false})`, for all threads. Throws Error for an
/// unknown profile, a precision outside 0 to 100 or edgeitems below 1.
void set_printoptions(const PrintChanges& changes);
const PrintOptions& get_printoptions();  ///< those in force

/// Changes the options for its own lifetime.
class [[nodiscard]] ScopedPrintOptions {
 public:
  explicit ScopedPrintOptions(const PrintChanges& changes) : before_(get_printoptions()) {
    set_printoptions(changes);
  }
  ~ScopedPrintOptions();
  ScopedPrintOptions(const ScopedPrintOptions&) = delete;
  ScopedPrintOptions& operator=(const ScopedPrintOptions&) = delete;

 private:
  PrintOptions before_;
};

/// Exactly as PyTorch prints it, `grad_fn` and all; an undefined tensor is `None`.
std::string to_string(const Tensor& x);
std::ostream& operator<<(std::ostream& os, const Tensor& x);  ///< the same text

/// The values of a tensor as Python lists them: `[[-1.2247, 0.0], [1.5, 2.0]]`, floats with as many
/// digits as tell them apart from all other doubles.
class NestedList {
 public:
  explicit NestedList(const Tensor& x);
  /// Python's round() of every number: to `digits` >= 0 decimals of the exact value, a tie to the
  /// even digit; -0.0 stays -0.0, a bool becomes 0 or 1.
  NestedList round(int digits) const;
  /// The list as text, each number as Python's `f"{v:.4f}"` for 4 `digits` >= 0: `[-1.3416,
  /// 0.0000]`.
  std::string fixed(int digits) const;

 private:
  std::string text(int digits) const;  // digits < 0: as many as needed
  Tensor values_;                      // floating point ones as float64
  friend std::string to_string(const NestedList& list);
};
std::string to_string(const NestedList& list);                       ///< as Python prints it
std::ostream& operator<<(std::ostream& os, const NestedList& list);  ///< the same text

/// Python's `True` or `False`.
template <std::same_as<bool> B>
std::string to_string(B value) {
  return value ? "True" : "False";
}
/// Named tensors as Python's list of pairs: `[('running_mean', tensor([0., 0.])), ...]`.
std::ostream& operator<<(std::ostream& os, const StateDict& tensors);

}  // namespace xgrad
