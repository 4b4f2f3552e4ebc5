// SPDX-License-Identifier: Apache-2.0
// Many queries against several key blocks (flash_attention): every rule, with numbers of queries next to the ends of
// query tiles and tasks, and numbers of keys next to the ends of key blocks.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/batch_part.h"
#include "support/flags.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Query rows for each key head: more than in few_queries_test.cc, next to multiples of a query tile (8 to 32 rows) and
// of a task (256 rows).
const std::vector<int64_t> kNumRows = {17, 31, 32, 33, 65, 257, 300};
// Next to multiples of a key block (256).
const std::vector<int64_t> kKeyCounts = {255, 256, 257, 511, 512, 513, 700};

// The rows belong to one query head, or to `group` heads that share keys and values.
Call call_of(int64_t batch, int64_t num_rows, int64_t group, int64_t num_keys, int64_t head_size,
             int64_t value_head_size, heed_dtype dtype, Random& random) {
  if (num_rows % group != 0) group = 1;
  const int64_t num_kv_heads = num_rows > 100 ? 1 : 2;
  return dot_product_call(
      {batch, num_kv_heads * group, num_kv_heads, num_rows / group, num_keys, head_size, value_head_size}, random,
      dtype);
}

TEST(ManyQueries, AgreeWithTheReferenceAtTheEndsOfBlocks) {
  Random random(2201);
  const int64_t head_sizes[] = {1, 3, 8, 16, 17, 20, 32};
  const int64_t groups[] = {1, 2, 3, 5, 17, 11, 8};
  int number = 0;
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (int64_t num_rows : kNumRows) {
      // The numbers of flags, of rows and of keys have no common factor: so each flag occurs with different sizes.
      for (int64_t num_keys : kKeyCounts) {
        const int flag = number % kNumFlags;
        const auto step = static_cast<size_t>(number);
        Call call = call_of(num_rows > 100 ? 1 : 2, num_rows, groups[step / 7 % 7], num_keys, head_sizes[step % 7],
                            head_sizes[(step / 7 + step) % 7], dtype, random);
        set_flag(call, flag, random);
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call))
            << "rows " << num_rows << ", keys " << num_keys << ", flag " << flag << ", dtype " << dtype;
        ++number;
      }
    }
  }
}

// Also with the weights, which the kernel computes in a second pass.
TEST(ManyQueries, NeitherThreadsNorTheBatchChangeABit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(2202);
  for (heed_dtype dtype : {HEED_F32, HEED_BF16}) {
    for (int flag = 0; flag < kNumFlags; ++flag) {
      const int64_t num_rows = flag % 2 == 0 ? 66 : 300;
      Call call = call_of(3, num_rows, 1 + flag % 3, 600, 24, 16, dtype, random);
      set_flag(call, flag, random);
      if (flag % 4 != 0) want_everything(call);
      call.num_threads = 1;
      const Results expected = run(call);
      for (int32_t num_threads : {2, 3, 8}) {
        call.num_threads = num_threads;
        EXPECT_TRUE(same_bits(run(call), expected)) << "threads " << num_threads << ", flag " << flag;
      }
      // Dropout's random numbers depend on the index in the batch, so with dropout a part must begin at batch element
      // 0.
      const int64_t first = call.training != 0 ? 0 : 2;
      Call part = part_of_batch(call, first, 1);
      part.num_threads = 2;
      EXPECT_TRUE(same_bits(run(part), part_of_batch(call, expected, first, 1))) << "flag " << flag;
    }
  }
}

}  // namespace
}  // namespace heed::property
