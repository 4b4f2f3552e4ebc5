// SPDX-License-Identifier: Apache-2.0
// cache_steps [--quick]: how evenly a cache grows. Prints a JSON object: for each layout the times of 512 calls that append
// one row each, across ends of pages and the end of a ring's memory, and the times of heed_cache_fork and
// heed_cache_rewind.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench_case.h"
#include "clock.h"
#include "data.h"
#include "fail.h"
#include "heed_subject.h"
#include "processors.h"

namespace {

struct Layout {
  const char* name;
  int32_t layout;
  int64_t page_size;
};

constexpr Layout kLayouts[] = {
    {"contiguous", HEED_CACHE_CONTIGUOUS, 0}, {"pages of 64 rows", HEED_CACHE_PAGED, 64}, {"ring", HEED_CACHE_RING, 0}};

// So few key heads that a step is short, and what a new page takes can be seen.
bench::BenchCase case_of(const Layout& layout, int64_t rows) {
  bench::BenchCase one;
  one.kind = bench::Kind::kCache;
  one.heads = 8;
  one.kv_heads = 2;
  one.keys = rows;
  one.head_size = one.value_size = 128;
  one.embedding = bench::kCacheInputs;
  one.cache_layout = layout.layout;
  one.page_size = layout.page_size;
  one.appends = true;
  return one;
}

double part_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// The largest time of a step divided by the median of the steps around it: steps become longer as the sequence does.
double largest_jump(const std::vector<double>& steps) {
  constexpr size_t kAround = 16;
  double largest = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto first = steps.begin() + static_cast<int64_t>(i < kAround ? 0 : i - kAround);
    const auto last = steps.begin() + static_cast<int64_t>(std::min(steps.size(), i + kAround + 1));
    largest = std::max(largest, steps[i] / part_of(std::vector<double>(first, last), 0.5));
  }
  return largest;
}

// The seconds of each step: the least of the rounds, each with a new cache. What delays the same step in all rounds
// counts, and what the machine delays does not.
std::vector<double> time_steps(bench::BenchCase one, int64_t num_steps, int rounds) {
  constexpr int64_t kWarmingSteps = 16;
  one.room = kWarmingSteps + num_steps;
  std::vector<std::vector<double>> times(num_steps);
  for (int round = 0; round < rounds; ++round) {
    const bench::Data data(one);
    bench::HeedSubject heed(one, data, 1);
    heed.prepare();
    // The first calls take longer: the processor's caches hold nothing of the cache, and the core's frequency is still low.
    for (int64_t step = 0; step < kWarmingSteps; ++step) heed.call();
    for (std::vector<double>& step : times) {
      const double start = bench::now();
      heed.call();
      step.push_back(bench::now() - start);
    }
  }
  std::vector<double> steps;
  for (const std::vector<double>& step : times) steps.push_back(part_of(step, 0));
  return steps;
}

struct Change {
  double fork;
  double rewind;
};

// Medians of the seconds to fork all rows of a sequence, and to empty the fork.
Change time_changes(int64_t page_size, int64_t rows, int calls) {
  bench::BenchCase one = case_of({"", HEED_CACHE_PAGED, page_size}, rows);
  one.batch = 2;
  one.forked = true;
  const bench::Data data(one);
  heed_cache* cache = data.caches[0].get();
  std::vector<double> forks;
  std::vector<double> rewinds;
  bench::check(heed_cache_rewind(cache, 1, 0));
  for (int call = 0; call < calls; ++call) {
    const double start = bench::now();
    bench::check(heed_cache_fork(cache, 0, rows, 1));
    const double forked = bench::now();
    bench::check(heed_cache_rewind(cache, 1, 0));
    rewinds.push_back(bench::now() - forked);
    forks.push_back(forked - start);
  }
  return {part_of(forks, 0.5), part_of(rewinds, 0.5)};
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc != (is_quick ? 2 : 1)) bench::fail("usage: cache_steps [--quick]");
  const int64_t rows = is_quick ? 512 : 4096;
  constexpr int64_t kSteps = 512;
  bench::use_processors(1);
  std::printf("{\"cache\": {\"rows\": %lld, \"steps\": [", static_cast<long long>(rows));
  for (const Layout& layout : kLayouts) {
    const std::vector<double> steps = time_steps(case_of(layout, rows), kSteps, is_quick ? 1 : 10);
    std::printf(R"(%s{"layout": "%s", "median_us": %.2f, "most_of_99_us": %.2f, "most_us": %.2f, "jump": %.3f})",
                &layout == kLayouts ? "" : ",\n", layout.name, 1e6 * part_of(steps, 0.5), 1e6 * part_of(steps, 0.99),
                1e6 * part_of(steps, 1), largest_jump(steps));
  }
  std::printf("],\n\"changes\": [");
  for (const int64_t page_size : {64, 16}) {
    const Change change = time_changes(page_size, rows, is_quick ? 10 : 2001);
    std::printf(R"(%s{"page_size": %lld, "fork_us": %.3f, "rewind_us": %.3f})", page_size == 64 ? "" : ",\n",
                static_cast<long long>(page_size), 1e6 * change.fork, 1e6 * change.rewind);
  }
  std::printf("]}}\n");
  return 0;
}
