// SPDX-License-Identifier: Apache-2.0
// One context, one layer, many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr int kNumThreads = 8;
constexpr int kNumRounds = 20;

// Runs work(0), work(1), ... at once, as nearly as threads can.
template <typename Work>
void run_together(int num_threads, Work work) {
  std::atomic<int> num_waiting{num_threads};
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] {
      --num_waiting;
      while (num_waiting > 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The outputs of one thread, beside the inputs that all share.
struct Share {
  explicit Share(const AttentionCall& call) {
    check(heed_layer_create_outputs(call.layer.get(), &call.inputs, 7, &outputs));
    output.reset(outputs.output);
    weights.reset(outputs.weights);
    log_sum_exp.reset(outputs.log_sum_exp);
  }
  std::vector<std::vector<uint8_t>> read() const {
    return {read_bytes(outputs.output), read_bytes(outputs.weights), read_bytes(outputs.log_sum_exp)};
  }
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  Tensor output;
  Tensor weights;
  Tensor log_sum_exp;
};

void expect_the_single_threads_result(Kind kind, bool with_workspace) {
  const AttentionCall call(kind, {.batch = 2, .num_queries = 20, .num_keys = 33});
  const Share alone(call);
  check(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &alone.outputs));
  const auto expected = alone.read();
  const size_t num_bytes = call.workspace_size();
  run_together(kNumThreads, [&](int) {
    const Workspace workspace = with_workspace ? make_workspace(call.context.get(), num_bytes) : Workspace();
    const Share share(call);
    for (int round = 0; round < kNumRounds; ++round) {
      check(heed_tensor_fill(share.outputs.output, -1.0));
      ASSERT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, workspace.get(), &share.outputs), HEED_OK)
          << heed_last_error();
      ASSERT_TRUE(share.read() == expected);
    }
  });
}

TEST(Threads, OnOneLayerWithWorkspacesOfTheirOwn) {
  for (const Kind kind : kKinds) expect_the_single_threads_result(kind, true);
}

TEST(Threads, OnOneLayerWithTheContextsPool) {
  for (const Kind kind : kKinds) expect_the_single_threads_result(kind, false);
}

TEST(Threads, MayMakeAndUseEverythingInOneContext) {
  const Context context = make_context();
  run_together(kNumThreads, [&](int i) {
    for (int round = 0; round < kNumRounds; ++round) {
      const Layer layer = make_multi_head(context.get(), two_heads());
      const Tensor words = make_random(context.get(), {1, 2 + i, 8}, static_cast<uint64_t>(i));
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = words.get();
      check(heed_layer_initialize(layer.get(), &inputs, 1));
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
      const Tensor output(outputs.output);
      ASSERT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
      size_t num_bytes = 0;
      ASSERT_EQ(heed_context_describe(context.get(), nullptr, 0, &num_bytes), HEED_OK) << heed_last_error();
      ASSERT_EQ(heed_context_synchronize(context.get()), HEED_OK) << heed_last_error();
    }
  });
}

TEST(Threads, ReadOneTensorTogether) {
  const Context context = make_context();
  const Tensor tensor = make_random(context.get(), {50, 20}, 1);
  const std::vector<float> expected = read_elements<float>(tensor.get());
  run_together(kNumThreads, [&](int) {
    for (int round = 0; round < kNumRounds; ++round) {
      const Tensor view = make_slice(tensor.get(), 0, 0, 50);
      ASSERT_TRUE(read_elements<float>(view.get()) == expected);
      ASSERT_TRUE(read_floats(context.get(), tensor.get()) == expected);
    }
  });
}

TEST(Threads, HaveErrorsOfTheirOwn) {
  run_together(kNumThreads, [](int i) {
    for (int round = 0; round < kNumRounds; ++round) {
      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
      options.num_threads = -1 - i;
      heed_context* context = nullptr;
      ASSERT_TRUE(is_refused(heed_context_create(&options, &context),
                             {HEED_ERROR_INVALID_ARGUMENT, {"num_threads", std::to_string(-1 - i)}}));
    }
  });
}

// A call that takes long enough for another to come in between, on one processor too.
AttentionCall make_long_call() { return AttentionCall(Kind::DotProductRank3, {1, 2000, 4000}); }

// Calls with the workspace until another call has it; false when that never happens.
bool wait_until_busy(const AttentionCall& probe, heed_workspace* workspace, const std::atomic<bool>& is_over) {
  while (!is_over) {
    const heed_status status = probe.forward(workspace);
    if (status == HEED_ERROR_BUSY) return true;
    EXPECT_EQ(status, HEED_OK) << heed_last_error();
    std::this_thread::yield();
  }
  return false;
}

