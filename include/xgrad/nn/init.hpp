#pragma once

#include "xgrad/random.hpp"

/// First values of parameters, as torch.nn.init. Each function overwrites x, outside the graph, and
/// returns it. Random ones draw from the default generator unless given one.

namespace xgrad::nn::init {

Tensor& constant_(Tensor& x, double value);  ///< value everywhere
Tensor& zeros_(Tensor& x);                   ///< 0 everywhere
Tensor& ones_(Tensor& x);                    ///< 1 everywhere
/// U(low, high)
Tensor& uniform_(Tensor& x, double low = 0, double high = 1,
                 Generator& generator = default_generator());
/// N(mean, deviation^2)
Tensor& normal_(Tensor& x, double mean = 0, double deviation = 1,
                Generator& generator = default_generator());
/// N(mean, deviation^2) limited to [low, high] by inversion of the normal distribution.
Tensor& trunc_normal_(Tensor& x, double mean = 0, double deviation = 1, double low = -2,
                      double high = 2, Generator& generator = default_generator());

/// Inputs of one output, and outputs of one input, of a weight (out, in, *). Throws ShapeError for
/// fewer than two dimensions.
struct Fan {
  std::int64_t in;
  std::int64_t out;
};
Fan calculate_fan(const Shape& shape);  ///< of a weight

/// Factor that keeps the variance through a nonlinearity ("linear", "conv1d" to "conv3d",
/// "sigmoid", "tanh", "relu", "leaky_relu" with its slope, by default 0.01, "selu"). Throws Error
/// for another.
double calculate_gain(const std::string& nonlinearity, std::optional<double> param = std::nullopt);

struct KaimingOptions {
  double a = 0;                 ///< slope, if the nonlinearity is "leaky_relu"
  std::string mode = "fan_in";  ///< or "fan_out"
  std::string nonlinearity = "leaky_relu";
};
/// U(-b, b), b = gain sqrt(3 / fan). He et al. 2015, arXiv 1502.01852.
Tensor& kaiming_uniform_(Tensor& x, const KaimingOptions& options = {});
/// N(0, gain^2 / fan)
Tensor& kaiming_normal_(Tensor& x, const KaimingOptions& options = {});
/// U(-b, b), b = gain sqrt(6 / (in + out)). Glorot, Bengio 2010.
Tensor& xavier_uniform_(Tensor& x, double gain = 1);
/// N(0, 2 gain^2 / (in + out))
Tensor& xavier_normal_(Tensor& x, double gain = 1);

}  // namespace xgrad::nn::init
