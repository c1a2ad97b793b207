#pragma once

#include <cstddef>

namespace xgrad::detail {

/// Blocks for handles and nodes, from per-thread free lists; any size, fast up to 512 bytes.
void* allocate_small(std::size_t bytes);
void free_small(void* block, std::size_t bytes) noexcept;

}  // namespace xgrad::detail
