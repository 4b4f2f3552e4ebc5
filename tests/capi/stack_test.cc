// SPDX-License-Identifier: Apache-2.0
// The stack that calls of heed take, which heed.h limits for hosts with small stacks. It includes the C library's part,
// and the dynamic linker's when a function is called for the first time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "support/platform/painted_stack.h"

namespace heed::capi_test {
namespace {

// heed.h allows 64 KB. A quarter is reserved for processors with larger registers than this one's, of which kernels and
// dynamic linker put more on the stack.
constexpr size_t kMostStackBytes = 48 << 10;

size_t most = 0;

// `calls` returns whether all of them succeeded; it must use little stack itself.
void expect_little_stack(const std::string& name, const std::function<bool()>& calls) {
  bool is_right = false;
  auto work = [&] { is_right = calls(); };
  const size_t num_bytes = stack_bytes_of(work);
  EXPECT_TRUE(is_right) << name << ": " << heed_last_error();
  EXPECT_LE(num_bytes, kMostStackBytes) << name;
  most = std::max(most, num_bytes);
}

bool can_forward(const AttentionCall& call) { return call.forward() == HEED_OK; }

// Also calls the other functions with the same arguments.
void expect_little_stack_of(const std::string& name, const AttentionCall& call) {
  expect_little_stack(name, [&] { return can_forward(call); });
  static char text[1 << 16];
  expect_little_stack(name + ": explain", [&] {
    size_t num_bytes = 0;
    return heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes) == HEED_OK &&
           heed_layer_explain(call.layer.get(), &call.inputs, nullptr, text, sizeof text, nullptr) == HEED_OK;
  });
}

class Stack : public testing::Test {
 protected:
  void SetUp() override { most = 0; }
  void TearDown() override { RecordProperty("most_bytes", static_cast<int>(most)); }
};

// The first test that creates a context in this process, so that every function is called for the first time.
TEST_F(Stack, OfContexts) {
  for (const int32_t num_threads : {0, 1, 4}) {
    expect_little_stack("context", [=] {
      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
      options.num_threads = num_threads;
      heed_context* context = nullptr;
      heed_workspace* workspace = nullptr;
      char text[1000];
      const bool is_right = heed_context_create(&options, &context) == HEED_OK &&
                            heed_context_describe(context, text, sizeof text, nullptr) == HEED_OK &&
                            heed_workspace_create(context, 1000, &workspace) == HEED_OK &&
                            heed_context_synchronize(context) == HEED_OK && heed_context_trim(context) == HEED_OK;
      heed_workspace_destroy(workspace);
      heed_context_destroy(context);
      return is_right;
    });
  }
  expect_little_stack("a device that is not there", [] { return heed_device_count(HEED_DEVICE_ASCEND) >= 0; });
}

TEST_F(Stack, OfForwardsOfEveryKindAndDType) {
  for (const Kind kind : kEveryKind) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (const int64_t num_queries : {1, 3, 16, 70, 300}) {
        for (const int64_t num_keys : {1, 37, 600}) {
          const AttentionCall call(kind, {.batch = 2, .num_queries = num_queries, .num_keys = num_keys}, dtype);
          expect_little_stack_of("kind " + std::to_string(static_cast<int>(kind)) + ", dtype " + std::to_string(dtype) +
                                     ", " + std::to_string(num_queries) + " queries, " + std::to_string(num_keys) +
                                     " keys",
                                 call);
        }
      }
    }
  }
}

TEST_F(Stack, OfForwardsWithEveryOption) {
  for (const int64_t num_queries : {2, 90}) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      heed_multi_head_attention_options options = two_heads();
      options.soft_cap = 2;
      options.dropout = 0.5f;
      options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      options.window = HEED_WINDOW_BOTTOM_RIGHT;
      options.window_left = 50;
      options.empty_rows = HEED_EMPTY_ROWS_MEAN;
      options.biases = HEED_BIAS_ALL;
      for (const auto scoring : {HEED_SCORING_DOT_PRODUCT, HEED_SCORING_ADDITIVE}) {
        options.scoring = scoring;
        AttentionCall call(Kind::MultiHead, {.batch = 2, .num_queries = num_queries, .num_keys = 120}, dtype);
        call.replace_layer(options);
        call.inputs.valid_lens = call.tensor_of<float>({2}, {100.0f, 0.0f});
        call.inputs.bias = call.random({num_queries, 120}, 3, dtype);
        call.inputs.mask = call.tensor_of({num_queries, 120}, std::vector<uint8_t>(num_queries * 120, 1), HEED_BOOL);
        call.inputs.training = 1;
        check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
        expect_little_stack_of("every option", call);
      }
    }
  }
}

