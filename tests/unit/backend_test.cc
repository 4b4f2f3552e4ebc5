// SPDX-License-Identifier: Apache-2.0
// Layers on a backend other than the CPU's: its reasons, its failures and its name are reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/context.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/workspace.h"
#include "base/error.h"
#include "layers/kinds/additive_attention.h"
#include "layers/kinds/dot_product_attention.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/multi_head_attention.h"
#include "loading/layer_parameters.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "ops/linear.h"
#include "tensor/tensor.h"
#include "tensor_functions/matmul.h"
#include "tensor_functions/softmax.h"

namespace heed {
namespace {

// The CPU under another name: it gives a reason against every operation except softmax, and attention with a single
// query fails.
Backend slow_backend() {
  Backend backend = cpu_backend();
  backend.name = "slow";
  backend.plan = [](const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
    const Status status = cpu_backend().plan(device, op, plan, failure);
    if (op->kind != OpKind::Softmax) plan->add_reason("it is a test");
    return status;
  };
  backend.run = [](BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure) {
    if (op->kind != OpKind::Attention || problem_of<AttentionProblem>(*op).limits.num_queries != 1)
      return cpu_backend().run(device, op, plan, scratch, failure);
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

// The attention problem that a layer with these inputs passes to its backend if log_sum_exp is requested.
template <typename LayerType, typename Options>
AttentionProblem problem_of(const Options& options) {
  Backend backend = cpu_backend();
  backend.run = [](BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure) {
    if (op->kind != OpKind::Attention) return cpu_backend().run(device, op, plan, scratch, failure);
    seen = heed::problem_of<AttentionProblem>(*op);
    return Status::Ok;
  };
  const auto context = Context::open({}, backend);
  LayerType layer(context, options);
  const Tensor queries = Tensor::zeros(context, DType::F16, {2, 3, 6});
  LayerInputs inputs;
  inputs.queries = &queries;
  initialize(layer, inputs, 1);
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

std::vector<LinearProblem> seen_projections;

// A backend that records the projections that it runs.
Backend noting_backend() {
  seen_projections.clear();
  Backend backend = cpu_backend();
  backend.run = [](BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure) {
    if (op->kind == OpKind::Linear) seen_projections.push_back(heed::problem_of<LinearProblem>(*op));
    return cpu_backend().run(device, op, plan, scratch, failure);
  };
  return backend;
}

// Self-attention over (2, rows, 6), in 4 heads of 5 elements, with 2 key heads and value heads of 7 elements.
struct SelfAttention {
  explicit SelfAttention(const Backend& given, int64_t rows = 3)
      : backend(given),
        context(Context::open({}, backend)),
        layer(context, options()),
        queries(Tensor::zeros(context, DType::F32, {2, rows, 6})),
        output(Tensor::zeros(context, DType::F32, {2, rows, 11})) {
    std::fill_n(reinterpret_cast<float*>(queries.data()), queries.num_elements(), 1.0f);
    inputs.queries = &queries;
    outputs.output = &output;
  }

  static MultiHeadAttentionOptions options() {
    MultiHeadAttentionOptions options;
    options.num_heads = 4;
    options.num_kv_heads = 2;
    options.head_size = 5;
    options.value_head_size = 7;
    options.output_size = 11;
    return options;
  }

  std::vector<float> results() {
    layer.forward(inputs, nullptr, outputs);
    const auto* elements = reinterpret_cast<const float*>(output.data());
    return {elements, elements + output.num_elements()};
  }

  SelfAttention(const SelfAttention&) = delete;
  SelfAttention& operator=(const SelfAttention&) = delete;

  Backend backend;
  std::shared_ptr<Context> context;
  MultiHeadAttention layer;
  Tensor queries;
  Tensor output;
  LayerInputs inputs;
  LayerOutputs outputs;
};

TEST(Backend, IsAskedForAllProjectionsOfOneTensorAtOnce) {
  SelfAttention attention(noting_backend());
  initialize(attention.layer, attention.inputs, 1);
  attention.results();
  ASSERT_EQ(seen_projections.size(), 2u);
  const LinearProblem& together = seen_projections[0];
  EXPECT_EQ(together.num_parts, 3);
  EXPECT_EQ(together.batch, 2);
  EXPECT_EQ(together.rows, 3);
  EXPECT_EQ(together.input_size, 6);
  struct Expected {
    int64_t num_heads;
    int64_t head_size;
  };
  const Expected expected[] = {{4, 5}, {2, 5}, {2, 7}};
  for (size_t i = 0; i < 3; ++i) {
    const auto [num_heads, head_size] = expected[i];
    const LinearPart& part = together.parts[i];
    EXPECT_EQ(part.output_size, num_heads * head_size);
    EXPECT_EQ(part.head_size, head_size);
    EXPECT_EQ(part.is_packed, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(part.packed) % kMemoryAlignment, 0u);
  }
  const LinearProblem& last = seen_projections[1];
  EXPECT_EQ(last.num_parts, 1);
  EXPECT_EQ(last.input_size, 4 * 7);
  EXPECT_EQ(last.parts[0].output_size, 11);
  EXPECT_EQ(last.parts[0].head_size, 11);
  EXPECT_EQ(last.parts[0].is_packed, 1);
  EXPECT_EQ(std::to_array(last.input.strides), (std::array<int64_t, kOperandRank>{0, int64_t{3} * 28, 28, 1}));
}

TEST(Backend, IsAskedForProjectionsHeadByHeadUnlessTheyAreSmall) {
  constexpr int64_t kRows = 300;
  SelfAttention attention(noting_backend(), kRows);
  initialize(attention.layer, attention.inputs, 1);
  attention.results();
  ASSERT_EQ(seen_projections.size(), 2u);
  using Strides = std::array<int64_t, kOperandRank>;
  const auto& parts = seen_projections[0].parts;
  // 46.9, 23.4 and 32.8 KiB.
  EXPECT_EQ(std::to_array(parts[0].output.strides), (Strides{kRows * 5, kRows * 20, 5, 1}));
  EXPECT_EQ(std::to_array(parts[1].output.strides), (Strides{5, kRows * 10, 10, 1}));
  EXPECT_EQ(std::to_array(parts[2].output.strides), (Strides{kRows * 7, kRows * 14, 7, 1}));
}

TEST(Backend, ThatReadsWeightsAsTheyAreGetsNoneThatIsPacked) {
  SelfAttention packing(cpu_backend());
  initialize(packing.layer, packing.inputs, 1);
  Backend backend = noting_backend();
  backend.packed_linear_bytes = [](const BackendDevice*, const LinearPart*, int64_t, size_t* num_bytes, Failure*) {
    *num_bytes = 0;
    return Status::Ok;
  };
  backend.pack_linear = nullptr;
  SelfAttention plain(backend);
  initialize(plain.layer, plain.inputs, 1);
  EXPECT_EQ(plain.results(), packing.results());
  for (const LinearProblem& problem : seen_projections) EXPECT_EQ(problem.parts[0].is_packed, 0);
}

int num_packs_left = 0;

TEST(Backend, ThatCannotPackAWeightLeavesTheLayerAsItWas) {
  Backend backend = cpu_backend();
  backend.pack_linear = [](BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock* block,
                           void* packed, Failure* failure) {
    if (num_packs_left-- > 0) return cpu_backend().pack_linear(device, part, input_size, block, packed, failure);
    failure->status = Status::DeviceLost;
    std::snprintf(failure->text, sizeof failure->text, "the device went away");
    return failure->status;
  };
  num_packs_left = 4;
  SelfAttention attention(backend);
  initialize(attention.layer, attention.inputs, 1);
  const std::vector<float> before = attention.results();
  for (int num_packs = 0; num_packs < 4; ++num_packs) {
    num_packs_left = num_packs;
    EXPECT_EQ(error_of([&] { initialize(attention.layer, attention.inputs, 2); }), "the device went away");
    EXPECT_EQ(attention.results(), before);
  }
  num_packs_left = 0;
  const Tensor value = Tensor::zeros(attention.context, DType::F32, {20, 6});
  EXPECT_EQ(error_of([&] { set_parameter(attention.layer, "W_q.weight", value); }), "the device went away");
  EXPECT_EQ(attention.results(), before);
  backend.packed_linear_bytes = [](const BackendDevice*, const LinearPart*, int64_t, size_t*, Failure* failure) {
    failure->status = Status::Unsupported;
    std::snprintf(failure->text, sizeof failure->text, "no such weights here");
    return failure->status;
  };
  SelfAttention refused(backend);
  EXPECT_EQ(error_of([&] { initialize(refused.layer, refused.inputs, 2); }), "no such weights here");
  EXPECT_FALSE(refused.layer.is_initialized());
}

// So one workspace size is enough for a layer, even if some of its inputs are the same tensor, and for any strides.
TEST(CpuBackend, ScratchOfALinearProblemIsThatOfItsLargestPartWhateverTheStrides) {
  const auto context = Context::open({});
  LinearProblem problem;
  problem.batch = 3;
  problem.rows = 70;
  problem.input_size = 130;
  problem.input.strides[3] = 1;
  problem.num_parts = 3;
  for (const int32_t is_packed : {0, 1}) {
    size_t largest = 0;
    for (int32_t i = 0; i < 3; ++i) {
      LinearPart& part = problem.parts[i];
      part.output_size = int64_t{100} * (i + 1);
      part.head_size = 20;
      part.is_packed = is_packed;
      part.weight.strides[2] = problem.input_size;
      part.weight.strides[3] = part.output.strides[3] = 1;
      LinearProblem alone = problem;
      alone.num_parts = 1;
      alone.parts[0] = part;
      largest = std::max(largest, context->plan(alone.op).scratch_bytes);
    }
    EXPECT_EQ(context->plan(problem.op).scratch_bytes, largest);
    LinearProblem strided = problem;
    strided.input.strides[3] = 7;
    for (LinearPart& part : strided.parts) part.weight.strides[3] = part.output.strides[3] = 9;
    EXPECT_EQ(context->plan(strided.op).scratch_bytes, largest);
  }
}

std::vector<std::string> reasons_of(const Plan& plan) {
  std::vector<std::string> reasons;
  for (const char* reason : plan.not_fastest) {
    if (reason != nullptr) reasons.emplace_back(reason);
  }
  return reasons;
}

TEST(CpuBackend, SaysWhichElementsOfALinearProblemItHasToGather) {
  const auto context = Context::open({});
  LinearProblem dense;
  dense.batch = 1;
  dense.rows = 4;
  dense.input_size = 5;
  dense.input.strides[2] = 5;
  dense.input.strides[3] = 1;
  LinearPart& part = dense.parts[0];
  part.output_size = part.head_size = 6;
  part.weight.strides[2] = 5;
  part.weight.strides[3] = 1;
  part.output.strides[2] = 6;
  part.output.strides[3] = 1;
  const auto names = [&](const LinearProblem& problem) {
    std::string all;
    for (const std::string& reason : reasons_of(context->plan(problem.op))) {
      for (const char* word : {"input", "weight", "output"}) {
        if (reason.find(word) != std::string::npos) all += std::string(all.empty() ? "" : " ") + word;
      }
    }
    return all;
  };
  EXPECT_TRUE(context->plan(dense.op).is_fastest());
  EXPECT_EQ(names(dense), "");

  LinearProblem problem = dense;
  problem.input.strides[3] = 2;
  EXPECT_EQ(names(problem), "input");
  problem.input_size = 1;  // then the stride does not matter
  EXPECT_EQ(names(problem), "");

  problem = dense;
  problem.parts[0].weight.strides[2] = 1;  // the second operand of a product
  problem.parts[0].weight.strides[3] = 6;
  EXPECT_EQ(names(problem), "");
  problem.parts[0].weight.strides[2] = 12;
  EXPECT_EQ(names(problem), "weight");
  problem.parts[0].is_packed = 1;
  EXPECT_EQ(names(problem), "");

  problem = dense;
  problem.num_parts = 2;
  problem.parts[1] = problem.parts[0];
  problem.parts[1].output.strides[3] = 3;
  EXPECT_EQ(names(problem), "output");
  problem.parts[1].weight.strides[3] = 3;
  problem.input.strides[3] = 0;
  EXPECT_EQ(names(problem), "input weight output");
  EXPECT_FALSE(context->plan(problem.op).is_fastest());
}

TEST(Plan, KeepsAFewReasons) {
  Plan plan;
  EXPECT_TRUE(plan.is_fastest());
  for (const char* reason : {"a", "b", "c", "d", "e"}) plan.add_reason(reason);
  EXPECT_FALSE(plan.is_fastest());
  EXPECT_EQ(reasons_of(plan), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Strict, TellsEveryReason) {
  Backend backend = cpu_backend();
  backend.plan = [](const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
    const Status status = cpu_backend().plan(device, op, plan, failure);
    plan->add_reason("it is a test");
    plan->add_reason("it is late");
    return status;
  };
  ContextOptions options;
  options.strict = true;
  const auto context = Context::open(options, backend);
  const Tensor a = Tensor::zeros(context, DType::F32, {2, 2});
  const Tensor result = Tensor::zeros(context, DType::F32, {2, 2});
  EXPECT_EQ(error_of([&] { matmul(a, a, result); }),
            "the context is strict, and \"matmul\" would not take the fastest path: it is a test; it is late");
}

TEST(Strict, CutsReasonsThatASentenceCannotHold) {
  static const std::array<std::string, kMaxReasons> kLong = {std::string(300, 'w'), std::string(300, 'x'),
                                                             std::string(300, 'y'), std::string(300, 'z')};
  Backend backend = cpu_backend();
  backend.plan = [](const BackendDevice*, const Op*, Plan* plan, Failure*) {
    for (const std::string& reason : kLong) plan->add_reason(reason.c_str());
    return Status::Ok;
  };
  ContextOptions options;
  options.strict = true;
  const auto context = Context::open(options, backend);
  const Tensor a = Tensor::zeros(context, DType::F32, {2, 2});
  const Tensor result = Tensor::zeros(context, DType::F32, {2, 2});
  EXPECT_EQ(error_of([&] { matmul(a, a, result); }).size(), kErrorCapacity - 1);
}

// A device with its own memory that has only linear operations; the CPU computes all others.
TEST(Backend, OperationsThatItDoesNotHaveGoToTheHost) {
  static int num_plans;
  num_plans = 0;
  Backend backend = cpu_backend();
  backend.is_host = 0;
  backend.operations = bit_of(OpKind::Linear);
  backend.plan = [](const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
    EXPECT_EQ(op->kind, OpKind::Linear);
    ++num_plans;
    return cpu_backend().plan(device, op, plan, failure);
  };
  backend.copy = [](BackendDevice*, void* destination, const void* source, size_t num_bytes, Direction, Failure*) {
    std::memcpy(destination, source, num_bytes);
    return Status::Ok;
  };
  backend.wait_idle = [](BackendDevice*) {};
  const auto context = Context::open({}, backend);
  const float values[] = {1, 2};
  float results[2] = {};
  DropoutProblem dropout;
  dropout.sizes[kElementwiseRank - 1] = 2;
  for (ElementwiseOperand* operand : {&dropout.input, &dropout.output}) {
    operand->given = 1;
    operand->strides[kElementwiseRank - 1] = 1;
  }
  dropout.input.data = const_cast<float*>(values);
  dropout.output.data = results;
  const Plan plan = context->plan(dropout.op);
  EXPECT_EQ(plan.on_host, 1);
  EXPECT_EQ(reasons_of(plan), (std::vector<std::string>{"the device does not have this operation"}));
  context->run(dropout.op, plan, nullptr);
  EXPECT_EQ(results[0], 1);
  EXPECT_EQ(results[1], 2);
  EXPECT_EQ(num_plans, 0);

  LinearProblem linear;
  linear.batch = linear.rows = linear.input_size = linear.parts[0].output_size = linear.parts[0].head_size = 1;
  EXPECT_EQ(context->plan(linear.op).on_host, 0);
  EXPECT_EQ(num_plans, 1);
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
  backend.plan = [](const BackendDevice*, const Op*, Plan*, Failure* failure) {
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
  backend.plan = cpu_backend().plan;
  backend.run = [](BackendDevice*, const Op*, const Plan*, void*, Failure* failure) {
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
  EXPECT_EQ(error_of([&] { context->plan(problem.op); }),
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
  EXPECT_EQ(error_of([&] { softmax(a, 1, false, result); }), "");
  EXPECT_EQ(
      error_of([&] { softmax(a, 0, false, result); }),
      "the context is strict, and \"softmax\" would not take the fastest path: the elements of the softmax's axis "
      "do not lie side by side (stride 1), so they are gathered; the elements of the result's axis do not lie side "
      "by side (stride 1), so they are scattered");
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
  EXPECT_EQ(error_of([&] { softmax(a, 0, false, elsewhere); }),
            "result is on device cpu:0, but tensor is on slow:0: expected the same device");
  EXPECT_EQ(error_of([&] { masked_softmax(a, &lens, result); }),
            "valid_lens is on device cpu:0, but scores is on slow:0: expected the same device");
}

}  // namespace
}  // namespace heed
