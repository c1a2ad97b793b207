#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/blas.hpp"
#include "xgrad/error.hpp"
#include "xgrad/threads.hpp"

// What OpenBLAS exports beyond BLAS. The references are weak: null with any other BLAS library.
#if defined(__GNUC__) && defined(__ELF__)
extern "C" {
[[gnu::weak]] char* openblas_get_corename(void);
[[gnu::weak]] int openblas_get_parallel(void);
[[gnu::weak]] int openblas_get_num_threads(void);
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] void gotoblas_dynamic_quit(void);
[[gnu::weak]] void gotoblas_dynamic_init(void);
}
#define XGRAD_OPENBLAS 1
#else
#define XGRAD_OPENBLAS 0
#endif

namespace xgrad {

namespace {

#if XGRAD_OPENBLAS

// ---- the processor
// -------------------------------------------------------------------------------

/// The kernels OpenBLAS should run here; null where its own choice is not worse.
const char* better_core(const std::string& chosen) {
#if defined(__x86_64__)
  // Releases before 0.3.25 take a processor newer than themselves for the oldest one.
  static constexpr const char* before_avx2[] = {
      "Katmai",       "Coppermine",  "Northwood",  "Prescott", "Banias",      "Atom",
      "Core2",        "Penryn",      "Dunnington", "Nehalem",  "Athlon",      "Opteron",
      "Opteron_SSE3", "Nano",        "Barcelona",  "Bobcat",   "Sandybridge", "Bulldozer",
      "Piledriver",   "Steamroller", "Excavator"};
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool old = avx512 && chosen == "Haswell";
  for (const char* name : before_avx2) old = old || chosen == name;
  if (old && avx512) return "SKYLAKEX";
  if (old && avx2) return "HASWELL";
#endif
  (void)chosen;
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

// ---- threads
// -------------------------------------------------------------------------------------

/// Below this many multiplications waking a second thread costs more than it brings.
constexpr double worth_threads = 4e6;

std::atomic<int>& allowed_threads() {
  static std::atomic<int> allowed = openblas_get_num_threads ? openblas_get_num_threads() : 1;
  return allowed;
}

/// A thread count of OpenMP is the user's program's as well: leave it alone between calls.
bool may_switch() {
  static const bool own_pool = openblas_set_num_threads && openblas_get_num_threads &&
                               openblas_get_parallel && openblas_get_parallel() == 1;
  return own_pool;
}

void use_threads(int n) {
  if (openblas_set_num_threads && openblas_get_num_threads() != n) openblas_set_num_threads(n);
}

#else
void cure_core() {}
constexpr double worth_threads = 0;
std::atomic<int>& allowed_threads() {
  static std::atomic<int> allowed = 1;
  return allowed;
}
bool may_switch() { return false; }
void use_threads(int) {}
#endif

}  // namespace

void kernels::prepare_product(double multiplications) {
  static const bool ready = (cure_core(), true);
  (void)ready;
  const int allowed = allowed_threads().load(std::memory_order_relaxed);
  if (allowed == 1 || !may_switch()) return;
  use_threads(multiplications < worth_threads ? 1 : allowed);
}

void set_num_threads(int n) {
  if (n < 1) throw Error("set_num_threads: needs at least 1 thread, got " + std::to_string(n));
  allowed_threads() = n;
  use_threads(n);
}

int get_num_threads() { return allowed_threads(); }

}  // namespace xgrad
