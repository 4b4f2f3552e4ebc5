// SPDX-License-Identifier: Apache-2.0
// Few queries against many keys, which have their own kernel (decode_attention): every rule, with numbers of keys next
// to the ends of key blocks and chunks.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/batch_part.h"
#include "support/flags.h"
#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Next to multiples of a vector, of a key block (256 keys) and of a chunk (1024 keys).
const std::vector<int64_t> kKeyCounts = {1,   2,   4,   5,   9,    16,   100,  255,  256,
                                         257, 259, 511, 513, 1023, 1024, 1025, 1300, 2049};

TEST(FewQueries, AgreeWithTheReferenceAtTheEndsOfBlocks) {
  Random random(2101);
  const int64_t head_sizes[] = {1, 3, 16, 17, 64, 80, 128};
  // Up to 16 rows for each key head: on some ISAs a task has 4 or 8, so there are several tasks.
  const std::vector<int64_t> groups = {1, 2, 3, 4, 7, 8};
  int number = 0;
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (int64_t num_keys : kKeyCounts) {
      // One third of the flags; the next number of keys and the next dtype take a different third.
      for (int flag = (number + dtype) % 3; flag < kNumFlags; flag += 3, ++number) {
        const int64_t group = groups[static_cast<size_t>(number % 6)];
        const int64_t num_queries = 1 + number / 6 % (16 / group);
        Call call = dot_product_call(
            {2, 2 * group, 2, num_queries, num_keys, head_sizes[number % 7], head_sizes[(number / 7 + number) % 7]},
            random, dtype);
        set_flag(call, flag, random);
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call))
            << "keys " << num_keys << ", flag " << flag << ", group " << group << ", dtype " << dtype;
      }
    }
  }
}

// At most 64 chunks: with more keys than 64 x 1024, chunks get longer.
TEST(FewQueries, AgreeWithTheReferenceForVeryManyKeys) {
  Random random(2102);
  for (int64_t num_keys : {65536, 65537, 140000}) {
    Call call = dot_product_call({1, 2, 1, 1, num_keys, 2, 3}, random);
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call)) << num_keys;
    const Results expected = run(call);
    call.num_threads = 4;
    EXPECT_TRUE(same_bits(run(call), expected));
  }
}

TEST(FewQueries, InUnusualLayouts) {
  Random random(2103);
  for (Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed, Layout::Repeated}) {
    for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (int64_t size : {5, 16, 20, 64}) {
        Call call = dot_product_call({2, 4, 2, 2, 300, size, size + 3}, random, dtype);
        for (std::optional<Input>* input : {&call.keys, &call.values}) {
          const Dims dims = (*input)->contents.dims;
          *input = make_input((*input)->contents, dtype, make_strides(layout, dims, random));
        }
        call.queries =
            make_input(call.queries.contents, dtype, make_strides(layout, call.queries.contents.dims, random));
        want_everything(call);
        EXPECT_TRUE(agrees_with_reference(call));
      }
    }
  }
}

// Batches of 5 and 9 batch elements: if there are few tasks, their keys are split into chunks for several threads.
TEST(FewQueries, NeitherThreadsNorTheBatchChangeABit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(2104);
  for (heed_dtype dtype : {HEED_F32, HEED_BF16}) {
    for (int flag = 1; flag < kNumFlags; flag += 2) {
      // 4 or 14 rows for each key head; 14 are several tasks on some ISAs.
      const int64_t batch = flag % 4 == 1 ? 9 : 5;
      const int64_t num_queries = flag % 4 == 1 ? 2 : 7;
      Call call = dot_product_call({batch, 4, 2, num_queries, 2100, 32, 32}, random, dtype);
      set_flag(call, flag, random);
      call.options.dropout = 0.0F;
      want_everything(call);
      call.num_threads = 1;
      const Results expected = run(call);
      for (int32_t num_threads : {2, 3, 8}) {
        call.num_threads = num_threads;
        EXPECT_TRUE(same_bits(run(call), expected)) << "threads " << num_threads << ", flag " << flag;
      }
      Call alone = part_of_batch(call, batch - 1, 1);
      alone.num_threads = 2;
      EXPECT_TRUE(same_bits(run(alone), part_of_batch(call, expected, batch - 1, 1))) << flag;
    }
  }
}

// The weights tell which keys a row sees. Keys that no row of a head sees may have any contents.
TEST(FewQueries, HiddenKeysMayHoldAnything) {
  Random random(2105);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (int64_t num_queries : {1, 3}) {
      for (int flag : {1, 2, 3, 5, 6, 7}) {
        Call call = dot_product_call({2, 4, 2, num_queries, 1100, 32, 24}, random, dtype);
        set_flag(call, flag, random);
        want_everything(call);
        const Results expected = run(call);
        Call poisoned = call;
        const reference::AttentionSizes sizes = sizes_of(call);
        const double poison[] = {kNaN, kInfinity, -kInfinity};
        for_each_index(call.keys->contents.dims, [&](const Dims& index, size_t position) {
          bool seen = false;
          for (int64_t h = index[1] * 2; h < index[1] * 2 + 2; ++h) {
            for (int64_t q = 0; q < num_queries; ++q)
              seen |= weight_at(expected, sizes, index[0], h, q, index[2]) != 0.0;
          }
          if (seen) return;
          poisoned.keys->contents.values[position] = poison[position % 3];
        });
        poisoned.keys = make_input(poisoned.keys->contents, dtype);
        EXPECT_TRUE(same_bits(run(poisoned), expected)) << "keys, flag " << flag;
        for_each_index(call.values->contents.dims, [&](const Dims& index, size_t position) {
          bool seen = false;
          for (int64_t h = index[1] * 2; h < index[1] * 2 + 2; ++h) {
            for (int64_t q = 0; q < num_queries; ++q)
              seen |= weight_at(expected, sizes, index[0], h, q, index[2]) != 0.0;
          }
          if (!seen) poisoned.values->contents.values[position] = poison[position % 3];
        });
        poisoned.values = make_input(poisoned.values->contents, dtype);
        EXPECT_TRUE(same_bits(run(poisoned), expected)) << "values, flag " << flag;
      }
    }
  }
}

TEST(FewQueries, ValuesNearTheLargestFloatDoNotOverflow) {
  Random random(2107);
  Call call = dot_product_call({1, 2, 1, 2, 2500, 4, 20}, random);
  for (double& value : call.values->contents.values) value = 3e38 * std::copysign(1.0, value);
  call.values = make_input(call.values->contents, HEED_F32);
  EXPECT_TRUE(agrees_with_reference(call));
  const Results alone = run(call);
  want_everything(call);
  EXPECT_TRUE(same_bits(run(call).output, alone.output));
}

}  // namespace
}  // namespace heed::property
