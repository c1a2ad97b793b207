#pragma once

/// How kernels are compiled for several processors from one source. A kernel is a plain function
/// marked XGRAD_CLONES: the compiler makes a copy for the x86-64 baseline, one for AVX2 with FMA
/// (v3) and one for AVX-512 (v4), and the loader picks one. What it calls in its loops must be
/// XGRAD_INLINE, or it would be compiled for the baseline alone.
///
/// Elsewhere there is one copy only: in builds for one instruction set (the option XGRAD_SIMD),
/// under sanitizers, whose runtime is not ready when the loader picks, and with Clang, which (14)
/// picks clones named by arch= through a wrong comparison and hides them from callers in other
/// files.

#include <cstdint>  // defines __GLIBC__, where loaders know how to pick

#if !defined(XGRAD_ONE_LEVEL) && defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) &&                     \
    !defined(__SANITIZE_THREAD__)
#define XGRAD_CLONED
#define XGRAD_CLONES [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define XGRAD_CLONES
#endif

#if defined(__GNUC__)
#define XGRAD_INLINE [[gnu::always_inline]] inline
#else
#define XGRAD_INLINE inline
#endif
