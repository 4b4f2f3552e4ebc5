// SPDX-License-Identifier: Apache-2.0
// Hosts that provide the threads: executors that are correct, unusual ones, and those that violate their contract.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/large_softmax.h"
#include "capi/support/refusal.h"
#include "capi/support/run_together.h"

namespace heed::capi_test {
namespace {

using RunItem = void(void* task, int64_t item);

// A heed_executor whose parallel_for is a function of the test. Must outlive its contexts.
struct Host {
  using ParallelFor = std::function<void(int64_t num_items, RunItem* run, void* task)>;
  explicit Host(ParallelFor function) : parallel_for(std::move(function)) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Context make_context(int64_t num_threads, int32_t most = 0) {
    // A local variable, since heed copies the struct.
    heed_executor executor = HEED_EXECUTOR_INIT;
    executor.parallel_for = [](void* user, int64_t num_items, RunItem* run, void* task) {
      auto* self = static_cast<Host*>(user);
      ++self->num_calls;
      self->parallel_for(num_items, run, task);
    };
    executor.num_threads = num_threads;
    executor.user = this;
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = &executor;
    options.num_threads = most;
    return capi_test::make_context(&options);
  }

  ParallelFor parallel_for;
  std::atomic<int> num_calls = 0;
};

void run_in_order(int64_t num_items, RunItem* run, void* task) {
  for (int64_t item = 0; item < num_items; ++item) run(task, item);
}

void run_backwards(int64_t num_items, RunItem* run, void* task) {
  for (int64_t item = num_items - 1; item >= 0; --item) run(task, item);
}

void run_on_threads(int64_t num_items, RunItem* run, void* task) {
  std::vector<std::thread> threads;
  for (int64_t item = 0; item < num_items; ++item) threads.emplace_back(run, task, item);
  for (std::thread& thread : threads) thread.join();
}

TEST(Executor, GivesTheBitsOfOneThread) {
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  for (auto* const parallel_for : {run_in_order, run_backwards, run_on_threads}) {
    for (const int64_t num_threads : {1, 2, 5, 1024}) {
      if (num_threads == 1024 && parallel_for == run_on_threads) continue;
      Host host(parallel_for);
      const Context context = host.make_context(num_threads);
      const LargeSoftmax softmax(context.get());
      EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
      EXPECT_EQ(softmax.result(), expected);
      EXPECT_EQ(host.num_calls, num_threads == 1 ? 0 : 1);
    }
  }
}

TEST(Executor, RunsEveryKindOfLayer) {
  const Sizes sizes{.batch = 2, .num_queries = 70, .num_keys = 300};
  for (const Kind kind : kEveryKind) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1;
    const AttentionCall alone(make_context(&options), kind, sizes);
    ASSERT_EQ(alone.forward(), HEED_OK) << heed_last_error();
    for (auto* const parallel_for : {run_backwards, run_on_threads}) {
      Host host(parallel_for);
      const AttentionCall call(host.make_context(3), kind, sizes);
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_TRUE(call.read_outputs() == alone.read_outputs());
      const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      EXPECT_TRUE(call.read_outputs() == alone.read_outputs());
    }
  }
}

TEST(Executor, IsCalledWithAsManyItemsAsThreads) {
  int64_t num_asked = 0;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    num_asked = num_items;
    run_in_order(num_items, run, task);
  });
  for (const auto& [num_threads, most, expected] : {std::tuple{4, 0, 4}, {4, 3, 3}, {3, 4, 3}}) {
    const Context context = host.make_context(num_threads, most);
    EXPECT_EQ(LargeSoftmax(context.get()).run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_asked, expected);
  }
}

TEST(Executor, IsNotCalledForLittleWork) {
  Host host(run_in_order);
  const AttentionCall call(host.make_context(4), Kind::MultiHead);
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(host.num_calls, 0);
}

TEST(Executor, IsCalledOnTheThreadOfTheCall) {
  std::thread::id called;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    called = std::this_thread::get_id();
    run_in_order(num_items, run, task);
  });
  const Context context = host.make_context(2);
  const LargeSoftmax softmax(context.get());
  EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
  EXPECT_EQ(called, std::this_thread::get_id());
}

