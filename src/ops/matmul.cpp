#include "ops/matmul.hpp"

#include <algorithm>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "detail/dispatch.hpp"
#include "kernels/blas.hpp"
#include "kernels/broadcast.hpp"
#include "ops/window.hpp"
#include "xgrad/extend.hpp"

namespace xgrad {

using ops::batch_of, ops::gemm;

static void check_same_dtype(const char* op, const Tensor& a, const char* what, const Tensor& b) {
  detail::check_defined(op, a, b);
  if (a.dtype() == b.dtype()) return;
  throw DTypeError(message(op, ": ", a.dtype(), " of shape ", a.shape(), " and ", what, b.dtype(),
                           " of shape ", b.shape(), "; convert one, for example with to(xg::",
                           promote_types(a.dtype(), b.dtype()), ")"));
}

static Tensor product(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b) {
  const auto rows = [](const Tensor& x) { return x.shape()[x.shape().dim() - 2]; };
  const auto columns = [](const Tensor& x) { return x.shape().back(); };
  const std::int64_t n = transpose_a ? columns(a) : rows(a);
  const std::int64_t k = transpose_a ? rows(a) : columns(a);
  const std::int64_t m = transpose_b ? rows(b) : columns(b);
  const Shape batch_a = batch_of(a.shape());
  const Shape batch_b = batch_of(b.shape());
  const Shape batch =
      batch_a == batch_b
          ? batch_a
          : detail::broadcast_shapes(
                ("matmul: batches of " + a.shape().str() + " and " + b.shape().str()).c_str(),
                batch_a, batch_b);
  Tensor out = empty(batch + Shape{n, m}, {.dtype = a.dtype()});
  detail::dispatch_number("matmul", a.dtype(), [&]<class T>(T) {
    const T* from_a = a.data<T>().data();
    const T* from_b = b.data<T>().data();
    T* to = out.mut<T>().data();
    const kernels::Plan<2> plan(batch, {batch_a, batch_b});
    if (batch.numel() == 0) return;
    plan.each_row([&](const auto& at, std::int64_t first) {
      for (std::int64_t i = 0; i < plan.sizes[0]; ++i) {
        kernels::gemm<T>(
            transpose_a, transpose_b, n, m, k, from_a + (at[0] + i * plan.strides[0][0]) * n * k,
            from_b + (at[1] + i * plan.strides[1][0]) * k * m, T(0), to + (first + i) * n * m);
      }
    });
  });
  return out;
}

Tensor ops::gemm(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b,
                 const char* name) {
  return record_broadcast(
      product(a, transpose_a, b, transpose_b), name,
      [a = save(a), transpose_a, b = save(b), transpose_b, name](const Tensor& g, Needs needs) {
        Tensor da;
        Tensor db;
        if (needs[0]) {
          da = transpose_a ? gemm(b, transpose_b, g, true, name)
                           : gemm(g, false, b, !transpose_b, name);
        }
        if (needs[1]) {
          db = transpose_b ? gemm(g, true, a, transpose_a, name)
                           : gemm(a, !transpose_a, g, false, name);
        }
        if (XGRAD_BUG(matmul_reshapes_for_transpose) && needs[0]) {
          da = reshape(transpose(da, -2, -1), da.shape());
        }
        return grads(da, db);
      },
      a, b);
}

// ---- matmul, bmm, outer -------------------------------------------------------------------------

/// Checks what all products share, but not the batch dimensions.
static void check_product(const char* op, const Tensor& a, const Tensor& b) {
  check_same_dtype(op, a, "", b);
  const Shape& sa = a.shape();
  const Shape& sb = b.shape();
  const std::int64_t inner = sb.dim() == 1 ? sb[0] : sb[sb.dim() - 2];
  if (sa.back() == inner) return;
  Shape turned = sb;
  std::string repair;
  if (sb.dim() > 1 && sb.back() == sa.back()) {
    std::swap(turned[sb.dim() - 2], turned[sb.dim() - 1]);
    repair = " " + sb.str() + " would fit as " + turned.str() + ": transpose(-2, -1).";
  }
  throw ShapeError(message(op, ": shapes ", sa, " and ", sb,
                           " do not multiply: the inner sizes differ, ", sa.back(), " vs ", inner,
                           ".", repair));
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  const int rank_a = a.shape().dim();
  const int rank_b = b.shape().dim();
  throw_if<ShapeError>(rank_a == 0 || rank_b == 0,
                       "matmul: needs at least 1 dimension, got shapes ", a.shape(), " and ",
                       b.shape(), ". Multiply by a 0-d tensor with *.");
  check_product("matmul", a, b);
  if (rank_a == 2 && rank_b == 2) return gemm(a, false, b, false);

  // A vector is a row on the left, a column on the right; that dimension goes away at the end.
  Tensor left = rank_a == 1 ? unsqueeze(a, 0) : a;
  const Tensor right = rank_b == 1 ? unsqueeze(b, 1) : b;
  // One matrix for all batches of a: their rows make one tall product.
  const Shape batch_a = batch_of(left.shape());
  const bool folds = rank_a > 2 && rank_b <= 2;
  if (folds) left = reshape(left, {batch_a.numel() * left.size(-2), left.size(-1)});
  const Tensor out = gemm(left, false, right, false, "UnsafeViewBackward0");

  Shape shape = folds ? batch_a : batch_of(out.shape());
  if (rank_a > 1) shape.push_back(a.size(-2));
  if (rank_b > 1) shape.push_back(b.size(-1));
  if (shape == out.shape()) return out;
  return ops::reshaped(out, shape,
                       rank_a + rank_b == 2  ? "DotBackward0"
                       : rank_a + rank_b > 3 ? "UnsafeViewBackward0"
                       : rank_a == 2         ? "MvBackward0"
                                             : "SqueezeBackward3");
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  throw_if<ShapeError>(a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0),
                       "bmm: needs shapes (b, n, k) and (b, k, m), got ", a.shape(), " and ",
                       b.shape(), ". matmul broadcasts the other ranks.");
  check_product("bmm", a, b);
  return gemm(a, false, b, false, "BmmBackward0");
}

