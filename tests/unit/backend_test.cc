// SPDX-License-Identifier: Apache-2.0
// Layers on a backend that is not the CPU's: its reasons, its failures and its name come through.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/context.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/workspace.h"
#include "base/error.h"
#include "layers/additive_attention.h"
#include "layers/dot_product_attention.h"
#include "layers/dropout.h"
#include "layers/multi_head_attention.h"
#include "operations/matmul.h"
#include "operations/softmax.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// The CPU under another name, which calls everything but softmax slow, and fails attention with a single query.
Backend slow_backend() {
  Backend backend = cpu_backend();
  backend.name = "slow";
  backend.plan_attention = [](const BackendDevice* device, const AttentionProblem* problem, Plan* plan,
                              Failure* failure) {
    const Status status = cpu_backend().plan_attention(device, problem, plan, failure);
    plan->add_reason("it is a test");
    return status;
  };
  backend.plan_linear = [](const BackendDevice* device, const LinearProblem* problem, Plan* plan, Failure* failure) {
    const Status status = cpu_backend().plan_linear(device, problem, plan, failure);
    plan->add_reason("it is a test");
    return status;
  };
  backend.run_attention = [](BackendDevice* device, const AttentionProblem* problem, const Plan* plan, void* scratch,
                             Failure* failure) {
    if (problem->num_queries != 1) return cpu_backend().run_attention(device, problem, plan, scratch, failure);
    failure->status = Status::DeviceLost;
    std::snprintf(failure->text, sizeof failure->text, "the device went away");
    return failure->status;
  };
  return backend;
}

struct Call {
  explicit Call(bool strict, int64_t num_queries = 2) {
    ContextOptions options;
    options.strict = strict;
    options.logger = {[](void* user, int32_t level, const char* text) {
                        static_cast<Call*>(user)->messages.push_back(std::to_string(level) + " " + text);
                      },
                      this};
    context = Context::open(options, backend);
    layer = std::make_unique<DotProductAttention>(context, AttentionOptions{});
    queries = std::make_unique<Tensor>(Tensor::zeros(context, DType::F32, {1, num_queries, 4}));
    output = std::make_unique<Tensor>(Tensor::zeros(context, DType::F32, {1, num_queries, 4}));
    inputs.queries = queries.get();
    outputs.output = output.get();
  }

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::vector<std::string> messages;
  Backend backend = slow_backend();
  std::shared_ptr<Context> context;
  std::unique_ptr<DotProductAttention> layer;
  std::unique_ptr<Tensor> queries;
  std::unique_ptr<Tensor> output;
  LayerInputs inputs;
  LayerOutputs outputs;
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.text;
  }
  return "";
}

TEST(Strict, RefusesWhatIsNotTheFastestWithTheReason) {
  const Call call(true);
  try {
    call.layer->forward(call.inputs, nullptr, call.outputs);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::NotFastest);
    EXPECT_NE(std::string(error.text).find("it is a test"), std::string::npos) << error.text;
  }
}

TEST(Strict, IsNotAskedForByDefault) {
  const Call call(false);
  EXPECT_NO_THROW(call.layer->forward(call.inputs, nullptr, call.outputs));
}

TEST(Slowness, IsLoggedAsAWarningAtEachForward) {
  const Call call(false);
  const auto workspace = Workspace::create(call.context, call.layer->workspace_size(call.inputs, call.outputs));
  call.layer->explain(call.inputs, call.outputs);
  EXPECT_TRUE(call.messages.empty());
  call.layer->forward(call.inputs, nullptr, call.outputs);
  call.layer->forward(call.inputs, workspace.get(), call.outputs);
  ASSERT_EQ(call.messages.size(), 4u);
  for (const size_t warning : {0, 2})
    EXPECT_EQ(call.messages[warning],
              "2 heed_layer_forward: \"attention\" does not take the fastest path: it is a test");
  for (const size_t debug : {1, 3}) EXPECT_EQ(call.messages[debug].substr(0, 2), "4 ") << call.messages[debug];
}

TEST(Slowness, IsAnErrorAndNoWarningInStrictContexts) {
  const Call call(true);
  EXPECT_THROW(call.layer->forward(call.inputs, nullptr, call.outputs), Error);
  EXPECT_TRUE(call.messages.empty());
}

