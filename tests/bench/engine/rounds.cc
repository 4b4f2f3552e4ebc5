// SPDX-License-Identifier: Apache-2.0
// Rounds in which each subject has one turn.
#include "rounds.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "clock.h"
#include "disturbance.h"
#include "processors.h"

namespace bench {
namespace {

constexpr int kMostRepetitions = 3;
// Shorter calls are timed in batches, since otherwise the time for reading the clock would matter.
constexpr double kClockedAlone = 20e-6;
// Longer calls need no warm-up.
constexpr double kWarmUpBelow = 50e-3;

double time_calls(Subject& subject, int64_t calls) {
  if (subject.must_restore()) {
    double seconds = 0;
    for (int64_t i = 0; i < calls; ++i) {
      const double start = now();
      subject.call();
      seconds += now() - start;
      subject.restore();
    }
    return seconds / static_cast<double>(calls);
  }
  const double start = now();
  for (int64_t i = 0; i < calls; ++i) subject.call();
  return (now() - start) / static_cast<double>(calls);
}

// Calls the subject for about so many seconds, and returns the median of the times.
double turn(Subject& subject, double seconds, double estimate) {
  if (estimate < kWarmUpBelow) time_calls(subject, estimate < 1e-3 ? 3 : 1);
  const int64_t batch = estimate < kClockedAlone ? static_cast<int64_t>(kClockedAlone / estimate) + 1 : 1;
  const auto batches = std::max<int64_t>(1, static_cast<int64_t>(seconds / (static_cast<double>(batch) * estimate)));
  std::vector<double> times;
  for (int64_t i = 0; i < batches; ++i) times.push_back(time_calls(subject, batch));
  return median(times);
}

// One call of each subject.
Rounds call_once(const Subjects& subjects, const RoundSettings& settings, Meters& meters) {
  Rounds result;
  result.peak_flops = {meters.peak_flops()};
  result.handover = {meters.handover()};
  if (settings.read_meter) result.read_bandwidth = {meters.read_bandwidth()};
  for (const auto& subject : subjects) {
    wait_for_quiet();
    result.seconds.push_back({time_calls(*subject, 1)});
  }
  return result;
}

}  // namespace

void wait_for_quiet() {
  // Longer than any of the libraries spins.
  constexpr double kMostSeconds = 0.3;
  for (const double start = now(); now() - start < kMostSeconds;) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (num_threads_running() <= 1) return;
  }
}

Rounds measure_rounds(const Subjects& subjects, const RoundSettings& settings, Meters& meters) {
  if (settings.seconds <= 0) return call_once(subjects, settings, meters);
  Rounds result;
  result.seconds.resize(subjects.size());
  std::vector<double> estimates;
  for (const auto& subject : subjects) {
    wait_for_quiet();
    double estimate = time_calls(*subject, 1);
    // The first call may include work that later calls reuse.
    if (estimate < settings.seconds / 2) estimate = time_calls(*subject, 1);
    if (estimate < 1e-3) estimate = time_calls(*subject, 10);
    estimates.push_back(std::max(estimate, 50e-9));
  }
  const double longest = *std::max_element(estimates.begin(), estimates.end());
  const int num_rounds =
      std::clamp(static_cast<int>(settings.seconds / longest), settings.min_rounds, settings.max_rounds);
  const double turn_seconds = settings.seconds / num_rounds;
  std::string library;
  for (int round = 0; round < num_rounds; ++round) {
    wait_for_quiet();
    result.peak_flops.push_back(meters.peak_flops());
    result.handover.push_back(meters.handover());
    if (settings.read_meter) result.read_bandwidth.push_back(meters.read_bandwidth());
    for (size_t i = 0; i < subjects.size(); ++i) {
      double seconds = 0;
      bool disturbed = true;
      for (int repetition = 0; disturbed && repetition <= kMostRepetitions; ++repetition) {
        if (subjects[i]->library() != library) wait_for_quiet();
        library = subjects[i]->library();
        const DisturbanceWatch watch;
        const double measured = turn(*subjects[i], turn_seconds, estimates[i]);
        disturbed = watch.disturbed();
        // If all turns were disturbed, the shortest is the best estimate.
        seconds = repetition == 0 || !disturbed ? measured : std::min(seconds, measured);
        result.num_repeated += repetition > 0 ? 1 : 0;
      }
      result.num_disturbed += disturbed ? 1 : 0;
      result.seconds[i].push_back(seconds);
    }
  }
  return result;
}

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

double median_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(numerators.size(), denominators.size()); ++i) {
    ratios.push_back(numerators[i] / denominators[i]);
  }
  return median(ratios);
}

}  // namespace bench
