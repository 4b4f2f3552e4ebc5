// SPDX-License-Identifier: Apache-2.0
// heed_context_trim releases scratch memory that no call uses, at any time, and later calls work as before.
#include <gtest/gtest.h>

#include <atomic>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/large_softmax.h"
#include "capi/support/run_together.h"
#include "support/platform/child_process.h"
#include "support/platform/memory.h"

namespace heed::capi_test {
namespace {

TEST(Trim, ReleasesTheScratchOfEarlierCalls) {
  for (const Kind kind : kKinds) {
    CountingAllocator allocator;
    const AttentionCall call(allocator.make_context(), kind, {.batch = 2, .num_queries = 70, .num_keys = 300});
    const int64_t blocks = allocator.num_live_blocks();
    const size_t bytes = allocator.num_live_bytes();
    check(call.forward());
    const std::vector<uint8_t> expected = call.read_outputs();
    EXPECT_GE(allocator.num_live_bytes(), bytes + call.workspace_size());
    for (int round = 0; round < 2; ++round) {
      check(heed_context_trim(call.context.get()));
      EXPECT_EQ(allocator.num_live_blocks(), blocks);
      EXPECT_EQ(allocator.num_live_bytes(), bytes);
      check(heed_context_trim(call.context.get()));
      check(call.forward());
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

TEST(Trim, OfAContextThatHasComputedNothingDoesNothing) {
  CountingAllocator allocator;
  const Context context = allocator.make_context();
  const size_t bytes = allocator.num_live_bytes();
  check(heed_context_trim(context.get()));
  EXPECT_EQ(allocator.num_live_bytes(), bytes);
}

TEST(Trim, LeavesWorkspacesAndTensorsAlone) {
  const AttentionCall call(Kind::MultiHead);
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  check(call.forward(workspace.get()));
  const std::vector<uint8_t> expected = call.read_outputs();
  check(heed_context_trim(call.context.get()));
  EXPECT_EQ(call.read_outputs(), expected);
  check(call.forward(workspace.get()));
  EXPECT_EQ(call.read_outputs(), expected);
}

TEST(Trim, DisturbsNoCallOnAnotherThread) {
  CountingAllocator allocator;
  {
    const Context context = allocator.make_context();
    const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
    std::atomic<int> num_working = 3;
    run_together(5, [&](int thread) {
      if (thread >= 3) {
        while (num_working > 0) check(heed_context_trim(context.get()));
        return;
      }
      const LargeSoftmax softmax(context.get());
      for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
        EXPECT_EQ(softmax.result(), expected);
      }
      --num_working;
    });
    const size_t before = allocator.num_live_bytes();
    const LargeSoftmax softmax(context.get());
    check(softmax.run());
    check(heed_context_trim(context.get()));
    EXPECT_LT(allocator.num_live_bytes(), before + size_t{3} * 256 * 1000 * sizeof(float));
  }
}

TEST(Trim, WorksInAForkedChild) {
  const AttentionCall call(Kind::MultiHead, {.batch = 2, .num_queries = 70, .num_keys = 300});
  check(call.forward());
  const std::vector<uint8_t> expected = call.read_outputs();
  EXPECT_TRUE(succeeds_in_a_child([&] {
    check(heed_context_trim(call.context.get()));
    check(call.forward());
    EXPECT_EQ(call.read_outputs(), expected);
    check(heed_context_trim(call.context.get()));
  }));
  check(heed_context_trim(call.context.get()));
  check(call.forward());
  EXPECT_EQ(call.read_outputs(), expected);
}

// A block that the C library maps separately, whatever was freed before.
TEST(Trim, GivesALargeBlockBackToTheSystem) {
  if (const char* reason = why_residency_is_unknown()) GTEST_SKIP() << reason;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 256;
  options.num_heads = 2;
  AttentionCall call(Kind::MultiHead);
  call.replace_layer(options);
  call.inputs.queries = call.random({8, 1, 8}, 1);
  call.inputs.keys = call.inputs.values = call.random({8, 4096, 8}, 2);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 3));
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.output = call.zeros({8, 1, 256});
  constexpr size_t kLeast = size_t{2} * 8 * 4096 * 256 * sizeof(float);  // the projected keys and values
  ASSERT_GE(call.workspace_size(), kLeast);
  check(call.forward());
  const size_t before = resident_bytes();
  EXPECT_GT(before, kLeast);
  check(heed_context_trim(call.context.get()));
  EXPECT_LT(resident_bytes(), before - kLeast * 9 / 10);
}

}  // namespace
}  // namespace heed::capi_test
