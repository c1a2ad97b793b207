// The twelve exercises: what is given, what is right by the graph, and the mistakes people make.
#include "dojo.hpp"

namespace dojo {

using xg::Tensor;

static Tensor random(std::initializer_list<std::int64_t> shape) {
  return xg::randn(xg::Shape(shape), {.dtype = xg::float64});
}
static Tensor leaf(const Tensor& x) { return x.detach().clone().requires_grad_(); }

/// The forward pass with means along `dim` (LayerNorm: -1, BatchNorm: 0), from the same numbers
/// each time.
static Forward forward(int dim) {
  xg::manual_seed(0);
  Forward f;
  f.x = random({4, 6}) * 2 + 1;
  f.weight = random({6});
  f.bias = random({6});
  f.n = double(f.x.size(dim));
  f.mean = f.x.mean(dim, true);
  f.centred = f.x - f.mean;
  f.squared = f.centred * f.centred;
  f.var = f.squared.mean(dim, true);
  f.rstd = xg::rsqrt(f.var + f.eps);
  f.xhat = f.centred * f.rstd;
  f.y = f.xhat * f.weight + f.bias;
  return f;
}

/// Runs the learner's function; an error that it throws is for the checker to show.
static Gradients answer_of(Backward backward, const Forward& f, const Gradients& given,
                           std::string& thrown) {
  Gradients d = given;
  try {
    if (backward) backward(f, d);
  } catch (const std::exception& error) {
    thrown = error.what();
  }
  return d;
}

Exercise scale_and_shift(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.y = random({4, 6})};
  const Tensor xhat = leaf(f.xhat), weight = leaf(f.weight), bias = leaf(f.bias);
  const auto right = xg::grad(xhat * weight + bias, {xhat, weight, bias}, {.grad_output = given.y});
  Exercise e{1, "Scale and shift: y = xhat * weight + bias. Given d.y."};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  e.answers = {{"d.xhat", d.xhat, right[0], {{"forgot the weight", given.y}}},
               {"d.weight",
                d.weight,
                right[1],
                {{"forgot xhat: that is the bias's gradient", given.y.sum(0)},
                 {"summed along each row instead of over the batch", (given.y * f.xhat).sum(-1)},
                 {"x where xhat belongs", (given.y * f.x).sum(0)}}},
               {"d.bias",
                d.bias,
                right[2],
                {{"summed along each row instead of over the batch", given.y.sum(-1)}}}};
  return e;
}

Exercise mean(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.mean = random({4, 1})};
  const Tensor x = leaf(f.x);
  const auto right = xg::grad(x.mean(-1, true), {x}, {.grad_output = given.mean});
  Exercise e{2, "The mean: mean = sum(x) / n of each row. Given d.mean."};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  e.answers = {
      {"d.x",
       d.x,
       right[0],
       {{"not stretched over the row: each of its elements has that share", given.mean / f.n},
        {"neither stretched over the row nor divided by n", given.mean}}}};
  return e;
}

Exercise centre(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.centred = random({4, 6})};
  const Tensor& dc = given.centred;
  const Tensor x = leaf(f.x), m = x.mean(-1, true);
  const auto right = xg::grad(x - m, {m, x}, {.grad_output = dc});
  Exercise e{3, "Centring: centred = x - mean, with the mean of each row. Given d.centred."};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  e.answers = {{"d.mean",
                d.mean,
                right[0],
                {{"wrong axis: summed over the batch", -dc.sum(0, true)},
                 {"not summed: one mean serves the whole row", -dc}}},
               {"d.x",
                d.x,
                right[1],
                {{"dropped the mean's term: x moves the mean as well", dc},
                 {"only the mean's term", -dc.mean(-1, true).expand({4, 6})},
                 {"the sign of the mean's term is wrong", dc + dc.mean(-1, true)},
                 {"a sum in the mean's term: forgot 1/n", dc - dc.sum(-1, true)},
                 {"n - 1 for n in the mean's term", dc - dc.sum(-1, true) / (f.n - 1)},
                 {"wrong axis: the mean over the batch", dc - dc.mean(0, true)}}}};
  return e;
}

