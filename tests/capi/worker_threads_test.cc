// SPDX-License-Identifier: Apache-2.0
// The threads of a context: when they are created, when they end, and that the host need not care about them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/large_softmax.h"
#include "capi/support/run_together.h"
#include "support/platform/child_process.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

Context make_context_of(int32_t num_threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  return make_context(&options);
}

// Large enough for all kinds of attention to run on four threads.
constexpr Sizes kLarge = {.batch = 4, .num_queries = 200, .num_keys = 300};

TEST(WorkerThreads, AreCreatedWithTheFirstWorkspace) {
  for (const bool is_wrapped : {false, true}) {
    ASSERT_TRUE(worker_threads_come_to(0));
    const AttentionCall call(make_context_of(4), Kind::MultiHead, kLarge);
    EXPECT_EQ(count_worker_threads(), 0) << "contexts, layers and tensors need none";
    constexpr size_t kNumBytes = size_t{64} << 20;
    std::vector<uint8_t> memory(kNumBytes);
    heed_workspace* made = nullptr;
    if (is_wrapped) {
      check(heed_workspace_wrap(call.context.get(), memory.data(), kNumBytes, &made));
    } else {
      check(heed_workspace_create(call.context.get(), kNumBytes, &made));
    }
    const Workspace workspace(made);
    EXPECT_TRUE(worker_threads_come_to(3));
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    const Workspace another = make_workspace(call.context.get(), kNumBytes);
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(count_worker_threads(), 3);
  }
  EXPECT_TRUE(worker_threads_come_to(0));
}

// The workspace itself may then belong to another context.
TEST(WorkerThreads, AreCreatedByWorkspaceSize) {
  const AttentionCall call(make_context_of(3), Kind::MultiHead, kLarge);
  const Context other = make_context_of(1);
  const Workspace workspace = make_workspace(other.get(), call.workspace_size());
  EXPECT_TRUE(worker_threads_come_to(2));
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
}

TEST(WorkerThreads, AreCreatedByTheFirstCallWithoutAWorkspace) {
  const Context context = make_context_of(3);
  const LargeSoftmax softmax(context.get());
  ASSERT_TRUE(worker_threads_come_to(0));
  EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
  EXPECT_TRUE(worker_threads_come_to(2));
  const AttentionCall call(make_context_of(2), Kind::Linear);
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_TRUE(worker_threads_come_to(3)) << "each context has its own";
}

TEST(WorkerThreads, AreNotCreatedForOneThreadOrAnExecutor) {
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t num_items, void (*run)(void* task, int64_t item), void* task) {
    for (int64_t item = 0; item < num_items; ++item) run(task, item);
  };
  executor.num_threads = 4;
  for (heed_executor* given : {static_cast<heed_executor*>(nullptr), &executor}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = given;
    options.num_threads = given == nullptr ? 1 : 0;
    const Context context = make_context(&options);
    const LargeSoftmax softmax(context.get());
    const Workspace workspace = make_workspace(context.get(), 1);
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    EXPECT_TRUE(worker_threads_come_to(0));
  }
}

TEST(WorkerThreads, EndWithTheLastObjectOfTheContext) {
  Context context = make_context_of(4);
  {
    const LargeSoftmax softmax(context.get());
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    context.reset();
    EXPECT_TRUE(worker_threads_come_to(3));
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
  }
  EXPECT_TRUE(worker_threads_come_to(0));
}

// The threads sleep, or have just been working.
TEST(WorkerThreads, EndWhetherTheySleepOrWork) {
  for (int round = 0; round < 30; ++round) {
    const Context context = make_context_of(4);
    const LargeSoftmax softmax(context.get());
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    if (round % 3 == 0) {
      EXPECT_TRUE(worker_threads_come_to(3, WorkerThreads::Asleep));
    }
  }
  EXPECT_TRUE(worker_threads_come_to(0));
}

TEST(WorkerThreads, SleepBetweenCalls) {
  const Context context = make_context_of(4);
  const LargeSoftmax softmax(context.get());
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    EXPECT_TRUE(worker_threads_come_to(3, WorkerThreads::Asleep));
  }
}

