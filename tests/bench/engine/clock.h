// SPDX-License-Identifier: Apache-2.0
// Wall-clock seconds, and the seconds of this process on all processors.
#ifndef HEED_BENCH_CLOCK_H
#define HEED_BENCH_CLOCK_H

#include <ctime>

namespace bench {

inline double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double now() { return seconds_of(CLOCK_MONOTONIC); }
inline double process_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace bench

#endif  // HEED_BENCH_CLOCK_H