TEST(Executor, MayCallHeedInAnItem) {
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  const LargeSoftmax* inner = nullptr;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    EXPECT_EQ(inner->run(), HEED_OK) << heed_last_error();
    std::vector<std::thread> threads;
    for (int64_t item = 0; item < num_items; ++item) {
      threads.emplace_back([&, item] {
        run(task, item);
        if (item == 0) {
          EXPECT_EQ(inner->run(), HEED_OK) << heed_last_error();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const Context context = host.make_context(3);
  const LargeSoftmax outer(context.get());
  const LargeSoftmax other(context.get());
  inner = &other;
  EXPECT_EQ(outer.run(), HEED_OK) << heed_last_error();
  EXPECT_EQ(host.num_calls, 1) << "calls inside an item run on its thread";
  EXPECT_EQ(outer.result(), expected);
  EXPECT_EQ(other.result(), expected);
}

TEST(Executor, ServesManyThreadsAtOnce) {
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  Host host(run_on_threads);
  const Context context = host.make_context(2);
  run_together(8, [&](int) {
    const LargeSoftmax softmax(context.get());
    for (int round = 0; round < 5; ++round) {
      ASSERT_EQ(softmax.run(), HEED_OK) << heed_last_error();
      ASSERT_EQ(softmax.result(), expected);
    }
  });
}

// The last handle is destroyed while the host's threads are running items.
TEST(Executor, MayDropTheLastReference) {
  Context context;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    std::thread([&] { context.reset(); }).join();
    run_on_threads(num_items, run, task);
  });
  context = host.make_context(2);
  {
    const LargeSoftmax softmax(context.get());
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(context, nullptr);
    std::thread([&softmax] { EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error(); }).join();
  }
}

// The call fails with this text, and the next call with a correct executor works.
void expect_refused_by(const Host::ParallelFor& broken, const std::string& text) {
  SCOPED_TRACE(text);
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  Host host(broken);
  const Context context = host.make_context(3);
  const LargeSoftmax softmax(context.get());
  for (int round = 0; round < 3; ++round) {
    host.parallel_for = broken;
    EXPECT_TRUE(is_refused(softmax.run(), {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->parallel_for", text}}));
    host.parallel_for = run_on_threads;
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(softmax.result(), expected);
  }
}

TEST(BrokenExecutor, IsReported) {
  expect_refused_by([](int64_t, RunItem*, void*) {}, "returned before its 3 items were done");
  expect_refused_by([](int64_t num_items, RunItem* run, void* task) { run_in_order(num_items - 1, run, task); },
                    "returned before its 3 items were done");
  expect_refused_by(
      [](int64_t num_items, RunItem* run, void* task) {
        run_on_threads(num_items, run, task);
        run(task, 2);
      },
      "ran item 2 twice");
  expect_refused_by([](int64_t num_items, RunItem* run, void* task) { run_in_order(num_items + 1, run, task); },
                    "ran item 3, expected items 0 to 2");
  expect_refused_by(
      [](int64_t num_items, RunItem* run, void* task) {
        run(task, -1);
        run_in_order(num_items, run, task);
      },
      "ran item -1, expected items 0 to 2");
  expect_refused_by([](int64_t, RunItem*, void*) { throw 42; }, "threw a C++ exception");
}

// Items that run after the end of their call do nothing, and access no freed memory.
TEST(BrokenExecutor, MayBeLate) {
  const std::vector<float> expected = LargeSoftmax::result_of_one_thread();
  RunItem* late_run = nullptr;
  std::vector<void*> late_tasks;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    run_in_order(num_items, run, task);
    late_run = run;
    late_tasks.push_back(task);
  });
  const Context context = host.make_context(3);
  const LargeSoftmax softmax(context.get());
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    for (void* task : late_tasks) late_run(task, round % 4);
    EXPECT_EQ(softmax.result(), expected);
  }
}

// The executor returns while items are still running. The call waits for them and reports it.
TEST(BrokenExecutor, MayNotWait) {
  std::vector<std::thread> threads;
  Host host([&](int64_t num_items, RunItem* run, void* task) {
    for (int64_t item = 0; item < num_items; ++item) threads.emplace_back(run, task, item);
  });
  const Context context = host.make_context(3);
  const LargeSoftmax softmax(context.get());
  for (int round = 0; round < 20; ++round) {
    const heed_status status = softmax.run();
    // On a busy machine the threads may have ended in time.
    if (status != HEED_OK) {
      EXPECT_TRUE(is_refused(status, {HEED_ERROR_INVALID_ARGUMENT, {"returned before its 3 items were done"}}));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BrokenExecutor, FailsReadingAndSavingParametersToo) {
  const TemporaryFolder folder;
  const std::string path = folder.path("weights");
  Host host(run_in_order);
  const Context context = host.make_context(3);
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 700;
  options.no_bias = 1;
  const Layer layer = make_linear(context.get(), options);
  const Tensor value = make_random(context.get(), {700, 900}, 3);
  check(heed_layer_set_parameter(layer.get(), "weight", value.get()));
  host.parallel_for = [](int64_t, RunItem*, void*) {};
  heed_tensor* none = nullptr;
  EXPECT_TRUE(
      is_refused(heed_layer_parameter(layer.get(), "weight", &none), {HEED_ERROR_INVALID_ARGUMENT, {"parallel_for"}}));
  EXPECT_EQ(none, nullptr);
  EXPECT_TRUE(is_refused(heed_layer_save(layer.get(), path.c_str()), {HEED_ERROR_INVALID_ARGUMENT, {"parallel_for"}}));
  EXPECT_TRUE(folder.file_names().empty());
  host.parallel_for = run_in_order;
  EXPECT_EQ(read_bytes(snapshot(layer.get(), "weight").get()), read_bytes(value.get()));
  EXPECT_EQ(heed_layer_save(layer.get(), path.c_str()), HEED_OK) << heed_last_error();
}

// It skips an item of the loop over the numbers, which are changed all the same: of a step, the loop after that which looks for
// numbers that are not finite.
TEST(BrokenExecutor, IsReportedAfterTheNumbersOfTrainingAreChanged) {
  Host host(run_in_order);
  const Context context = host.make_context(3);
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 1000;
  options.no_bias = 1;
  const auto make = [&] {
    Layer layer = make_linear(context.get(), options);
    check(heed_layer_set_parameter(layer.get(), "weight", make_random(context.get(), {1000, 2000}, 3).get()));
    return layer;
  };
  const Layer layer = make();
  const Layer twin = make();
  const Gradients gradients = make_gradients(layer.get());
  const Gradients of_twin = make_gradients(twin.get());
  const auto skip_in = [&](int loop) {
    host.parallel_for = [&host, last = host.num_calls + loop](int64_t num_items, RunItem* run, void* task) {
      run_in_order(host.num_calls == last ? num_items - 1 : num_items, run, task);
    };
  };
  const Refusal refused = {HEED_ERROR_INVALID_ARGUMENT, {"parallel_for"}};
  const auto numbers = [](const Gradients& set) {
    return read_elements<float>(gradient_of(set.get(), "weight").get());
  };

  const Tensor one = gradient_of(gradients.get(), "weight");
  check(heed_tensor_fill(one.get(), 1));
  skip_in(1);
  EXPECT_TRUE(is_refused(heed_gradients_scale(gradients.get(), 2), refused));
  EXPECT_EQ(numbers(gradients), std::vector<float>(2000000, 2));
  skip_in(1);
  EXPECT_TRUE(is_refused(heed_gradients_add(of_twin.get(), gradients.get()), refused));
  EXPECT_EQ(numbers(of_twin), numbers(gradients));
  // In the norm, then in the product.
  heed_gradients* set = gradients.get();
  skip_in(1);
  EXPECT_TRUE(is_refused(heed_gradients_clip(&set, 1, 1, nullptr), refused));
  EXPECT_EQ(numbers(gradients), numbers(of_twin));
  skip_in(2);
  EXPECT_TRUE(is_refused(heed_gradients_clip(&set, 1, 1, nullptr), refused));
  host.parallel_for = run_in_order;
  set = of_twin.get();
  check(heed_gradients_clip(&set, 1, 1, nullptr));
  EXPECT_EQ(numbers(gradients), numbers(of_twin));

  const Optimizer optimizer = make_adamw(context.get());
  const Optimizer of_twins = make_adamw(context.get());
  const auto weight = [](const Layer& of) { return read_bytes(snapshot(of.get(), "weight").get()); };
  const auto before = weight(layer);
  skip_in(1);
  EXPECT_TRUE(is_refused(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()), refused));
  host.parallel_for = run_in_order;
  EXPECT_EQ(weight(layer), before);
  skip_in(2);
  EXPECT_TRUE(is_refused(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()), refused));
  host.parallel_for = run_in_order;
  check(heed_optimizer_step(of_twins.get(), twin.get(), of_twin.get()));
  EXPECT_NE(weight(layer), before);
  EXPECT_EQ(weight(layer), weight(twin));
  // The optimizer's state is that after the step, too.
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
  check(heed_optimizer_step(of_twins.get(), twin.get(), of_twin.get()));
  EXPECT_EQ(weight(layer), weight(twin));
  skip_in(1);
  EXPECT_TRUE(is_refused(heed_gradients_zero(gradients.get()), refused));
  host.parallel_for = run_in_order;
  EXPECT_EQ(numbers(gradients), std::vector<float>(2000000, 0));
}

TEST(BrokenExecutor, FailsAForwardWithAWorkspaceToo) {
  Host host([](int64_t, RunItem*, void*) {});
  const AttentionCall call(host.make_context(3), Kind::DotProductRank4,
                           {.batch = 2, .num_queries = 70, .num_keys = 300});
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  EXPECT_TRUE(is_refused(call.forward(workspace.get()), {HEED_ERROR_INVALID_ARGUMENT, {"parallel_for"}}));
  host.parallel_for = run_in_order;
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