TEST(WorkerThreads, GiveTheSameBitsAsOneThread) {
  for (const Kind kind : kEveryKind) {
    const AttentionCall alone(make_context_of(1), kind, kLarge);
    ASSERT_EQ(alone.forward(), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = alone.read_outputs();
    for (int32_t num_threads = 2; num_threads <= 8; ++num_threads) {
      const AttentionCall call(make_context_of(num_threads), kind, kLarge);
      const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
      for (heed_workspace* given : {workspace.get(), static_cast<heed_workspace*>(nullptr)}) {
        EXPECT_EQ(call.forward(given), HEED_OK) << heed_last_error();
        EXPECT_TRUE(call.read_outputs() == expected) << num_threads;
      }
    }
  }
}

TEST(WorkerThreads, ServeOneOfManyCallsAtATime) {
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  const Context context = make_context_of(3);
  run_together(8, [&](int) {
    const LargeSoftmax softmax(context.get());
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(softmax.run(), HEED_OK) << heed_last_error();
      ASSERT_EQ(softmax.result(), expected);
    }
  });
  EXPECT_TRUE(worker_threads_come_to(2));
}

// A host may call heed in a callback: here in the logger, during another call.
TEST(WorkerThreads, WorkForCallsInsideCalls) {
  struct Host {
    const LargeSoftmax* inner = nullptr;
    int num_calls = 0;
  } host;
  const heed_logger logger = {sizeof(heed_logger),
                              [](void* user, int32_t, const char*) {
                                auto& self = *static_cast<Host*>(user);
                                if (self.inner == nullptr) return;
                                ++self.num_calls;
                                EXPECT_EQ(self.inner->run(), HEED_OK) << heed_last_error();
                              },
                              &host};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  options.num_threads = 3;
  const Context context = make_context(&options);
  const LargeSoftmax outer(context.get());
  const LargeSoftmax inner(context.get());
  host.inner = &inner;
  EXPECT_EQ(outer.run(), HEED_OK) << heed_last_error();
  host.inner = nullptr;
  EXPECT_GT(host.num_calls, 0);
  EXPECT_EQ(outer.result(), LargeSoftmax::result_of_one_thread());
  EXPECT_EQ(inner.result(), outer.result());
}

TEST(WorkerThreads, AreCreatedAgainInAForkedChild) {
  if (!kForkedChildMayHaveThreads) GTEST_SKIP();
  for (const Kind kind : kKinds) {
    const AttentionCall call(make_context_of(4), kind, kLarge);
    const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
    ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = call.read_outputs();
    EXPECT_TRUE(succeeds_in_a_child([&] {
      EXPECT_EQ(count_worker_threads(), 0);
      check(heed_tensor_fill(call.outputs.output, -1.0));
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      EXPECT_TRUE(call.read_outputs() == expected);
      EXPECT_TRUE(worker_threads_come_to(3));
      EXPECT_TRUE(succeeds_in_a_child([&] {
        EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
        EXPECT_TRUE(call.read_outputs() == expected);
        EXPECT_TRUE(worker_threads_come_to(3));
      }));
    }));
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    EXPECT_TRUE(call.read_outputs() == expected);
  }
}

// The fork happens while another thread of the parent runs a loop.
TEST(WorkerThreads, AreCreatedAgainInAChildOfAComputingParent) {
  if (!kForkedChildMayHaveThreads) GTEST_SKIP();
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  const Context context = make_context_of(3);
  const LargeSoftmax of_parent(context.get());
  const LargeSoftmax of_child(context.get());
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) EXPECT_EQ(of_parent.run(), HEED_OK) << heed_last_error();
  });
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(succeeds_in_a_child([&] {
      EXPECT_EQ(of_child.run(), HEED_OK) << heed_last_error();
      EXPECT_EQ(of_child.result(), expected);
      EXPECT_TRUE(worker_threads_come_to(2));
    }));
  }
  is_over = true;
  other.join();
}

// exit() with a context that is never destroyed, and whose threads sleep or have just been working.
TEST(WorkerThreads, DoNotDelayTheEndOfTheProcess) {
  for (const bool sleeps : {true, false}) {
    EXPECT_EXIT(
        {
          // Static, so that a leak checker does not report it.
          static heed_context* const context = make_context_of(4).release();
          const LargeSoftmax softmax(context);
          check(softmax.run());
          if (sleeps && !worker_threads_come_to(3, WorkerThreads::Asleep)) std::exit(2);
          std::exit(0);
        },
        testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace heed::capi_test