TEST_F(Stack, OfLayersAndTheirFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path("weights.safetensors");
  for (const Kind kind : {Kind::MultiHead, Kind::Additive, Kind::Linear}) {
    const AttentionCall call(kind);
    expect_little_stack("initialize, save and load", [&] {
      heed_layer* const layer = call.layer.get();
      return heed_layer_initialize(layer, &call.inputs, 2) == HEED_OK &&
             heed_layer_save(layer, path.c_str()) == HEED_OK &&
             heed_layer_load(layer, path.c_str(), nullptr) == HEED_OK;
    });
    const char* name = heed_layer_parameter_name(call.layer.get(), 0);
    expect_little_stack("parameters", [&] {
      heed_tensor* snapshot = nullptr;
      const bool is_right = heed_layer_parameter(call.layer.get(), name, &snapshot) == HEED_OK &&
                            heed_layer_set_parameter(call.layer.get(), name, snapshot) == HEED_OK;
      heed_tensor_destroy(snapshot);
      return is_right;
    });
    expect_little_stack("making a layer and outputs", [&] {
      heed_multi_head_attention_options options = two_heads();
      heed_layer* layer = nullptr;
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      const bool is_right =
          heed_multi_head_attention_create(call.context.get(), &options, &layer) == HEED_OK &&
          heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs) == HEED_OK;
      heed_tensor_destroy(outputs.output);
      heed_layer_destroy(layer);
      return is_right;
    });
  }
}

// Deep recursion in parsers, and the longest names.
TEST_F(Stack, OfFilesOfEveryLayoutAndOfBrokenOnes) {
  const TemporaryFolder folder;
  const AttentionCall call(Kind::MultiHead);
  const std::string deep(900, '[');
  const std::string name(100000, 'x');
  for (const std::string& header :
       {std::string("{}"), std::string("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"),
        std::string("{\"a\":" + deep), "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        std::string("{\"__metadata__\":{\"a\":1e400}}")}) {
    const std::string path = folder.write("file.safetensors", safetensors(header, 4));
    expect_little_stack("a file that is refused",
                        [&] { return heed_layer_load(call.layer.get(), path.c_str(), "prefix") != HEED_OK; });
    expect_little_stack("a tensor of it", [&] {
      heed_tensor* tensor = nullptr;
      return heed_tensor_load_safetensors(call.context.get(), path.c_str(), "nothing", &tensor) != HEED_OK;
    });
  }
  for (const char* of_another : {"pytorch", "bert", "djl", "gpt2", "keras", "llama"}) {
    const std::string path = std::string(HEED_SOURCE_DIR "/tests/golden/data/weights/") + of_another + ".safetensors";
    expect_little_stack(of_another, [&] {
      static_cast<void>(heed_layer_load(call.layer.get(), path.c_str(), nullptr));
      return true;
    });
  }
}

