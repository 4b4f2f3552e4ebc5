// SPDX-License-Identifier: Apache-2.0
// What the meters run in their threads, compiled once per instruction set from meter_kernels-inl.h.
#ifndef HEED_BENCH_METER_KERNELS_H
#define HEED_BENCH_METER_KERNELS_H

#include <cstdint>

namespace bench {

struct MeterKernels {
  const char* name;
  // Products and sums in registers alone; returns how many operations that were (a product and a sum are two).
  double (*multiply_add)(int64_t repetitions, float* sink);
  // Reads all of data in so many places at once (1, 2 or 4). num_bytes is a multiple of 4096.
  void (*read)(const void* data, int64_t num_bytes, int streams, float* sink);
};

extern const MeterKernels kBaselineMeters;
#if defined(__x86_64__)
extern const MeterKernels kAvx2Meters;
extern const MeterKernels kAvx512Meters;
#endif

}  // namespace bench

#endif  // HEED_BENCH_METER_KERNELS_H
