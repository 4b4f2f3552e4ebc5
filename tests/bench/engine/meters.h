// SPDX-License-Identifier: Apache-2.0
// What the machine can do at this moment: products and sums per second in registers alone, and bytes per second read
// from memory. Clocks and neighbours drift, so that both are measured again beside every figure that is put in relation
// to them.
#ifndef HEED_BENCH_METERS_H
#define HEED_BENCH_METERS_H

#include <cstdint>
#include <string>

#include "meter_kernels.h"

namespace bench {

class Meters {
 public:
  // isa: as HEED_ISA; "" is the widest that the machine has.
  Meters(const std::string& isa, int threads);

  [[nodiscard]] const char* isa() const { return kernels_->name; }
  // Operations per second of all threads together, within about a millisecond.
  double peak_flops();
  // Bytes per second of all threads together: the best of one, two and four streams a thread.
  double read_bandwidth();

 private:
  const MeterKernels* kernels_;
  int threads_;
  int64_t repetitions_ = 1000;
};

}  // namespace bench

#endif  // HEED_BENCH_METERS_H