TEST(Busy, IsASecondCallOnOneWorkspace) {
  const AttentionCall longer = make_long_call();
  const AttentionCall probe(Kind::DotProductRank3);
  const Workspace workspace = make_workspace(longer.context.get(), longer.workspace_size());
  bool was_busy = false;
  for (int attempt = 0; attempt < 100 && !was_busy; ++attempt) {
    std::atomic<bool> is_over{false};
    heed_status status = HEED_OK;
    std::thread thread([&] {
      status = longer.forward(workspace.get());
      is_over = true;
    });
    was_busy = wait_until_busy(probe, workspace.get(), is_over);
    if (was_busy) {
      EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_BUSY, {"workspace"}}));
    }
    thread.join();
    // The probe may have been the first.
    EXPECT_TRUE(status == HEED_OK || status == HEED_ERROR_BUSY) << heed_status_name(status);
  }
  EXPECT_TRUE(was_busy);
  EXPECT_EQ(probe.forward(workspace.get()), HEED_OK) << "the workspace was not given back";
}

TEST(Busy, OneOfManyCallsHasTheWorkspace) {
  const AttentionCall call(Kind::MultiHead, {.batch = 2, .num_queries = 20, .num_keys = 33});
  const Share alone(call);
  check(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &alone.outputs));
  const auto expected = alone.read();
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  std::atomic<int> num_done{0};
  run_together(kNumThreads, [&](int) {
    const Share share(call);
    for (int round = 0; round < kNumRounds; ++round) {
      const heed_status status = heed_layer_forward(call.layer.get(), &call.inputs, workspace.get(), &share.outputs);
      if (status == HEED_OK) {
        ++num_done;
        ASSERT_TRUE(share.read() == expected);
      } else {
        ASSERT_EQ(status, HEED_ERROR_BUSY) << heed_last_error();
      }
    }
  });
  EXPECT_GT(num_done, 0);
}

TEST(Destruction, OfSharedObjectsMayComeInAnyOrderFromAnyThread) {
  for (int round = 0; round < 50; ++round) {
    AttentionCall call(Kind::MultiHead);
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    Workspace workspace = make_workspace(call.context.get(), 1000);
    Tensor weight = snapshot(call.layer.get(), "W_q.weight");
    Tensor view = make_slice(call.outputs.output, 0, 0, 1);
    const std::vector<std::function<void()>> destroy = {
        [&] { call.context.reset(); }, [&] { call.layer.reset(); }, [&] { workspace.reset(); },
        [&] { weight.reset(); },       [&] { view.reset(); },
    };
    run_together(static_cast<int>(destroy.size()), [&](int i) { destroy[static_cast<size_t>(i)](); });
  }
}

// Every handle of a running call is destroyed: it goes on, in memory that stays, and gives it back at its end.
TEST(Destruction, DuringACallLeavesItToFinish) {
  const AttentionCall expected = make_long_call();
  ASSERT_EQ(expected.forward(), HEED_OK) << heed_last_error();
  const std::vector<float> expected_output = read_elements<float>(expected.outputs.output);
  const AttentionCall probe(Kind::DotProductRank3);

  bool was_running = false;
  for (int attempt = 0; attempt < 100 && !was_running; ++attempt) {
    AttentionCall call = make_long_call();
    std::vector<float> memory(expected_output.size());
    std::atomic<int> num_releases{0};
    const auto release = [](void* user, void*) { ++*static_cast<std::atomic<int>*>(user); };
    const Dims dims = dims_of(call.outputs.output);
    heed_tensor* output = nullptr;
    check(heed_tensor_wrap(call.context.get(), HEED_F32, 3, dims.data(), nullptr, memory.data(), release, &num_releases,
                           &output));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output;
    Workspace workspace = make_workspace(call.context.get(), call.workspace_size());

    std::atomic<bool> is_over{false};
    heed_status status = HEED_OK;
    std::thread thread([&, layer = call.layer.get(), inputs = call.inputs, scratch = workspace.get()] {
      status = heed_layer_forward(layer, &inputs, scratch, &outputs);
      is_over = true;
    });
    // The call has taken hold of what it needs before it takes the workspace.
    was_running = wait_until_busy(probe, workspace.get(), is_over);
    heed_tensor_destroy(output);
    workspace.reset();
    { const AttentionCall destroyed = std::move(call); }
    thread.join();
    EXPECT_EQ(num_releases, 1);
    if (status == HEED_ERROR_BUSY) {
      was_running = false;  // the probe was first
      continue;
    }
    ASSERT_EQ(status, HEED_OK);
    EXPECT_TRUE(memory == expected_output);
  }
  EXPECT_TRUE(was_running);
}

}  // namespace
}  // namespace heed::capi_test
