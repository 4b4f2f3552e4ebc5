// SPDX-License-Identifier: Apache-2.0
#include "capi/support/failing_allocations.h"

#include <gtest/gtest.h>

#include "capi/support/refusal.h"
#include "support/platform/allocation_hook.h"

namespace heed::capi_test {
namespace {

// Far more allocations than any function makes.
constexpr int64_t kMaxAllocations = 20000;

// Runs once. False if the run made fewer than `first` allocations.
bool run_with_failure(const MakeScenario& make, int64_t first, bool later_too) {
  const std::unique_ptr<Scenario> scenario = make();
  forget_last_error();
  heed_status status = HEED_OK;
  bool happened = false;
  {
    const FailAllocations fail(first, later_too);
    status = scenario->run();
    happened = fail.happened();
  }
  if (!happened) {
    EXPECT_EQ(status, HEED_OK) << heed_last_error();
    return false;
  }
  if (status != HEED_OK || !scenario->can_do_without()) {
    EXPECT_TRUE(is_refused(status, {HEED_ERROR_OUT_OF_MEMORY, {}})) << "allocation " << first;
    scenario->expect_unchanged();
  }
  // The same objects work once there is memory again.
  EXPECT_EQ(scenario->run(), HEED_OK) << heed_last_error();
  return true;
}

int num_noted() { return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count(); }

}  // namespace

void expect_recovery(const char* what, const MakeScenario& make, int64_t step) {
  SCOPED_TRACE(what);
  run_with_failure(make, kMaxAllocations, false);  // allocates what is allocated only once in a process
  for (const bool later_too : {false, true}) {
    int64_t first = 1;
    for (; first < kMaxAllocations; first += step) {
      const int noted = num_noted();
      const int64_t live = num_live_blocks();
      const bool happened = run_with_failure(make, first, later_too);
      // GoogleTest allocates memory for each failure that it records.
      if (num_noted() != noted) return;
      EXPECT_EQ(num_live_blocks(), live) << "leaked after failing allocation " << first;
      if (!happened) break;
    }
    EXPECT_GT(first, 1) << "the function allocates nothing, so the scenario tests nothing";
    EXPECT_LT(first, kMaxAllocations);
  }
}

}  // namespace heed::capi_test