TEST_F(Stack, OfTensorsAndOperations) {
  const TemporaryFolder folder;
  const std::string path = folder.path("numbers.npy");
  const Context context = make_context();
  const Tensor a = make_random(context.get(), {2, 40, 300}, 1);
  const Tensor b = make_random(context.get(), {2, 300, 40}, 2);
  const Tensor product = make_tensor(context.get(), {2, 40, 40});
  const Tensor weights = make_tensor(context.get(), {2, 40, 300});
  const Tensor lens = make_tensor_of<float>(context.get(), {2}, {30.0f, 7.0f});
  expect_little_stack("operations", [&] {
    return heed_matmul(a.get(), b.get(), product.get()) == HEED_OK &&
           heed_softmax(a.get(), 1, weights.get()) == HEED_OK && heed_softmax(a.get(), 2, weights.get()) == HEED_OK &&
           heed_masked_softmax(a.get(), lens.get(), weights.get()) == HEED_OK &&
           heed_activation(a.get(), HEED_ACTIVATION_GELU, weights.get()) == HEED_OK;
  });
  const Tensor row = make_random(context.get(), {300}, 4);
  const Tensor truths = make_tensor(context.get(), {2, 40, 300}, HEED_BOOL);
  const Tensor indices = make_tensor(context.get(), {2, 40, 300}, HEED_I64);
  const Tensor firsts = make_tensor(context.get(), {2, 40, 10});
  const Tensor joined = make_tensor(context.get(), {4, 40, 300});
  const heed_tensor* const parts[] = {a.get(), a.get()};
  expect_little_stack("arrays", [&] {
    heed_tensor* result = weights.get();
    return heed_add(a.get(), row.get(), result) == HEED_OK && heed_subtract(a.get(), row.get(), result) == HEED_OK &&
           heed_multiply(a.get(), row.get(), result) == HEED_OK && heed_divide(a.get(), row.get(), result) == HEED_OK &&
           heed_elementwise(HEED_ELEMENTWISE_ERF, a.get(), nullptr, result) == HEED_OK &&
           heed_compare(HEED_COMPARE_LESS, a.get(), row.get(), truths.get()) == HEED_OK &&
           heed_select(truths.get(), a.get(), row.get(), result) == HEED_OK &&
           heed_clip(a.get(), row.get(), row.get(), result) == HEED_OK &&
           heed_reduce(HEED_REDUCE_SUM, joined.get(), 0, a.get()) == HEED_ERROR_INVALID_ARGUMENT &&
           heed_reduce_axes(HEED_REDUCE_MAX, truths.get(), nullptr, 0, truths.get()) == HEED_ERROR_INVALID_ARGUMENT &&
           heed_log_softmax(a.get(), 1, result) == HEED_OK && heed_cumulative_sum(a.get(), 0, result) == HEED_OK &&
           heed_sort(a.get(), 2, 0, result, indices.get()) == HEED_OK &&
           heed_gather(a.get(), indices.get(), 2, result) == HEED_OK &&
           heed_top_k(a.get(), 2, 1, firsts.get(), nullptr) == HEED_OK &&
           heed_concatenate(parts, 2, 0, joined.get()) == HEED_OK;
  });
  const Tensor sums = make_tensor(context.get(), {40, 300});
  const Tensor place = make_tensor(context.get(), {}, HEED_I64);
  const Tensor taken = make_tensor(context.get(), {40, 300});
  expect_little_stack("reductions", [&] {
    return heed_reduce(HEED_REDUCE_SUM, a.get(), 0, sums.get()) == HEED_OK &&
           heed_reduce_axes(HEED_REDUCE_ARGMAX, a.get(), nullptr, 0, place.get()) == HEED_OK &&
           heed_reduce(HEED_REDUCE_NORM, a.get(), 0, sums.get()) == HEED_OK &&
           heed_reduce(HEED_REDUCE_ARGMIN, a.get(), 0, place.get()) == HEED_OK &&
           heed_tensor_fill(place.get(), 1) == HEED_OK && heed_take(a.get(), place.get(), 0, taken.get()) == HEED_OK;
  });
  const Tensor doubles = make_tensor(context.get(), {70, 70}, HEED_F64);
  const Tensor of_doubles = make_tensor(context.get(), {70, 70}, HEED_F64);
  const Tensor table = make_tensor(context.get(), {40, 150});
  expect_little_stack("products, softmax and activations of F64, and rotations", [&] {
    return heed_matmul(doubles.get(), doubles.get(), of_doubles.get()) == HEED_OK &&
           heed_softmax(doubles.get(), 1, of_doubles.get()) == HEED_OK &&
           heed_activation(doubles.get(), HEED_ACTIVATION_GELU, of_doubles.get()) == HEED_OK &&
           heed_rotary_embedding(a.get(), table.get(), table.get(), nullptr, HEED_ROPE_HALF, weights.get()) == HEED_OK;
  });
  const Tensor labels = make_tensor(context.get(), {2, 40}, HEED_I32);
  expect_little_stack("losses", [&] {
    double total = 0;
    return heed_cross_entropy(a.get(), labels.get(), lens.get(), nullptr, nullptr, &total, weights.get()) == HEED_OK &&
           heed_squared_error(a.get(), a.get(), nullptr, nullptr, &total, weights.get()) == HEED_OK;
  });
  const std::vector<const heed_tensor*> outputs(4, a.get());
  const Tensor log_sum_exp = make_random(context.get(), {2, 40}, 3);
  const std::vector<const heed_tensor*> log_sum_exps(4, log_sum_exp.get());
  expect_little_stack("merge", [&] {
    return heed_attention_merge(outputs.data(), log_sum_exps.data(), 4, nullptr, weights.get(), nullptr) == HEED_OK;
  });
  for (const heed_dtype dtype :
       {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32, HEED_I64, HEED_I8, HEED_U8, HEED_BOOL}) {
    const Tensor tensor = make_tensor(context.get(), {2, 40, 300}, dtype);
    expect_little_stack("fills and copies", [&] {
      heed_tensor* loaded = nullptr;
      const bool is_right =
          heed_tensor_fill(tensor.get(), 0.3) == HEED_OK &&
          heed_tensor_fill_uniform(tensor.get(), 0, 100, 2) == HEED_OK &&
          heed_tensor_fill_normal(tensor.get(), 0, 1, 2) == HEED_OK &&
          heed_tensor_fill_arange(tensor.get(), 0, 1) == HEED_OK &&
          heed_tensor_copy(tensor.get(), a.get()) == HEED_OK &&
          (dtype == HEED_BF16 || (heed_tensor_save_npy(tensor.get(), path.c_str()) == HEED_OK &&
                                  heed_tensor_load_npy(context.get(), path.c_str(), &loaded) == HEED_OK));
      heed_tensor_destroy(loaded);
      return is_right;
    });
  }
}

