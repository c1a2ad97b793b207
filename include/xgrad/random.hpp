#pragma once

#include <array>

#include "xgrad/tensor.hpp"

namespace xgrad {

/// PyTorch's CPU generator: MT19937 seeded with the low 32 bits of the seed. The same seed gives
/// the same numbers as PyTorch 1.13, whatever the compiler. Not safe to share between threads.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0);
  void manual_seed(std::uint64_t seed);  ///< begins again

  std::uint32_t next_u32();  ///< 32 random bits
  std::uint64_t next_u64();  ///< two words, the first is the high half
  /// Uniform in [0, 1): 24 random bits for float, 53 for double.
  template <class T>
  T uniform();
  /// One standard normal number by Box-Muller; the second of each pair is kept for the next call.
  double normal();

  /// Everything there is to it, for saving and resuming.
  struct State {
    std::array<std::uint32_t, 624> words{};
    std::uint32_t next = 624;
    std::optional<double> kept_normal = std::nullopt;
    bool operator==(const State&) const = default;
  };
  const State& state() const { return state_; }           ///< to go on from here later
  void set_state(const State& state) { state_ = state; }  ///< goes on from there
  /// The same as an int64 tensor (627), for files. Throws Error for one that is no such state.
  Tensor get_state() const;
  void set_state(const Tensor& state);  ///< what get_state() gave

 private:
  void refill();
  State state_;
};

template <>
float Generator::uniform<float>();
template <>
double Generator::uniform<double>();

/// The generator of this thread that every random function uses. Starts from seed 0.
Generator& default_generator();
/// Seeds it: `torch.manual_seed`.
void manual_seed(std::uint64_t seed);  ///< begins again

/// Uniform in [0, 1).
Tensor rand(Shape shape, TensorOptions options = {});
/// Standard normal.
Tensor randn(Shape shape, TensorOptions options = {});
/// int64 unless told otherwise, uniform in [low, high). Throws Error unless low < high.
Tensor randint(std::int64_t low, std::int64_t high, Shape shape, Generator& generator,
               TensorOptions options = {});
Tensor randint(std::int64_t high, Shape shape, TensorOptions options = {});
template <std::integral I>  // a number, so that `randint(2, {5}, {...})` is not read as high = {5}
Tensor randint(std::int64_t low, I high, Shape shape, TensorOptions options = {}) {
  return randint(low, static_cast<std::int64_t>(high), shape, default_generator(), options);
}
/// A random order of 0 .. n - 1, int64.
Tensor randperm(std::int64_t n, TensorOptions options = {});
Tensor rand_like(const Tensor& x, TensorOptions options = {});   ///< of the shape and type of x
Tensor randn_like(const Tensor& x, TensorOptions options = {});  ///< of the shape and type of x

/// The same from a generator of your own.
Tensor rand(Shape shape, Generator& generator, TensorOptions options = {});
Tensor randn(Shape shape, Generator& generator, TensorOptions options = {});  ///< standard normal
/// A random order.
Tensor randperm(std::int64_t n, Generator& generator, TensorOptions options = {});

}  // namespace xgrad
