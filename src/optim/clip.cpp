#include "xgrad/optim/clip.hpp"

#include <cmath>
#include <limits>

#include "detail/bug.hpp"
#include "detail/message.hpp"
#include "optim/check.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::optim {

static std::vector<Tensor> gradients(const char* op, const std::vector<Tensor>& parameters) {
  std::vector<Tensor> grads;
  for (const Tensor& param : parameters) {
    if (!param.defined()) throw Error(message(op, ": a parameter is undefined"));
    if (param.has_grad() && param.numel() > 0) grads.push_back(param.grad());
  }
  return grads;
}

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       ClipGradNormOptions options) {
  const char* op = "clip_grad_norm_";
  detail::require(max_norm >= 0, op, "max_norm", "at least 0", max_norm);
  detail::require(options.norm_type > 0, op, "norm_type", "above 0", options.norm_type);
  const NoGrad no_grad;
  std::vector<Tensor> grads = gradients(op, parameters);
  if (grads.empty()) return 0;
  const auto norm_of_all = [&](double p, double unit) {
    std::vector<Tensor> norms;  // in double, where squares of floats do not overflow
    for (const Tensor& g : grads) {
      const Tensor wide = g.to(float64);
      norms.push_back(norm(unit == 1 ? wide : wide / unit, {.p = p}));
    }
    if (XGRAD_BUG(clip_takes_largest_norm)) return amax(stack(norms)).item<double>();
    return norm(stack(norms), {.p = p}).item<double>() * unit;
  };
  double total = norm_of_all(options.norm_type, 1);
  if (!std::isfinite(total) || total == 0) {  // perhaps only the powers are out of range
    const double largest = norm_of_all(std::numeric_limits<double>::infinity(), 1);
    if (std::isfinite(largest) && largest > 0) total = norm_of_all(options.norm_type, largest);
  }
  if (!std::isfinite(total)) {
    if (!options.error_if_nonfinite) return total;
    throw Error(message(op, ": the norm of the gradients is ", total, "; they are unchanged"));
  }
  const double factor = max_norm / (total + 1e-6);
  for (Tensor& g : grads) {
    if (factor < 1) g.mul_(factor);
  }
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  detail::require(clip_value >= 0, "clip_grad_value_", "clip_value", "at least 0", clip_value);
  const NoGrad no_grad;
  for (Tensor& g : gradients("clip_grad_value_", parameters)) {
    g.copy_(clamp(g, -clip_value, clip_value));
  }
}

}  // namespace xgrad::optim
