#pragma once

#include <cmath>
#include <limits>

#include "detail/message.hpp"
#include "xgrad/gradcheck.hpp"
#include "xgrad/random.hpp"

/// The numeric half of gradcheck: a function of tensors as one of numbers, and its slopes.

namespace xgrad::detail {

using Values = std::vector<double>;

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
/// The largest finite |v|, or `least`.
double largest(std::span<const double> values, double least);
/// Random, and nowhere near 0: a zero upstream gradient hides what is below it.
double away_from_zero(Generator& generator);

/// The weights of the outputs in what is differentiated: one output alone, or a random mixture.
struct Seed {
  std::int64_t output = -1;
  Values weights{};
  /// The mixture of x; with `sizes`, of what can only add up.
  double operator()(const Values& x, bool sizes = false) const;
};

/// Elements of an input that move together, each up or down.
struct Line {
  std::size_t input;
  std::int64_t first, count;
  Values signs;
};

struct Slope {
  double value = std::nan("");
  double error = std::numeric_limits<double>::infinity();
};

/// f at copies of its inputs, and at others near by.
struct Differences {
  const CheckedFunction& f;
  std::vector<Tensor> inputs{};
  Values base{}, noise{};     // of all outputs in one row
  std::vector<Seed> seeds{};  // what is differentiated, with the noise of each
  Values seed_noise{};

  /// What f returns and can be differentiated; indices and masks are passed over.
  std::vector<Tensor> results(const std::vector<Tensor>& at) const;
  Values outputs() const;
  /// Sets `base`. What is wrong if a second call returns something else; else empty.
  std::string unsteady();
  /// How far the outputs move when the inputs do in their last digit: below that no difference
  /// means anything.
  void measure_noise(Generator& generator);
  void add_seed(Seed seed);
  /// The difference quotient of each seed; empty where f refuses.
  Values quotients(const Line& line, double up_step, double down_step);
  /// The slope of each seed along the line, as accurate as `scales` (its largest slopes) times the
  /// tolerance asks for.
  std::vector<Slope> slopes(const Line& line, const Values& scales, double tolerance);

  static constexpr double first_step = 0.0937;  // not round: bounds like to be a round step away

 private:
  Values outputs_or_nothing() const;
  Values outputs_at(const Line& line, double step);
  void search(const Line& line, double h, const Values& scales, double tolerance,
              std::vector<Slope>& best);
};

}  // namespace xgrad::detail