Exercise variance(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.var = random({4, 1})};
  const Tensor centred = leaf(f.centred), squared = centred * centred;
  const auto right =
      xg::grad(squared.mean(-1, true), {squared, centred}, {.grad_output = given.var});
  Exercise e{
      4, "The variance: squared = centred * centred, var = sum(squared) / n. Given d.var.", {}};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  const Tensor share = (given.var / f.n).expand({4, 6});
  e.answers = {{"d.squared",
                d.squared,
                right[0],
                {{"not stretched over the row: each square has that share", given.var / f.n}}},
               {"d.centred",
                d.centred,
                right[1],
                {{"forgot centred: the square's slope is 2 * centred", share * 2},
                 {"forgot 2 * centred: that is d.squared", share},
                 {"x where centred belongs", share * 2 * f.x}}}};
  return e;
}

Exercise rstd(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.rstd = random({4, 1})};
  const Tensor var = leaf(f.var);
  const auto right = xg::grad(xg::rsqrt(var + f.eps), {var}, {.grad_output = given.rstd});
  Exercise e{5, "One over the deviation: rstd = 1 / sqrt(var + eps). Given d.rstd."};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  const Tensor half = given.rstd * -0.5;
  e.answers = {{"d.var",
                d.var,
                right[0],
                {{"rstd to the power of 1: the power goes down by one, to -3/2", half * f.rstd},
                 {"rstd squared: the power goes down by one, to -3/2", half * f.rstd.pow(2)},
                 {"eps outside the root", half * (xg::sqrt(f.var) + f.eps).pow(-3)},
                 {"forgot eps", half * f.var.pow(-1.5)},
                 {"the derivative of the root, not of one over it", given.rstd * 0.5 * f.rstd},
                 {"forgot the chain rule: d.rstd is missing", -0.5 * f.rstd.pow(3)}}}};
  return e;
}

Exercise normalize(Backward backward) {
  const Forward f = forward(-1);
  const Gradients given{.xhat = random({4, 6})};
  const Tensor centred = leaf(f.centred);
  const Tensor r = xg::rsqrt((centred * centred).mean(-1, true) + f.eps);
  const auto right = xg::grad(centred * r, {r, centred}, {.grad_output = given.xhat});
  Exercise e{
      6, "Normalizing: xhat = centred * rstd, and rstd comes from centred. Given d.xhat.", {}};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  const Tensor drstd = (given.xhat * f.centred).sum(-1, true);
  const Tensor direct = given.xhat * f.rstd;
  const Tensor through_var = -f.rstd.pow(3) * drstd * f.centred / f.n;
  e.answers = {{"d.rstd",
                d.rstd,
                right[0],
                {{"xhat where centred belongs", (given.xhat * f.xhat).sum(-1, true)},
                 {"forgot centred", given.xhat.sum(-1, true)},
                 {"wrong axis: summed over the batch", (given.xhat * f.centred).sum(0, true)}}},
               {"d.centred",
                d.centred,
                right[1],
                {{"dropped the variance's term: centred moves rstd as well", direct},
                 {"only the variance's term", through_var},
                 {"the sign of the variance's term is wrong", direct - through_var},
                 {"forgot the factor 2 of the square", direct + through_var / 2},
                 {"a sum in the variance's term: forgot 1/n", direct + through_var * f.n},
                 {"n - 1 for n in the variance's term", direct + through_var * f.n / (f.n - 1)}}}};
  return e;
}

// ---- whole norms
// -----------------------------------------------------------------------------------

/// One way to go wrong in a whole backward pass.
struct Wrong {
  const char* looks_like = nullptr;
  bool no_mean = false, no_var = false, no_weight = false, eps_outside = false;
  double n_less = 0;  // n - 1 for n
};

/// The backward pass by hand, right or wrong, with the means along `dim`.
static Gradients by_hand(const Forward& f, const Tensor& dy, int dim, const Wrong& wrong = {}) {
  const double n = double(f.x.size(dim)) - wrong.n_less;
  const Tensor centred = f.x - f.x.mean(dim, true);
  const Tensor var = centred.square().sum(dim, true) / n;
  const Tensor rstd = wrong.eps_outside ? 1 / (xg::sqrt(var) + f.eps) : xg::rsqrt(var + f.eps);
  Gradients d;
  d.y = dy;
  d.bias = dy.sum(0);
  d.weight = (dy * centred * rstd).sum(0);
  d.xhat = wrong.no_weight ? dy : dy * f.weight;
  d.rstd = (d.xhat * centred).sum(dim, true);
  d.var = d.rstd * -0.5 * rstd.pow(3);
  d.squared = (d.var / n).expand({4, 6});
  d.centred = d.xhat * rstd;
  if (!wrong.no_var) d.centred = d.centred + d.squared * 2 * centred;
  d.mean = -d.centred.sum(dim, true);
  d.x = wrong.no_mean ? d.centred : d.centred + d.mean / n;
  return d;
}

