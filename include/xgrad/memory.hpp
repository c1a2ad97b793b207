#pragma once

#include <cstdint>

/// The memory of tensors. A freed block is kept for the next tensor of about its size, because a
/// fresh page costs more than most operations spend on it: after the first step, a training loop
/// asks the system for none. Safe across threads. Under AddressSanitizer and ThreadSanitizer
/// nothing is kept, so that they see every block.
namespace xgrad::memory {

/// Bytes of memory.
struct Stats {
  std::int64_t allocated;  ///< bytes of the tensors alive in this process
  std::int64_t peak;       ///< the most of them at one time, since the start or reset_peak()
  std::int64_t cached;  ///< bytes kept for reuse; blocks up to 512 bytes, which each thread keeps
                        ///< for itself (at most 9 MB), are not counted
  std::int64_t limit;   ///< the most that is kept
};
Stats stats();      ///< at this time
void reset_peak();  ///< the peak starts again from what is allocated

/// Returns what is kept to the system: everything shared, and this thread's small blocks. Happens
/// by itself before an allocation would fail.
void trim();
/// The most bytes to keep for reuse, at first 256 MiB; 0 keeps none but small blocks. Throws Error
/// below 0.
void set_limit(std::int64_t bytes);

}  // namespace xgrad::memory
