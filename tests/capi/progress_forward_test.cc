// SPDX-License-Identifier: Apache-2.0
// Reports of a forward, and stopping it by them: what has been stopped can be made again, with the bits of a call that was never
// stopped.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "capi/support/reports.h"

namespace heed::capi_test {
namespace {

heed_context_options with_threads(int32_t num_threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  return options;
}

const Refusal kCancelled = {HEED_ERROR_CANCELLED, {"inputs->progress->report returned -7 after ", " tasks"}};

// ---- reports --------------------------------------------------------------------------------------------------------

TEST(ProgressOfForward, IsReportedFromZeroToTheTotal) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const std::vector<uint8_t> expected = call.run();
    Reports reports;
    call.inputs.progress = &reports.progress;
    EXPECT_EQ(call.run(), expected);
    EXPECT_TRUE(reports.are_whole());
    // At least one for each layer.
    EXPECT_GT(reports.done.size(), 4u);
  }
}

TEST(ProgressOfForward, IsReportedByEveryKindOfLayer) {
  for (const Kind kind : kEveryKind) {
    SCOPED_TRACE(name_of(kind));
    AttentionCall call(kind);
    check(call.forward());
    const std::vector<uint8_t> expected = call.read_outputs();
    Reports reports;
    call.inputs.progress = &reports.progress;
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_TRUE(reports.are_whole());
    EXPECT_EQ(call.read_outputs(), expected);
    Reports stopped(reports.done.size() - 1);
    call.inputs.progress = &stopped.progress;
    forget_last_error();
    EXPECT_TRUE(is_refused(call.forward(), kCancelled));
    EXPECT_EQ(stopped.done.size(), reports.done.size());
  }
}

TEST(ProgressOfForward, IsReportedByAttentionInOneCall) {
  AttentionCall call(Kind::DotProductRank4);
  Reports reports;
  call.inputs.progress = &reports.progress;
  check(heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, &call.outputs));
  EXPECT_TRUE(reports.are_whole());
  Reports stopped(1);
  call.inputs.progress = &stopped.progress;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, &call.outputs),
                         kCancelled));
}

TEST(ProgressOfForward, IsNotReportedByFunctionsThatComputeNothing) {
  AttentionCall call(Kind::Encoder);
  Reports reports(0);
  call.inputs.progress = &reports.progress;
  size_t num_bytes = 0;
  check(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes));
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes));
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &made));
  const Tensor output(made.output);
  EXPECT_TRUE(reports.done.empty());
}

// An operation that is much longer than the time between two reports.
class LargeLinear {
 public:
  explicit LargeLinear(const heed_context_options& options) : context(make_context(&options)) {
    heed_linear_options size = HEED_LINEAR_OPTIONS_INIT;
    size.output_size = 1024;
    layer = make_linear(context.get(), size);
    rows = make_random(context.get(), {1500, 1024}, 1);
    output = make_tensor(context.get(), {1500, 1024});
    inputs.queries = rows.get();
    outputs.output = output.get();
    check(heed_layer_initialize(layer.get(), &inputs, 3));
  }

  heed_status forward() const { return heed_layer_forward(layer.get(), &inputs, nullptr, &outputs); }
  std::vector<uint8_t> run() const {
    check(heed_tensor_fill(output.get(), 0));
    check(forward());
    return read_bytes(output.get());
  }

  Context context;
  Layer layer;
  Tensor rows;
  Tensor output;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
};

TEST(ProgressOfForward, IsReportedWithinALongOperation) {
  LargeLinear large(with_threads(1));
  const std::vector<uint8_t> expected = large.run();
  Reports whole;
  large.inputs.progress = &whole.progress;
  EXPECT_EQ(large.run(), expected);
  EXPECT_TRUE(whole.are_whole());
  EXPECT_GT(whole.done.size(), 5u);
  for (size_t k = 0; k < whole.done.size(); ++k) {
    SCOPED_TRACE(k);
    Reports reports(k);
    large.inputs.progress = &reports.progress;
    forget_last_error();
    EXPECT_TRUE(is_refused(large.forward(), kCancelled));
    EXPECT_EQ(reports.done.size(), k + 1);
    large.inputs.progress = nullptr;
    EXPECT_EQ(large.run(), expected);
  }
}

// How many of the tasks run on the calling thread differs from call to call.
TEST(ProgressOfForward, StopsALongOperationOnSeveralThreads) {
  LargeLinear one(with_threads(1));
  const std::vector<uint8_t> expected = one.run();
  for (const int32_t num_threads : {2, 3, 8, 16}) {
    LargeLinear large(with_threads(num_threads));
    EXPECT_EQ(large.run(), expected);
    for (const size_t k : {0u, 1u, 2u, 1u}) {
      Reports reports(k);
      large.inputs.progress = &reports.progress;
      const heed_status status = large.forward();
      EXPECT_EQ(status, reports.done.size() == k + 1 ? HEED_ERROR_CANCELLED : HEED_OK);
      EXPECT_TRUE(reports.is_on_own_thread);
      Reports whole;
      large.inputs.progress = &whole.progress;
      EXPECT_EQ(large.run(), expected);
      EXPECT_TRUE(whole.are_whole());
    }
  }
}

