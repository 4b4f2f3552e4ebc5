// SPDX-License-Identifier: Apache-2.0
// Random calls of every kind against the f64 reference, within the bound of rule 15, until every pair of option values
// has occurred.
//
// A failing case prints its seed and number. To run it alone:
//   HEED_PROPERTY_SEED=<seed> HEED_PROPERTY_CASE=<number> property_random_cases --gtest_filter='RandomCases.*'
// HEED_PROPERTY_CASES sets the number of cases. With HEED_PROPERTY_DIVISOR fewer run, and not every pair occurs.
#include <gtest/gtest.h>

#include <iomanip>
#include <iostream>
#include <string>

#include "property/support/device.h"
#include "support/random_case.h"

namespace heed::property {
namespace {

constexpr int64_t kDefaultCases = 4000;
constexpr int64_t kDefaultSeed = 20240611;

// Runs the sampler's cases, which must cover all pairs of option values. Stops after five failures.
void run_cases(ChoiceSampler sampler, int64_t seed, int64_t all_cases) {
  const int64_t num_cases = num_rounds(all_cases);
  const int64_t only = from_environment("HEED_PROPERTY_CASE", -1);
  AccuracyStatistics statistics;
  int64_t num_run = 0;
  int64_t num_failures = 0;
  for (int64_t number = 0; number < num_cases && num_failures < 5; ++number) {
    const Choice choice = sampler.next();
    if (only >= 0 && number != only) continue;
    const std::string story = "HEED_PROPERTY_SEED=" + std::to_string(seed) +
                              " HEED_PROPERTY_CASE=" + std::to_string(number) + "\n  " + describe(choice);
    const Call call = make_call(choice, static_cast<uint64_t>(seed * 1000003 + number));
    AccuracyStatistics of_case;
    testing::AssertionResult verdict = testing::AssertionSuccess();
    try {
      verdict = agrees_with_reference(call, &of_case);
    } catch (const std::exception& failure) {
      verdict = testing::AssertionFailure() << failure.what();
    }
    EXPECT_TRUE(verdict) << story;
    num_failures += !verdict;
    of_case.where += " of " + std::to_string(number);
    statistics.add(of_case);
    ++num_run;
  }

  const PairCoverage& coverage = sampler.coverage();
  std::cout << num_run << " cases, " << statistics.elements << " elements, largest used fraction of the bound "
            << std::setprecision(3) << statistics.largest_fraction << " (" << statistics.where << "), without a bound "
            << statistics.without_bound << "\n"
            << "pairs of option values: " << coverage.num_covered() << " of " << coverage.num_possible() << " ("
            << std::setprecision(5)
            << 100.0 * static_cast<double>(coverage.num_covered()) / static_cast<double>(coverage.num_possible())
            << " %); " << coverage.num_impossible() << " exclude each other\n";
  // On Ascend projections of large numbers overflow in F16; such elements have no bound.
  EXPECT_LE(statistics.without_bound, on_ascend() ? statistics.elements / 20 : 0);
  if (only >= 0 || num_cases < all_cases) return;
  EXPECT_EQ(coverage.num_covered(), coverage.num_possible());
  for (const PairCoverage::Pair& pair : coverage.missing()) ADD_FAILURE() << "not covered: " << describe(pair);
}

TEST(RandomCases, AgreeWithTheReferenceForEveryPairOfOptions) {
  const int64_t seed = from_environment("HEED_PROPERTY_SEED", kDefaultSeed);
  run_cases(ChoiceSampler(static_cast<uint64_t>(seed)), seed, from_environment("HEED_PROPERTY_CASES", kDefaultCases));
}

// Excludes the option values that Ascend has no operations for. The device must compute every call without the CPU's
// help.
TEST(RandomCases, AgreeWithTheReferenceWhollyOnTheDevice) {
  if (!on_ascend()) GTEST_SKIP() << "the CPU does all";
  const int64_t seed = from_environment("HEED_PROPERTY_SEED", kDefaultSeed);
  const int64_t num_refused_before = num_refused();
  run_cases(ChoiceSampler(static_cast<uint64_t>(seed), left_to_the_cpu()), seed,
            from_environment("HEED_PROPERTY_CASES", kDefaultCases));
  EXPECT_EQ(num_refused(), num_refused_before);
}

}  // namespace
}  // namespace heed::property
