#pragma once

#include "detail/dispatch.hpp"
#include "kernels/parallel.hpp"
#include "kernels/simd.hpp"
#include "xgrad/tensor.hpp"

namespace xgrad::optim::detail {

/// The gradient as a step takes it: turned for `maximize`, with the decay of the weight p.
template <class T>
struct Gradient {
  T sign, decay;
  Gradient(bool maximize, double weight_decay)
      : sign(maximize ? T(-1) : T(1)), decay(static_cast<T>(weight_decay)) {}
  XGRAD_INLINE T operator()(T g, T p) const { return decay != 0 ? sign * g + decay * p : sign * g; }
};

/// One step of the parameter: `kernel(n, gradients, parameters, state)` makes it for n neighbours,
/// float or double; what is not defined of the state is null.
template <class Kernel>
void update(Tensor& param, const Tensor& grad, std::vector<Tensor>& state, Kernel kernel) {
  xgrad::detail::dispatch_floating(param.dtype(), [&](auto t) {
    using T = decltype(t);
    T* rows[3] = {};
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (state[i].defined()) rows[i] = state[i].template mut<T>().data();
    }
    const T* g = grad.data<T>().data();
    T* p = param.mut<T>().data();
    // What one processor has updated, the products of the next step read in the same cache.
    constexpr std::int64_t worth_a_thread = 1 << 18;
    kernels::parallel(param.numel(), worth_a_thread,
                      [&](auto, std::int64_t first, std::int64_t end) {
                        T* part[3] = {};
                        for (int i = 0; i < 3; ++i) part[i] = rows[i] ? rows[i] + first : nullptr;
                        kernel(end - first, g + first, p + first, part);
                      });
  });
}

/// The state, filled with `value` where this is the first step.
inline void begin(Tensor& state, const Tensor& param, double value = 0) {
  if (!state.defined()) state = full_like(param, value);
}

}  // namespace xgrad::optim::detail
