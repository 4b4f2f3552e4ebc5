// SPDX-License-Identifier: Apache-2.0
// A process that has used heed and forks: parent and child both go on using the same objects, each in its own memory.
#include <gtest/gtest.h>

#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "support/platform/child_process.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

constexpr Kind kKinds[] = {Kind::MultiHead, Kind::DotProductRank3, Kind::DotProductRank4};

// Its threads must be such that a forked child may have them, too.
Context make_forkable_context() {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = kForkedChildMayHaveThreads ? 0 : 1;
  return make_context(&options);
}

TEST(Fork, LeavesWorkingObjectsInBothProcesses) {
  for (const Kind kind : kKinds) {
    AttentionCall call(make_forkable_context(), kind, {.batch = 2, .num_queries = 20, .num_keys = 33});
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = call.read_outputs();
    check(heed_tensor_fill(call.outputs.output, -1.0));

    EXPECT_TRUE(succeeds_in_a_child([&] {
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
      const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
      // Only the child destroys these objects here.
      call.layer.reset();
      call.context.reset();
      AttentionCall anew(make_forkable_context(), kind, {.batch = 2, .num_queries = 20, .num_keys = 33});
      EXPECT_EQ(anew.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(anew.read_outputs(), expected);
    }));

    EXPECT_NE(call.read_outputs(), expected) << "the child wrote into the parent's memory";
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(call.read_outputs(), expected);
  }
}

TEST(Fork, CopiesTheLastError) {
  const Context context = make_context();
  heed_tensor* tensor = nullptr;
  EXPECT_EQ(heed_tensor_create(context.get(), HEED_F32, 9, nullptr, &tensor), HEED_ERROR_INVALID_ARGUMENT);
  const std::string before = heed_last_error();
  EXPECT_TRUE(succeeds_in_a_child([&] {
    EXPECT_EQ(heed_last_error(), before);
    EXPECT_TRUE(is_refused(heed_tensor_create(context.get(), HEED_F32, -1, nullptr, &tensor),
                           {HEED_ERROR_INVALID_ARGUMENT, {"rank", "-1"}}));
  }));
  EXPECT_EQ(heed_last_error(), before);
}

// A child that forks again, as servers do.
TEST(Fork, MayHappenTwice) {
  const AttentionCall call(make_forkable_context(), Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = call.read_outputs();
  EXPECT_TRUE(succeeds_in_a_child([&] {
    EXPECT_TRUE(succeeds_in_a_child([&] {
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }));
  }));
}

}  // namespace
}  // namespace heed::capi_test
