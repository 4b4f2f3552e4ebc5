// SPDX-License-Identifier: Apache-2.0
// Times subjects in turns, A B C A B C, so that what drifts drifts for all of them, with the meters read in every
// round.
#ifndef HEED_BENCH_ROUNDS_H
#define HEED_BENCH_ROUNDS_H

#include <vector>

#include "meters.h"
#include "subject.h"

namespace bench {

struct RoundSettings {
  // For each subject, over all rounds; a call is never cut short. 0 for a single one, without anything before it.
  double seconds = 0.5;
  int min_rounds = 5;
  int max_rounds = 15;
  bool read_meter = false;  // whether the memory's bandwidth is of interest
};

struct Rounds {
  // seconds[subject][round]: the median of the calls in its turn.
  std::vector<std::vector<double>> seconds;
  std::vector<double> peak_flops;      // one a round
  std::vector<double> read_bandwidth;  // one a round, or none
  std::vector<double> handover;        // one a round
  int num_repeated = 0;                // turns that were disturbed and measured again
  int num_disturbed = 0;               // turns that stayed disturbed: counted all the same
};

// Waits until the threads of the library that was called last have stopped to spin, as long as that ends soon.
void wait_for_quiet();

Rounds measure_rounds(const Subjects& subjects, const RoundSettings& settings, Meters& meters);

double median(std::vector<double> numbers);
// Element by element, numerators over denominators; their median.
double median_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators);

}  // namespace bench

#endif  // HEED_BENCH_ROUNDS_H
