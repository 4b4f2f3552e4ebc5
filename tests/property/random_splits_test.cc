// SPDX-License-Identifier: Apache-2.0
// Rule 10 for random calls of every kind that are large enough to be spread over threads: the same bits on 1 to 8
// threads, of heed or of an executor, with a workspace and without, and for any part of a batch.
//
// A failing case prints its number. HEED_SPLIT_CASE runs it alone, HEED_SPLIT_CASES sets the number of cases.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "property/support/device.h"
#include "support/batch_part.h"
#include "support/random_case.h"

namespace heed::property {
namespace {

// An executor that starts at a random item, runs some items on threads of its own, and counts its calls.
class Host {
 public:
  explicit Host(uint64_t seed) : random_(seed) {}

  heed_executor executor(int64_t num_threads) {
    heed_executor result = HEED_EXECUTOR_INIT;
    result.parallel_for = parallel_for;
    result.num_threads = num_threads;
    result.user = this;
    return result;
  }
  int64_t num_calls() const { return num_calls_; }

 private:
  static void parallel_for(void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task) {
    auto& self = *static_cast<Host*>(user);
    ++self.num_calls_;
    const int64_t first = self.random_.below(num_items);
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < num_items; ++i) {
      const int64_t item = (first + i) % num_items;
      if (self.random_.chance(0.5)) {
        threads.emplace_back(run, task, item);
      } else {
        run(task, item);
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

  Random random_;
  int64_t num_calls_ = 0;
};

// Enlarges the choice to the largest sizes of random cases: up to 7 batch elements of up to 65 queries and 130 keys, in
// up to 4 heads, mostly of 16 elements and more.
void enlarge(Choice& choice, Random& random) {
  constexpr int32_t kLargeBatch = 3;
  constexpr int32_t kManyQueries = 5;
  constexpr int32_t kManyKeys = 6;
  constexpr int32_t kKeysAreQueries = 5;
  constexpr int32_t kHeadsOf16 = 3;
  constexpr int32_t kHeadsOf17 = 4;
  constexpr int32_t kHeadsOf64 = 5;
  choice[kBatch] = kLargeBatch;
  choice[kNumQueries] = kManyQueries;
  choice[kNumKeys] = choice[kKeys] == kKeysAreQueries ? kManyQueries : kManyKeys;
  if (choice[kHeadSize] < kHeadsOf16 && random.chance(0.7))
    choice[kHeadSize] = static_cast<int32_t>(kHeadsOf16 + random.below(kHeadsOf64 - kHeadsOf16 + 1));
  // A head of 17 elements is not rotated as a whole.
  if (choice[kRotarySlice] == 0 && choice[kHeadSize] == kHeadsOf17) choice[kHeadSize] = kHeadsOf16;
}

TEST(Rule10, RandomCallsGiveTheSameBitsHoweverTheyAreSplit) {
  constexpr int64_t kDefaultCases = 300;
  const int64_t num_cases = from_environment("HEED_SPLIT_CASES", kDefaultCases);
  const int64_t only = from_environment("HEED_SPLIT_CASE", -1);
  ChoiceSampler sampler(10);
  int64_t num_run = 0;
  int64_t num_spread = 0;
  for (int64_t number = 0; number < num_cases && !HasFailure(); ++number) {
    Choice choice = sampler.next();
    const auto seed = static_cast<uint64_t>(number);
    Random random(seed);
    enlarge(choice, random);
    if (only >= 0 && number != only) continue;
    SCOPED_TRACE("HEED_SPLIT_CASE=" + std::to_string(number) + "\n  " + describe(choice));
    Call call = make_call(choice, seed);
    call.num_threads = 1;
    const Results expected = run(call);

    for (int i = 0; i < 2; ++i) {
      call.num_threads = static_cast<int32_t>(2 + random.below(7));
      call.with_workspace = random.chance(0.5);
      EXPECT_TRUE(same_bits(run(call), expected)) << call.num_threads << " threads";
    }

    // Dropout's random numbers depend on the index in the batch, so with dropout a part must begin at batch element 0.
    const int64_t batch = sizes_of(call).batch;
    const bool drops = call.training != 0 && call.options.dropout != 0;
    const int64_t first = drops ? 0 : random.below(batch);
    const int64_t count = 1 + random.below(batch - first);
    Call part = part_of_batch(call, first, count);
    part.num_threads = static_cast<int32_t>(1 + random.below(8));
    EXPECT_TRUE(same_bits(run(part), part_of_batch(call, expected, first, count)))
        << "batch elements " << first << " to " << first + count - 1 << " of " << batch << ", " << part.num_threads
        << " threads";

    Host host(seed);
    const heed_executor executor = host.executor(2 + random.below(7));
    call.executor = &executor;
    call.num_threads = 0;
    EXPECT_TRUE(same_bits(run(call), expected)) << executor.num_threads << " threads of an executor";
    ++num_run;
    num_spread += host.num_calls() > 0;
  }
  // The other calls are too small to be spread: they have one small head, or rows that see few keys.
  if (only < 0 && !HasFailure()) {
    EXPECT_GT(num_spread, num_run / 4);
  }
}

}  // namespace
}  // namespace heed::property
