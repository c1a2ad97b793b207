#include <cmath>
#include <limits>

#include "detail/bug.hpp"
#include "detail/check.hpp"
#include "ops/matmul.hpp"
#include "xgrad/ops.hpp"

namespace xgrad {

/// Checks all that takes part; v may be undefined.
static void check_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options) {
  detail::check_defined(op, q, k);
  detail::check_floating(op, q);
  for (const Tensor* x : {&k, &v}) {
    if (x == &v && !v.defined()) continue;
    if (q.dim() < 2 || x->dim() < 2 || k.size(-1) != q.size(-1) || x->size(-2) != k.size(-2)) {
      throw ShapeError(message(op, ": needs q (*, L, E), k (*, S, E) and v (*, S, Ev), got ",
                               q.shape(), ", ", k.shape(),
                               (v.defined() ? " and " + v.shape().str() : "")));
    }
    if (x->dtype() != q.dtype()) {
      throw DTypeError(
          message(op, ": q is ", q.dtype(), ", but ", (x == &k ? "k" : "v"), " is ", x->dtype()));
    }
  }
  Shape scores = detail::broadcast_shapes(op, ops::batch_of(q.shape()), ops::batch_of(k.shape()));
  if (v.defined()) detail::broadcast_shapes(op, scores, ops::batch_of(v.shape()));
  scores.push_back(q.size(-2));
  scores.push_back(k.size(-2));
  const Tensor& mask = options.mask;
  if (!mask.defined()) return;
  throw_if<ShapeError>(!detail::stretches(mask.shape(), scores), op, ": mask of shape ",
                       mask.shape(), " does not broadcast to the scores ", scores);
  throw_if<DTypeError>(mask.dtype() != bool_ && mask.dtype() != q.dtype(), op,
                       ": the mask must be bool or ", q.dtype(), ", got ", mask.dtype());
}

static Tensor weights_of(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = ops::gemm(q * scale, false, k, true, "UnsafeViewBackward0");
  const Tensor& mask = options.mask;
  if (mask.defined()) {
    scores =
        mask.dtype() == bool_ ? masked_fill(scores, logical_not(mask), -infinity) : scores + mask;
  }
  if (options.is_causal) {
    const Tensor later = triu(ones({q.size(-2), k.size(-2)}, {.dtype = bool_}),
                              XGRAD_BUG(attention_sees_next_token) ? 2 : 1);
    scores = masked_fill(scores, later, -infinity);
  }
  return softmax(scores, -1);
}

Tensor attention_weights(const Tensor& q, const Tensor& k, AttentionOptions options) {
  check_attention("attention_weights", q, k, {}, options);
  return weights_of(q, k, options);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    AttentionOptions options) {
  detail::check_defined("scaled_dot_product_attention", q, k, v);
  check_attention("scaled_dot_product_attention", q, k, v, options);
  return ops::gemm(weights_of(q, k, options), false, v, false, "UnsafeViewBackward0");
}

}  // namespace xgrad
