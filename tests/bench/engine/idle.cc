// SPDX-License-Identifier: Apache-2.0
// Calls with pauses.
#include "idle.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "clock.h"
#include "data.h"
#include "heed_subject.h"
#include "processors.h"
#include "rounds.h"

namespace bench {
namespace {

constexpr double kPause = 10e-3;

double median_call(HeedSubject& heed, int calls, const std::function<void()>& pause) {
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    pause();
    const double start = now();
    heed.call();
    times.push_back(now() - start);
  }
  return median(times);
}

}  // namespace

IdleResult measure_idle(const BenchCase& bench_case, int threads, double seconds) {
  IdleResult result;
  const Data data(bench_case);
  const auto at_once = [] {};
  const auto busy = [] {
    const double start = now();
    while (now() - start < kPause) {
    }
  };
  const auto asleep = [] { std::this_thread::sleep_for(std::chrono::duration<double>(kPause)); };

  int calls = 0;
  use_processors(1);
  {
    HeedSubject alone(bench_case, data, 1);
    alone.prepare();
    alone.call();
    const double call = median_call(alone, 2, at_once);
    calls = std::clamp(static_cast<int>(seconds / (kPause + call)), 2, 200);
    const double start = process_seconds();
    median_call(alone, calls, at_once);
    result.work = (process_seconds() - start) / calls;
  }
  use_processors(threads);
  HeedSubject heed(bench_case, data, threads);
  heed.prepare();
  heed.call();
  result.at_once = median_call(heed, calls, at_once);
  result.apart = median_call(heed, calls, busy);
  const double start = process_seconds();
  result.apart_asleep = median_call(heed, calls, asleep);
  result.processor = (process_seconds() - start) / calls;
  return result;
}

}  // namespace bench
