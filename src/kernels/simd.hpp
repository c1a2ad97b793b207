#pragma once

/// How kernels are compiled for several processors from one source. A kernel is a plain function
/// marked XGRAD_CLONES: the compiler makes a copy for the x86-64 baseline, one for AVX2 with FMA
/// (v3) and one for AVX-512 (v4), and the loader picks one. What it calls in its loops must be
/// XGRAD_INLINE, or it would be compiled for the baseline alone. Elsewhere both mean next to
/// nothing, as they do under sanitizers, whose runtime is not ready when the loader picks.

#include <cstdint>  // defines __GLIBC__, where loaders know how to pick

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XGRAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define XGRAD_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(XGRAD_SANITIZED) && \
    ((defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && __GNUC__ >= 12))
#define XGRAD_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define XGRAD_CLONES
#endif

#if defined(__GNUC__)
#define XGRAD_INLINE inline __attribute__((always_inline))
#else
#define XGRAD_INLINE inline
#endif
