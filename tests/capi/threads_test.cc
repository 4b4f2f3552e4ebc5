// SPDX-License-Identifier: Apache-2.0
// One context and one layer, used by many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "capi/support/run_together.h"
#include "property/support/random.h"

namespace heed::capi_test {
namespace {

constexpr int kNumThreads = 8;
constexpr int kNumRounds = 20;

// The outputs of one thread; all threads share the inputs.
struct Share {
  explicit Share(const AttentionCall& call) {
    check(heed_layer_create_outputs(call.layer.get(), &call.inputs, call.every_output(), &outputs));
    output.reset(outputs.output);
    weights.reset(outputs.weights);
    log_sum_exp.reset(outputs.log_sum_exp);
  }
  std::vector<std::vector<uint8_t>> read() const {
    std::vector<std::vector<uint8_t>> all;
    for (const heed_tensor* tensor : {outputs.output, outputs.weights, outputs.log_sum_exp}) {
      if (tensor != nullptr) all.push_back(read_bytes(tensor));
    }
    return all;
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

TEST(Threads, ShareALayerWithSeparateWorkspaces) {
  for (const Kind kind : kEveryKind) expect_the_single_threads_result(kind, true);
}

TEST(Threads, ShareALayerWithTheContextsPool) {
  for (const Kind kind : kEveryKind) expect_the_single_threads_result(kind, false);
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

TEST(Threads, RunOperationsOnOneTensorWithTheContextsPool) {
  const Context context = make_context();
  const Tensor a = make_random(context.get(), {2, 20, 20}, 1);
  const auto compute = [&] {
    const Tensor product = make_tensor(context.get(), {2, 20, 20});
    const Tensor weights = make_tensor(context.get(), {2, 20, 20});
    check(heed_matmul(a.get(), a.get(), product.get()));
    check(heed_softmax(a.get(), 1, weights.get()));
    return std::pair(read_bytes(product.get()), read_bytes(weights.get()));
  };
  const auto expected = compute();
  run_together(kNumThreads, [&](int) {
    for (int round = 0; round < kNumRounds; ++round) ASSERT_TRUE(compute() == expected);
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

TEST(Threads, StartWithoutAnError) {
  heed_context* context = nullptr;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = -1;
  EXPECT_EQ(heed_context_create(&options, &context), HEED_ERROR_INVALID_ARGUMENT);
  const std::string here = heed_last_error();
  std::thread([] {
    EXPECT_EQ(heed_last_status(), HEED_OK);
    EXPECT_STREQ(heed_last_error(), "");
    heed_device_count(HEED_DEVICE_ASCEND);
    EXPECT_EQ(heed_last_status(), HEED_ERROR_DEVICE_UNAVAILABLE);
  }).join();
  EXPECT_EQ(heed_last_status(), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(heed_last_error(), here);
}

// Each thread does different things with the same context, layer and tensors.
TEST(Threads, MayDoDifferentThingsWithOneLayer) {
  const AttentionCall call(Kind::MultiHead, {.batch = 2, .num_queries = 20, .num_keys = 33});
  const Share alone(call);
  check(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &alone.outputs));
  const auto expected = alone.read();
  const std::vector<float> expected_weight = read_elements<float>(snapshot(call.layer.get(), "W_q.weight").get());
  const size_t expected_size = call.workspace_size();
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 400;
  options.no_bias = 1;
  const Layer large = make_linear(call.context.get(), options);
  const Tensor value = make_random(call.context.get(), {400, 500}, 5);
  check(heed_layer_set_parameter(large.get(), "weight", value.get()));
  const std::vector<float> large_weight = read_elements<float>(value.get());
  const std::vector<std::function<void()>> works = {
      [&] {
        const Share share(call);
        ASSERT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &share.outputs), HEED_OK)
            << heed_last_error();
        ASSERT_TRUE(share.read() == expected);
      },
      [&] {
        const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
        const Share share(call);
        ASSERT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, workspace.get(), &share.outputs), HEED_OK)
            << heed_last_error();
        ASSERT_TRUE(share.read() == expected);
      },
      [&] {
        std::array<char, 4096> text{};
        ASSERT_EQ(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text.data(), text.size(), nullptr),
                  HEED_OK)
            << heed_last_error();
        ASSERT_EQ(call.workspace_size(), expected_size);
      },
      [&] {
        const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
        ASSERT_TRUE(read_elements<float>(weight.get()) == expected_weight);
      },
      [&] {
        // Large enough to be unpacked by several threads.
        const Tensor weight = snapshot(large.get(), "weight");
        ASSERT_TRUE(read_elements<float>(weight.get()) == large_weight);
      },
      [&] {
        const Tensor tensor = make_random(call.context.get(), {4, 5}, 1);
        const Tensor view = make_transposed(make_slice(tensor.get(), 0, 1, 2).get(), {1, 0});
        ASSERT_EQ(dims_of(view.get()), (Dims{5, 2}));
        // A view of an input that all threads share.
        const Tensor keys = make_slice(const_cast<heed_tensor*>(call.inputs.keys), 1, 0, 3);
        ASSERT_EQ(read_elements<float>(keys.get()).size(), size_t{2} * 3 * 7);
      },
      [&] {
        heed_tensor* none = nullptr;
        ASSERT_TRUE(
            is_refused(heed_layer_parameter(call.layer.get(), "none", &none), {HEED_ERROR_NOT_FOUND, {"none"}}));
      },
  };
  run_together(kNumThreads, [&](int i) {
    for (int round = 0; round < kNumRounds; ++round) works[static_cast<size_t>(i + round) % works.size()]();
  });
}

// A call that runs long enough for another thread to make a call meanwhile, even on one processor.
AttentionCall make_long_call() { return AttentionCall(Kind::DotProductRank3, {1, 2000, 4000}); }

// Makes calls with the workspace until one is refused because another call uses it. False if that never happens.
bool wait_until_busy(const AttentionCall& probe, heed_workspace* workspace, const std::atomic<bool>& is_over) {
  while (!is_over) {
    const heed_status status = probe.forward(workspace);
    if (status == HEED_ERROR_BUSY) return true;
    EXPECT_EQ(status, HEED_OK) << heed_last_error();
    std::this_thread::yield();
  }
  return false;
}

// The call that is waited for. The probing calls use the workspace most of the time, so it is retried until it gets the
// workspace. It is made once more after a refusal only, so the handles may be destroyed as soon as a probing call has
// been refused.
heed_status forward_when_free(const heed_layer* layer, const heed_layer_inputs* inputs, heed_workspace* workspace,
                              const heed_layer_outputs* outputs) {
  heed_status status = HEED_OK;
  do {
    status = heed_layer_forward(layer, inputs, workspace, outputs);
  } while (status == HEED_ERROR_BUSY);
  return status;
}

TEST(Busy, IsTheStatusOfASecondCallWithOneWorkspace) {
  const AttentionCall longer = make_long_call();
  ASSERT_EQ(longer.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = longer.read_outputs();
  const AttentionCall probe(Kind::DotProductRank3);
  const Workspace workspace = make_workspace(longer.context.get(), longer.workspace_size());
  bool was_busy = false;
  for (int attempt = 0; attempt < 100 && !was_busy; ++attempt) {
    std::atomic<bool> is_over{false};
    heed_status status = HEED_OK;
    std::thread thread([&] {
      status = forward_when_free(longer.layer.get(), &longer.inputs, workspace.get(), &longer.outputs);
      is_over = true;
    });
    was_busy = wait_until_busy(probe, workspace.get(), is_over);
    if (was_busy) {
      EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_BUSY, {"workspace"}}));
    }
    thread.join();
    EXPECT_EQ(status, HEED_OK);
    EXPECT_TRUE(longer.read_outputs() == expected) << "the refused call changed the other one's result";
  }
  EXPECT_TRUE(was_busy);
  EXPECT_EQ(probe.forward(workspace.get()), HEED_OK) << "the workspace is still in use";
}

TEST(Busy, IsTheStatusOfAllButOneConcurrentCall) {
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

// Every handle of a running call is destroyed. The call goes on, since its memory is kept until its end.
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
      status = forward_when_free(layer, &inputs, scratch, &outputs);
      is_over = true;
    });
    // A call takes references to all that it needs before it takes the workspace.
    was_running = wait_until_busy(probe, workspace.get(), is_over);
    heed_tensor_destroy(output);
    workspace.reset();
    { const AttentionCall destroyed = std::move(call); }
    thread.join();
    EXPECT_EQ(num_releases, 1);
    ASSERT_EQ(status, HEED_OK);
    EXPECT_TRUE(memory == expected_output);
  }
  EXPECT_TRUE(was_running);
}

