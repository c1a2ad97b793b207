#include <cmath>
#include <cstring>
#include <limits>

#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/ops.hpp"

namespace xgrad {

/// The options with a dtype.
static TensorOptions typed(TensorOptions options, DType otherwise) {
  options.dtype = options.dtype.value_or(otherwise);
  return options;
}

/// A new tensor whose element i is value(i), a double, float or integer.
template <class F>
static Tensor generated(Shape shape, DType dtype, const TensorOptions& options, F value) {
  Tensor out = empty(shape, {.dtype = dtype});
  detail::dispatch(dtype, [&]<class T>(T) {
    const std::span<T> to = out.mut<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = detail::cast<T>(value(static_cast<std::int64_t>(i)));
    }
  });
  return out.requires_grad_(options.requires_grad);
}

Tensor empty(Shape shape, TensorOptions options) {
  const DType dtype = options.dtype.value_or(float32);
  Tensor out{detail::Ref<detail::TensorImpl>(new detail::TensorImpl)};
  out.impl().dtype = dtype;
  out.impl().shape = shape;
  out.impl().storage = detail::Storage::make(detail::checked_bytes("empty", shape, dtype));
  if (options.requires_grad) out.requires_grad_();
  return out;
}

Tensor detail::adopt(void* elements, const Shape& shape, DType dtype, Owner* owner) {
  auto* impl = new TensorImpl;
  const Tensor out{Ref<TensorImpl>(impl)};
  impl->dtype = dtype;
  impl->shape = shape;
  impl->storage =
      Storage::adopt(elements, static_cast<std::size_t>(shape.numel() * itemsize(dtype)), owner);
  return out;
}

/// Throws unless the dtype can hold the number, be it rounded. What an unsigned integer lost on its
/// way into the Scalar shows by its other half.
static void check_holds(Scalar value, DType dtype) {
  const double real = value.to<double>();
  bool holds = true;
  if (dtype == float32) {
    holds = !(std::abs(real) > std::numeric_limits<float>::max()) || std::isinf(real);
  } else if (dtype == int64) {
    holds = is_floating_point(value.dtype()) ? real >= -0x1p63 && real < 0x1p63
                                             : (real < 0) == (value.to<std::int64_t>() < 0);
  }
  throw_if<Error>(!holds, "full: the value ", real, " does not fit into ", dtype);
}

Tensor full(Shape shape, Scalar value, TensorOptions options) {
  const DType dtype = options.dtype.value_or(value.dtype());
  check_holds(value, dtype);
  Tensor out = empty(shape, {.dtype = dtype});
  return out.fill_(value).requires_grad_(options.requires_grad);
}
Tensor zeros(Shape shape, TensorOptions options) { return full(shape, 0, typed(options, float32)); }
Tensor ones(Shape shape, TensorOptions options) { return full(shape, 1, typed(options, float32)); }

Tensor full_like(const Tensor& x, Scalar value, TensorOptions options) {
  return full(x.shape(), value, typed(options, x.dtype()));
}
Tensor zeros_like(const Tensor& x, TensorOptions options) { return full_like(x, 0, options); }
Tensor ones_like(const Tensor& x, TensorOptions options) { return full_like(x, 1, options); }
Tensor empty_like(const Tensor& x, TensorOptions options) {
  return empty(x.shape(), typed(options, x.dtype()));
}

/// n values as PyTorch's AVX2 kernels round them on one thread: two vectors at a time, of which
/// each counts from its own first element, lane(at(i), 0, 1, ...); what is left over alone, at(i).
template <class T, class At, class Lane>
static Tensor in_vectors(std::int64_t n, DType dtype, const TensorOptions& options, At at,
                         Lane lane) {
  constexpr auto lanes = static_cast<std::int64_t>(32 / sizeof(T));
  const std::int64_t whole = n - n % (2 * lanes);
  return generated(n, dtype, options, [=](std::int64_t i) {
    return i < whole ? lane(at(i - i % lanes), i % lanes) : at(i);
  });
}

