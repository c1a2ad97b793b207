#include <atomic>
#include <cstdlib>
#include <string>

#include "detail/message.hpp"
#include "kernels/blas.hpp"
#include "xgrad/threads.hpp"

// What OpenBLAS exports beyond BLAS: null with any other BLAS library.
#if defined(__GNUC__) && defined(__ELF__)
extern "C" {
[[gnu::weak]] char* openblas_get_corename(void);
[[gnu::weak]] int openblas_get_parallel(void);
[[gnu::weak]] int openblas_get_num_threads(void);
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] void gotoblas_dynamic_quit(void);
[[gnu::weak]] void gotoblas_dynamic_init(void);
}
#else
constexpr char* (*openblas_get_corename)() = nullptr;
constexpr int (*openblas_get_parallel)() = nullptr;
constexpr int (*openblas_get_num_threads)() = nullptr;
constexpr void (*openblas_set_num_threads)(int) = nullptr;
constexpr void (*gotoblas_dynamic_quit)() = nullptr;
constexpr void (*gotoblas_dynamic_init)() = nullptr;
#endif

namespace xgrad {

namespace {

/// The kernels OpenBLAS should run here; null where its own choice is not worse. Releases before
/// 0.3.25 take a processor newer than themselves for one of these.
const char* better_core([[maybe_unused]] const std::string& chosen) {
#if defined(__x86_64__)
  const std::string before_avx2 =
      " Prescott Core2 Penryn Dunnington Atom Nehalem Sandybridge Opteron Opteron_SSE3 Barcelona "
      "Bobcat Bulldozer Piledriver Steamroller ";
  const bool old = before_avx2.find(" " + chosen + " ") != std::string::npos;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && (old || chosen == "Haswell")) return "SKYLAKEX";
  if (old && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
  return nullptr;
}

/// Makes OpenBLAS choose again, with a hint, where its choice is several times too slow. Whoever
/// set OPENBLAS_CORETYPE keeps what they asked for.
void cure_core() {
  if (!openblas_get_corename || !gotoblas_dynamic_quit || !gotoblas_dynamic_init) return;
  if (std::getenv("OPENBLAS_CORETYPE")) return;
  const char* core = better_core(openblas_get_corename());
  if (!core) return;
  setenv("OPENBLAS_CORETYPE", core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

/// Below this many multiplications waking a second thread costs more than it brings.
constexpr double worth_threads = 4e6;

/// Made before the first product.
struct Library {
  std::atomic<int> allowed{1};
  bool switches = false;  // OpenMP's number of threads is the program's too: not switched each time

  Library() {
    cure_core();
    if (!openblas_set_num_threads || !openblas_get_num_threads) return;
    allowed = openblas_get_num_threads();
    switches = openblas_get_parallel && openblas_get_parallel() == 1;
  }
  void use(int n) const {
    if (openblas_set_num_threads && openblas_get_num_threads() != n) openblas_set_num_threads(n);
  }
};

Library& library() {
  static Library instance;
  return instance;
}

}  // namespace

void kernels::prepare_product(double multiplications) {
  const Library& blas = library();
  const int allowed = blas.allowed.load(std::memory_order_relaxed);
  if (allowed > 1 && blas.switches) blas.use(multiplications < worth_threads ? 1 : allowed);
}

void set_num_threads(int n) {
  throw_if<Error>(n < 1, "set_num_threads: needs at least 1 thread, got ", n);
  library().allowed = n;
  library().use(n);
}

int get_num_threads() { return library().allowed; }

}  // namespace xgrad
