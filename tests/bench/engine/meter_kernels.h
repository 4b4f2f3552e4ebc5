// SPDX-License-Identifier: Apache-2.0
// The loops that the meters run on their threads, compiled once for each instruction set from meter_kernels-inl.h.
#ifndef HEED_BENCH_METER_KERNELS_H
#define HEED_BENCH_METER_KERNELS_H

#include <cstdint>

namespace bench {

struct MeterKernels {
  const char* name;
  // Products and sums in registers only. Returns the number of operations (a product and a sum are two).
  double (*multiply_add)(int64_t repetitions, float* sink);
  // Reads all of data as 1, 2 or 4 streams at the same time. num_bytes is a multiple of 4096.
  void (*read)(const void* data, int64_t num_bytes, int streams, float* sink);
};

extern const MeterKernels kBaselineMeters;
#if defined(__x86_64__)
extern const MeterKernels kAvx2Meters;
extern const MeterKernels kAvx512Meters;
#endif

}  // namespace bench

#endif  // HEED_BENCH_METER_KERNELS_H
