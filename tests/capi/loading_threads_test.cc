// SPDX-License-Identifier: Apache-2.0
// Parameters are loaded, set and initialized on the context's threads: with the same bits as on one thread, and
// completely or not at all if a host's executor violates its contract.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"
#include "capi/support/run_together.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kInputs = 700;
constexpr int64_t kOutputs = 900;

using RunItem = void(void* task, int64_t item);

std::atomic<int> num_calls = 0;
std::atomic<bool> leaves_items = false;

// Runs each item on a thread of its own; leaves out the first item if leaves_items is set.
void run_on_threads(void*, int64_t num_items, RunItem* run, void* task) {
  ++num_calls;
  std::vector<std::thread> threads;
  for (int64_t item = leaves_items ? 1 : 0; item < num_items; ++item) threads.emplace_back(run, task, item);
  for (std::thread& thread : threads) thread.join();
}

Context make_context_of(int32_t num_threads, bool has_executor = false) {
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = run_on_threads;
  executor.num_threads = num_threads;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  if (has_executor) options.executor = &executor;
  return make_context(&options);
}

// A linear layer and the result that it computes.
struct Dense {
  explicit Dense(heed_context* context) {
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = kOutputs;
    options.no_bias = 1;
    layer = make_linear(context, options);
    queries = make_random(context, {1, 3, kInputs}, 1);
    output = make_tensor(context, {1, 3, kOutputs});
    inputs.queries = queries.get();
    outputs.output = output.get();
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;

  std::vector<uint8_t> result() const {
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    return read_bytes(output.get());
  }
  // The weight as a snapshot, and the result of a call, which reads the packed weight.
  std::vector<uint8_t> bits() const {
    std::vector<uint8_t> all = read_bytes(snapshot(layer.get(), "weight").get());
    const std::vector<uint8_t> computed = result();
    all.insert(all.end(), computed.begin(), computed.end());
    return all;
  }

  Layer layer;
  Tensor queries;
  Tensor output;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
};

// The result and the weight of a layer whose parameters were loaded, set or initialized.
std::vector<uint8_t> bits_of(heed_context* context, int way, const std::string& path) {
  const Dense dense(context);
  const Tensor value = make_random(context, {kInputs, kOutputs}, 7);
  if (way == 0) check(heed_layer_initialize(dense.layer.get(), &dense.inputs, 5));
  if (way == 1)
    check(heed_layer_set_parameter(dense.layer.get(), "weight", make_transposed(value.get(), {1, 0}).get()));
  if (way == 2) check(heed_layer_load(dense.layer.get(), path.c_str(), nullptr));
  return dense.bits();
}

class LoadingThreads : public testing::TestWithParam<int> {
 protected:
  LoadingThreads() {
    const Context context = make_context_of(1);
    const Dense dense(context.get());
    check(heed_layer_initialize(dense.layer.get(), &dense.inputs, 9));
    check(heed_layer_save(dense.layer.get(), path_.c_str()));
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.path("dense.safetensors");
};

INSTANTIATE_TEST_SUITE_P(Ways, LoadingThreads, testing::Values(0, 1, 2));

TEST_P(LoadingThreads, GiveTheSameBitsAsOne) {
  const std::vector<uint8_t> expected = bits_of(make_context_of(1).get(), GetParam(), path_);
  for (const int32_t num_threads : {2, 3, 7}) {
    EXPECT_TRUE(bits_of(make_context_of(num_threads).get(), GetParam(), path_) == expected) << num_threads;
    num_calls = 0;
    EXPECT_TRUE(bits_of(make_context_of(num_threads, true).get(), GetParam(), path_) == expected) << num_threads;
    EXPECT_GT(num_calls, 0) << "the host's threads take part";
  }
}

TEST_P(LoadingThreads, OfABrokenExecutorLeaveTheLayerUnchanged) {
  const Context context = make_context_of(3, true);
  const Dense dense(context.get());
  check(heed_layer_initialize(dense.layer.get(), &dense.inputs, 4));
  const std::vector<uint8_t> before = dense.bits();
  const Tensor value = make_random(context.get(), {kOutputs, kInputs}, 7);
  leaves_items = true;
  const heed_status status = GetParam() == 0   ? heed_layer_initialize(dense.layer.get(), &dense.inputs, 5)
                             : GetParam() == 1 ? heed_layer_set_parameter(dense.layer.get(), "weight", value.get())
                                               : heed_layer_load(dense.layer.get(), path_.c_str(), nullptr);
  leaves_items = false;
  EXPECT_TRUE(is_refused(status, {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->parallel_for", "before its"}}));
  EXPECT_TRUE(dense.bits() == before);
}

// Several threads load layers of one context. One of them at a time gets the context's threads.
TEST_P(LoadingThreads, LoadSeveralLayersAtOnce) {
  const std::vector<uint8_t> expected = bits_of(make_context_of(1).get(), GetParam(), path_);
  const Context context = make_context_of(2);
  std::atomic<int> num_wrong = 0;
  run_together(4, [&](int) {
    for (int i = 0; i < 3; ++i) {
      if (bits_of(context.get(), GetParam(), path_) != expected) ++num_wrong;
    }
  });
  EXPECT_EQ(num_wrong, 0);
}

}  // namespace
}  // namespace heed::capi_test
