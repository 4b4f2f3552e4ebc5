// SPDX-License-Identifier: Apache-2.0
// With a workspace forward allocates nothing, and objects free all memory that they allocate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/files.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "support/platform/allocation_hook.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

// Calls forward twice, and counts this thread's allocations during these calls.
void expect_no_allocation(const AttentionCall& call) {
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  const int64_t before = num_allocations();
  const heed_status first = call.forward(workspace.get());
  const heed_status second = call.forward(workspace.get());
  const int64_t after = num_allocations();
  EXPECT_EQ(first, HEED_OK) << heed_last_error();
  EXPECT_EQ(second, HEED_OK);
  EXPECT_EQ(after - before, 0);
}

// Requests everything of a call.
template <typename Options>
Options with_everything(Options options) {
  options.scale = 0.3f;
  options.soft_cap = 5.0f;
  options.dropout = 0.25f;
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = 40;
  options.window_right = 3;
  options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  return options;
}

void give_every_input(AttentionCall& call, const Sizes& sizes, heed_dtype dtype, int64_t heads) {
  std::vector<float> lens;
  for (int64_t i = 0; i < sizes.batch * sizes.num_queries; ++i)
    lens.push_back(static_cast<float>(i * 7 % (sizes.num_keys + 1)));
  call.inputs.valid_lens = call.tensor_of<float>({sizes.batch, sizes.num_queries}, lens);
  heed_tensor* mask = call.zeros({sizes.batch, heads, sizes.num_queries, sizes.num_keys}, HEED_BOOL);
  check(heed_tensor_fill(mask, 1.0));
  call.inputs.mask = mask;
  call.inputs.bias = call.random({sizes.num_queries, sizes.num_keys}, 9, dtype);
  call.inputs.alibi_slopes = call.random({heads}, 10);
  call.inputs.training = 1;
  call.inputs.dropout_seed = 77;
}

TEST(AllocationHook, CountsAllocations) {
  const int64_t before = num_allocations();
  const int64_t live = num_live_blocks();
  {
    const Context context = make_context();
    const Tensor tensor = make_tensor(context.get(), {100});
    EXPECT_GT(num_allocations(), before);
    EXPECT_GT(num_live_blocks(), live);
  }
  EXPECT_EQ(num_live_blocks(), live);
}

TEST(NoAllocation, InPlainForwards) {
  for (const Kind kind : kEveryKind) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (const Sizes sizes : {Sizes{}, Sizes{1, 1, 1}, Sizes{2, 70, 300}, Sizes{2, 3, 0}, Sizes{0, 3, 5}})
        expect_no_allocation(AttentionCall(kind, sizes, dtype));
    }
  }
}

// The context keeps what the first call needs for each batch element.
TEST(NoAllocation, InForwardsOfManyPackedElementsButTheFirst) {
  const AttentionCall call(Kind::Packed, {.batch = 500, .num_queries = 3, .num_keys = 5});
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  const int64_t before = num_allocations();
  ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  EXPECT_GT(num_allocations(), before);
  expect_no_allocation(call);
}

// Weights are packed when they are set, not by the first call that reads them.
TEST(NoAllocation, InTheFirstForwardAfterAParameterIsSet) {
  for (const Kind kind : {Kind::MultiHead, Kind::Additive, Kind::Linear}) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      AttentionCall call(kind, {}, dtype);
      const char* name = heed_layer_parameter_name(call.layer.get(), 0);
      const Dims dims = dims_of(snapshot(call.layer.get(), name).get());
      check(heed_layer_set_parameter(call.layer.get(), name, call.random(dims, 3)));
      expect_no_allocation(call);
    }
  }
}

TEST(NoAllocation, InMultiHeadAttentionWithEverything) {
  const Sizes sizes{.batch = 2, .num_queries = 50, .num_keys = 200};
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::MultiHead, sizes, dtype);
    heed_multi_head_attention_options options = with_everything(two_heads());
    options.num_heads = 4;
    options.num_kv_heads = 2;
    options.head_size = 3;
    options.value_head_size = 5;
    options.biases = HEED_BIAS_ALL;
    options.scoring = HEED_SCORING_ADDITIVE;
    call.replace_layer(options);
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
    give_every_input(call, sizes, dtype, 4);
    call.outputs.weights = call.zeros({2, 4, 50, 200}, dtype);
    call.outputs.log_sum_exp = call.zeros({2, 4, 50});
    expect_no_allocation(call);
    // Strides that the kernels must gather.
    call.inputs.queries = call.keep(make_transposed(call.random({6, 50, 2}, 5, dtype), {2, 1, 0}));
    call.outputs.output = call.keep(make_transposed(call.zeros({8, 50, 2}), {2, 1, 0}));
    expect_no_allocation(call);
  }
}

