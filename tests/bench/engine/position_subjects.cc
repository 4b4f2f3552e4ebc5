// SPDX-License-Identifier: Apache-2.0
#include "position_subjects.h"

#include <map>
#include <memory>

#include "other_cases.h"
#include "rounds.h"

namespace bench {
namespace {

// A case for the batch elements of each length.
std::vector<BenchCase> cases_by_length(const BenchCase& bench_case) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t length : bench_case.lengths) ++counts[length];
  std::vector<BenchCase> cases;
  for (const auto& [length, count] : counts) {
    BenchCase one = bench_case.without_positions();
    one.lengths.clear();
    one.batch = count;
    one.queries = one.keys = length;
    cases.push_back(one);
  }
  return cases;
}

}  // namespace

Subjects make_position_subjects(const BenchCase& bench_case, int threads) {
  Subjects subjects;
  const auto add = [&](const char* name, const std::vector<BenchCase>& cases) {
    subjects.push_back(std::make_unique<OtherCases>(name, cases, threads, false));
  };
  BenchCase plain = bench_case.without_positions();
  if (!bench_case.packed) {
    add("heed plain", {plain});
  } else if (bench_case.kind == Kind::kAttention) {
    add("heed apart", cases_by_length(bench_case));
  } else {
    add("heed lengths", {plain});
    plain.as_mask = true;
    add("heed padded", {plain});
  }
  wait_for_quiet();
  return subjects;
}

}  // namespace bench
