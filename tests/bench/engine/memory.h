// SPDX-License-Identifier: Apache-2.0
// The memory that heed needs for a case beyond inputs, outputs and weights: workspace, threads and everything else.
#ifndef HEED_BENCH_MEMORY_H
#define HEED_BENCH_MEMORY_H

#include "bench_case.h"
#include "options.h"

namespace bench {

// The growth of this process's resident memory, from before the workspace is created to the peak during calls. Only
// meaningful in a process that has done nothing else.
int64_t extra_memory(const BenchCase& bench_case, int threads);

// The same measured in a new process, which runs this program with --memory-of.
int64_t extra_memory_of_process(const BenchCase& bench_case, int threads, const Options& options);

}  // namespace bench

#endif  // HEED_BENCH_MEMORY_H