Tensor arange(Scalar end, TensorOptions options) { return arange(0, end, 1, options); }

Tensor arange(Scalar start, Scalar end, Scalar step, TensorOptions options) {
  const double from = start.to<double>();
  const double to = end.to<double>();
  const double by = step.to<double>();
  const auto check = [&](bool good, const char* what) {
    if (good) return;
    throw Error(message("arange: ", what, " from ", from, " to ", to, " by ", by));
  };
  check(by != 0 && std::isfinite(from) && std::isfinite(to) && std::isfinite(by),
        "needs finite bounds and a step other than 0, got");
  check((to - from) / by >= 0, "the step leads away from the end:");
  const bool whole = !is_floating_point(start.dtype()) && !is_floating_point(end.dtype()) &&
                     !is_floating_point(step.dtype());
  const DType dtype = options.dtype.value_or(whole ? int64 : float32);
  if (!is_floating_point(dtype)) {  // counted in integers, which a double cannot always hold
    const auto first = start.to<std::int64_t>();
    const auto last = end.to<std::int64_t>();
    const auto stride = step.to<std::int64_t>();
    check(stride != 0, "the step is 0 as an integer:");
    const auto unsign = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    const std::uint64_t distance =
        stride > 0 ? unsign(last) - unsign(first) : unsign(first) - unsign(last);
    const std::uint64_t size = stride > 0 ? unsign(stride) : 0 - unsign(stride);
    const auto n = static_cast<std::int64_t>(distance / size + (distance % size != 0 ? 1 : 0));
    return generated(n, dtype, options, [=](std::int64_t i) { return first + i * stride; });
  }
  const double length = std::ceil((to - from) / by);
  throw_if<ShapeError>(length > 1e15, "arange: too many elements: from ", from, " to ", to, " by ",
                       by);
  return detail::dispatch_floating(dtype, [&]<class T>(T) {
    const auto from_to = [by](double base, std::int64_t i) {
      return static_cast<T>(std::fma(static_cast<double>(i), by, base));
    };
    return in_vectors<T>(
        static_cast<std::int64_t>(length), dtype, options,
        [=](std::int64_t i) { return from_to(from, i); }, from_to);
  });
}

Tensor linspace(double start, double end, std::int64_t steps, TensorOptions options) {
  throw_if<Error>(steps < 0, "linspace: the number of steps must not be negative, got ", steps);
  const DType dtype = options.dtype.value_or(float32);
  return detail::dispatch(dtype, [&](auto t) {
    // From both ends towards the middle and in the result's precision, as PyTorch does.
    using T = std::conditional_t<std::is_same_v<decltype(t), float>, float, double>;
    const T from = static_cast<T>(start);
    const T to = static_cast<T>(end);
    const T by = steps > 1 ? (to - from) / static_cast<T>(steps - 1) : T(0);
    const auto at = [=](std::int64_t i) {
      return i < steps / 2 || steps == 1 ? std::fma(by, static_cast<T>(i), from)
                                         : std::fma(-by, static_cast<T>(steps - 1 - i), to);
    };
    if (!is_floating_point(dtype)) return generated(steps, dtype, options, at);
    return in_vectors<T>(steps, dtype, options, at,
                         [by](T base, std::int64_t i) { return base + by * static_cast<T>(i); });
  });
}

Tensor eye(std::int64_t n, std::optional<std::int64_t> m, TensorOptions options) {
  const std::int64_t columns = m.value_or(n);
  return generated({n, columns}, options.dtype.value_or(float32), options,
                   [=](std::int64_t i) { return i / columns == i % columns ? 1 : 0; });
}

// ---- from values --------------------------------------------------------------------------------