TEST(NoAllocation, InForwardsWithAMaskThatMovesRows) {
  for (const Kind kind : {Kind::EncoderLayer, Kind::Encoder}) {
    AttentionCall call(kind, {.batch = 2, .num_queries = 4});
    call.inputs.attention_mask = call.tensor_of<int32_t>({2, 4}, {0, 0, 1, 1, 1, 0, 1, 1});
    // The context keeps the memory for the rows' places.
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    expect_no_allocation(call);
  }
}

TEST(NoAllocation, InAdditiveAttentionWithEverything) {
  const Sizes sizes{.batch = 2, .num_queries = 50, .num_keys = 200};
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::Additive, sizes, dtype);
    call.layer = make_additive(call.context.get(), with_everything(five_hiddens()));
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
    give_every_input(call, sizes, dtype, 1);
    expect_no_allocation(call);
  }
}

TEST(NoAllocation, InDotProductAttentionWithEverything) {
  const Sizes sizes{.batch = 2, .num_queries = 50, .num_keys = 200};
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const auto& [kind, heads] : {std::pair{Kind::DotProductRank3, 1}, {Kind::DotProductRank4, 4}}) {
      AttentionCall call(kind, sizes, dtype);
      call.layer =
          make_dot_product(call.context.get(),
                           with_everything(heed_dot_product_attention_options HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT));
      give_every_input(call, sizes, dtype, heads);
      expect_no_allocation(call);
    }
  }
}

TEST(NoAllocation, InOneCallAttentionOnceThePoolHasGrown) {
  const Sizes sizes{.batch = 2, .num_queries = 50, .num_keys = 200};
  const auto options = with_everything(heed_dot_product_attention_options HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const auto& [kind, heads] : {std::pair{Kind::DotProductRank3, 1}, {Kind::DotProductRank4, 4}}) {
      AttentionCall call(kind, sizes, dtype);
      give_every_input(call, sizes, dtype, heads);
      const auto attend = [&] {
        return heed_scaled_dot_product_attention(call.context.get(), &options, &call.inputs, &call.outputs);
      };
      ASSERT_EQ(attend(), HEED_OK) << heed_last_error();
      const int64_t before = num_allocations();
      const heed_status first = attend();
      const heed_status second = attend();
      EXPECT_EQ(num_allocations() - before, 0);
      EXPECT_EQ(first, HEED_OK);
      EXPECT_EQ(second, HEED_OK);
    }
  }
}

// Each layer of a stack has steps of its own, so that many layers need more blocks of the context than a few.
TEST(NoAllocation, InDeepStacks) {
  BlockOptions blocks;
  blocks.encoder.num_layers = 24;
  AttentionCall call(Kind::Encoder);
  call.layer = make_encoder(call.context.get(), blocks.encoder);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  expect_no_allocation(call);
}

// With token types that the call leaves out, a cache, and the encoder's output in another one.
TEST(NoAllocation, InWholeModels) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const auto expect_none = [&] {
      call.make_output();
      size_t num_bytes = 0;
      check(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes));
      const Workspace workspace = make_workspace(call.context.get(), num_bytes);
      const int64_t before = num_allocations();
      const heed_status first = call.forward(workspace.get());
      const heed_status second = call.forward(workspace.get());
      EXPECT_EQ(num_allocations() - before, 0);
      EXPECT_EQ(first, HEED_OK) << heed_last_error();
      EXPECT_EQ(second, HEED_OK) << heed_last_error();
      // Without a workspace the context keeps what the first call takes.
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      const int64_t kept = num_allocations();
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(num_allocations() - kept, 0);
    };
    expect_none();
    if (std::ranges::find(kEncoderModels, family) != std::end(kEncoderModels)) continue;
    const Cache own = make_cache_of(call.context.get(), call.layer.get(), 2, 32);
    heed_cache_inputs appended = HEED_CACHE_INPUTS_INIT;
    appended.cache = own.get();
    heed_cache_inputs read = HEED_CACHE_INPUTS_INIT;
    Cache memory;
    if (call.is_transformer) {
      memory = make_cache_of(call.context.get(), call.layer.get(), 2, 5);
      read.cache = memory.get();
      heed_layer_inputs source = HEED_LAYER_INPUTS_INIT;
      source.keys = call.inputs.keys;
      source.cache = &read;
      check(heed_layer_fill_cache(call.layer.get(), &source, nullptr));
      read.use = HEED_CACHE_READ;
      call.inputs.keys = nullptr;
      call.decoder.memory_cache = &read;
      call.inputs.decoder = &call.decoder;
    }
    call.inputs.cache = &appended;
    expect_none();
  }
}

