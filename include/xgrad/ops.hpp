#pragma once

/// Every operation as a free function; most are methods of Tensor too. Shapes stand as `(n, m)`,
/// with `*` for any leading dimensions. All of them are recorded, and differentiable to second
/// order, unless "no gradient" is said.
///
/// Two operands are broadcast: aligned from the right, a dimension of size 1 (or absent) stretches.
/// Mixed dtypes promote as in PyTorch. A function of each element gives float32 for integers unless
/// said otherwise; those from logsigmoid to softplus take floating point only. Unless said
/// otherwise a function throws ShapeError for shapes that do not fit, IndexError for a dimension
/// out of range, DTypeError for a dtype it cannot take.
///
/// Where a derivative is infinite or undefined at a point (sqrt, log, pow, division, norm, std
/// ...), PyTorch's value stands, except that an upstream gradient of exactly 0 contributes exactly
/// 0: the branch that `where` did not choose never poisons a gradient. (kl_div by a target of 0 has
/// its limit, infinite; PyTorch has NaN.)

#include "xgrad/tensor.hpp"

namespace xgrad {

// ---- arithmetic: (A), (B) -> broadcast of both --------------------------------------------------

Tensor add(const Tensor& a, const Tensor& b);  ///< a + b
Tensor sub(const Tensor& a, const Tensor& b);  ///< a - b
Tensor mul(const Tensor& a, const Tensor& b);  ///< a b
/// True division: integers give float32.
Tensor div(const Tensor& a, const Tensor& b);
/// a to the power b. Gradient by b is 0 where a is 0 and b >= 0.
Tensor pow(const Tensor& a, const Tensor& b);
/// The greater one; a tie gives half the gradient to each. NaN wins.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);  ///< the lesser one; see maximum

Tensor add(const Tensor& a, Scalar b);            ///< a + b
Tensor sub(const Tensor& a, Scalar b);            ///< a - b
Tensor rsub(const Tensor& a, Scalar b);           ///< b - a
Tensor mul(const Tensor& a, Scalar b);            ///< a b
Tensor div(const Tensor& a, Scalar b);            ///< a / b; integers give float32
Tensor rdiv(const Tensor& a, Scalar b);           ///< b / a
Tensor pow(const Tensor& a, Scalar exponent);     ///< a to the power of a number
Tensor pow(Scalar base, const Tensor& exponent);  ///< a number to the power of each

Tensor operator-(const Tensor& a);  ///< neg(a)

// ---- comparison: element by element, bool, no gradient ------------------------------------------

Tensor eq(const Tensor& a, const Tensor& b);  ///< a == b, no gradient
Tensor ne(const Tensor& a, const Tensor& b);  ///< a != b, no gradient
Tensor lt(const Tensor& a, const Tensor& b);  ///< a < b, no gradient
Tensor le(const Tensor& a, const Tensor& b);  ///< a <= b, no gradient
Tensor gt(const Tensor& a, const Tensor& b);  ///< a > b, no gradient
Tensor ge(const Tensor& a, const Tensor& b);  ///< a >= b, no gradient
Tensor eq(const Tensor& a, Scalar b);         ///< a == b, no gradient
Tensor ne(const Tensor& a, Scalar b);         ///< a != b, no gradient
Tensor lt(const Tensor& a, Scalar b);         ///< a < b, no gradient
Tensor le(const Tensor& a, Scalar b);         ///< a <= b, no gradient
Tensor gt(const Tensor& a, Scalar b);         ///< a > b, no gradient
Tensor ge(const Tensor& a, Scalar b);         ///< a >= b, no gradient

// The operators, for two tensors, a tensor and a number, a number and a tensor.
#define XGRAD_OPERATOR(op, f, f_swapped)                                          \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return f(a, b); } \
  inline Tensor operator op(const Tensor& a, Scalar b) { return f(a, b); }        \
  inline Tensor operator op(Scalar a, const Tensor& b) { return f_swapped(b, a); }
XGRAD_OPERATOR(+, add, add)
XGRAD_OPERATOR(-, sub, rsub)
XGRAD_OPERATOR(*, mul, mul)
XGRAD_OPERATOR(/, div, rdiv)
XGRAD_OPERATOR(==, eq, eq)
XGRAD_OPERATOR(!=, ne, ne)
XGRAD_OPERATOR(<, lt, gt)
XGRAD_OPERATOR(<=, le, ge)
XGRAD_OPERATOR(>, gt, lt)
XGRAD_OPERATOR(>=, ge, le)
#undef XGRAD_OPERATOR

/// Element by element `not` of a bool tensor, no gradient.
Tensor logical_not(const Tensor& x);
/// Neither NaN nor infinite; bool, no gradient.
Tensor isfinite(const Tensor& x);

/// a where the condition holds, b elsewhere; all three broadcast. `condition` is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);
/// x with `value` where the mask (bool, broadcast to x) holds.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

// ---- functions of each element: (*) -> (*); integers give float32 unless said otherwise ---------

Tensor neg(const Tensor& x);         ///< keeps integers
Tensor abs(const Tensor& x);         ///< keeps integers; gradient 0 at 0
Tensor sign(const Tensor& x);        ///< keeps integers; gradient 0 everywhere
Tensor floor(const Tensor& x);       ///< keeps integers; gradient 0 everywhere
Tensor ceil(const Tensor& x);        ///< keeps integers; gradient 0 everywhere
Tensor round(const Tensor& x);       ///< half to even; keeps integers; gradient 0 everywhere
Tensor exp(const Tensor& x);         ///< e to the x
Tensor expm1(const Tensor& x);       ///< exp(x) - 1, exact near 0
Tensor log(const Tensor& x);         ///< natural; -inf at 0, NaN below
Tensor log1p(const Tensor& x);       ///< log(1 + x), exact near 0
Tensor sqrt(const Tensor& x);        ///< infinite slope at 0 (0 where the upstream gradient is 0)
Tensor rsqrt(const Tensor& x);       ///< 1 / sqrt(x)
Tensor reciprocal(const Tensor& x);  ///< 1 / x
Tensor square(const Tensor& x);      ///< keeps integers
Tensor sin(const Tensor& x);         ///< x in radians
Tensor cos(const Tensor& x);         ///< x in radians
Tensor tanh(const Tensor& x);        ///< hyperbolic tangent
Tensor erf(const Tensor& x);         ///< 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x
Tensor sigmoid(const Tensor& x);     ///< 1 / (1 + exp(-x)), without overflow
/// max(x, 0); NaN stays NaN, and the gradient passes there; gradient 0 at 0. Keeps integers.
Tensor relu(const Tensor& x);
/// Limits to [min, max]; one side may be left out (std::nullopt). The gradient passes at the
/// bounds.
Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = std::nullopt);

