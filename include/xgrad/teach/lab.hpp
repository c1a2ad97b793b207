#pragma once

/// The train/eval laboratory: the same net with LayerNorm and with BatchNorm, measured at each
/// step.

#include "xgrad/data.hpp"
#include "xgrad/detail/function.hpp"
#include "xgrad/nn.hpp"

namespace xgrad::teach {

/// One small net, inputs-hidden-classes with a norm and a ReLU after each hidden layer, trained by
/// plain gradient descent.
struct LabOptions {
  std::vector<std::int64_t> hidden{32, 16};
  std::int64_t batch = 32;  ///< rows in a step; 1 is more than BatchNorm can do
  double lr = 0.1;
  std::int64_t steps = 300;
  double momentum = 0.1;  ///< of the running statistics
  double eps = 1e-5;
  std::uint64_t seed = 0;  ///< of weights and batches
};

/// Throws Error for the first option out of its range.
void check(const LabOptions& options, const data::Split& data);

/// Called after each step with the number of steps done; false ends the experiment early.
using Watch = detail::Function<bool(std::int64_t)>;
inline bool go_on(std::int64_t) { return true; }  ///< the Watch that ends nothing

/// Mean and variance of one feature.
struct Moments {
  double mean = 0;
  double var = 0;  ///< of BatchNorm unbiased, as the running one is; of LayerNorm divided by n
};

/// How far the running statistics are from others, as root mean square over the features: of
/// (running_mean - mean) / sqrt(var + eps), and of (running_var - var) / (var + eps).
struct Drift {
  double mean = 0;
  double var = 0;
};

/// Largest absolute difference and root mean square.
struct Gap {
  double max = 0;
  double rms = 0;
};
Gap gap(const Tensor& a, const Tensor& b);

/// One norm layer after the forward pass of one step, before the weights move.
struct NormStep {
  /// Of what the layer was fed, for the batch and for all training rows as one batch: of BatchNorm
  /// those of feature 0, of LayerNorm the averages over the rows, each of which has its own.
  Moments batch, all;
  std::optional<Moments> running{};               ///< of feature 0; only BatchNorm has them
  std::optional<Drift> from_batch{}, from_all{};  ///< of the running statistics
  Gap gap;                                        ///< train against eval mode, same input
  double alone_eval = 0;                          ///< row 0 alone against it in the batch
  std::optional<double> alone_train{};            ///< none: refused
  double other_rows = 0;  ///< row 0 in train mode among other rows against it in the batch
};

/// One step of a training.
struct LabStep {
  double loss = 0;           ///< of the batch, train mode
  double eval_loss = 0;      ///< of the same batch with the same weights, eval mode
  double test_accuracy = 0;  ///< eval mode
  Gap gap{};                 ///< of the net's output for the batch, train against eval mode
  std::vector<NormStep> norms{};
};

/// One training.
struct LabRun {
  std::string norm;  ///< LayerNorm, BatchNorm
  std::vector<LabStep> steps{};
  std::string ended{};          ///< why before the last step: an error's text; empty: it was not
  std::string alone_refused{};  ///< the error for a row alone in train mode; empty: none
};

/// Both start from the same weights of the linear layers and see the same batches. The default
/// generator is as before afterwards.
struct Lab {
  LabRun layer, batch;
};
Lab train_eval_lab(const data::Split& data, const LabOptions& options, const Watch& watch = go_on);

/// BatchNorm in float64, fed the first layer's output for one batch again and again: its running
/// statistics after t steps beside the law (1 - m)^t start + (1 - (1 - m)^t) batch, for feature 0,
/// and the largest error of all.
struct RunningLaw {
  std::vector<Moments> running, law;  ///< [t - 1]
  double mean_error = 0, var_error = 0;
  std::string ended{};  ///< the error for a batch of 1; empty: none
};
RunningLaw running_law(const data::Split& data, const LabOptions& options);

/// What the module gives for x in that mode, unrecorded; mode and buffers are put back.
Tensor output_in(nn::Module& module, bool training, const Tensor& x);

}  // namespace xgrad::teach
