// SPDX-License-Identifier: Apache-2.0
// Measures one case.
#include "measure.h"

#include <algorithm>
#include <cmath>

#include "clock.h"
#include "data.h"
#include "fail.h"
#include "heed_subject.h"
#include "memory.h"
#include "meters.h"
#include "peers.h"
#include "processors.h"
#include "rounds.h"

namespace bench {
namespace {

// About how many operations per second heed computes in such a case, estimated from a small one. So cases that take too
// long can be left out without running them.
double rough_rate(const BenchCase& bench_case) {
  BenchCase small = bench_case.kind == Kind::kCache ? bench_case.without_cache() : bench_case.without_positions();
  small.lengths.clear();
  small.cold = false;
  if (bench_case.kind == Kind::kLinear) {
    small.rows = std::min<int64_t>(small.rows, 16);
    small.inputs = std::min<int64_t>(small.inputs, 256);
    small.outputs = std::min<int64_t>(small.outputs, 256);
  } else {
    small.kind = Kind::kAttention;
    small.batch = 1;
    small.heads = small.kv_heads = 1;
    small.queries = std::min<int64_t>(small.queries, 64);
    small.keys = std::min<int64_t>(small.keys, 128);
    small.causal = false;
  }
  const Data data(small);
  HeedSubject heed(small, data, 1);
  heed.prepare();
  heed.call();
  double seconds = 1;
  for (int i = 0; i < 3; ++i) {
    const double start = now();
    heed.call();
    seconds = std::min(seconds, now() - start);
  }
  return small.flops() / seconds;
}

// Whether two results agree except for roundings: a peer must compute the same.
bool agree(const std::vector<float>& ours, const std::vector<float>& theirs, heed_dtype dtype,
           std::string* difference) {
  if (ours.size() != theirs.size()) {
    *difference = "another size of output";
    return false;
  }
  double largest = 0;
  double apart = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(ours[i])));
    const double here = std::abs(static_cast<double>(ours[i]) - theirs[i]);
    if (!(here <= apart)) apart = here;
  }
  // Far larger than rounding errors, and far smaller than the effect of a wrong mask, scale or head.
  const double allowed = (dtype == HEED_F32 ? 1e-3 : 2e-2) * largest;
  if (apart <= allowed) return true;
  *difference = "its output is " + std::to_string(apart) + " away from ours";
  return false;
}

}  // namespace

double expected_seconds(const BenchCase& bench_case, int threads) {
  return bench_case.flops() / rough_rate(bench_case) / threads;
}

void add_equal_peers(Subjects peers, const std::vector<float>& ours, heed_dtype dtype, Subjects* subjects,
                     std::vector<std::string>* refusals) {
  for (auto& peer : peers) {
    std::string difference;
    wait_for_quiet();
    peer->call();
    peer->restore();
    if (!peer->computes_the_same() || agree(ours, peer->output(), dtype, &difference)) {
      subjects->push_back(std::move(peer));
    } else {
      refusals->push_back(peer->name() + ": " + difference);
    }
  }
}

Result measure(const BenchCase& bench_case, int threads, const Options& options) {
  Result result;
  use_processors(threads);
  const double expected = expected_seconds(bench_case, threads);
  if (expected > options.longest_call) {
    result.skipped = "a call would take about " + std::to_string(std::lround(std::ceil(expected))) + " s";
    return result;
  }
  const Data data(bench_case);
  Subjects subjects;
  auto heed = std::make_unique<HeedSubject>(bench_case, data, threads);
  heed->prepare();
  result.workspace_bytes = static_cast<double>(heed->workspace_bytes());
  result.explanation = heed->explanation();
  subjects.push_back(std::move(heed));
  if (options.with_peers(expected)) {
    Subjects peers = make_peers(bench_case, data, threads, &result.refusals);
    subjects.front()->call();
    const std::vector<float> computed = subjects.front()->output();
    subjects.front()->restore();
    add_equal_peers(std::move(peers), computed, bench_case.dtype, &subjects, &result.refusals);
  }

  if (!options.quick) result.extra_bytes = static_cast<double>(extra_memory_of_process(bench_case, threads, options));

  RoundSettings settings;
  settings.seconds = options.quick ? 0 : options.seconds;
  settings.read_meter = bench_case.bound_by_memory();
  Meters meters(options.isa, threads);
  const Rounds rounds = measure_rounds(subjects, settings, meters);

  const std::vector<double>& ours = rounds.seconds[0];
  result.num_rounds = static_cast<int>(ours.size());
  result.num_repeated = rounds.num_repeated;
  result.num_disturbed = rounds.num_disturbed;
  result.seconds = median(ours);
  result.least = *std::min_element(ours.begin(), ours.end());
  result.most = *std::max_element(ours.begin(), ours.end());
  result.peak_flops = median(rounds.peak_flops);
  result.read_bandwidth = median(rounds.read_bandwidth);
  result.handover = median(rounds.handover);
  std::vector<double> least_at_peak;
  for (const double peak : rounds.peak_flops) least_at_peak.push_back(bench_case.flops() / peak);
  result.share_of_peak = median_ratio(least_at_peak, ours);
  std::vector<double> least_at_bandwidth;
  for (const double bandwidth : rounds.read_bandwidth)
    least_at_bandwidth.push_back(bench_case.streamed_bytes() / bandwidth);
  result.share_of_bandwidth = median_ratio(least_at_bandwidth, ours);
  for (size_t i = 1; i < subjects.size(); ++i) {
    result.peers.push_back({subjects[i]->name(), median(rounds.seconds[i]), median_ratio(rounds.seconds[i], ours)});
  }
  std::sort(result.peers.begin(), result.peers.end(),
            [](const PeerResult& a, const PeerResult& b) { return a.ratio < b.ratio; });
  return result;
}

}  // namespace bench