static const Wrong wrongs[] = {
    {.looks_like = "dropped the mean's term", .no_mean = true},
    {.looks_like = "dropped the variance's term", .no_var = true},
    {.looks_like = "only the direct term: mean and variance depend on x as well",
     .no_mean = true,
     .no_var = true},
    {.looks_like = "forgot the weight", .no_weight = true},
    {.looks_like = "eps outside the root", .eps_outside = true},
    {.looks_like = "n - 1 for n", .n_less = 1},
};

/// The mistakes that show in one of the gradients.
static std::vector<Mistake> mistakes(const Forward& f, const Tensor& dy, int dim,
                                     Tensor Gradients::*which) {
  std::vector<Mistake> out;
  const auto new_value = [&](const Tensor& value) {
    for (const Mistake& mistake : out) {
      if (xg::allclose(value, mistake.value, 1e-9, 1e-12)) return false;
    }
    return !xg::allclose(value, by_hand(f, dy, dim).*which, 1e-9, 1e-12);
  };
  for (const Wrong& wrong : wrongs) {
    const Tensor value = by_hand(f, dy, dim, wrong).*which;
    if (new_value(value)) out.push_back({wrong.looks_like, value});
  }
  const Tensor across = by_hand(f, dy, dim == 0 ? -1 : 0).*which;
  if (!xg::equal(across, by_hand(f, dy, dim).*which)) {
    out.push_back({dim == 0 ? "wrong axis: along each row, as in LayerNorm"
                            : "wrong axis: down each column, as in BatchNorm",
                   across});
  }
  return out;
}

/// The same gradients by the graph of the composed steps.
static Gradients by_graph(const Forward& f, const Tensor& dy, int dim) {
  const Tensor x = leaf(f.x), weight = leaf(f.weight), bias = leaf(f.bias);
  const Tensor m = x.mean(dim, true), centred = x - m, squared = centred * centred;
  const Tensor var = squared.mean(dim, true), r = xg::rsqrt(var + f.eps), xhat = centred * r;
  const auto g =
      xg::grad(xhat * weight + bias, {x, m, centred, squared, var, r, xhat, weight, bias},
               {.grad_output = dy});
  return {g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], dy};
}

static Exercise whole_norm(int number, const char* title, int dim, Backward backward,
                           const std::vector<std::pair<const char*, Tensor Gradients::*>>& asked) {
  const Forward f = forward(dim);
  const Gradients given{.y = random({4, 6})};
  const Gradients right = by_graph(f, given.y, dim);
  Exercise e{number, title};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  for (const auto& [name, which] : asked) {
    e.answers.push_back({name, d.*which, right.*which, mistakes(f, given.y, dim, which)});
  }
  return e;
}

Exercise layer_norm(Backward backward) {
  return whole_norm(7, "LayerNorm, from its output to its input. Given d.y.", -1, backward,
                    {{"d.bias", &Gradients::bias},
                     {"d.weight", &Gradients::weight},
                     {"d.xhat", &Gradients::xhat},
                     {"d.rstd", &Gradients::rstd},
                     {"d.var", &Gradients::var},
                     {"d.squared", &Gradients::squared},
                     {"d.centred", &Gradients::centred},
                     {"d.mean", &Gradients::mean},
                     {"d.x", &Gradients::x}});
}

Exercise layer_norm_in_one_line(Backward backward) {
  return whole_norm(8, "LayerNorm's d.x in one line, from f.xhat and f.rstd. Given d.y.", -1,
                    backward, {{"d.x", &Gradients::x}});
}

Exercise batch_norm(Backward backward) {
  return whole_norm(
      9, "BatchNorm in train mode: the statistics of each column. Given d.y.", 0, backward,
      {{"d.bias", &Gradients::bias}, {"d.weight", &Gradients::weight}, {"d.x", &Gradients::x}});
}