TEST(Strict, ExplainTellsTheReasonWithoutFailing) {
  const Call call(true);
  const std::string text = call.layer->explain(call.inputs, call.outputs);
  EXPECT_NE(text.find("it is a test"), std::string::npos) << text;
  EXPECT_NE(text.find("slow:0"), std::string::npos) << text;
}

TEST(Backend, OfAnotherVersionIsRefused) {
  Backend backend = cpu_backend();
  ++backend.version;
  try {
    Context::open({}, backend);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::DeviceUnavailable);
    EXPECT_NE(std::string(error.text).find("backend cpu"), std::string::npos) << error.text;
  }
}

AttentionProblem seen;

// What a backend is asked to attend to by a layer that is initialized for these inputs and asked for its log_sum_exp.
template <typename LayerType, typename Options>
AttentionProblem problem_of(const Options& options) {
  Backend backend = cpu_backend();
  backend.run_attention = [](BackendDevice*, const AttentionProblem* problem, const Plan*, void*, Failure*) {
    seen = *problem;
    return Status::Ok;
  };
  const auto context = Context::open({}, backend);
  LayerType layer(context, options);
  const Tensor queries = Tensor::zeros(context, DType::F16, {2, 3, 6});
  LayerInputs inputs;
  inputs.queries = &queries;
  layer.initialize(inputs, 1);
  const Tensor log_sum_exp = Tensor::zeros(context, DType::F32, layer.output_shapes(inputs).log_sum_exp.value());
  LayerOutputs outputs;
  outputs.log_sum_exp = &log_sum_exp;
  layer.forward(inputs, nullptr, outputs);
  return seen;
}

TEST(Backend, IsToldTheScoringAndItsWeights) {
  MultiHeadAttentionOptions multi_head;
  multi_head.num_hiddens = 8;
  multi_head.num_heads = 2;
  AttentionProblem problem = problem_of<MultiHeadAttention>(multi_head);
  EXPECT_EQ(problem.scoring, Scoring::DotProduct);
  EXPECT_EQ(problem.score_weights.given, 0);

  multi_head.scoring = Scoring::Additive;
  problem = problem_of<MultiHeadAttention>(multi_head);
  EXPECT_EQ(problem.scoring, Scoring::Additive);
  EXPECT_EQ(problem.scale, 0.5f);
  EXPECT_EQ(problem.score_weights.given, 1);
  EXPECT_EQ(problem.score_weights.dtype, DType::F16);
  EXPECT_EQ(std::to_array(problem.score_weights.strides), (std::array<int64_t, kOperandRank>{0, 4, 0, 1}));

  AdditiveAttentionOptions additive;
  additive.num_hiddens = 16;
  problem = problem_of<AdditiveAttention>(additive);
  EXPECT_EQ(problem.scoring, Scoring::Additive);
  EXPECT_EQ(problem.scale, 1.0f);
  EXPECT_EQ(problem.num_heads, 1);
  EXPECT_EQ(problem.head_size, 16);
  EXPECT_EQ(problem.value_head_size, 6);
  EXPECT_EQ(std::to_array(problem.score_weights.strides), (std::array<int64_t, kOperandRank>{0, 0, 0, 1}));
}

TEST(Backend, FailuresOfOperationsBecomeErrors) {
  const Call call(false, 1);
  try {
    call.layer->forward(call.inputs, nullptr, call.outputs);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::DeviceLost);
    EXPECT_STREQ(error.text, "the device went away");
  }
}

TEST(Backend, FailuresOfDropoutBecomeErrors) {
  Backend backend = cpu_backend();
  backend.plan_dropout = [](const BackendDevice*, const DropoutProblem*, Plan*, Failure* failure) {
    failure->status = Status::Unsupported;
    std::snprintf(failure->text, sizeof failure->text, "no dropout here");
    return failure->status;
  };
  const auto fails = [&backend] {
    const auto context = Context::open({}, backend);
    const Tensor input = Tensor::zeros(context, DType::F32, {2});
    const Tensor output = Tensor::zeros(context, DType::F32, {2});
    LayerInputs inputs;
    inputs.queries = &input;
    LayerOutputs outputs;
    outputs.output = &output;
    Dropout(context, {}).forward(inputs, nullptr, outputs);
  };
  EXPECT_EQ(error_of(fails), "no dropout here");
  backend.plan_dropout = cpu_backend().plan_dropout;
  backend.run_dropout = [](BackendDevice*, const DropoutProblem*, const Plan*, void*, Failure* failure) {
    failure->status = Status::DeviceLost;
    std::snprintf(failure->text, sizeof failure->text, "the device went away");
    return failure->status;
  };
  EXPECT_EQ(error_of(fails), "the device went away");
}

