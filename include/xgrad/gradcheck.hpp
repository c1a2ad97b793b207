#pragma once

#include "xgrad/autograd.hpp"

namespace xgrad {

struct GradcheckOptions {
  double rtol = 1e-6;
  double atol = 1e-8;
  /// Greatest step of the finite differences for an element x, times 1 + |x|. It is halved nine
  /// times, and the results are extrapolated to a step of 0.
  double step = 1e-2;
  std::uint64_t seed = 0;  ///< of the random upstream gradients
};

/// The outcome of a check, true where it passed. All but `max_error` describes the worst mismatch.
struct GradcheckReport {
  bool ok = true;
  double max_error = 0;  ///< greatest |analytic - numeric| / (1 + |numeric|)
  std::size_t input = 0;
  std::int64_t element = 0;  ///< in the flattened input
  double analytic = 0;
  double numeric = 0;
  std::string message{};  ///< all of this in words, with what may be the reason

  explicit operator bool() const { return ok; }
};

using CheckedFunction = detail::Function<Tensor(const std::vector<Tensor>& inputs)>;

/// Compares the derivatives that backward computes for `f(inputs)`, a Tensor, with finite
/// differences: by every element of every input that requires a gradient, for a random upstream
/// gradient and, where f has few outputs, for each of them alone; both as backward() computes them
/// and as grad() with `create_graph` does. The inputs are copied, not changed.
///
/// Throws DTypeError for float32: the differences would be mostly rounding.
GradcheckReport gradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

/// The same one derivative further: checks the derivatives of the gradients, by the inputs and by
/// the upstream gradient.
GradcheckReport gradgradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                              GradcheckOptions options = {});

}  // namespace xgrad
