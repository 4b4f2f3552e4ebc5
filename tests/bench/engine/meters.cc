// SPDX-License-Identifier: Apache-2.0
// Runs the meters' loops on threads that start at the same time.
#include "meters.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "buffer.h"
#include "clock.h"
#include "processors.h"

namespace bench {
namespace {

// Several times the largest last-level cache.
constexpr int64_t kReadBytes = int64_t{256} << 20;
constexpr double kPeakSeconds = 1e-3;

const MeterKernels* kernels_of(const std::string& isa) {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx512 && (isa.empty() || isa.rfind("avx512", 0) == 0)) return &kAvx512Meters;
  if (avx2 && (isa.empty() || isa == "avx2")) return &kAvx2Meters;
#endif
  (void)isa;
  return &kBaselineMeters;
}

// Calls work(thread) on `threads` threads, which wait for each other before they start. Returns the seconds of each.
template <typename Work>
std::vector<double> together(int threads, const Work& work) {
  std::vector<double> seconds(threads);
  std::atomic<int> ready{0};
  const auto run = [&](int thread) {
    ++ready;
    while (ready.load() < threads) {
    }
    const double start = now();
    work(thread);
    seconds[thread] = now() - start;
  };
  std::vector<std::thread> others;
  {
    const StartingThreads elsewhere;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  }
  run(0);
  for (std::thread& other : others) other.join();
  return seconds;
}

}  // namespace

Meters::Meters(const std::string& isa, int threads) : kernels_(kernels_of(isa)), threads_(threads) {}

double Meters::peak_flops() {
  std::vector<float> sinks(threads_, 0.5F);
  std::vector<double> flops(threads_);
  const std::vector<double> seconds =
      together(threads_, [&](int thread) { flops[thread] = kernels_->multiply_add(repetitions_, &sinks[thread]); });
  double rate = 0;
  for (int thread = 0; thread < threads_; ++thread) rate += flops[thread] / seconds[thread];
  // Adjusts the repetitions so that the next measurement takes about the right time.
  const double longest = *std::max_element(seconds.begin(), seconds.end());
  const bool too_short = longest < kPeakSeconds / 2;
  repetitions_ =
      std::max<int64_t>(1000, static_cast<int64_t>(static_cast<double>(repetitions_) * kPeakSeconds / longest));
  return too_short ? peak_flops() : rate;
}

double Meters::read_bandwidth() {
  static const Buffer kMemory = make_buffer(kReadBytes);
  const int64_t share = kReadBytes / threads_ / 4096 * 4096;
  std::vector<float> sinks(threads_, 0.0F);
  double best = 0;
  for (const int streams : {1, 2, 4}) {
    const std::vector<double> seconds = together(threads_, [&](int thread) {
      kernels_->read(static_cast<const char*>(kMemory.get()) + thread * share, share, streams, &sinks[thread]);
    });
    double rate = 0;
    for (const double second : seconds) rate += static_cast<double>(share) / second;
    best = std::max(best, rate);
  }
  return best;
}

double Meters::handover() {
  if (threads_ < 2) return 0;
  constexpr int kTurns = 1000;
  std::atomic<int> turn{0};
  const std::vector<double> seconds = together(2, [&](int thread) {
    for (int i = thread; i < kTurns; i += 2) {
      while (turn.load(std::memory_order_acquire) != i) {
      }
      turn.store(i + 1, std::memory_order_release);
    }
  });
  return seconds[0] / kTurns;
}

}  // namespace bench
