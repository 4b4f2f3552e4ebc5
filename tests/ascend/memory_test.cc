// SPDX-License-Identifier: Apache-2.0
// The device memory that the copies of a call take is at most what docs/ascend.md states in "Masks and memory".
#include <algorithm>

#include "ascend/support/device_cache.h"
#include "ascend/support/rotary_layer.h"
#include "ascend/support/simulated.h"
#include "capi/support/attention_call.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;

class Memory : public Simulated {};

constexpr int64_t kBatch = 3;

// Attention of one head.
struct Case {
  int64_t num_queries;
  int64_t num_keys;
  int64_t head_size;
  int64_t value_head_size;
  int32_t causal;
  int64_t padded_size;  // D' in docs/ascend.md
};

// The bytes of device memory that the call allocates.
double attend(heed_context* context, const Case& call) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = call.causal;
  const Layer layer = capi_test::make_dot_product(context, options);
  const auto tensor = [&](int64_t rows, int64_t size) { return make_tensor(context, {kBatch, rows, size}, HEED_F16); };
  const Tensor queries = tensor(call.num_queries, call.head_size);
  const Tensor keys = tensor(call.num_keys, call.head_size);
  const Tensor values = tensor(call.num_keys, call.value_head_size);
  const Tensor output = tensor(call.num_queries, call.value_head_size);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.values = values.get();
  outputs.output = output.get();
  const uint64_t before = ascend_sim_count("bytes_allocated");
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  property::check(heed_context_synchronize(context));
  return static_cast<double>(ascend_sim_count("bytes_allocated") - before);
}

// The bytes that copies take. A call of one query and one key comes first, so that the workspace is allocated already.
double bytes_taken(const Case& call) {
  const Context context = make_npu_context();
  attend(context.get(), {1, 1, call.padded_size, call.padded_size, HEED_CAUSAL_NONE, 0});
  return attend(context.get(), call);
}

double bytes_stated(const Case& call) {
  const auto q = static_cast<double>(kBatch * call.num_queries);
  const auto k = static_cast<double>(kBatch * call.num_keys);
  const auto d = static_cast<double>(call.head_size);
  const auto value_d = static_cast<double>(call.value_head_size);
  const auto padded = static_cast<double>(call.padded_size);
  const double appended = (q + k) * (padded - d) + k * (padded - value_d);
  const double widened = (call.head_size < call.padded_size ? (q + k) * padded : 0) +
                         (call.value_head_size < call.padded_size ? k * padded : 0) + appended;
  const double result = call.value_head_size < call.padded_size ? q * (padded + value_d) : 0;
  const double masked = call.causal == HEED_CAUSAL_NONE ? 0 : 2 * k * padded + 128 * 128;
  return 2 * (widened + result + masked);
}

TEST_F(Memory, CopiesTakeNoMoreThanThePageStates) {
  for (const Case& call : {
           Case{100, 70, 64, 64, HEED_CAUSAL_NONE, 64},
           Case{100, 70, 40, 40, HEED_CAUSAL_NONE, 48},
           Case{100, 300, 100, 33, HEED_CAUSAL_NONE, 112},
           Case{300, 100, 33, 100, HEED_CAUSAL_NONE, 112},
           Case{300, 300, 64, 64, HEED_CAUSAL_TOP_LEFT, 64},
           Case{300, 300, 128, 128, HEED_CAUSAL_TOP_LEFT, 128},
           Case{300, 300, 129, 129, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 160, 100, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 193, 193, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 160, 160, HEED_CAUSAL_NONE, 160},
       }) {
    const double taken = bytes_taken(call);
    const double stated = bytes_stated(call);
    // Blocks are up to a quarter larger than their contents, and a few more hold lengths and the like.
    EXPECT_LE(taken, 1.25 * stated + 20'000) << call.head_size << " " << call.value_head_size << " " << call.num_keys;
    // The page counts each copy; a block that is used for two copies is allocated once.
    EXPECT_GE(taken, 0.6 * stated) << call.head_size << " " << call.value_head_size << " " << call.num_keys;
  }
}

// The bytes of device memory that a layer allocates with its tensors and a call. A layer of one token comes first, so that
// the workspace is allocated already.
double bytes_of(const RotaryCase& call) {
  const Context context = make_npu_context();
  RotaryCase of_one_token = call;
  of_one_token.batch = of_one_token.num_queries = of_one_token.num_keys = 1;
  property::check(RotaryLayer(context.get(), of_one_token).forward());
  property::check(heed_context_synchronize(context.get()));
  const uint64_t before = ascend_sim_count("bytes_allocated");
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  property::check(heed_context_synchronize(context.get()));
  return static_cast<double>(ascend_sim_count("bytes_allocated") - before);
}

// What a layer with norms and rotary positions takes beyond one without, for queries and for keys.
TEST_F(Memory, NormsAndRotaryPositionsTakeWhatIsStated) {
  for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (const int64_t rotary_size : {64, 40}) {
      RotaryCase call;
      call.layout = 0;
      call.head_size = 64;
      call.num_heads = call.num_kv_heads = 8;
      call.num_queries = call.num_keys = 100;
      const double without = bytes_of(call);
      call.layout = layout;
      call.rotary_size = rotary_size;
      call.epsilon = 1e-5f;
      const double taken = bytes_of(call) - without;
      const auto t = static_cast<double>(call.batch * call.num_keys);
      const auto heads = t * static_cast<double>(call.num_heads * call.head_size);
      const int64_t widened_size = (rotary_size + 31) / 32 * 32;
      const auto widened = static_cast<double>(widened_size);
      const double slices = t * static_cast<double>(call.num_heads);
      const bool are_slices = rotary_size != 64 || layout != HEED_ROPE_HALF;
      // Twice: queries and keys.
      const double stated = 2 * (4 * heads + (are_slices ? 4 * slices * widened : 0) + 14 * t * widened) + 512 * 64;
      // Blocks are up to a quarter larger. Indices of gathers are kept: of each element of slices and heads in 4 bytes.
      const double indices = 16 * t + 2 * 4 * (slices * widened + heads);
      // By which Rope's workspace grows with the tokens.
      const double workspace = 4 * t * widened;
      EXPECT_LE(taken, 1.25 * (stated + indices + workspace) + 20'000) << layout << " " << rotary_size;
    }
  }
}

// The bytes of device memory that a call of a layer with these queries allocates. Its output has their dtype, or that of an
// embedding's table, F16.
double bytes_of_call(heed_context* context, const Layer& layer, const Tensor& queries) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = queries.get();
  property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  size_t num_bytes = 0;
  property::check(heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes));
  heed_workspace* workspace = nullptr;
  property::check(heed_workspace_create(context, num_bytes, &workspace));
  const uint64_t before = ascend_sim_count("bytes_allocated");
  property::check(heed_layer_forward(layer.get(), &inputs, workspace, &outputs));
  property::check(heed_context_synchronize(context));
  heed_workspace_destroy(workspace);
  return static_cast<double>(ascend_sim_count("bytes_allocated") - before);
}