TEST(NoAllocation, InLayersOfOneInputOfRank8InStrides) {
  for (const Kind kind : kKindsOfOneInput) {
    AttentionCall call(kind);
    const std::vector<int32_t> axes = {6, 4, 2, 0, 5, 3, 1, 7};
    call.inputs.queries = call.keep(make_transposed(call.random({2, 3, 2, 3, 2, 3, 2, 6}, 5), axes));
    call.outputs.output = call.zeros({2, 2, 2, 2, 3, 3, 3, kind == Kind::Linear ? 5 : 6});
    expect_no_allocation(call);
  }
}

// Neither the caller nor its worker threads allocate, and no threads are created.
TEST(NoAllocation, InForwardsOnManyThreads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = 4;
  for (const Kind kind : kEveryKind) {
    const AttentionCall call(make_context(&options), kind, {.batch = 4, .num_queries = 200, .num_keys = 300});
    const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
    ASSERT_TRUE(worker_threads_come_to(3));
    const int64_t before = num_allocations_of_all();
    for (int round = 0; round < 10; ++round) EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_allocations_of_all() - before, 0);
    EXPECT_EQ(count_worker_threads(), 3);
  }
}

TEST(NoAllocation, InRefusedForwardsOfUsualMistakes) {
  AttentionCall call(Kind::MultiHead);
  const Workspace small = make_workspace(call.context.get(), 1);
  const int64_t before = num_allocations();
  EXPECT_EQ(call.forward(small.get()), HEED_ERROR_WORKSPACE_TOO_SMALL);
  // The memory of the exception, and no other allocation.
  EXPECT_LE(num_allocations() - before, 1);
}

TEST(NoAllocation, InWritingReadingFillingAndCopying) {
  const Context context = make_context();
  const Tensor tensor = make_tensor(context.get(), {4, 4});
  const Tensor doubles = make_tensor(context.get(), {4}, HEED_F64);
  const Tensor transposed = make_transposed(tensor.get(), {1, 0});
  float elements[16] = {};
  const int64_t before = num_allocations();
  EXPECT_EQ(heed_tensor_write(transposed.get(), elements, sizeof elements), HEED_OK);
  EXPECT_EQ(heed_tensor_read(transposed.get(), elements, sizeof elements), HEED_OK);
  EXPECT_EQ(heed_tensor_fill(tensor.get(), 1.0), HEED_OK);
  EXPECT_EQ(heed_tensor_fill_arange(transposed.get(), 1.0, 2.0), HEED_OK);
  EXPECT_EQ(heed_tensor_fill_uniform(transposed.get(), 1.0, 2.0, 3), HEED_OK);
  EXPECT_EQ(heed_tensor_fill_normal(doubles.get(), 1.0, 2.0, 3), HEED_OK);
  EXPECT_EQ(heed_tensor_copy(tensor.get(), doubles.get()), HEED_OK);
  EXPECT_EQ(num_allocations() - before, 0);
}

