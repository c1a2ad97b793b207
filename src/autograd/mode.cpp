#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>

#include "autograd/engine.hpp"

#if __has_include(<execinfo.h>) && __has_include(<dlfcn.h>)
#include <dlfcn.h>
#include <execinfo.h>
#define XGRAD_HAS_BACKTRACE 1
#endif

namespace xgrad {

namespace detail {

bool& recording() {
  constinit thread_local static bool on = true;
  return on;
}
bool& anomaly_mode() {
  constinit thread_local static bool on = false;
  return on;
}
bool& keeping_values() {
  constinit thread_local static bool on = false;
  return on;
}
const char*& running_operation() {
  constinit thread_local static const char* name = "backward";
  return name;
}

}  // namespace detail

bool is_grad_enabled() { return detail::recording(); }

// ---- where a forward call was -------------------------------------------------------------------

#ifdef XGRAD_HAS_BACKTRACE

std::vector<void*> detail::capture_call_stack() {
  std::vector<void*> frames(32);
  frames.resize(static_cast<std::size_t>(backtrace(frames.data(), 32)));
  return frames;
}

/// "Mlp::forward(...)", or for a function without an exported name the program and the address to
/// give to addr2line.
static std::string frame_name(void* frame) {
  Dl_info info{};
  if (dladdr(frame, &info) == 0) return "";
  if (info.dli_sname) {
    int status = 0;
    char* text = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    const std::string name = text ? text : info.dli_sname;
    std::free(text);
    return name;
  }
  char address[32];
  std::snprintf(
      address, sizeof address, "%#zx",
      static_cast<std::size_t>(static_cast<char*>(frame) - static_cast<char*>(info.dli_fbase)));
  return "addr2line -Cfpe " + std::string(info.dli_fname) + " " + address;
}

std::string detail::describe_call_stack(const std::vector<void*>& frames) {
  std::string text;
  int shown = 0;
  for (void* frame : frames) {
    const std::string name = frame_name(frame);
    // The user's own functions are what helps; the library's are between them and here.
    const bool ours = name.find("xgrad::") < name.find('(');
    if (name.empty() || (ours && shown == 0) || name.rfind("_start", 0) == 0) continue;
    text += "\n    " + name;
    if (++shown == 6) break;
  }
  return text.empty() ? text : " Its forward call was made from:" + text;
}

#else

std::vector<void*> detail::capture_call_stack() { return {}; }
std::string detail::describe_call_stack(const std::vector<void*>&) { return ""; }

#endif

}  // namespace xgrad
