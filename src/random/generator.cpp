#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "detail/message.hpp"
#include "xgrad/random.hpp"

/// MT19937 (Matsumoto, Nishimura 1998) and PyTorch's way from its words to numbers. No std::
/// distribution takes part: those differ between libraries.

namespace xgrad {

Generator::Generator(std::uint64_t seed) { manual_seed(seed); }

void Generator::manual_seed(std::uint64_t seed) {
  state_ = {};
  auto& words = state_.words;
  words[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < words.size(); ++i) {
    words[i] = 1812433253U * (words[i - 1] ^ (words[i - 1] >> 30)) + i;
  }
}

void Generator::refill() {
  auto& w = state_.words;
  const auto mixed = [](std::uint32_t high, std::uint32_t low) {
    const std::uint32_t y = (high & 0x80000000U) | (low & 0x7fffffffU);
    return (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
  };
  for (std::size_t i = 0; i < 624; ++i) {
    w[i] = w[(i + 397) % 624] ^ mixed(w[i], w[(i + 1) % 624]);
  }
  state_.next = 0;
}

std::uint32_t Generator::next_u32() {
  if (state_.next >= 624) refill();
  std::uint32_t y = state_.words[state_.next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

std::uint64_t Generator::next_u64() {
  const std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

template <>
float Generator::uniform<float>() {
  return static_cast<float>(next_u32() & 0xffffffU) * 0x1p-24F;
}
template <>
double Generator::uniform<double>() {
  return static_cast<double>(next_u64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double Generator::normal() {
  if (state_.kept_normal) {
    const double kept = *state_.kept_normal;
    state_.kept_normal.reset();
    return kept;
  }
  const double theta = 2 * std::numbers::pi * uniform<double>();
  const double r = std::sqrt(-2 * std::log1p(-uniform<double>()));
  state_.kept_normal = r * std::sin(theta);
  return r * std::cos(theta);
}

Tensor Generator::get_state() const {
  std::vector<std::int64_t> all(state_.words.begin(), state_.words.end());
  all.push_back(state_.next);
  all.push_back(state_.kept_normal ? 1 : 0);
  all.push_back(std::bit_cast<std::int64_t>(state_.kept_normal.value_or(0)));
  return tensor(all);
}

void Generator::set_state(const Tensor& state) {
  State read;
  throw_if<Error>(!state.defined() || state.dtype() != int64 || state.shape() != Shape({627}),
                  "Generator: set_state: the state is an int64 tensor of shape (627,)");
  const auto all = state.data<std::int64_t>();
  const auto below = [](std::int64_t end) {
    return [=](std::int64_t n) { return n >= 0 && n < end; };
  };
  throw_if<Error>(!std::all_of(all.begin(), all.begin() + 624, below(std::int64_t{1} << 32)) ||
                      !below(625)(all[624]) || !below(2)(all[625]),
                  "Generator: set_state: the tensor is not the state of a generator");
  std::copy_n(all.begin(), 624, read.words.begin());
  read.next = static_cast<std::uint32_t>(all[624]);
  if (all[625] == 1) read.kept_normal = std::bit_cast<double>(all[626]);
  state_ = read;
}

Generator& default_generator() {
  static thread_local Generator generator(0);
  return generator;
}
void manual_seed(std::uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace xgrad