TEST(PooledWorkspace, ServesOperations) {
  const Context context = make_context();
  const Tensor a = make_random(context.get(), {2, 1, 1, 1, 20, 30}, 1);
  const Tensor transposed = make_transposed(a.get(), {0, 1, 2, 3, 5, 4});
  const Tensor product = make_tensor(context.get(), {2, 1, 1, 1, 20, 20});
  const Tensor scores = make_random(context.get(), {2, 20, 30}, 2);
  const Tensor lens = make_tensor_of<int32_t>(context.get(), {2}, {7, 30});
  const Tensor weights = make_tensor(context.get(), {2, 20, 30});
  const Tensor row = make_random(context.get(), {30}, 3);
  const Tensor truths = make_tensor(context.get(), {2, 20, 30}, HEED_BOOL);
  const Tensor indices = make_tensor(context.get(), {2, 20, 30}, HEED_I64);
  const Tensor means = make_tensor(context.get(), {2, 30});
  const auto run_all = [&] {
    EXPECT_EQ(heed_matmul(a.get(), transposed.get(), product.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_softmax(scores.get(), 1, weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_masked_softmax(scores.get(), lens.get(), weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_activation(scores.get(), HEED_ACTIVATION_SILU, weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_add(scores.get(), row.get(), weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_elementwise(HEED_ELEMENTWISE_TANH, scores.get(), nullptr, weights.get()), HEED_OK);
    EXPECT_EQ(heed_compare(HEED_COMPARE_LESS, scores.get(), row.get(), truths.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_select(truths.get(), scores.get(), row.get(), weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_clip(scores.get(), row.get(), nullptr, weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_reduce(HEED_REDUCE_MEAN, scores.get(), 1, means.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_log_softmax(scores.get(), 1, weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_cumulative_sum(scores.get(), 1, weights.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_sort(scores.get(), 1, 1, weights.get(), indices.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_gather(scores.get(), indices.get(), 1, weights.get()), HEED_OK) << heed_last_error();
  };
  run_all();
  const int64_t before = num_allocations();
  run_all();
  EXPECT_EQ(num_allocations() - before, 0);
}

TEST(NoAllocation, InForwardsWithALogger) {
  int64_t num_messages = 0;
  const heed_logger logger = {sizeof(heed_logger),
                              [](void* user, int32_t, const char*) { ++*static_cast<int64_t*>(user); }, &num_messages};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  const AttentionCall call(make_context(&options), Kind::MultiHead);
  const int64_t before = num_messages;
  expect_no_allocation(call);
  EXPECT_GT(num_messages, before);
}

// With an allocator of the host, nothing of heed is directly in the C library's memory between calls: the live blocks
// are those of the host's allocator, each of which is one block of the C library.
TEST(HostsAllocator, ProvidesAllMemoryBetweenCalls) {
  const TemporaryFolder folder;
  const std::string path = folder.path("layer.safetensors");
  // The C library allocates its own blocks in the first round.
  for (int round = 0; round < 2; ++round) {
    CountingAllocator allocator;
    const int64_t before = num_live_blocks();
    const auto expect_nothing_else = [&](const char* after) {
      if (round == 0) return;
      EXPECT_EQ(num_live_blocks() - before, allocator.num_live_blocks()) << "after " << after;
    };
    Context context = allocator.make_context();
    expect_nothing_else("heed_context_create");
    Tensor queries = make_random(context.get(), {2, 30, 6}, 1);
    expect_nothing_else("heed_tensor_create");
    const Tensor transposed = make_transposed(queries.get(), {1, 0, 2});
    const Tensor shape_only = make_shape_only(context.get(), {2, 3});
    expect_nothing_else("views and wraps");
    Layer layer = make_multi_head(context.get(), two_heads());
    const Layer dot_product = make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
    expect_nothing_else("layers");
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    check(heed_layer_initialize(layer.get(), &inputs, 1));
    expect_nothing_else("heed_layer_initialize");
    const Tensor weight = snapshot(layer.get(), "W_q.weight");
    check(heed_layer_set_parameter(layer.get(), "W_k.weight", weight.get()));
    expect_nothing_else("parameters");
    check(heed_layer_save(layer.get(), path.c_str()));
    check(heed_layer_load(layer.get(), path.c_str(), nullptr));
    expect_nothing_else("files");
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    expect_nothing_else("heed_layer_create_outputs");
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes));
    const Workspace workspace = make_workspace(context.get(), num_bytes);
    expect_nothing_else("heed_workspace_create");
    check(heed_layer_forward(layer.get(), &inputs, workspace.get(), &outputs));
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    expect_nothing_else("heed_layer_forward");
    check(heed_layer_explain(layer.get(), &inputs, &outputs, nullptr, 0, &num_bytes));
    EXPECT_EQ(heed_layer_load(layer.get(), "none", nullptr), HEED_ERROR_IO);
    expect_nothing_else("texts and errors");
    context.reset();
    layer.reset();
    queries.reset();
    expect_nothing_else("the destruction of half of it");
  }
}

TEST(PooledWorkspace, KeepsTheSizeOfTheLargestCall) {
  const AttentionCall small(Kind::MultiHead);
  AttentionCall large(Kind::MultiHead, {.batch = 2, .num_queries = 30, .num_keys = 50});
  // Both layers in one context.
  const Layer layer = make_multi_head(small.context.get(), two_heads());
  check(heed_layer_initialize(layer.get(), &large.inputs, 1));
  const auto run_both = [&] {
    EXPECT_EQ(heed_layer_forward(layer.get(), &large.inputs, nullptr, &large.outputs), HEED_OK) << heed_last_error();
    EXPECT_EQ(small.forward(), HEED_OK) << heed_last_error();
  };
  run_both();
  const int64_t before = num_allocations();
  run_both();
  EXPECT_EQ(num_allocations() - before, 0);
}

TEST(Balance, AllMemoryIsFreed) {
  // The C library and the test allocate their own blocks in the first round.
  int64_t live = 0;
  for (int round = 0; round < 3; ++round) {
    const int64_t before = num_live_blocks();
    for (const Kind kind : kEveryKind) {
      const AttentionCall call(kind, {.batch = 2, .num_queries = 30, .num_keys = 50});
      EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
      const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      const Workspace small = make_workspace(call.context.get(), 1);
      EXPECT_EQ(call.forward(small.get()), HEED_ERROR_WORKSPACE_TOO_SMALL);
      size_t num_bytes = 0;
      EXPECT_EQ(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes), HEED_OK);
      EXPECT_EQ(heed_layer_load(call.layer.get(), "none", nullptr), HEED_ERROR_IO);
    }
    live = num_live_blocks() - before;
  }
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace heed::capi_test
