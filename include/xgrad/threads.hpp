#pragma once

namespace xgrad {

/// How many threads a matrix product may use, from now on and in the whole process. At first it is
/// what the BLAS library chose: all cores, or the number in OPENBLAS_NUM_THREADS or
/// OMP_NUM_THREADS. Products too small to gain from it use one, as does everything else. Throws
/// Error below 1. Works with OpenBLAS; other BLAS libraries keep their own settings.
void set_num_threads(int n);
int get_num_threads();

}  // namespace xgrad
