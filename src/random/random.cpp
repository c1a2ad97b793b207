#include "xgrad/random.hpp"

#include <cmath>
#include <numbers>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "random/fill.hpp"

namespace xgrad {

/// Box-Muller on 16 uniform numbers in place, with the roundings of T that PyTorch makes. The
/// functions themselves are evaluated in double: float ones differ between libraries.
template <class T>
static void transform_16(T* d, T mean, T deviation) {
  for (int k = 0; k < 8; ++k) {
    const T u1 = 1 - d[k];
    const T r = static_cast<T>(std::sqrt(-2 * std::log(static_cast<double>(u1))));
    const double theta = static_cast<T>(2 * std::numbers::pi) * d[k + 8];
    d[k] = r * static_cast<T>(std::cos(theta)) * deviation + mean;
    d[k + 8] = r * static_cast<T>(std::sin(theta)) * deviation + mean;
  }
}

static Tensor floating(const char* op, const Shape& shape, const TensorOptions& options) {
  Tensor x = empty(shape, {.dtype = options.dtype.value_or(float32)});
  detail::check_floating(op, x);
  return x;
}

void detail::fill_uniform(Tensor& x, double low, double high, Generator& generator) {
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    const double from = static_cast<T>(low);
    const double width = static_cast<T>(high) - static_cast<T>(low);
    for (T& v : x.mut<T>()) v = static_cast<T>(generator.uniform<T>() * width + from);
  });
}

void detail::fill_normal(Tensor& x, double mean, double deviation, Generator& generator) {
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    const std::span<T> values = x.mut<T>();
    if (values.size() < 16) {
      for (T& v : values) v = static_cast<T>(generator.normal() * deviation + mean);
      return;
    }
    const auto transform = [&](std::size_t at) {
      transform_16(values.data() + at, static_cast<T>(mean), static_cast<T>(deviation));
    };
    for (T& v : values) v = generator.uniform<T>();
    for (std::size_t at = 0; at + 16 <= values.size(); at += 16) transform(at);
    if (values.size() % 16 != 0) {  // the last block overlaps the one before and is drawn again
      const std::size_t at = values.size() - 16;
      for (T& v : values.subspan(at)) v = generator.uniform<T>();
      transform(at);
    }
  });
}

Tensor rand(Shape shape, Generator& generator, TensorOptions options) {
  Tensor x = floating("rand", shape, options);
  detail::fill_uniform(x, 0, 1, generator);
  return x.requires_grad_(options.requires_grad);
}
Tensor randn(Shape shape, Generator& generator, TensorOptions options) {
  Tensor x = floating("randn", shape, options);
  detail::fill_normal(x, 0, 1, generator);
  return x.requires_grad_(options.requires_grad);
}

Tensor randint(std::int64_t low, std::int64_t high, Shape shape, Generator& generator,
               TensorOptions options) {
  throw_if<Error>(low >= high, "randint: needs low < high, got ", low, " and ", high);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  Tensor x = empty(shape, {.dtype = int64});
  for (std::int64_t& v : x.mut<std::int64_t>()) {
    const std::uint64_t word = range >> 32 != 0 ? generator.next_u64() : generator.next_u32();
    v = static_cast<std::int64_t>(word % range + static_cast<std::uint64_t>(low));
  }
  return x.to(options.dtype.value_or(int64)).requires_grad_(options.requires_grad);
}

Tensor randperm(std::int64_t n, Generator& generator, TensorOptions options) {
  throw_if<Error>(n < 0, "randperm: n must not be negative, got ", n);
  Tensor x = arange(n, {.dtype = int64});
  const std::span<std::int64_t> order = x.mut<std::int64_t>();
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + generator.next_u32() % (order.size() - i)]);
  }
  return x.to(options.dtype.value_or(int64)).requires_grad_(options.requires_grad);
}

Tensor rand(Shape shape, TensorOptions options) {
  return rand(shape, default_generator(), options);
}
Tensor randn(Shape shape, TensorOptions options) {
  return randn(shape, default_generator(), options);
}
Tensor randint(std::int64_t high, Shape shape, TensorOptions options) {
  return randint(0, high, shape, options);
}
Tensor randperm(std::int64_t n, TensorOptions options) {
  return randperm(n, default_generator(), options);
}
Tensor rand_like(const Tensor& x, TensorOptions options) {
  return rand(x.shape(), {options.dtype.value_or(x.dtype()), options.requires_grad});
}
Tensor randn_like(const Tensor& x, TensorOptions options) {
  return randn(x.shape(), {options.dtype.value_or(x.dtype()), options.requires_grad});
}

}  // namespace xgrad