// A call with all its objects and some more, each with a function that destroys it.
struct Ensemble {
  explicit Ensemble(uint64_t seed) {
    heed_context* context = own(make_context());
    heed_context* other_context = own(make_context());
    layer = own(make_multi_head(context, two_heads()));
    inputs.queries = own(make_random(other_context, {1, 400, 6}, seed));
    inputs.keys = own(make_random(context, {1, 2000, 6}, seed + 1));
    check(heed_layer_initialize(layer, &inputs, seed));
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &made));
    const Dims dims = dims_of(own(Tensor(made.output)));
    memory.resize(static_cast<size_t>(heed_tensor_num_elements(made.output)));
    const auto release = [](void* user, void*) { ++*static_cast<std::atomic<int>*>(user); };
    check(heed_tensor_wrap(other_context, HEED_F32, 3, dims.data(), nullptr, memory.data(), release, &num_releases,
                           &outputs.output));
    own(Tensor(outputs.output));
    own(make_transposed(own(make_slice(outputs.output, 1, 3, 5)), {2, 0, 1}));
    own(make_reshaped(own(snapshot(layer, "W_o.weight")), {64}));
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes));
    workspace = own(make_workspace(other_context, num_bytes));
  }

  template <typename Handle>
  typename Handle::pointer own(Handle handle) {
    const auto shared = std::make_shared<Handle>(std::move(handle));
    destroy.emplace_back([shared] { shared->reset(); });
    return shared->get();
  }

  heed_layer* layer = nullptr;
  heed_workspace* workspace = nullptr;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  std::vector<float> memory;
  std::atomic<int> num_releases{0};
  std::vector<std::function<void()>> destroy;
};

