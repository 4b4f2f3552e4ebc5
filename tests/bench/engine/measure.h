// SPDX-License-Identifier: Apache-2.0
// Measures one case with so many threads: heed and all peers, side by side.
#ifndef HEED_BENCH_MEASURE_H
#define HEED_BENCH_MEASURE_H

#include <string>
#include <vector>

#include "bench_case.h"
#include "options.h"

namespace bench {

struct PeerResult {
  std::string name;
  double seconds = 0;  // the median of the rounds
  double ratio = 0;    // of its time to heed's, the median of the rounds' ratios: above 1 heed is faster
};

struct Result {
  std::string skipped;  // why nothing was measured, or ""
  // heed's time of one call: over the rounds.
  double seconds = 0;
  double least = 0;
  double most = 0;
  double peak_flops = 0;      // of the meter, median of the rounds
  double share_of_peak = 0;   // median of the rounds' shares
  double read_bandwidth = 0;  // likewise, where the case is bound by memory
  double share_of_bandwidth = 0;
  double workspace_bytes = 0;
  std::string explanation;            // heed_layer_explain's
  double extra_bytes = 0;             // of memory beyond the tensors, at its peak
  std::vector<PeerResult> peers;      // the fastest first
  std::vector<std::string> refusals;  // peers that cannot do the case, or do another one, with the reason
  int num_rounds = 0;
  int num_repeated = 0;
  int num_disturbed = 0;
};

Result measure(const BenchCase& bench_case, int threads, const Options& options);

}  // namespace bench

#endif  // HEED_BENCH_MEASURE_H
