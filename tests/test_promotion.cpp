#include <gtest/gtest.h>

#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::DType;
using xg::Tensor;

/// The type of a result of two types: PyTorch's rules.

namespace {

const DType dtypes[] = {xg::bool_, xg::int64, xg::float32, xg::float64};
const xg::Scalar numbers[] = {true, 2, 0.5};

int kind(DType t) { return xg::is_floating_point(t) ? 2 : t == xg::int64 ? 1 : 0; }

/// Two tensors with dimensions (or two without): the greater type. A 0-d tensor or a number beside
/// a tensor counts only where its kind is higher: then the result is the other's type.
DType promoted(DType a, DType b, bool b_is_weak) {
  if (!b_is_weak) return std::max(a, b);
  return kind(b) > kind(a) ? b : a;
}

Tensor of(DType t, const xg::Shape& shape) { return xg::ones(shape, {.dtype = t}); }

/// Calls check(a, b, expected type) for all 16 pairs of types, both as tensors of the shapes.
void for_all_pairs(const xg::Shape& a, const xg::Shape& b, const auto& check) {
  for (const DType ta : dtypes) {
    for (const DType tb : dtypes) {
      SCOPED_TRACE(std::string(name(ta)) + " " + a.str() + ", " + name(tb) + " " + b.str());
      const bool weak_a = a.dim() == 0 && b.dim() > 0;
      const bool weak_b = b.dim() == 0 && a.dim() > 0;
      check(of(ta, a), of(tb, b), weak_a ? promoted(tb, ta, true) : promoted(ta, tb, weak_b));
    }
  }
}

}  // namespace

TEST(Promotion, TensorsInEveryPairOfTypes) {
  const xg::Shape shapes[] = {{2, 3}, {3}, {}};
  for (const xg::Shape& sa : shapes) {
    for (const xg::Shape& sb : shapes) {
      for_all_pairs(sa, sb, [](const Tensor& a, const Tensor& b, DType expected) {
        const DType quotient = xg::is_floating_point(expected) ? expected : xg::float32;
        EXPECT_EQ((a + b).dtype(), expected);
        EXPECT_EQ((a * b).dtype(), expected);
        EXPECT_EQ(maximum(a, b).dtype(), expected);
        EXPECT_EQ(minimum(a, b).dtype(), expected);
        EXPECT_EQ((a / b).dtype(), quotient);
        EXPECT_EQ(where(a == b, a, b).dtype(), expected);
        EXPECT_EQ((a < b).dtype(), xg::bool_);
        if (a.dtype() == xg::bool_ || b.dtype() == xg::bool_) {
          EXPECT_THROW(a - b, xg::DTypeError);
        } else {
          EXPECT_EQ((a - b).dtype(), expected);
        }
        if (expected == xg::bool_) {
          EXPECT_THROW(pow(a, b), xg::DTypeError);
        } else {
          EXPECT_EQ(pow(a, b).dtype(), expected);
        }
      });
    }
  }
}

TEST(Promotion, NumbersCountByKindOnly) {
  for (const DType t : dtypes) {
    for (const xg::Shape& shape : {xg::Shape{2, 3}, xg::Shape{}}) {
      for (const xg::Scalar number : numbers) {
        SCOPED_TRACE(std::string(name(t)) + " and a number of kind " + name(number.dtype()));
        const Tensor a = of(t, shape);
        const DType expected = promoted(t, number.dtype(), true);
        const DType quotient = xg::is_floating_point(expected) ? expected : xg::float32;
        EXPECT_EQ((a + number).dtype(), expected);
        EXPECT_EQ((number * a).dtype(), expected);
        EXPECT_EQ((a / number).dtype(), quotient);
        EXPECT_EQ((number / a).dtype(), quotient);
        EXPECT_EQ(where(a == a, a, number).dtype(), expected);
        EXPECT_EQ(where(a == a, number, a).dtype(), expected);
        EXPECT_EQ((a > number).dtype(), xg::bool_);
        EXPECT_EQ(masked_fill(a, a == a, number).dtype(), t);
        if (t == xg::bool_ || number.dtype() == xg::bool_) {
          EXPECT_THROW(a - number, xg::DTypeError);
          EXPECT_THROW(number - a, xg::DTypeError);
        } else {
          EXPECT_EQ((a - number).dtype(), expected);
          EXPECT_EQ((number - a).dtype(), expected);
        }
        if (expected != xg::bool_) {
          EXPECT_EQ(pow(a, number).dtype(), expected);
          EXPECT_EQ(pow(number, a).dtype(), expected);
        }
      }
    }
  }
}

TEST(Promotion, ValuesAreConvertedBeforeTheyMeet) {
  const Tensor whole = xg::tensor({3, -4});
  expect_values(whole + 0.5, {3.5, -3.5});
  expect_values(whole / 2, {1.5, -2});
  expect_values(whole * true, {3, -4});
  expect_values(whole <= -3.5, {0, 1});  // not truncated to -3
  expect_values(xg::tensor({true, true}) + xg::tensor({true, false}), {1, 1});
  expect_values(where(whole > 0, whole, 2.5), {3, 2.5});
  // A float32 tensor compares with a number in float32.
  expect_values(xg::tensor({0.1}) == 0.1, {1});
  // Large integers do not pass through double.
  const std::int64_t big = 9007199254740993;
  EXPECT_EQ((xg::tensor({big}) + 2).item<std::int64_t>(), big + 2);
  EXPECT_FALSE((xg::tensor({big}) == xg::tensor({big - 1})).item<bool>());
}

TEST(Promotion, GradientsComeBackInTheInputsOwnTypeAndShape) {
  const Tensor a = xg::full({2, 3}, 1.5, {.dtype = xg::float32, .requires_grad = true});
  const Tensor b = xg::full({3}, 2.5, {.dtype = xg::float64, .requires_grad = true});
  for (const Tensor& y : {a * b, a / b, a - b, pow(a, b), maximum(a, b), where(a > b, a, b)}) {
    EXPECT_EQ(y.dtype(), xg::float64) << y.grad_fn();
    const std::vector<Tensor> g = grad(sum(y), {a, b});
    EXPECT_EQ(g[0].dtype(), xg::float32) << y.grad_fn();
    EXPECT_EQ(g[0].shape(), a.shape()) << y.grad_fn();
    EXPECT_EQ(g[1].dtype(), xg::float64) << y.grad_fn();
    EXPECT_EQ(g[1].shape(), b.shape()) << y.grad_fn();
  }
}