Exercise batch_norm_eval(Backward backward) {
  Forward f = forward(0);
  // What 100 other batches left behind.
  f.mean = f.mean + random({1, 6}) * 0.3;
  f.var = f.var * 1.5;
  f.rstd = xg::rsqrt(f.var + f.eps);
  f.centred = f.x - f.mean;
  f.squared = f.centred * f.centred;
  f.xhat = f.centred * f.rstd;
  f.y = f.xhat * f.weight + f.bias;
  const Gradients given{.y = random({4, 6})};
  const Tensor x = leaf(f.x), weight = leaf(f.weight), bias = leaf(f.bias);
  const auto right =
      xg::grad(xg::batch_norm(x, f.mean.flatten(), f.var.flatten(), weight, bias, {.eps = f.eps}),
               {bias, weight, x}, {.grad_output = given.y});
  Exercise e{10, "BatchNorm in eval mode: f.mean and f.var are the running ones. Given d.y."};
  const Gradients d = answer_of(backward, f, given, e.thrown);
  const Gradients train = by_hand(f, given.y, 0);
  e.answers = {{"d.bias", d.bias, right[0], {}},
               {"d.weight",
                d.weight,
                right[1],
                {{"the batch's statistics where the running ones belong", train.weight}}},
               {"d.x",
                d.x,
                right[2],
                {{"train mode's formula: the running statistics do not depend on x", train.x},
                 {"train mode's terms with the running statistics, which do not depend on x",
                  f.rstd * (given.y * f.weight - (given.y * f.weight).mean(0, true) -
                            f.xhat * (given.y * f.weight * f.xhat).mean(0, true))},
                 {"forgot the weight", given.y * f.rstd},
                 {"the batch's variance where the running one belongs",
                  given.y * f.weight * xg::rsqrt(f.x.var({.dim = 0, .unbiased = false}) + f.eps)},
                 {"eps outside the root", given.y * f.weight / (xg::sqrt(f.var) + f.eps)}}}};
  return e;
}

Exercise softmax(Tensor (*dz)(const Tensor& p, const Tensor& dp)) {
  xg::manual_seed(0);
  const Tensor z = random({4, 6}).requires_grad_(), dp = random({4, 6});
  const Tensor out = z.softmax(-1), p = out.detach();
  Exercise e{11, "Softmax: p = exp(z) / sum(exp(z)) of each row. Given dp."};
  Answer answer{"dz", {}, xg::grad(out, {z}, {.grad_output = dp})[0], {}};
  try {
    if (dz) answer.mine = dz(p, dp);
  } catch (const std::exception& error) {
    e.thrown = error.what();
  }
  answer.mistakes = {
      {"dropped the sum: every z changes every p of its row", p * dp},
      {"only the diagonal p(1 - p): every z changes every p of its row", p * (1 - p) * dp},
      {"a plain sum where the sum weighted by p belongs", p * (dp - dp.sum(-1, true))},
      {"forgot the factor p in front", dp - (p * dp).sum(-1, true)},
      {"the sign of the sum is wrong", p * (dp + (p * dp).sum(-1, true))},
      {"wrong axis: the sum over the batch", p * (dp - (p * dp).sum(0, true))}};
  e.answers = {answer};
  return e;
}

Exercise cross_entropy(Tensor (*dlogits)(const Tensor& logits, const Tensor& targets)) {
  xg::manual_seed(0);
  const Tensor logits = random({4, 6}).requires_grad_();
  const Tensor targets = xg::tensor({2, 0, 5, 3});
  Exercise e{12, "Softmax and cross-entropy: the mean of -log p[target] over the samples."};
  Answer answer{"dlogits", {}, xg::grad(xg::cross_entropy(logits, targets), {logits})[0], {}};
  try {
    if (dlogits) answer.mine = dlogits(logits.detach(), targets);
  } catch (const std::exception& error) {
    e.thrown = error.what();
  }
  const Tensor p = logits.detach().softmax(-1);
  const Tensor hot = (xg::arange(6) == targets.unsqueeze(-1)).to(xg::float64);
  answer.mistakes = {
      {"forgot to subtract 1 at the target", p / 4},
      {"only the target's entry", (p - hot) * hot / 4},
      {"the gradient by p, not by the logits", -hot / p / 4},
      {"wrong axis: softmax over the batch", (logits.detach().softmax(0) - hot) / 4}};
  e.answers = {answer};
  return e;
}

std::vector<Exercise> exercises() {
  std::vector<Exercise> out;
  for (const auto exercise : {scale_and_shift, mean, centre, variance, rstd, normalize, layer_norm,
                              layer_norm_in_one_line, batch_norm, batch_norm_eval}) {
    out.push_back(exercise(nullptr));
  }
  out.push_back(softmax(nullptr));
  out.push_back(cross_entropy(nullptr));
  return out;
}

}  // namespace dojo
