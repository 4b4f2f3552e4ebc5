// SPDX-License-Identifier: Apache-2.0
// Measures one case with a number of threads: heed and all peers, in turns.
#ifndef HEED_BENCH_MEASURE_H
#define HEED_BENCH_MEASURE_H

#include <string>
#include <vector>

#include "bench_case.h"
#include "options.h"
#include "subject.h"

namespace bench {

struct PeerResult {
  std::string name;
  double seconds = 0;  // median of the rounds
  double ratio = 0;    // its time divided by heed's, as the median of the rounds' ratios: above 1 heed is faster
};

struct Result {
  std::string skipped;  // the reason if nothing was measured, otherwise ""
  // The time of one call of heed in each round.
  double seconds = 0;
  double least = 0;
  double most = 0;
  double peak_flops = 0;      // of the meter, median of the rounds
  double share_of_peak = 0;   // median of the rounds' shares
  double read_bandwidth = 0;  // likewise, if reading memory determines the time
  double share_of_bandwidth = 0;
  double handover = 0;  // of the meter, median of the rounds
  double workspace_bytes = 0;
  std::string explanation;            // the JSON of heed_layer_explain
  double extra_bytes = 0;             // peak memory beyond the tensors
  std::vector<PeerResult> peers;      // in order of their times
  std::vector<std::string> refusals;  // peers that cannot compute the case, or compute something else, with the reason
  int num_rounds = 0;
  int num_repeated = 0;
  int num_disturbed = 0;
};

// About how long a call of the forward would take. Ends a case that takes too long before it runs.
double expected_seconds(const BenchCase& bench_case, int threads);

// Adds the peers whose output is `ours` but for rounding; the others are named in *refusals.
void add_equal_peers(Subjects peers, const std::vector<float>& ours, heed_dtype dtype, Subjects* subjects,
                     std::vector<std::string>* refusals);

Result measure(const BenchCase& bench_case, int threads, const Options& options);

}  // namespace bench

#endif  // HEED_BENCH_MEASURE_H