// ---- functions of each element, of floating point only ------------------------------------------

Tensor logsigmoid(const Tensor& x);  ///< log(sigmoid(x)), without overflow
/// x for x > 0, negative_slope x elsewhere, 0 included.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x for x > 0, alpha (exp(x) - 1) elsewhere.
Tensor elu(const Tensor& x, double alpha = 1.0);
Tensor silu(const Tensor& x);  ///< x sigmoid(x)
struct GeluOptions {
  /// "none": x (1 + erf(x / sqrt 2)) / 2; "tanh": its tanh approximation (Hendrycks, Gimpel 2016).
  std::string approximate = "none";
};
/// x times the normal distribution function of x, or an approximation of it.
Tensor gelu(const Tensor& x, GeluOptions options = {});
/// log(1 + exp(beta x)) / beta; x itself where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);

// ---- reductions ---------------------------------------------------------------------------------
// Over all elements, one dimension, a list, or `{.dim = ..., .keepdim = ...}`. Reduced dimensions
// disappear, or stay with size 1 under keepdim.

Tensor sum(const Tensor& x);  ///< integers and bool give int64
Tensor sum(const Tensor& x, std::int64_t dim, bool keepdim = false);
template <class = void>
Tensor sum(const Tensor& x, std::initializer_list<std::int64_t> dims, bool keepdim = false);
Tensor sum(const Tensor& x, ReduceOptions options);
Tensor sum(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;
Tensor mean(const Tensor& x);  ///< floating point only
Tensor mean(const Tensor& x, std::int64_t dim, bool keepdim = false);
template <class = void>
Tensor mean(const Tensor& x, std::initializer_list<std::int64_t> dims, bool keepdim = false);
Tensor mean(const Tensor& x, ReduceOptions options);
Tensor mean(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;
/// The greatest element; ties share the gradient evenly. Throws IndexError over no elements.
Tensor amax(const Tensor& x);
Tensor amax(const Tensor& x, std::int64_t dim, bool keepdim = false);
template <class = void>
Tensor amax(const Tensor& x, std::initializer_list<std::int64_t> dims, bool keepdim = false);
Tensor amax(const Tensor& x, ReduceOptions options);
Tensor amax(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;
Tensor amin(const Tensor& x);  ///< the least element; see amax
Tensor amin(const Tensor& x, std::int64_t dim, bool keepdim = false);
template <class = void>
Tensor amin(const Tensor& x, std::initializer_list<std::int64_t> dims, bool keepdim = false);
Tensor amin(const Tensor& x, ReduceOptions options);
Tensor amin(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;

struct VarOptions {
  detail::ByName only_by_name = detail::ByName();
  Dims dim{};
  bool unbiased = true;  ///< divide by n - 1 (Bessel), else by n
  bool keepdim = false;
};
/// Mean squared distance from the mean, computed in two passes. A bool alone is `unbiased`, as in
/// PyTorch, and a number a dimension.
Tensor var(const Tensor& x, VarOptions options);
Tensor var(const Tensor& x, std::int64_t dim, bool unbiased = true, bool keepdim = false);
template <std::same_as<bool> B = bool>
Tensor var(const Tensor& x, B unbiased = true) {
  return var(x, VarOptions{.unbiased = unbiased});
}
/// sqrt(var); gradient 0 where it is 0.
Tensor std(const Tensor& x, VarOptions options);
Tensor std(const Tensor& x, std::int64_t dim, bool unbiased = true, bool keepdim = false);
template <std::same_as<bool> B = bool>
Tensor std(const Tensor& x, B unbiased = true) {
  return std(x, VarOptions{.unbiased = unbiased});
}
template <std::same_as<bool> B>
Tensor Tensor::var(B unbiased) const {
  return xgrad::var(*this, unbiased);
}
template <std::same_as<bool> B>
Tensor Tensor::std(B unbiased) const {
  return xgrad::std(*this, unbiased);
}

struct NormOptions {
  detail::ByName only_by_name = detail::ByName();
  double p = 2.0;  ///< order, may be infinity
  Dims dim{};
  bool keepdim = false;
};
/// (sum |x|^p)^(1/p); gradient 0 for a zero vector.
Tensor norm(const Tensor& x);
Tensor norm(const Tensor& x, NormOptions options);

/// What max and min along a dimension give.
struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  ///< int64
};
/// Greatest element of all; ties share the gradient evenly.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);  ///< the least; see max
/// Greatest along a dimension and where it is (the first of equals); that one gets the gradient.
ValuesAndIndices max(const Tensor& x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices min(const Tensor& x, std::int64_t dim, bool keepdim = false);  ///< see max
/// Index of the greatest element, the first of equals; int64, no gradient. Without dim: in the
/// flattened tensor.
Tensor argmax(const Tensor& x);
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);
Tensor argmin(const Tensor& x);  ///< of the least; see argmax
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// Whether any element, or all, are not 0 (of none: no, yes); bool, no gradient.
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, std::int64_t dim, bool keepdim = false);
Tensor any(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;
Tensor all(const Tensor& x);  ///< see any
Tensor all(const Tensor& x, std::int64_t dim, bool keepdim = false);
Tensor all(const Tensor& x, std::same_as<bool> auto, bool = false) = delete;
/// Product over all or one dimension; right where elements are 0.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// Sums of each element and those before it along dim; integers and bool give int64.
Tensor cumsum(const Tensor& x, std::int64_t dim);
/// log(sum(exp(x))), without overflow.
Tensor logsumexp(const Tensor& x, Dims dim, bool keepdim = false);

// ---- shape --------------------------------------------------------------------------------------

/// Same elements, other sizes; one of them may be -1 (inferred). Shares memory.
Tensor reshape(const Tensor& x, Shape shape);
/// Sizes start_dim to end_dim become one. Shares memory.
Tensor flatten(const Tensor& x, std::int64_t start_dim = 0, std::int64_t end_dim = -1);
/// Two dimensions change places.
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
/// Dimension i of the result is dimension dims[i] of x.
Tensor permute(const Tensor& x, Dims dims);
Tensor squeeze(const Tensor& x);                      ///< without all dimensions of size 1
Tensor squeeze(const Tensor& x, std::int64_t dim);    ///< without this one, if its size is 1
Tensor unsqueeze(const Tensor& x, std::int64_t dim);  ///< a new dimension of size 1
/// Stretches dimensions of size 1; -1 keeps a size.
Tensor expand(const Tensor& x, Shape shape);
Tensor repeat(const Tensor& x, Shape repeats);  ///< x so many times along each dimension
Tensor flip(const Tensor& x, Dims dims);        ///< the other way round along dims
/// Elements below (above) and on the given diagonal of the last two dimensions, zeros elsewhere.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);  ///< see tril
/// One after the other along dim; a 1-d tensor of no elements is skipped, as in PyTorch.
Tensor cat(const std::vector<Tensor>& xs, std::int64_t dim = 0);
/// Side by side along a new dimension.
Tensor stack(const std::vector<Tensor>& xs, std::int64_t dim = 0);
/// Pieces of this size, the last perhaps smaller, or of these sizes.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes,
                          std::int64_t dim = 0);
/// At most `chunks` pieces of equal size, the last perhaps smaller.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim = 0);

// ---- parts --------------------------------------------------------------------------------------

/// start:stop:step as in Python; an open end is std::nullopt, step >= 1.
struct Slice {
  std::optional<std::int64_t> start = std::nullopt;
  std::optional<std::int64_t> stop = std::nullopt;
  std::int64_t step = 1;
};
/// The dimensions not named (`...`).
struct Ellipsis {};

/// One entry of an index: a number (drops the dimension), a Slice, an Ellipsis, std::nullopt (a new
/// dimension of size 1), or one tensor: int64 rows to take, or a bool mask.
class Index {
 public:
  /// What it is.
  enum class Kind { number, slice, ellipsis, new_axis, tensor };
  template <std::integral I>
  Index(I i) : kind_(Kind::number), number_(static_cast<std::int64_t>(i)) {}
  Index(Slice slice) : kind_(Kind::slice), slice_(slice) {}
  Index(Ellipsis) : kind_(Kind::ellipsis) {}
  Index(std::nullopt_t) : kind_(Kind::new_axis) {}
  Index(const Tensor& tensor) : kind_(Kind::tensor), tensor_(tensor) {}

  Kind kind() const { return kind_; }               ///< which of them it is
  std::int64_t number() const { return number_; }   ///< where it is a number
  const Slice& slice() const { return slice_; }     ///< where it is a slice
  const Tensor& tensor() const { return tensor_; }  ///< where it is a tensor

 private:
  Kind kind_;
  std::int64_t number_ = 0;
  Slice slice_{};
  Tensor tensor_{};
};

/// `index(x, {1, Slice{0, 4, 2}})` is Python's `x[1, 0:4:2]`.
/// Whole rows, that is numbers and then at most one slice of step 1, share memory with x; every
/// other part is a copy. So do select and narrow (and split, chunk) along dimension 0.
Tensor index(const Tensor& x, std::initializer_list<Index> index);
/// The part at one index, without that dimension.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);
/// `length` indices from `start` on.
Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length);
/// The rows `index` (1-d int64) along dim.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index);
/// Row indices[i] of `weight` (n, d) for each index: (*) int64 -> (*, d). The row `padding_idx`
/// (negative counts from the end) gets no gradient.
Tensor embedding(const Tensor& indices, const Tensor& weight,
                 std::optional<std::int64_t> padding_idx = std::nullopt);
/// out[i][j] = x[index[i][j]][j] for dim 0, and so on; index is int64 of x's rank.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// ---- products -----------------------------------------------------------------------------------

/// Matrix product in all of PyTorch's ranks: (n)(n) -> (), (n,k)(k,m) -> (n,m), (k)(k,m) -> (m),
/// (n,k)(k) -> (n), and batches with broadcasting. Throws DTypeError for unequal dtypes.
Tensor matmul(const Tensor& a, const Tensor& b);
/// (b,n,k)(b,k,m) -> (b,n,m)
Tensor bmm(const Tensor& a, const Tensor& b);
/// (n)(m) -> (n,m)
Tensor outer(const Tensor& a, const Tensor& b);
/// x W^T + b: (*, in), (out, in), (out) -> (*, out); bias may be undefined. Equal dtypes only.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// ---- softmax, normalization ---------------------------------------------------------------------

Tensor softmax(const Tensor& x, std::int64_t dim);      ///< exp(x) / sum(exp(x)) along dim
Tensor log_softmax(const Tensor& x, std::int64_t dim);  ///< x - logsumexp(x) along dim

/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose sizes are
/// `normalized_shape`; var divides by n. weight and bias have that shape or are undefined. Throws
/// Error for a negative eps; eps = 0 is allowed and gives NaN (0 / 0) for a constant row.
/// Ba, Kiros, Hinton 2016, arXiv 1607.06450.
Tensor layer_norm(const Tensor& x, Shape normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, as layer_norm but without mean and
/// bias; without eps: the dtype's epsilon. Zhang, Sennrich 2019, arXiv 1910.07467.
Tensor rms_norm(const Tensor& x, Shape normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = std::nullopt);
/// The C channels of x (N, C, *) in num_groups equal groups of neighbours, each group of each row
/// normalized as by layer_norm; then weight and bias (C), where defined, per channel. Throws
/// ShapeError unless num_groups divides C, and for a single value. Wu, He 2018, arXiv 1803.08494.
Tensor group_norm(const Tensor& x, std::int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// group_norm with a group for each channel of x (N, C, *). Throws ShapeError for one value per
/// channel. Ulyanov, Vedaldi, Lempitsky 2016, arXiv 1607.08022.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);

struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  ///< weight of the new value in the running statistics
  double eps = 1e-5;
};
/// (x - mean) / sqrt(var + eps) * weight + bias per channel (dimension 1 of x: (N, C, *)).
/// Training: mean and var (divided by n) of the batch; the running statistics, where defined, move
/// towards mean and unbiased var (divided by n - 1). Otherwise: the running statistics are used.
/// Throws ShapeError in training for one value per channel, Error for batch statistics that are not
/// finite or a negative eps; the running statistics are unchanged then, as they are by a batch of
/// no rows. Ioffe, Szegedy 2015, arXiv 1502.03167.
Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var,
                  const Tensor& weight = {}, const Tensor& bias = {},
                  BatchNormOptions options = {});

struct AttentionOptions {
  Tensor mask = {};  ///< broadcasts to (*, L, S): bool, true where query i may see key j; or a
                     ///< floating one, which is added
  bool is_causal = false;  ///< query i sees keys j <= i, and of these what the mask allows
  std::optional<double> scale = std::nullopt;  ///< without: 1 / sqrt(E)
};
/// softmax(q k^T scale), -inf where masked: (*, L, E), (*, S, E) -> (*, L, S). NaN for a query that
/// sees no key.
Tensor attention_weights(const Tensor& q, const Tensor& k, AttentionOptions options = {});
/// attention_weights(q, k) v: (*, L, E), (*, S, E), (*, S, Ev) -> (*, L, Ev); the leading
/// dimensions broadcast. Vaswani et al. 2017, arXiv 1706.03762.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    AttentionOptions options = {});

/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself when not
/// training. Uses the default generator.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true);

}  // namespace xgrad
