// SPDX-License-Identifier: Apache-2.0
// Measures subjects in turns, A B C A B C, so that slow changes of the machine affect all of them. The meters are read
// in every round.
#ifndef HEED_BENCH_ROUNDS_H
#define HEED_BENCH_ROUNDS_H

#include <vector>

#include "meters.h"
#include "subject.h"

namespace bench {

struct RoundSettings {
  // For each subject, over all rounds; a call is never interrupted. 0 for a single call without a warm-up.
  double seconds = 0.5;
  int min_rounds = 5;
  int max_rounds = 15;
  bool read_meter = false;  // whether to measure the read bandwidth
};

struct Rounds {
  // seconds[subject][round]: the median of the calls in its turn.
  std::vector<std::vector<double>> seconds;
  std::vector<double> peak_flops;      // one for each round
  std::vector<double> read_bandwidth;  // one for each round, or empty
  std::vector<double> handover;        // one for each round
  int num_repeated = 0;                // turns that were disturbed and measured again
  int num_disturbed = 0;               // turns that were disturbed every time, but are counted
};

// Waits until the threads of the previously called library have stopped spinning, up to a limit.
void wait_for_quiet();

Rounds measure_rounds(const Subjects& subjects, const RoundSettings& settings, Meters& meters);

double median(std::vector<double> numbers);
// The median of numerators[i] / denominators[i].
double median_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators);

}  // namespace bench

#endif  // HEED_BENCH_ROUNDS_H
