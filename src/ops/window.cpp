#include "ops/window.hpp"

#include "detail/dispatch.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

Tensor ops::alias(const Tensor& x, const Shape& shape, std::int64_t offset) {
  Tensor out = x.detach();
  out.impl().shape = shape;
  out.impl().offset += offset;
  return out;
}

Tensor ops::reshaped(const Tensor& x, const Shape& shape, const char* name) {
  return record(
      alias(x, shape), name, [from = x.shape()](const Tensor& g) { return reshape(g, from); }, x);
}

Tensor ops::read(const Tensor& x, const Window& window) {
  if (window.rows) return alias(x, window.sizes, window.offset);
  Tensor out = empty(window.sizes, {.dtype = x.dtype()});
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    kernels::copy(window.sizes, out.mut<T>().data(), kernels::row_major(window.sizes),
                  x.data<T>().data() + window.offset, window.strides);
  });
  return out;
}

void ops::write(Tensor& x, const Window& window, const Tensor& values) {
  Window from(values.shape());
  // Aligned from the right, sizes of 1 repeat.
  kernels::Strides strides{};
  const int missing = window.sizes.dim() - values.shape().dim();
  for (int d = missing; d < window.sizes.dim(); ++d) {
    strides[static_cast<std::size_t>(d)] =
        values.shape()[d - missing] == 1 ? 0 : from.stride(d - missing);
  }
  detail::dispatch(x.dtype(), [&]<class T>(T) {
    kernels::copy(window.sizes, x.mut<T>().data() + window.offset, window.strides,
                  values.data<T>().data(), strides);
  });
}

/// Zeros of that shape with g in the window: the derivative of reading it.
static Tensor put(const Tensor& g, const ops::Window& window, const Shape& shape) {
  Tensor out = zeros(shape, {.dtype = g.dtype()});
  ops::write(out, window, g);
  return record(
      out, "SliceBackwardBackward0",
      [window](const Tensor& h) { return ops::part(h, window, "SliceBackward0"); }, g);
}

Tensor ops::part(const Tensor& x, const Window& window, const char* name) {
  return record(
      read(x, window), name,
      [window, shape = x.shape()](const Tensor& g) { return put(g, window, shape); }, x);
}

ops::Window ops::slice(const Shape& shape, int dim, std::int64_t start, std::int64_t length) {
  Window window(shape);
  window.sizes[dim] = length;
  window.offset = start * window.stride(dim);
  window.rows = dim == 0;
  return window;
}

}  // namespace xgrad
