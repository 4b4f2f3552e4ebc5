// SPDX-License-Identifier: Apache-2.0
// OpenMP's threads, on which some peers compute.
#ifndef HEED_BENCH_OPENMP_H
#define HEED_BENCH_OPENMP_H

namespace bench {

// Starts `threads` threads including the caller, each bound to its processor. Does nothing without OpenMP.
void use_openmp_threads(int threads);

}  // namespace bench

#endif  // HEED_BENCH_OPENMP_H