TEST(Backend, TensorsOfAnotherDeviceAreRefusedNamingBoth) {
  const Call call(false);
  const auto cpu = Context::open({});
  const Tensor elsewhere = Tensor::zeros(cpu, DType::F32, {1, 2, 4});
  LayerInputs inputs = call.inputs;
  inputs.keys = &elsewhere;
  try {
    call.layer->forward(inputs, nullptr, call.outputs);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::InvalidArgument);
    EXPECT_STREQ(error.text, "inputs->keys is on device cpu:0, but the layer is on slow:0: expected the same device");
  }
}

TEST(Backend, LayersOfOneInputRefuseTensorsOfAnotherDevice) {
  const Backend backend = slow_backend();
  const Dropout layer(Context::open({}, backend), {});
  const Tensor elsewhere = Tensor::zeros(Context::open({}), DType::F32, {2});
  LayerInputs inputs;
  inputs.queries = &elsewhere;
  EXPECT_EQ(error_of([&] { layer.output_shapes(inputs); }),
            "inputs->queries is on device cpu:0, but the layer is on slow:0: expected the same device");
}

TEST(Backend, TheCpuRefusesProjectionsItCouldNotAddress) {
  const auto context = Context::open({});
  LinearProblem problem;
  problem.input_size = (int64_t{1} << 40) + 1;
  EXPECT_EQ(error_of([&] { context->plan(problem); }),
            "the input size of a projection or the inner size of a product is 1099511627777, expected at most "
            "1099511627776: its scratch memory could not be addressed");
}

TEST(Backend, AWorkspaceOfAnotherDeviceIsRefusedNamingBoth) {
  const Call call(false);
  const auto elsewhere = Workspace::create(Context::open({}), 1 << 16);
  EXPECT_EQ(error_of([&] { call.layer->forward(call.inputs, elsewhere.get(), call.outputs); }),
            "workspace is on device cpu:0, but the layer is on slow:0: expected the same device");
}

TEST(Strict, HoldsForOperationsToo) {
  const Backend backend = slow_backend();
  ContextOptions options;
  options.strict = true;
  const auto context = Context::open(options, backend);
  const Tensor a = Tensor::zeros(context, DType::F32, {2, 2});
  const Tensor result = Tensor::zeros(context, DType::F32, {2, 2});
  EXPECT_EQ(error_of([&] { matmul(a, a, result); }),
            "the context is strict, and \"matmul\" would not take the fastest path: it is a test");
  EXPECT_EQ(error_of([&] { softmax(a, 0, result); }), "");
}

TEST(Backend, OperationsRefuseTensorsOfAnotherDevice) {
  const Backend backend = slow_backend();
  const auto here = Context::open({}, backend);
  const auto cpu = Context::open({});
  const Tensor a = Tensor::zeros(here, DType::F32, {1, 2, 2});
  const Tensor result = Tensor::zeros(here, DType::F32, {1, 2, 2});
  const Tensor elsewhere = Tensor::zeros(cpu, DType::F32, {1, 2, 2});
  const Tensor lens = Tensor::zeros(cpu, DType::F32, {1});
  EXPECT_EQ(error_of([&] { matmul(a, elsewhere, result); }),
            "b is on device cpu:0, but a is on slow:0: expected the same device");
  EXPECT_EQ(error_of([&] { matmul(a, a, elsewhere); }),
            "product is on device cpu:0, but a is on slow:0: expected the same device");
  EXPECT_EQ(error_of([&] { softmax(a, 0, elsewhere); }),
            "result is on device cpu:0, but tensor is on slow:0: expected the same device");
  EXPECT_EQ(error_of([&] { masked_softmax(a, &lens, result); }),
            "valid_lens is on device cpu:0, but scores is on slow:0: expected the same device");
}

}  // namespace
}  // namespace heed