template <class T>
Tensor detail::from_values(std::span<const T> values, const Shape& shape, TensorOptions options) {
  const DType natural = is_floating_point(dtype_of<T>) ? float32 : dtype_of<T>;
  return generated(shape, options.dtype.value_or(natural), options,
                   [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}
template Tensor detail::from_values(std::span<const std::int64_t>, const Shape&, TensorOptions);
template Tensor detail::from_values(std::span<const float>, const Shape&, TensorOptions);
template Tensor detail::from_values(std::span<const double>, const Shape&, TensorOptions);

namespace {

using detail::Nested;

std::string described(const Nested& x) {
  return x.is_list() ? detail::count(x.list().size(), "value") : "a number";
}

/// Collects the numbers of a nested list and checks that every row looks like the first.
struct NestedReader {
  Shape shape;
  std::vector<Scalar> scalars;
  std::string path{};  // of the list that is being read

  explicit NestedReader(std::initializer_list<Nested> all) {
    std::initializer_list<Nested> list = all;
    shape.push_back(static_cast<std::int64_t>(all.size()));
    // Down the first of each row; what is ragged is found while reading.
    while (list.size() != 0 && list.begin()->is_list()) {
      const std::initializer_list<Nested> first = list.begin()->list();
      shape.push_back(static_cast<std::int64_t>(first.size()));
      list = first;
    }
    read(all, 1);
  }

  void read(std::initializer_list<Nested> list, int depth) {
    std::int64_t row = 0;
    for (const Nested& x : list) {
      const bool leaf = depth == shape.dim();
      if (x.is_list() == leaf ||
          (!leaf && static_cast<std::int64_t>(x.list().size()) != shape[depth])) {
        throw ShapeError(message("tensor: ragged list: row ", path, row, " is ", described(x),
                                 ", row ", path, "0 is ", described(*list.begin())));
      }
      if (leaf) {
        scalars.push_back(x.scalar());
      } else {
        const std::string outer = path;
        path += std::to_string(row) + ".";
        read(x.list(), depth + 1);
        path = outer;
      }
      ++row;
    }
  }
};

}  // namespace

Tensor tensor(std::initializer_list<Nested> values, TensorOptions options) {
  const NestedReader reader(values);
  DType natural = reader.scalars.empty() ? float32 : DType::bool_;
  for (const Scalar& s : reader.scalars) natural = promote_types(natural, s.dtype());
  const DType dtype = options.dtype.value_or(natural);
  Tensor out = empty(reader.shape, {.dtype = dtype});
  detail::dispatch(dtype, [&]<class T>(T) {
    T* to = out.mut<T>().data();
    for (const Scalar& s : reader.scalars) *to++ = s.to<T>();
  });
  return out.requires_grad_(options.requires_grad);
}

/// As of a list, what float32 cannot hold becomes infinite.
Tensor tensor(Scalar value, TensorOptions options) {
  Tensor out = empty({}, {.dtype = options.dtype.value_or(value.dtype())});
  return out.fill_(value).requires_grad_(options.requires_grad);
}

// ---- comparing ----------------------------------------------------------------------------------

bool equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return detail::dispatch(a.dtype(), [&]<class T>(T) {
    const std::span<const T> x = a.data<T>();
    const std::span<const T> y = b.data<T>();
    return std::equal(x.begin(), x.end(), y.begin());
  });
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const NoGrad no_grad;
  const Shape shape = detail::broadcast_shapes("allclose", a.shape(), b.shape());
  const std::vector<double> x = expand(a, shape).to_vector<double>();
  const std::vector<double> y = expand(b, shape).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || std::isnan(y[i])) {
      if (!(equal_nan && std::isnan(x[i]) && std::isnan(y[i]))) return false;
    } else if (x[i] != y[i]) {  // equal infinities are close, different ones are not
      const double distance = std::abs(x[i] - y[i]);
      if (!(std::isfinite(distance) && distance <= atol + rtol * std::abs(y[i]))) return false;
    }
  }
  return true;
}

}  // namespace xgrad
