#pragma once

#include "detail/dispatch.hpp"
#include "kernels/optim.hpp"
#include "kernels/parallel.hpp"
#include "xgrad/tensor.hpp"

namespace xgrad::optim::detail {

/// One step of the parameter by the kernel of this kind of step, with its defined state.
template <class Step>
void update(const Step& step, Tensor& param, const Tensor& grad, std::vector<Tensor>& state) {
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
                        kernels::update(end - first, step, g + first, p + first, part);
                      });
  });
}

/// The state, filled with `value` where this is the first step.
inline void begin(Tensor& state, const Tensor& param, double value = 0) {
  if (!state.defined()) state = full_like(param, value);
}

}  // namespace xgrad::optim::detail
