/// Preloaded (LD_PRELOAD) into the program under test: kills it, or lets it see a full disk, at a
/// chosen call of a save. The program itself knows nothing of this.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "plan.hpp"

namespace {

Plan* plan() {
  static Plan* const shared = [] {
    const char* path = std::getenv("XGRAD_FAULT_PLAN");
    const int file = path ? ::open64(path, O_RDWR) : -1;
    void* memory = file < 0
                       ? MAP_FAILED
                       : mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Plan*>(memory);
  }();
  return shared;
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool is_saved(const char* path) { return std::strstr(path, ".safetensors") != nullptr; }

/// Counts the call. True: it must fail, with errno set.
bool must_fail() {
  Plan& p = *plan();
  const int call = ++p.calls;
  if (p.fault != Plan::error || call < p.at) return false;
  errno = p.number;
  return true;
}

void die_if_due(Plan::Fault fault) {
  if (plan()->fault == fault && plan()->calls == plan()->at) kill(getpid(), SIGKILL);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  static const auto real = next<int (*)(const char*, int, mode_t)>("open");
  if (!plan() || (flags & O_WRONLY) == 0 || !is_saved(path)) return real(path, flags, mode);
  plan()->inside = true;
  if (must_fail()) return -1;
  const int file = real(path, flags, mode);
  die_if_due(Plan::kill_after);
  return file;
}

extern "C" ssize_t write(int file, const void* bytes, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (!plan() || !plan()->inside || file <= 2) return real(file, bytes, size);
  if (must_fail()) return -1;
  if (plan()->fault == Plan::kill_in_write && plan()->calls == plan()->at) {
    real(file, bytes, size / 2);
    kill(getpid(), SIGKILL);
  }
  const ssize_t done = real(file, bytes, size);
  die_if_due(Plan::kill_after);
  return done;
}

namespace {
long renamed_step = -1;  // not yet known to be on the disk
}

extern "C" int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  if (!plan() || !is_saved(to)) return real(from, to);
  if (must_fail()) return -1;
  const int status = real(from, to);
  const char* name = std::strstr(to, "/step-");
  if (status == 0 && name) renamed_step = std::atol(name + 6);
  die_if_due(Plan::kill_after);
  return status;
}

extern "C" int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  if (!plan() || !plan()->inside) return real(file);
  if (must_fail()) return -1;
  const int status = real(file);
  die_if_due(Plan::kill_after);
  if (renamed_step >= 0) {  // this was the folder
    plan()->last_step = renamed_step;
    plan()->inside = false;
    renamed_step = -1;
  }
  return status;
}
