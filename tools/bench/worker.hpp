#pragma once

#include <dlfcn.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "rows.hpp"

namespace bench {

/// What one side does for a row; without `run` it does not know the row.
struct Work {
  std::function<void()> run;
  std::function<void()> before{};  ///< each call of run, not timed
  std::function<double()> note{};  ///< asked once, after the first round: an accuracy
};

/// The processor time of this process, which other programs do not disturb; the wall clock when
/// several threads share the work.
inline double seconds(bool wall) {
  timespec t{};
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline double round_time(const Work& work, long calls, bool wall) {
  double spent = 0;
  if (!work.before) {
    const double start = seconds(wall);
    for (long i = 0; i < calls; ++i) work.run();
    return seconds(wall) - start;
  }
  for (long i = 0; i < calls; ++i) {
    work.before();
    const double start = seconds(wall);
    work.run();
    spent += seconds(wall) - start;
  }
  return spent;
}

/// The kernels OpenBLAS uses in this process; "?" with another BLAS library.
inline const char* blas_kernel() {
  using Name = char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name ? name() : "?";
}

/// The main of a side: for every number of calls read, one line with the seconds they took, the
/// page faults, the note and the BLAS kernel. Arguments: the row, and "wall" for the wall clock.
template <class Make>
int serve(int argc, char** argv, Make make) {
  if (argc < 3) return std::puts("started by xgrad-bench"), 2;
  const Work work = make(rows().at(std::strtoul(argv[1], nullptr, 10)));
  if (!work.run) return 3;
  const bool wall = argv[2] == std::string("wall");
  const auto faults = [] {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return use.ru_minflt;
  };
  double note = -1;
  for (long calls = 0; std::scanf("%ld", &calls) == 1;) {
    const long before = faults();
    const double time = round_time(work, calls, wall);
    const double missed = static_cast<double>(faults() - before) / static_cast<double>(calls);
    if (note < 0 && work.note) note = work.note();
    std::printf("%.9g %g %g %s\n", time, missed, note, blas_kernel());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace bench
