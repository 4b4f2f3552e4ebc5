// SPDX-License-Identifier: Apache-2.0
// The current limits of the machine: products and sums per second in registers alone, and bytes per second read from
// memory. Clock rates and other virtual machines' load change, so both are measured again beside every result that is
// related to them.
#ifndef HEED_BENCH_METERS_H
#define HEED_BENCH_METERS_H

#include <cstdint>
#include <string>

#include "meter_kernels.h"

namespace bench {

class Meters {
 public:
  // isa: as in HEED_ISA; "" is the machine's widest.
  Meters(const std::string& isa, int threads);

  [[nodiscard]] const char* isa() const { return kernels_->name; }
  // Operations per second of all threads together. Takes about a millisecond.
  double peak_flops();
  // Bytes per second of all threads together: the best of one, two and four streams per thread.
  double read_bandwidth();
  // Seconds until another thread sees what one thread has written; 0 for a single thread. On a virtual machine whose
  // host moves it between cores, it can vary by a factor of several.
  double handover();

 private:
  const MeterKernels* kernels_;
  int threads_;
  int64_t repetitions_ = 1000;
};

}  // namespace bench

#endif  // HEED_BENCH_METERS_H
