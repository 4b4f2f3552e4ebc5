// SPDX-License-Identifier: Apache-2.0
// The cost of heed's threads sleeping between calls: compares calls 10 ms apart with calls that follow each other
// directly.
#ifndef HEED_BENCH_IDLE_H
#define HEED_BENCH_IDLE_H

#include "bench_case.h"

namespace bench {

// Seconds of one call, medians.
struct IdleResult {
  double at_once = 0;  // the next call follows directly, so that no thread goes to sleep
  double apart = 0;    // 10 ms apart; meanwhile the caller keeps its processor busy and heed's threads sleep
  // 10 ms apart; meanwhile the caller sleeps, too, so clock rates and caches are also affected.
  double apart_asleep = 0;
  double processor = 0;  // processor time of all threads from one call of the last kind to the next
  double work = 0;       // processor time of a call on one thread, the necessary work
};

// seconds: about how long to measure each of the three kinds of calls.
IdleResult measure_idle(const BenchCase& bench_case, int threads, double seconds);

}  // namespace bench

#endif  // HEED_BENCH_IDLE_H
