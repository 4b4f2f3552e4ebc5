// SPDX-License-Identifier: Apache-2.0
// What it costs that heed's threads sleep between calls: calls that come 10 ms after each other, beside calls that come
// at once.
#ifndef HEED_BENCH_IDLE_H
#define HEED_BENCH_IDLE_H

#include "bench_case.h"

namespace bench {

// Seconds of one call, medians.
struct IdleResult {
  double at_once = 0;       // the next call follows at once: nobody has gone to sleep
  double apart = 0;         // 10 ms apart, in which the caller keeps its processor busy: heed's threads sleep
  double apart_asleep = 0;  // 10 ms apart, in which the caller sleeps, too: clocks and caches cool down as well
  double processor = 0;     // processor time of all threads from one of the last kind of calls to the next
  double work = 0;          // processor time of a call by one thread: what has to be done anyway
};

// seconds: for each of the three kinds of calls, about.
IdleResult measure_idle(const BenchCase& bench_case, int threads, double seconds);

}  // namespace bench

#endif  // HEED_BENCH_IDLE_H
