#pragma once

#include <iosfwd>
#include <string>

#include "xgrad/autograd.hpp"
#include "xgrad/detail/function.hpp"

/// Are the gradients right? Compares what backward computes with differences of the function
/// itself:
///
///   const auto report = xg::gradcheck(my_op, {x, weight});   // float64, requiring gradients
///   if (!report) std::cout << report;                        // which element, how far, what next

namespace xgrad {

namespace nn {
class Module;
}

namespace detail {
/// The indices of an element of the flattened tensor.
Shape index_of(const Shape& shape, std::int64_t element);

template <std::size_t>
using OneTensor = const Tensor&;
template <class F, class I>
inline constexpr bool takes_each = false;
template <class F, std::size_t... I>
inline constexpr bool takes_each<F, std::index_sequence<I...>> =
    std::is_invocable_v<F&, OneTensor<I>...>;
/// How many tensors f takes one by one; 9: not up to eight.
template <class F, std::size_t n = 1>
constexpr std::size_t arity() {
  if constexpr (n > 8 || takes_each<F, std::make_index_sequence<n>>) {
    return n;
  } else {
    return arity<F, n + 1>();
  }
}
template <class F>
concept TakesList = std::is_invocable_v < F&,
        const std::vector<Tensor>
& > ;
[[noreturn]] void throw_arity(std::size_t takes, std::size_t given);

template <class F>
std::vector<Tensor> call_checked(F& f, const std::vector<Tensor>& inputs) {
  const auto call = [&] {
    if constexpr (TakesList<F>) {
      return f(inputs);
    } else {
      constexpr std::size_t n = arity<F>();
      if (inputs.size() != n) throw_arity(n, inputs.size());
      return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(inputs[I]...); }
      (std::make_index_sequence<n>());
    }
  };
  if constexpr (std::is_same_v<decltype(call()), Tensor>) {
    return {call()};
  } else {
    const auto results = call();
    return std::vector<Tensor>(results.begin(), results.end());
  }
}
}  // namespace detail

/// What can be checked: anything that takes the inputs as a `std::vector<Tensor>` or one by one (up
/// to eight), and returns a Tensor or a list of them.
class CheckedFunction {
 public:
  /// Of a copy of f.
  template <class F>
  requires(!std::is_same_v<F, CheckedFunction> && !std::is_base_of_v<nn::Module, F> &&
           (detail::TakesList<F> || detail::arity<F>() <= 8)) CheckedFunction(F f)
      : call_([f = std::move(f)](const std::vector<Tensor>& inputs) mutable {
          return detail::call_checked(f, inputs);
        }) {}
  /// Calls it.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const { return call_(inputs); }

 private:
  detail::Function<std::vector<Tensor>(const std::vector<Tensor>&)> call_;
};

struct GradcheckOptions {
  double tolerance = 1e-7;           ///< of an error, as a share of the input's largest derivative
  double second_tolerance = 1e-5;    ///< the same for gradgradcheck
  std::int64_t full_jacobian = 64;   ///< up to so many outputs are checked each alone, too
  std::int64_t each_element = 1000;  ///< longer inputs are checked along random directions, which
                                     ///< are halved down to the element where one is wrong
  std::size_t worst = 5;             ///< elements in the report
  std::uint64_t seed = 0;            ///< of the random upstream gradients
  std::vector<std::string> names{};  ///< of the inputs, for the report
};

/// From best to worst.
enum class Verdict {
  correct,
  null_direction,     ///< the function does not depend on this input: nothing was tested; passes
  too_noisy,          ///< rounding hides the derivative: neither right nor wrong
  kink,               ///< the slopes to the left and to the right differ
  not_finite,         ///< NaN, or an infinite derivative
  shared_memory,      ///< two inputs are the same elements
  not_deterministic,  ///< two calls gave two results
  wrong_shape,        ///< a rule returned gradients of other shapes, or too many or few of them
  missing,            ///< no gradient arrives, though the function depends on the input
  wrong
};
const char* name(Verdict verdict);  ///< "correct", "kink" ...

/// One derivative: of one output, or a random mixture of all, by one element of an input.
struct GradcheckEntry {
  Verdict verdict = Verdict::correct;
  std::size_t input = 0;
  std::string input_name{};
  std::int64_t element = 0;  ///< in the flattened input
  Shape index{};
  double analytic = 0;
  double numeric = 0;
  double error = 0;           ///< |analytic - numeric|
  double relative_error = 0;  ///< error / the largest |numeric| of this input and output
  double numeric_error = 0;   ///< of `numeric`, as the step search estimates it
  double left = 0;            ///< slopes over a step of 1e-6, where there is a kink
  double right = 0;
  std::string path{};  ///< which output, and which way backward went
};

/// The outcome of a check, true where it passed. Prints as a table with what to do next.
struct GradcheckReport {
  bool ok = true;
  int order = 1;
  Verdict verdict = Verdict::correct;   ///< the worst of all
  double max_error = 0;                 ///< greatest relative error of those right or wrong
  std::int64_t checked = 0;             ///< elements
  std::vector<GradcheckEntry> worst{};  ///< the worst elements, worst first
  std::string message{};                ///< all of this in words

  explicit operator bool() const { return ok; }  ///< passed
  std::string to_json() const;                   ///< all of it, on one line
};
std::ostream& operator<<(std::ostream& os, const GradcheckReport& report);  ///< the message

/// Compares every derivative of `f(inputs)` that backward computes with differences of f: by each
/// element of each input that requires a gradient; for random upstream gradients, and for each
/// output alone where there are few; as backward() goes and as grad() with `create_graph` does; for
/// all these inputs and for subsets of them. The differences are central ones over a ladder of
/// steps, extrapolated to step 0 (Ridders 1982), each with an estimate of its own error. Copies the
/// inputs and leaves the random numbers where they were.
///
/// Throws DTypeError for float32, whose rounding is as great as the differences, and Error when no
/// input requires a gradient. Anything else ends as a verdict.
GradcheckReport gradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// The same one derivative further: the gradients' derivatives by the inputs and by the upstream
/// gradients, which are the last inputs in the report.
GradcheckReport gradgradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

/// The same for a module and its parameters, which are lent float64 copies for each call:
/// afterwards its tensors, gradients, buffers and modes are those from before, also after an
/// exception. `forward` is for modules that take more than one tensor.
GradcheckReport gradcheck(nn::Module& module, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});
GradcheckReport gradcheck(nn::Module& module, const CheckedFunction& forward,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});
/// And to second order.
GradcheckReport gradgradcheck(nn::Module& module, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});
GradcheckReport gradgradcheck(nn::Module& module, const CheckedFunction& forward,
                              const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace xgrad
