#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace xgrad::detail {

/// First base of what `Ref` counts. A new object starts with one reference.
struct RefCounted {
  std::atomic<std::uint32_t> refs{1};
};

/// Counted pointer to a T that derives from RefCounted and has `static void destroy(T*) noexcept`.
/// One word instead of std::shared_ptr's two, and no second allocation for the count.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the reference that a new object starts with.
  explicit Ref(T* adopted) : ptr_(adopted) {}
  Ref(const Ref& other) : ptr_(other.ptr_) {
    if (ptr_) ptr_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }
  ~Ref() {
    // The last owner need not count down: nobody is left to see it, and a locked instruction costs
    // as much as the rest of a small operation's bookkeeping.
    if (ptr_ && (unique() || ptr_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
      T::destroy(ptr_);
    }
  }

  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }
  T& operator*() const { return *ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }
  bool operator==(const Ref& other) const = default;
  /// Nobody else holds the object.
  bool unique() const { return ptr_ && ptr_->refs.load(std::memory_order_acquire) == 1; }

 private:
  T* ptr_ = nullptr;
};

}  // namespace xgrad::detail
