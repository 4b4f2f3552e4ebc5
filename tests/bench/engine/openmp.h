// SPDX-License-Identifier: Apache-2.0
// The threads of OpenMP, which some peers compute with.
#ifndef HEED_BENCH_OPENMP_H
#define HEED_BENCH_OPENMP_H

namespace bench {

// Starts so many, the caller included, each where it is to stay. Without OpenMP it does nothing.
void use_openmp_threads(int threads);

}  // namespace bench

#endif  // HEED_BENCH_OPENMP_H
