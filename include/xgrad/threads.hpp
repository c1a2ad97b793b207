#pragma once

namespace xgrad {

/// How many threads the work on one tensor may use, from now on and in the whole process; work too
/// small to gain from it uses one. At first it is what OpenBLAS chose: all cores, or the number in
/// OPENBLAS_NUM_THREADS or OMP_NUM_THREADS. Results do not depend on it. Throws Error below 1.
///
/// There is one pool of threads: OpenBLAS, if built with its own, is told to use none of them.
/// Products by OpenBLAS built with OpenMP, or by another BLAS library, follow that library's rules.
void set_num_threads(int n);
int get_num_threads();  ///< the number in force

}  // namespace xgrad
