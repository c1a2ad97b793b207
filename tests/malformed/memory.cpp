#include <cstdlib>
#include <new>

#include "fixture.hpp"

std::atomic<std::size_t> allocated{0};

void* operator new(std::size_t size) {
  allocated += size;
  if (void* block = std::malloc(size)) return block;
  throw std::bad_alloc();
}
// What std::stable_sort takes its buffer by.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocated += size;
  return std::malloc(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  allocated += size;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* block = std::aligned_alloc(align, (size + align - 1) / align * align)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
