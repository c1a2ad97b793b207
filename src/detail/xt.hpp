#pragma once

/// xtensor's headers, which moved into folders with version 0.26. Inclusion costs seconds: only the
/// few files that need xtensor's own types do it.

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#endif
