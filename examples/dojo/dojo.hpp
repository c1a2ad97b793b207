// What the exercises share: the forward pass, the gradients to fill in, and the checker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace dojo {

/// A norm's forward pass, step by step, in float64. LayerNorm takes its means along each row, so n
/// is 6 and the statistics have shape (4, 1); BatchNorm down each column: n is 4, the shape (1, 6).
/// eps is 0.1, large enough to see where it stands.
struct Forward {
  xg::Tensor x;             ///< the input, (4, 6): 4 samples of 6 features
  xg::Tensor mean;          ///< sum(x) / n
  xg::Tensor centred;       ///< x - mean, (4, 6)
  xg::Tensor squared;       ///< centred * centred, (4, 6)
  xg::Tensor var;           ///< sum(squared) / n
  xg::Tensor rstd;          ///< 1 / sqrt(var + eps)
  xg::Tensor xhat;          ///< centred * rstd, (4, 6)
  xg::Tensor weight, bias;  ///< one per feature, (6,)
  xg::Tensor y;             ///< xhat * weight + bias, (4, 6)
  double n = 0;             ///< how many numbers each mean is taken of
  double eps = 0.1;
};

/// The gradient of the loss by each of these, of the same shape. The ones given are filled in; the
/// exercise says which to add.
struct Gradients {
  xg::Tensor x = {}, mean = {}, centred = {}, squared = {}, var = {}, rstd = {}, xhat = {};
  xg::Tensor weight = {}, bias = {}, y = {};
};

using Backward = void (*)(const Forward& f, Gradients& d);

/// A known way to go wrong, and what it gives.
struct Mistake {
  std::string looks_like;
  xg::Tensor value;
};

/// What was asked for, what came, and what should have come.
struct Answer {
  std::string name;
  xg::Tensor mine, right;
  std::vector<Mistake> mistakes;
  /// The mistake that `value` looks like, "" for none that is known, std::nullopt where it is
  /// right.
  std::optional<std::string> verdict(const xg::Tensor& value) const;
};

struct Exercise {
  int number = 0;
  std::string title;
  std::vector<Answer> answers = {};
  std::string thrown = {};  ///< what the learner's function threw
};

/// Prints a line for each answer and, where it is wrong, what it looks like. Returns 0 when all are
/// right, and 1 otherwise.
int check(const Exercise& exercise);

/// All of them, without a learner.
std::vector<Exercise> exercises();

// The exercises. Without a function of the learner's, every answer is undefined.
Exercise scale_and_shift(Backward backward);
Exercise mean(Backward backward);
Exercise centre(Backward backward);
Exercise variance(Backward backward);
Exercise rstd(Backward backward);
Exercise normalize(Backward backward);
Exercise layer_norm(Backward backward);
Exercise layer_norm_in_one_line(Backward backward);
Exercise batch_norm(Backward backward);
Exercise batch_norm_eval(Backward backward);
Exercise softmax(xg::Tensor (*dz)(const xg::Tensor& p, const xg::Tensor& dp));
Exercise cross_entropy(xg::Tensor (*dlogits)(const xg::Tensor& logits, const xg::Tensor& targets));

}  // namespace dojo
