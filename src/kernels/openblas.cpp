#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "detail/message.hpp"
#include "kernels/blas.hpp"
#include "xgrad/threads.hpp"

#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

// What OpenBLAS exports beyond BLAS: null with any other BLAS library.
#if defined(__GNUC__) && defined(__ELF__)
extern "C" {
[[gnu::weak]] void sgemm_(const char*, const char*, const int*, const int*, const int*,
                          const float*, const float*, const int*, const float*, const int*,
                          const float*, float*, const int*);
[[gnu::weak]] void dgemm_(const char*, const char*, const int*, const int*, const int*,
                          const double*, const double*, const int*, const double*, const int*,
                          const double*, double*, const int*);
[[gnu::weak]] char* openblas_get_config(void);
[[gnu::weak]] char* openblas_get_corename(void);
[[gnu::weak]] int openblas_get_parallel(void);
[[gnu::weak]] int openblas_get_num_threads(void);
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] int blas_thread_shutdown_(void);
[[gnu::weak]] void gotoblas_dynamic_quit(void);
[[gnu::weak]] void gotoblas_dynamic_init(void);
}
#else
constexpr void (*sgemm_)(...) = nullptr;
constexpr void (*dgemm_)(...) = nullptr;
constexpr char* (*openblas_get_config)() = nullptr;
constexpr char* (*openblas_get_corename)() = nullptr;
constexpr int (*openblas_get_parallel)() = nullptr;
constexpr int (*openblas_get_num_threads)() = nullptr;
constexpr void (*openblas_set_num_threads)(int) = nullptr;
constexpr int (*blas_thread_shutdown_)() = nullptr;
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

/// Products of matrices of rank one, whose elements are small whole numbers and so exact, into
/// memory full of NaN: of a size for OpenBLAS's small kernels, and of one for the others.
template <class T, class Gemm>
bool multiplies_right(Gemm gemm) {
  const auto small = [](int i, int range) {
    const int value = i % range - range / 2;
    return static_cast<T>(value);
  };
  const T one = 1, zero = 0;
  for (const auto& [n, m, k] : {std::array{9, 21, 11}, std::array{130, 121, 70}}) {
    const auto vector = [](int size, T value) {
      return std::vector<T>(static_cast<std::size_t>(size), value);
    };
    std::vector<T> a = vector(n * k, 0), b = vector(k * m, 0);
    const auto at = [](std::vector<T>& x, int i) -> T& { return x[static_cast<std::size_t>(i)]; };
    for (const bool turn_a : {false, true}) {
      for (const bool turn_b : {false, true}) {  // in columns, as Fortran has it
        for (int p = 0; p < k; ++p) {
          for (int i = 0; i < n; ++i)
            at(a, turn_a ? i * k + p : p * n + i) = small(i, 5) * small(p, 7);
          for (int j = 0; j < m; ++j)
            at(b, turn_b ? p * m + j : j * k + p) = small(p, 7) * small(j, 9);
        }
        std::vector<T> c = vector(n * m, std::numeric_limits<T>::quiet_NaN());
        gemm(turn_a ? "T" : "N", turn_b ? "T" : "N", &n, &m, &k, &one, a.data(), turn_a ? &k : &n,
             b.data(), turn_b ? &m : &k, &zero, c.data(), &n);
        T square = 0;
        for (int p = 0; p < k; ++p) square += small(p, 7) * small(p, 7);
        for (int j = 0; j < m; ++j) {
          for (int i = 0; i < n; ++i) {
            if (at(c, j * n + i) != square * small(i, 5) * small(j, 9)) return false;
          }
        }
      }
    }
  }
  return true;
}

void choose_core(const char* core) {
  setenv("OPENBLAS_CORETYPE", core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

/// Makes OpenBLAS choose again, with a hint, where its choice is several times too slow, and undoes
/// that should the new kernels multiply wrongly. Whoever set OPENBLAS_CORETYPE keeps what they
/// asked for. Returns what happened, for show_config().
std::string cure_core() {
  if (!openblas_get_corename || !gotoblas_dynamic_quit || !gotoblas_dynamic_init) return "";
  if (std::getenv("OPENBLAS_CORETYPE")) return " (from OPENBLAS_CORETYPE)";
  const std::string chosen = openblas_get_corename();
  const char* core = better_core(chosen);
  if (!core) return "";
  choose_core(core);
  if (multiplies_right<float>(sgemm_) && multiplies_right<double>(dgemm_)) {
    return " (instead of " + chosen + ", which OpenBLAS had taken this processor for)";
  }
  choose_core(chosen.c_str());
  return " (quicker " + std::string(core) + " multiplies wrongly here)";
}

/// Made before the first product.
struct Library {
  const std::string core_from = cure_core();
  std::atomic<int> allowed{1};
  bool ours = false;  // one thread runs the whole of a call: the threads are ours
  bool likes_pieces = false;

  Library() {
    if (!openblas_set_num_threads || !openblas_get_num_threads) return;
    allowed = openblas_get_num_threads();
    ours = openblas_get_parallel && openblas_get_parallel() != 2;  // 2: OpenMP's
    if (ours) use(1);
    // Its threads would look for work for their first tenth of a second, on a processor that ours
    // need. It starts them again for whoever asks it for more than one.
    if (ours && blas_thread_shutdown_) blas_thread_shutdown_();
    const std::string core = openblas_get_corename ? openblas_get_corename() : "";
    likes_pieces = core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids";
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

kernels::Blas kernels::prepare_product() {
  const Library& blas = library();
  if (blas.ours) blas.use(1);
  const int allowed = blas.allowed.load(std::memory_order_relaxed);
  return {blas.likes_pieces, blas.ours ? allowed : 1};
}

void set_num_threads(int n) {
  throw_if<Error>(n < 1, "set_num_threads: needs at least 1 thread, got ", n);
  library().allowed = n;
  if (!library().ours) library().use(n);
}

int get_num_threads() { return library().allowed; }

/// "OpenBLAS 0.3.21, kernel SkylakeX", or the file of another library.
std::string kernels::describe_blas() {
  std::string text = "none: plain loops";
  if (openblas_get_config && openblas_get_corename) {
    const std::string config = openblas_get_config();  // its name, its release, then its settings
    text = config.substr(0, config.find(' ', config.find(' ') + 1)) + ", kernel ";
    return text + openblas_get_corename() + library().core_from;
  }
#if __has_include(<dlfcn.h>)
  Dl_info info{};
  if (sgemm_ && dladdr(reinterpret_cast<void*>(sgemm_), &info) != 0) text = info.dli_fname;
#endif
  return text;
}

}  // namespace xgrad
