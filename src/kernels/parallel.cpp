#include "kernels/parallel.hpp"

#include <atomic>
#include <system_error>
#include <thread>

#include "xgrad/threads.hpp"

namespace xgrad::kernels {

namespace {

/// Workers that take parts of one job at a time. The caller takes parts too and waits only for
/// those that a worker has begun: workers that are late, or gone after a fork, hold up nobody.
class Pool {
 public:
  using Call = void (*)(const void*, std::int64_t);

  void run(std::int64_t parts, Call call, const void* f) {
    const bool busy = busy_.test_and_set(std::memory_order_acquire);
    if (busy || parts > most_parts) {
      for (std::int64_t part = 0; part < parts; ++part) call(f, part);
    } else {
      start_workers(std::min<std::int64_t>(parts, get_num_threads()) - 1);
      call_ = call;
      f_ = f;
      left_.store(parts, std::memory_order_relaxed);
      const std::uint64_t number = (state_.load(std::memory_order_relaxed) >> 32) + 1;
      state_.store(number << 32 | static_cast<std::uint64_t>(parts) << 16);
      state_.notify_all();
      take_parts();
      for (int i = 0; left_.load(std::memory_order_acquire) > 0; ++i) {
        if (i > 100) std::this_thread::yield();
      }
    }
    if (!busy) busy_.clear(std::memory_order_release);
  }

 private:
  static constexpr std::int64_t most_parts = 0xffff;
  /// How often a worker looks for the next job, a training step has many, before it sleeps.
  static constexpr int looks = 100;

  static bool has_parts(std::uint64_t state) { return (state & 0xffff) < (state >> 16 & 0xffff); }

  /// Takes parts of the job at hand while there are any.
  void take_parts() {
    std::uint64_t state = state_.load();
    while (has_parts(state)) {
      if (!state_.compare_exchange_weak(state, state + 1)) continue;
      call_(f_, static_cast<std::int64_t>(state & 0xffff));
      left_.fetch_sub(1, std::memory_order_release);
      state = state_.load();
    }
  }

  void work(std::int64_t index) {
    for (int look = 0;;) {
      const std::uint64_t state = state_.load();
      if (has_parts(state) && index < get_num_threads()) {
        take_parts();
        look = 0;
      } else if (++look < looks) {
        std::this_thread::yield();
      } else {
        state_.wait(state);
        look = 0;
      }
    }
  }

  void start_workers(std::int64_t wanted) try {
    for (; workers_ < wanted; ++workers_) {
      std::thread([this, index = workers_ + 1] { work(index); }).detach();
    }
  } catch (const std::system_error&) {
    // Fewer, then.
  }

  std::atomic_flag busy_;
  std::atomic<std::uint64_t> state_{
      0};                              // the job's number, its parts, those taken: 32, 16, 16 bits
  std::atomic<std::int64_t> left_{0};  // parts not finished
  Call call_ = nullptr;                // of a job with parts left
  const void* f_ = nullptr;
  std::int64_t workers_ = 0;
};

}  // namespace

void run_parts(std::int64_t parts, void (*call)(const void* f, std::int64_t part), const void* f) {
  static Pool& pool = *new Pool;  // never destroyed: its workers are never told to end
  if (get_num_threads() > 1) return pool.run(parts, call, f);
  for (std::int64_t part = 0; part < parts; ++part) call(f, part);
}

}  // namespace xgrad::kernels
