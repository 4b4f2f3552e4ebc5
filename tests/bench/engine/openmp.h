// SPDX-License-Identifier: Apache-2.0
// What is called here of OpenMP, which some peers have their threads from. GCC's omp.h is out of other tools' sight.
#ifndef HEED_BENCH_OPENMP_H
#define HEED_BENCH_OPENMP_H

extern "C" void omp_set_num_threads(int num_threads);

#endif  // HEED_BENCH_OPENMP_H
