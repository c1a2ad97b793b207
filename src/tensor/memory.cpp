#include "xgrad/memory.hpp"

#include <array>
#include <mutex>
#include <new>

#include "detail/memory.hpp"
#include "detail/message.hpp"
#include "xgrad/extend.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef __linux__
#include <sys/mman.h>
#endif

// Sanitizers find misuse of memory only if every block comes from and goes back to the system.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XGRAD_POOLED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define XGRAD_POOLED 0
#endif
#endif
#ifndef XGRAD_POOLED
#define XGRAD_POOLED 1
#endif

namespace xgrad {
namespace detail {
namespace {

constexpr bool pooled = XGRAD_POOLED;
constexpr std::align_val_t alignment{64};

/// Blocks at least as large ask for huge pages, which loops over large tensors go through 1.2
/// to 1.3 times as fast.
constexpr std::size_t huge_page = std::size_t{2} << 20;

void* new_block(std::size_t bytes) {
  if (bytes < huge_page) return ::operator new(bytes, alignment);
  void* block = ::operator new (bytes, std::align_val_t{huge_page});
#ifdef MADV_HUGEPAGE
  madvise(block, bytes, MADV_HUGEPAGE);  // where there are none, ordinary ones serve
#endif
  return block;
}
void delete_block(void* block, std::size_t bytes) noexcept {
  ::operator delete (block, bytes < huge_page ? alignment : std::align_val_t{huge_page});
}

struct FreeBlock {
  FreeBlock* next;
};

// ---- small blocks: one list per 64 bytes, per thread --------------------------------------------

constexpr std::size_t small_step = 64;
constexpr std::size_t small_classes = 8;     // up to 512 bytes
constexpr std::uint32_t small_limit = 4096;  // blocks kept per class and thread

// Trivially destructible, since global tensors may be freed after this thread's other
// thread-locals.
struct SmallLists {
  std::array<FreeBlock*, small_classes> head;
  std::array<std::uint32_t, small_classes> count;
  bool opened;  // the flush at thread exit is arranged
  bool closed;  // the thread is ending: keep nothing more
};
constinit thread_local SmallLists small_lists{};

void release_list(FreeBlock*& list, std::size_t bytes) {
  while (list) delete_block(std::exchange(list, list->next), bytes);
}
void release_small() {
  for (FreeBlock*& list : small_lists.head) release_list(list, small_step);
  small_lists.count = {};
}

struct FlushAtThreadExit {
  bool touched = false;
  ~FlushAtThreadExit() {
    small_lists.closed = true;
    release_small();
  }
};
thread_local FlushAtThreadExit flush_at_thread_exit;

// ---- storages: one list per size class, shared by all threads -----------------------------------

/// Four classes per power of two, so at most a quarter of a block is unused.
struct SizeClass {
  std::size_t index;
  std::size_t bytes() const { return (small_step << index / 4) / 4 * (4 + index % 4); }
};
SizeClass size_class(std::size_t bytes) {
  SizeClass cls{0};
  while (cls.bytes() * 2 < bytes) cls.index += 4;
  while (cls.bytes() < bytes) ++cls.index;
  return cls;
}

struct StorageLists {
  std::mutex mutex;
  std::array<FreeBlock*, 256> head{};
  std::size_t bytes = 0;
  std::size_t limit = std::size_t{256} << 20;

