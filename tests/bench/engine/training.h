// SPDX-License-Identifier: Apache-2.0
// Measures a case of training with a number of threads: forward, backward and the optimizer's step of heed, each with a time
// of its own, and forward and backward together of all peers, in turns.
#ifndef HEED_BENCH_TRAINING_H
#define HEED_BENCH_TRAINING_H

#include <string>
#include <vector>

#include "measure.h"

namespace bench {

struct TrainingResult {
  std::string skipped;  // the reason if nothing was measured, otherwise ""
  // The time of one call, medians of the rounds.
  double forward = 0;
  double backward = 0;
  double least_backward = 0;
  double most_backward = 0;
  double optimizer = 0;  // 0 without one
  // Medians of the rounds' shares and ratios.
  double peak_flops = 0;
  double forward_share_of_peak = 0;
  double share_of_peak = 0;       // of the backward
  double forwards = 0;            // the time of a backward over that of a forward
  double optimizer_of_step = 0;   // of forward, backward and optimizer
  double workspace_bytes = 0;     // of the backward
  double saved_bytes = 0;         // what the forward keeps
  std::vector<PeerResult> peers;  // their time over that of forward and backward, in order
  std::vector<std::string> refusals;
  int num_rounds = 0;
  int num_repeated = 0;
  int num_disturbed = 0;
};

TrainingResult measure_training(const BenchCase& bench_case, int threads, const Options& options);

}  // namespace bench

#endif  // HEED_BENCH_TRAINING_H