// The same for rows (3, 100, 64) of that dtype, and parameters of it.
double bytes_of_rows(heed_context* context, const Layer& layer, heed_dtype dtype) {
  const Tensor rows = capi_test::make_random(context, {kBatch, 100, 64}, 1, dtype);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows.get();
  property::check(heed_layer_initialize(layer.get(), &inputs, 1));
  return bytes_of_call(context, layer, rows);
}

TEST_F(Memory, ActivationsAndNormsTakeWhatIsStated) {
  const double t = kBatch * 100;
  // Linear's workspace, with the sums in F32.
  const double workspace = 4 * t * 4096;
  for (const int32_t activation : {HEED_ACTIVATION_GELU, HEED_ACTIVATION_RELU}) {
    for (const int32_t gated : {0, 1}) {
      const Context context = make_npu_context();
      heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
      options.hidden_size = 4096;
      options.activation = activation;
      options.gated = gated;
      const double taken = bytes_of_rows(context.get(), capi_test::make_feed_forward(context.get(), options), HEED_F16);
      const double stated = (activation == HEED_ACTIVATION_RELU ? 12 : 4) * t * 4096;
      EXPECT_LE(taken, 1.25 * (stated + workspace) + 20'000) << activation << " " << gated;
      EXPECT_GE(taken, 0.4 * stated + workspace) << activation << " " << gated;
    }
  }
  for (const heed_dtype dtype : {HEED_F16, HEED_F32}) {
    for (const float epsilon : {1e-5f, 1e-12f}) {
      const Context context = make_npu_context();
      heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
      options.epsilon = epsilon;
      const double taken = bytes_of_rows(context.get(), capi_test::make_layer_norm(context.get(), options), dtype);
      const double of_dtype = dtype == HEED_F16 && epsilon < 1e-6f ? 8 : 0;
      const double stated = (of_dtype + (epsilon < 1e-6f ? 4 : 0)) * t * 64;
      EXPECT_LE(taken, 1.25 * stated + 20'000) << dtype << " " << epsilon;
      EXPECT_GE(taken, 0.4 * stated) << dtype << " " << epsilon;
    }
  }
}

TEST_F(Memory, PagedAttentionTakesTheWorkspaceThatIsStated) {
  const cache_test::CachedLayer layer(make_npu_context(), spec_of());
  const cache_test::Cache cache = cache_test::make_cache(layer, paged(layer, 16, 60));
  // Everything but PagedAttention has been allocated by then.
  cache_test::fill_cache(layer, cache.get(), {{0, {0}}}, without_log_sum_exp());
  const uint64_t before = ascend_sim_count("bytes_allocated");
  cache_test::forward_one(layer, cache.get(), {0, {1}}, without_log_sum_exp());
  const auto taken = static_cast<double>(ascend_sim_count("bytes_allocated") - before);
  const auto elements = static_cast<double>(layer.sizes().num_heads * layer.sizes().head_size);
  const double stated = 28e6 + 51e3 * elements;
  EXPECT_LE(taken, 1.25 * stated);
  EXPECT_GE(taken, 0.95 * stated);
}

TEST_F(Memory, EmbeddingsTakeWhatIsStated) {
  for (const float scale : {1.0f, 3.0f}) {
    const Context context = make_npu_context();
    heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
    options.num_embeddings = 7;
    options.embedding_size = 1024;
    options.scale = scale;
    const Layer layer = capi_test::make_embedding(context.get(), options);
    const Tensor table = make_tensor(context.get(), {7, 1024}, HEED_F16);
    property::check(heed_layer_set_parameter(layer.get(), "weight", table.get()));
    const Tensor ids = make_tensor(context.get(), {kBatch, 100}, HEED_I32);
    const double taken = bytes_of_call(context.get(), layer, ids);
    // Rows of the table and the result are F16.
    const double stated = scale == 1.0f ? 0 : (4 + 4 + 8) * kBatch * 100.0 * 1024;
    EXPECT_LE(taken, 1.25 * stated + 20'000) << scale;
    EXPECT_GE(taken, 0.4 * stated) << scale;
  }
}

}  // namespace
}  // namespace heed::ascend_test