  FreeBlock* take(SizeClass cls) {
    const std::lock_guard lock(mutex);
    FreeBlock* block = head[cls.index];
    if (block) {
      head[cls.index] = block->next;
      bytes -= cls.bytes();
    }
    return block;
  }
  bool keep(void* block, SizeClass cls) noexcept {
    const std::lock_guard lock(mutex);
    if (bytes + cls.bytes() > limit) return false;
    head[cls.index] = new (block) FreeBlock{head[cls.index]};
    bytes += cls.bytes();
    return true;
  }
  void release() {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < head.size(); ++i) release_list(head[i], SizeClass{i}.bytes());
    bytes = 0;
  }
};
StorageLists& storage_lists() {
  static StorageLists* lists = new StorageLists;  // never destroyed: global tensors may outlive it
  return *lists;
}

std::atomic<std::int64_t> bytes_alive{0};
std::atomic<std::int64_t> bytes_peak{0};

void count_bytes(std::size_t bytes) {
  const auto more = static_cast<std::int64_t>(bytes);
  const std::int64_t now = bytes_alive.fetch_add(more, std::memory_order_relaxed) + more;
  std::int64_t peak = bytes_peak.load(std::memory_order_relaxed);
  while (now > peak && !bytes_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* allocate_small(std::size_t bytes) {
  const std::size_t index = (bytes + small_step - 1) / small_step - 1;
  if (!pooled || index >= small_classes) return ::operator new(bytes, alignment);
  if (FreeBlock* block = small_lists.head[index]) {
    small_lists.head[index] = block->next;
    --small_lists.count[index];
    return block;
  }
  return ::operator new((index + 1) * small_step, alignment);
}

void free_small(void* block, std::size_t bytes) noexcept {
  const std::size_t index = (bytes + small_step - 1) / small_step - 1;
  SmallLists& lists = small_lists;
  if (!pooled || index >= small_classes || lists.closed || lists.count[index] >= small_limit) {
    ::operator delete(block, alignment);
    return;
  }
  if (!lists.opened) {
    lists.opened = true;
    flush_at_thread_exit.touched = true;  // first use registers its destructor
  }
  lists.head[index] = new (block) FreeBlock{lists.head[index]};
  ++lists.count[index];
}

static void* allocate_storage(std::size_t bytes) {
  if (bytes > std::size_t{1} << 62) throw std::bad_alloc();  // beyond all classes
  // Small ones share the lists of handles and nodes: no lock.
  if (!pooled || bytes <= small_step * small_classes) return allocate_small(bytes);
  const SizeClass cls = size_class(bytes);
  if (void* block = storage_lists().take(cls)) return block;
  return new_block(cls.bytes());
}

Ref<Storage> Storage::make(std::size_t bytes) try {
  const std::size_t wanted = sizeof(Storage) + bytes;
  void* block = nullptr;
  try {
    block = allocate_storage(wanted);
  } catch (const std::bad_alloc&) {
    memory::trim();  // what is kept for reuse may be what is missing
    block = allocate_storage(wanted);
  }
  count_bytes(bytes);
  auto* storage = new (block) Storage;
  storage->bytes = bytes;
  return Ref<Storage>(storage);
} catch (const std::bad_alloc&) {
  throw Error(message("out of memory: no ", bytes, " bytes for a tensor"));
}

Ref<Storage> Storage::adopt(void* elements, std::size_t bytes, Owner* owner) {
  Ref<Storage> storage = make(0);
  storage->bytes = bytes;
  storage->elements = static_cast<std::byte*>(elements);
  storage->owner = owner;
  bytes_alive.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  return storage;
}

void Storage::destroy(Storage* storage) noexcept {
  const std::size_t wanted = sizeof(Storage) + (storage->owner ? 0 : storage->bytes);
  delete storage->owner;
  bytes_alive.fetch_sub(static_cast<std::int64_t>(storage->bytes), std::memory_order_relaxed);
  storage->~Storage();
  if (!pooled || wanted <= small_step * small_classes) return free_small(storage, wanted);
  const SizeClass cls = size_class(wanted);
  if (!storage_lists().keep(storage, cls)) delete_block(storage, cls.bytes());
}

void* TensorImpl::operator new(std::size_t bytes) { return allocate_small(bytes); }
void TensorImpl::operator delete(void* block, std::size_t bytes) noexcept {
  free_small(block, bytes);
}

}  // namespace detail

std::int64_t live_bytes() { return detail::bytes_alive.load(std::memory_order_relaxed); }

memory::Stats memory::stats() {
  detail::StorageLists& lists = detail::storage_lists();
  const std::lock_guard lock(lists.mutex);
  return {.allocated = live_bytes(),
          .peak = detail::bytes_peak.load(std::memory_order_relaxed),
          .cached = static_cast<std::int64_t>(lists.bytes),
          .limit = static_cast<std::int64_t>(lists.limit)};
}

void memory::reset_peak() { detail::bytes_peak = live_bytes(); }

void memory::trim() {
  detail::storage_lists().release();
  detail::release_small();
#ifdef __GLIBC__
  // malloc keeps what lies between blocks in use. Under sanitizers malloc is theirs, and glibc's
  // heap, never used, must not be touched.
  if (detail::pooled) malloc_trim(0);
#endif
}

void memory::set_limit(std::int64_t bytes) {
  throw_if<Error>(bytes < 0, "set_limit: needs at least 0 bytes, got ", bytes);
  detail::StorageLists& lists = detail::storage_lists();
  {
    const std::lock_guard lock(lists.mutex);
    lists.limit = static_cast<std::size_t>(bytes);
    if (lists.bytes <= lists.limit) return;
  }
  trim();
}

}  // namespace xgrad
