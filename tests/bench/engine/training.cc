// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "data.h"
#include "meters.h"
#include "processors.h"
#include "rounds.h"
#include "torch_subjects.h"
#include "training_subjects.h"

namespace bench {
namespace {

std::vector<double> sum(std::vector<double> left, const std::vector<double>& right) {
  for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

double share_of_peak(double flops, const Rounds& rounds, const std::vector<double>& seconds) {
  std::vector<double> least;
  for (const double peak : rounds.peak_flops) least.push_back(flops / peak);
  return median_ratio(least, seconds);
}

void add_peers(const BenchCase& bench_case, const Data& data, int threads, Subjects* subjects,
               std::vector<std::string>* refusals) {
  Subjects peers = make_torch_subjects(bench_case, data, threads);
  for (const auto& part : *subjects) part->call();
  add_equal_peers(std::move(peers), subjects->back()->output(), HEED_F32, subjects, refusals);
}

}  // namespace

TrainingResult measure_training(const BenchCase& bench_case, int threads, const Options& options) {
  TrainingResult result;
  use_processors(threads);
  const double expected = expected_seconds(bench_case, threads);
  if (expected > options.longest_call) {
    result.skipped = "a forward would take about " + std::to_string(std::lround(std::ceil(expected))) + " s";
    return result;
  }
  const Data data(bench_case);
  const auto layer = std::make_shared<TrainingLayer>(bench_case, data, threads);
  result.workspace_bytes = static_cast<double>(layer->workspace_bytes());
  result.saved_bytes = static_cast<double>(layer->saved_bytes());
  Subjects subjects;
  for (const TrainingPart part : {TrainingPart::kForward, TrainingPart::kBackward})
    subjects.push_back(std::make_unique<TrainingSubject>(layer, part));
  if (options.with_peers(expected)) add_peers(bench_case, data, threads, &subjects, &result.refusals);
  const size_t optimizer = subjects.size();
  if (layer->has_optimizer()) subjects.push_back(std::make_unique<TrainingSubject>(layer, TrainingPart::kStep));

  RoundSettings settings;
  settings.seconds = options.quick ? 0 : options.seconds;
  Meters meters(options.isa, threads);
  const Rounds rounds = measure_rounds(subjects, settings, meters);

  const std::vector<double>& forward = rounds.seconds[0];
  const std::vector<double>& backward = rounds.seconds[1];
  const std::vector<double> both = sum(forward, backward);
  result.num_rounds = static_cast<int>(forward.size());
  result.num_repeated = rounds.num_repeated;
  result.num_disturbed = rounds.num_disturbed;
  result.forward = median(forward);
  result.backward = median(backward);
  result.least_backward = *std::min_element(backward.begin(), backward.end());
  result.most_backward = *std::max_element(backward.begin(), backward.end());
  result.peak_flops = median(rounds.peak_flops);
  result.forward_share_of_peak = share_of_peak(bench_case.flops(), rounds, forward);
  result.share_of_peak = share_of_peak(bench_case.backward_flops(), rounds, backward);
  result.forwards = median_ratio(backward, forward);
  if (layer->has_optimizer()) {
    result.optimizer = median(rounds.seconds[optimizer]);
    result.optimizer_of_step = median_ratio(rounds.seconds[optimizer], sum(both, rounds.seconds[optimizer]));
  }
  for (size_t i = 2; i < optimizer; ++i)
    result.peers.push_back({subjects[i]->name(), median(rounds.seconds[i]), median_ratio(rounds.seconds[i], both)});
  std::sort(result.peers.begin(), result.peers.end(),
            [](const PeerResult& a, const PeerResult& b) { return a.ratio < b.ratio; });
  return result;
}

}  // namespace bench