TEST(Destruction, InRandomOrdersFromManyThreadsLeavesARunningCallToFinish) {
  constexpr int kNumDestroyers = 3;
  const AttentionCall probe(Kind::DotProductRank3);
  int num_running = 0;
  // If other programs keep the processors busy, a call may end before this thread runs again.
  for (uint64_t seed = 0; seed < 20 || (num_running == 0 && seed < 500); ++seed) {
    Ensemble expected(seed);
    check(heed_layer_forward(expected.layer, &expected.inputs, nullptr, &expected.outputs));

    Ensemble ensemble(seed);
    std::atomic<bool> is_over{false};
    heed_status status = HEED_OK;
    std::thread thread([&, inputs = ensemble.inputs, outputs = ensemble.outputs] {
      status = forward_when_free(ensemble.layer, &inputs, ensemble.workspace, &outputs);
      is_over = true;
    });
    // From now on the call has references to all that it needs, or has ended.
    if (wait_until_busy(probe, ensemble.workspace, is_over)) ++num_running;
    property::Random random(seed);
    for (size_t i = ensemble.destroy.size(); i > 1; --i) {
      std::swap(ensemble.destroy[i - 1], ensemble.destroy[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
    }
    run_together(kNumDestroyers, [&](int i) {
      for (auto at = static_cast<size_t>(i); at < ensemble.destroy.size(); at += kNumDestroyers) ensemble.destroy[at]();
    });
    thread.join();
    EXPECT_EQ(ensemble.num_releases, 1);
    ASSERT_EQ(status, HEED_OK);
    EXPECT_TRUE(ensemble.memory == expected.memory);
  }
  EXPECT_GT(num_running, 0);
}

}  // namespace
}  // namespace heed::capi_test