// The host's threads run the items; the calling thread may be one of them or not.
TEST(ProgressOfForward, IsReportedOnTheCallingThreadOfAnExecutor) {
  LargeLinear one(with_threads(1));
  const std::vector<uint8_t> expected = one.run();
  using RunItem = void(void* task, int64_t item);
  const auto on_threads = [](void*, int64_t num_items, RunItem* run, void* task) {
    std::vector<std::thread> threads;
    for (int64_t item = 0; item < num_items; ++item) threads.emplace_back(run, task, item);
    for (std::thread& thread : threads) thread.join();
  };
  const auto in_order = [](void*, int64_t num_items, RunItem* run, void* task) {
    for (int64_t item = 0; item < num_items; ++item) run(task, item);
  };
  for (const bool has_items : {false, true}) {
    heed_executor executor = HEED_EXECUTOR_INIT;
    executor.num_threads = 3;
    executor.parallel_for = has_items ? +in_order : +on_threads;
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = &executor;
    LargeLinear large(options);
    Reports whole;
    large.inputs.progress = &whole.progress;
    EXPECT_EQ(large.run(), expected);
    EXPECT_TRUE(whole.are_whole());
    EXPECT_EQ(whole.done.size() > 2, has_items);
    Reports reports(has_items ? 2 : 0);
    large.inputs.progress = &reports.progress;
    forget_last_error();
    EXPECT_TRUE(is_refused(large.forward(), kCancelled));
    large.inputs.progress = nullptr;
    EXPECT_EQ(large.run(), expected);
  }
}

// ---- stopping -------------------------------------------------------------------------------------------------------

TEST(ProgressOfForward, StopsAModelAtEachReport) {
  for (const char* family : {"bert", "gemma3", "t5", "bart"}) {
    ModelCall one(golden_model(family));
    const std::vector<uint8_t> expected = one.run();
    Reports whole;
    one.inputs.progress = &whole.progress;
    one.run();
    for (const int32_t num_threads : {1, 2, 16}) {
      const heed_context_options options = with_threads(num_threads);
      ModelCall call(golden_model(family), &options);
      call.make_output();
      size_t num_bytes = 0;
      check(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes));
      const Workspace workspace = make_workspace(call.context.get(), num_bytes);
      for (size_t k = 0; k < whole.done.size(); ++k) {
        SCOPED_TRACE(std::string(family) + " stopped at report " + std::to_string(k));
        Reports reports(k);
        call.inputs.progress = &reports.progress;
        forget_last_error();
        ASSERT_TRUE(is_refused(call.forward(k % 2 == 0 ? workspace.get() : nullptr), kCancelled));
        ASSERT_EQ(reports.done.size(), k + 1);
        call.inputs.progress = nullptr;
        ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
        EXPECT_EQ(read_bytes(call.outputs.output), expected);
      }
    }
  }
}

TEST(ProgressOfForward, ErrorsNameItsMembers) {
  AttentionCall call(Kind::MultiHead);
  heed_progress progress = HEED_PROGRESS_INIT;
  call.inputs.progress = &progress;
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->progress->report is NULL"})));
  size_t num_bytes = 0;
  EXPECT_TRUE(is_refused(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes),
                         invalid({"inputs->progress->report is NULL"})));
  Reports reports(1);
  reports.during = [] { throw 5; };
  call.inputs.progress = &reports.progress;
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->progress->report threw a C++ exception"})));
  EXPECT_EQ(reports.done.size(), 1u);
  call.inputs.progress = nullptr;
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_STREQ(heed_status_name(HEED_ERROR_CANCELLED), "HEED_ERROR_CANCELLED");
}

// ---- calls of heed within a report ----------------------------------------------------------------------------------

TEST(ProgressOfForward, ReportsMayCallHeed) {
  LargeLinear large(with_threads(2));
  const LargeLinear one(with_threads(1));
  const std::vector<uint8_t> expected = one.run();
  const Tensor output = make_tensor(large.context.get(), {1500, 1024});
  heed_layer_inputs inputs = large.inputs;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  const auto expect_same = [&](const Reports& outer) {
    const size_t before = outer.done.size();
    check(heed_tensor_fill(output.get(), 0));
    EXPECT_EQ(heed_layer_forward(large.layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
    EXPECT_EQ(read_bytes(output.get()), expected);
    EXPECT_EQ(outer.done.size(), before);
  };
  Reports reports;
  reports.during = [&] { expect_same(reports); };
  large.inputs.progress = &reports.progress;
  EXPECT_EQ(large.run(), expected);
  EXPECT_TRUE(reports.are_whole());
  // A call within the report that stops the call is whole, and one that is stopped itself does not stop the other.
  Reports stopped(1);
  stopped.during = reports.during = [&] { expect_same(stopped); };
  large.inputs.progress = &stopped.progress;
  EXPECT_EQ(large.forward(), HEED_ERROR_CANCELLED);
  Reports inner(1);
  Reports outer;
  outer.during = [&] {
    inner.done.clear();
    inputs.progress = &inner.progress;
    EXPECT_EQ(heed_layer_forward(large.layer.get(), &inputs, nullptr, &outputs), HEED_ERROR_CANCELLED);
  };
  large.inputs.progress = &outer.progress;
  EXPECT_EQ(large.run(), expected);
  EXPECT_TRUE(outer.are_whole());
}

TEST(ProgressOfForward, ReportsFindTheWorkspaceBusy) {
  AttentionCall call(Kind::Encoder);
  size_t num_bytes = 0;
  check(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes));
  const Workspace workspace = make_workspace(call.context.get(), num_bytes);
  const Tensor output = make_tensor(call.context.get(), dims_of(call.outputs.output));
  const heed_layer_inputs inputs = call.inputs;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  Reports reports;
  reports.during = [&] {
    EXPECT_EQ(heed_layer_forward(call.layer.get(), &inputs, workspace.get(), &outputs), HEED_ERROR_BUSY);
  };
  call.inputs.progress = &reports.progress;
  EXPECT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, workspace.get(), &call.outputs), HEED_OK);
  EXPECT_TRUE(reports.are_whole());
}

}  // namespace
}  // namespace heed::capi_test
