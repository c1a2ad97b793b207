#include <cstddef>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::XGRAD_FUZZ_TARGET({data, size});
  return 0;
}
