#pragma once

#include <cstdint>
#include <span>

/// What libFuzzer (tools/fuzz) and the replay of the corpus call: each takes any bytes whatever,
/// and ends the program where the library does what it must not.
namespace fuzz {

using Bytes = std::span<const std::uint8_t>;

void safetensors(Bytes bytes);  ///< a file
void npy(Bytes bytes);          ///< a file
void idx(Bytes bytes);          ///< the length of the labels' file, it, and that of the images
void csv(Bytes bytes);          ///< one byte for the options, and a file
void tensor(Bytes bytes);       ///< calls that make, cut and convert tensors

}  // namespace fuzz