Tensor outer(const Tensor& a, const Tensor& b) {
  throw_if<ShapeError>(a.dim() != 1 || b.dim() != 1, "outer: needs two 1-d tensors, got shapes ",
                       a.shape(), " and ", b.shape());
  return unsqueeze(a, 1) * b;
}

// ---- linear -------------------------------------------------------------------------------------

static void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same_dtype("linear", x, "a weight of ", weight);
  const Shape& w = weight.shape();
  if (w.dim() != 2 || x.dim() == 0 || x.shape().back() != w[1]) {
    throw ShapeError(
        message("linear: x of shape ", x.shape(), " does not fit a weight of shape ", w,
                ": expected x (*, in) and weight (out, in)",
                (w.dim() == 2 ? ", x of shape (*, " + std::to_string(w[1]) + ")." : ".")));
  }
  if (!bias.defined()) return;
  check_same_dtype("linear", x, "a bias of ", bias);
  if (bias.shape() != Shape{w[0]}) {
    throw ShapeError(message("linear: the bias has shape ", bias.shape(), ", a weight of shape ", w,
                             " needs ", Shape{w[0]}));
  }
}

/// PyTorch's name depends on the road it takes.
static const char* linear_name(int rank, bool biased) {
  if (rank == 2) return biased ? "AddmmBackward0" : "MmBackward0";
  if (rank == 1) return biased ? "AddBackward0" : "SqueezeBackward3";
  if (!biased) return "UnsafeViewBackward0";
  return rank == 3 ? "ViewBackward0" : "AddBackward0";
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  const std::int64_t from = weight.size(1);
  const std::int64_t to = weight.size(0);
  const Shape lead = x.shape().slice(0, x.shape().dim() - 1);
  const std::int64_t rows = lead.numel();
  Tensor out = empty(lead + to, {.dtype = x.dtype()});
  detail::dispatch_number("linear", x.dtype(), [&]<class T>(T) {
    T* y = out.mut<T>().data();
    if (bias.defined()) {
      const std::span<const T> b = bias.data<T>();
      for (std::int64_t r = 0; r < rows; ++r) std::copy(b.begin(), b.end(), y + r * to);
    }
    kernels::gemm<T>(false, true, rows, to, from, x.data<T>().data(), weight.data<T>().data(),
                     bias.defined() ? T(1) : T(0), y);
  });
  return record(
      out, linear_name(x.shape().dim(), bias.defined()),
      [x = save(x), weight = save(weight), rows, from, to](const Tensor& gradient, Needs needs) {
        const Tensor g = reshape(gradient, {rows, to});
        Tensor dx;
        Tensor dweight;
        Tensor dbias;
        if (needs[0]) dx = reshape(gemm(g, false, weight, false), x.get().shape());
        if (needs[1]) dweight = gemm(g, true, reshape(x, {rows, from}), false);
        if (needs[2]) dbias = XGRAD_BUG(linear_averages_dbias) ? mean(g, 0) : sum(g, 0);
        return grads(dx, dweight, dbias);
      },
      x, weight, bias);
}

}  // namespace xgrad