TEST_F(Stack, OfTraining) {
  const TemporaryFolder folder;
  const std::string path = folder.path("optimizer.safetensors");
  const AttentionCall call(Kind::MultiHead);
  const Gradients gradients = make_gradients(call.layer.get());
  heed_gradients* const set = gradients.get();
  const Optimizer optimizer = make_adamw(call.context.get());
  expect_little_stack("a step", [&] {
    double norm = 0;
    return heed_gradients_clip(&set, 1, 1, &norm) == HEED_OK && heed_gradients_add(set, set) == HEED_OK &&
           heed_optimizer_step(optimizer.get(), call.layer.get(), set) == HEED_OK;
  });
  const Tensor value = make_tensor(call.context.get(), {30});
  expect_little_stack("a step of parts", [&] {
    const Gradients of_value = make_gradients_of(value.get(), "value");
    const heed_step_part parts[] = {{sizeof(heed_step_part), "", call.layer.get(), set},
                                    {sizeof(heed_step_part), "own.", nullptr, of_value.get()}};
    const heed_step_part* const pointers[] = {&parts[0], &parts[1]};
    return heed_optimizer_step_parts(optimizer.get(), pointers, 2) == HEED_OK;
  });
  expect_little_stack("a file of an optimizer", [&] {
    return heed_optimizer_save(optimizer.get(), path.c_str()) == HEED_OK &&
           heed_optimizer_load(optimizer.get(), path.c_str()) == HEED_OK;
  });
}

// Throwing takes more stack than the function that throws.
TEST_F(Stack, OfFailures) {
  AttentionCall call(Kind::DotProductRank3);
  call.inputs.valid_lens = call.tensor_of<float>({2}, {2.7f, 1e30f});
  expect_little_stack("a failing forward", [&] { return call.forward() == HEED_ERROR_INVALID_ARGUMENT; });
  const std::string path(10000, 'p');
  expect_little_stack("a long path", [&] {
    heed_tensor* tensor = nullptr;
    return heed_tensor_load_npy(call.context.get(), path.c_str(), &tensor) == HEED_ERROR_IO &&
           heed_tensor_save_npy(call.inputs.queries, path.c_str()) == HEED_ERROR_IO;
  });
  expect_little_stack("a getter", [&] { return heed_tensor_dim(call.inputs.queries, 77) == -1; });
}

}  // namespace
}  // namespace heed::capi_test
