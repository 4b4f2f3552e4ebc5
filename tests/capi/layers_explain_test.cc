// SPDX-License-Identifier: Apache-2.0
// Functions that return a text, and the texts of describe and explain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

using nlohmann::json;

// A function that returns a text.
using GiveText = std::function<heed_status(char* text, size_t capacity, size_t* num_bytes)>;

std::string whole_text(const GiveText& give) {
  size_t num_bytes = 0;
  check(give(nullptr, 0, &num_bytes));
  std::string text(num_bytes, '#');
  check(give(text.data(), text.size(), nullptr));
  EXPECT_EQ(std::strlen(text.c_str()) + 1, num_bytes);
  text.pop_back();
  return text;
}

GiveText describe(const Context& context) {
  return [&context](char* text, size_t capacity, size_t* num_bytes) {
    return heed_context_describe(context.get(), text, capacity, num_bytes);
  };
}

GiveText explain(const AttentionCall& call) {
  return [&call](char* text, size_t capacity, size_t* num_bytes) {
    return heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text, capacity, num_bytes);
  };
}

GiveText options_of(const Layer& layer) {
  return [&layer](char* text, size_t capacity, size_t* num_bytes) {
    return heed_layer_options(layer.get(), text, capacity, num_bytes);
  };
}

void expect_text_results(const GiveText& give) {
  const std::string whole = whole_text(give);
  for (const size_t capacity : {size_t{1}, size_t{2}, whole.size(), whole.size() + 1, whole.size() + 10}) {
    std::string buffer(whole.size() + 20, '#');
    size_t num_bytes = 0;
    ASSERT_EQ(give(buffer.data(), capacity, &num_bytes), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_bytes, whole.size() + 1) << "the size of the whole text, whatever the capacity";
    const size_t written = std::min(capacity, whole.size() + 1);
    EXPECT_EQ(buffer.substr(0, written - 1), whole.substr(0, written - 1));
    EXPECT_EQ(buffer[written - 1], '\0');
    EXPECT_EQ(buffer.substr(written), std::string(buffer.size() - written, '#'));
  }
  expect_refused({{"no capacity",
                   [&](OutParameters& out) { return give(out.text.data(), 0, &out.num_bytes); },
                   {HEED_ERROR_INVALID_ARGUMENT, {"capacity", "0"}}}});
}

TEST(TextResults, AreCutAndCountedAsDocumented) {
  const Context context = make_context();
  expect_text_results(describe(context));
  const AttentionCall call(Kind::MultiHead);
  expect_text_results(explain(call));
  expect_text_results(options_of(call.layer));
}

// A layer without parameters has them too. That they are those of the layer's file: layers_files_test.cc.
TEST(Options, HaveTheSizesThatTheLayerHasDerived) {
  const Context context = make_context();
  const Layer layer = make_multi_head(context.get(), two_heads());
  const json options = json::parse(whole_text(options_of(layer)));
  EXPECT_EQ(options.at("num_heads"), 2);
  EXPECT_EQ(options.at("head_size"), 4) << "0 in two_heads()";
}

TEST(Describe, ReportsTheResolvedOptions) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.strict = 1;
  options.allow_reduced_precision = 1;
  options.flush_subnormals = 1;
  options.num_threads = 1024;
  heed_context* handle = nullptr;
  ASSERT_EQ(heed_context_create(&options, &handle), HEED_OK) << heed_last_error();
  const Context context(handle);
  const json description = json::parse(whole_text(describe(context)));
  EXPECT_EQ(description.at("device"), "cpu");
  EXPECT_EQ(description.at("device_index"), 0);
  EXPECT_FALSE(description.at("isa").get<std::string>().empty());
  EXPECT_EQ(description.at("num_threads"), 1024);
  EXPECT_EQ(description.at("strict"), true);
  EXPECT_EQ(description.at("allow_reduced_precision"), true);
  EXPECT_EQ(description.at("flush_subnormals"), true);
  EXPECT_EQ(description.at("allocator"), "heed");
  EXPECT_EQ(description.at("executor"), "heed");
  EXPECT_EQ(description.at("logger"), false);
  EXPECT_EQ(description.at("version"), heed_version_string());
  EXPECT_NE(description.at("description").get<std::string>().find("1024 threads"), std::string::npos);
}

TEST(Describe, ReportsWhatTheHostProvides) {
  CountingAllocator counting;
  const heed_allocator allocator = counting.as_struct();
  heed_logger logger = HEED_LOGGER_INIT;
  logger.write = [](void*, int32_t, const char*) {};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = 7;
  options.allocator = &allocator;
  options.executor = &executor;
  options.logger = &logger;
  const Context context = make_context(&options);
  const json description = json::parse(whole_text(describe(context)));
  EXPECT_EQ(description.at("allocator"), "host");
  EXPECT_EQ(description.at("executor"), "host");
  EXPECT_EQ(description.at("num_threads"), 7);
  EXPECT_NE(description.at("description").get<std::string>().find("7 threads of the host"), std::string::npos);
  EXPECT_EQ(description.at("logger"), true);
}

int64_t num_threads_with(int32_t num_threads, int64_t of_executor) {
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = of_executor;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  if (of_executor > 0) options.executor = &executor;
  const Context context = make_context(&options);
  return json::parse(whole_text(describe(context))).at("num_threads");
}

TEST(Describe, ReportsTheNumberOfThreads) {
  EXPECT_EQ(num_threads_with(5, 0), 5);
  EXPECT_GE(num_threads_with(0, 0), 1);
  EXPECT_EQ(num_threads_with(0, 5), 5);
  EXPECT_EQ(num_threads_with(3, 5), 3);
  EXPECT_EQ(num_threads_with(7, 5), 5) << "the executor has no more";
}

// The members that say how something is computed, of a call or of one of its operations.
void expect_plan(const json& plan) {
  EXPECT_FALSE(plan.at("kernel").get<std::string>().empty());
  EXPECT_FALSE(plan.at("isa").get<std::string>().empty());
  EXPECT_GE(plan.at("items"), 1);
  EXPECT_GE(plan.at("threads"), 1);
  EXPECT_LE(plan.at("threads"), plan.at("items"));
  EXPECT_TRUE(plan.at("not_fastest").is_array());
}

TEST(Explain, HasItsMembers) {
  const AttentionCall call(Kind::MultiHead);
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("layer"), "multi_head_attention");
  EXPECT_EQ(plan.at("backend"), "cpu");
  EXPECT_EQ(plan.at("device"), "cpu:0");
  expect_plan(plan);
  EXPECT_GE(plan.at("block_queries"), 1);
  EXPECT_GE(plan.at("block_keys"), 1);
  EXPECT_EQ(plan.at("workspace_bytes"), call.workspace_size());
  const json& operations = plan.at("operations");
  ASSERT_EQ(operations.size(), 5u);
  double flops = 0;
  double bytes = 0;
  for (const json& operation : operations) {
    EXPECT_FALSE(operation.at("operation").get<std::string>().empty());
    expect_plan(operation);
    EXPECT_LT(operation.at("scratch_bytes"), plan.at("workspace_bytes"));
    const bool attends = operation.at("operation") == "attention";
    EXPECT_EQ(operation.contains("tile_rows") && operation.contains("tile_columns"), !attends);
    EXPECT_EQ(operation.contains("block_queries") && operation.contains("block_keys"), attends);
    if (attends) {
      for (const char* member : {"kernel", "isa", "block_queries", "block_keys", "items", "threads"})
        EXPECT_EQ(operation.at(member), plan.at(member)) << member;
    }
    flops += operation.at("flops").get<double>();
    bytes += operation.at("bytes").get<double>();
  }
  EXPECT_EQ(plan.at("flops").get<double>(), flops);
  EXPECT_EQ(plan.at("bytes").get<double>(), bytes);
  // The projections of (2 * 3, 6), (2 * 5, 7) and (2 * 5, 9) to 8; 2 * 2 * 3 * 5 pairs in heads of 4; the output's
  // projection.
  EXPECT_EQ(flops, 2.0 * (6 * 6 * 8 + 10 * 7 * 8 + 10 * 9 * 8 + 60 * 8 + 6 * 8 * 8));
}

TEST(Explain, HasItsMembersOfEveryKindAndDType) {
  for (const Kind kind : kEveryKind) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      const AttentionCall call(kind, {}, dtype);
      const json plan = json::parse(whole_text(explain(call)));
      expect_plan(plan);
      EXPECT_EQ(plan.at("not_fastest"), json::array()) << plan;
      for (const json& operation : plan.at("operations")) expect_plan(operation);
    }
  }
}

// A call that is too small for several threads runs on one.
TEST(Explain, NamesThatSubnormalNumbersAreFlushed) {
  EXPECT_FALSE(json::parse(whole_text(explain(AttentionCall(Kind::MultiHead)))).contains("flush_subnormals"));
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.flush_subnormals = 1;
  const AttentionCall call(make_context(&options), Kind::MultiHead);
  EXPECT_EQ(json::parse(whole_text(explain(call))).at("flush_subnormals"), true);
}

TEST(Explain, ReportsTheNumberOfThreadsOfACall) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = 3;
  AttentionCall call(make_context(&options), Kind::DotProductRank4, {.batch = 2, .num_queries = 256, .num_keys = 256});
  const auto threads = [&] { return json::parse(whole_text(explain(call))).at("threads"); };
  EXPECT_EQ(threads(), 3);
  call.inputs.valid_lens = call.tensor_of<int32_t>({2}, {1, 1});
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(
      json::parse(whole_text(explain(AttentionCall(make_context(&options), Kind::DotProductRank4)))).at("threads"), 1);
}

// Elementwise work is split into tasks of thousands of elements.
TEST(Explain, ReportsTheNumberOfThreadsOfDropout) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = 3;
  const auto plan_of = [&](int64_t num_rows) {
    const Sizes sizes = {.batch = 1, .num_queries = num_rows};
    const json plan =
        json::parse(whole_text(explain(AttentionCall(make_context(&options), Kind::Dropout, sizes, HEED_BF16))));
    expect_plan(plan);
    EXPECT_EQ(plan.at("operations").at(0).at("items"), plan.at("items"));
    EXPECT_EQ(plan.at("operations").at(0).at("threads"), plan.at("threads"));
    return plan;
  };
  const json small = plan_of(3);
  EXPECT_EQ(small.at("items"), 1);
  EXPECT_EQ(small.at("threads"), 1);
  const json large = plan_of(1 << 17);
  EXPECT_GT(large.at("items"), 3);
  EXPECT_EQ(large.at("threads"), 3);
}

// A query tile is two vectors of queries, of 4, 8 or 16 lanes each.
TEST(Explain, ReportsTheBlocksOfAttention) {
  for (const Kind kind : kKinds) {
    const AttentionCall call(kind, {.batch = 1, .num_queries = 40, .num_keys = 300});
    const json plan = json::parse(whole_text(explain(call)));
    EXPECT_EQ(plan.at("kernel").get<std::string>().find("flash_attention"), 0u);
    const std::string isa = plan.at("isa");
    const int lanes = isa.find("avx512") == 0 ? 16 : isa == "avx2" ? 8 : 4;
    EXPECT_EQ(plan.at("block_queries"), 2 * lanes) << isa;
    EXPECT_EQ(plan.at("block_keys"), 256);
  }
}

// Few queries are computed in one tile, or in tiles of one vector.
TEST(Explain, ReportsTheBlocksOfAttentionForFewQueries) {
  const AttentionCall call(Kind::DotProductRank4, {.batch = 1, .num_queries = 1, .num_keys = 300});
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("kernel"), "decode_attention");
  EXPECT_EQ(plan.at("block_queries"), 2) << "two query heads share a key head";
  EXPECT_EQ(plan.at("block_keys"), 1024);
}

TEST(Explain, OfAdditiveAttention) {
  const AttentionCall call(Kind::Additive);
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("layer"), "additive_attention");
  EXPECT_EQ(plan.at("kernel"), "flash_attention_additive");
  const json& operations = plan.at("operations");
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations.at(0).at("operation"), "project queries");
  EXPECT_EQ(operations.at(1).at("operation"), "project keys");
  EXPECT_EQ(operations.at(2).at("operation"), "attention");
  // The projections of (2 * 3, 6) and (2 * 5, 7) to 5. For each of 2 * 3 * 5 pairs, and each of 5 hidden elements: the
  // sum of query and key, tanh, product and sum; and 9 elements of the value.
  EXPECT_EQ(plan.at("flops"), 2 * (6 * 6 * 5 + 10 * 7 * 5) + 30 * (4 * 5 + 2 * 9));
  // Projected queries and keys, values, w_v, output, weights, log_sum_exp.
  EXPECT_EQ(operations.at(2).at("bytes"), 4 * (2 * 3 * 5 + 2 * 5 * 5 + 2 * 5 * 9 + 5 + 2 * 3 * 9 + 2 * 3 * 5 + 2 * 3));
}

TEST(Explain, OfAdditiveScoringInMultiHeadAttention) {
  const AttentionCall dot_product(Kind::MultiHead);
  const AttentionCall additive(Kind::MultiHeadAdditive);
  const json before = json::parse(whole_text(explain(dot_product)));
  const json plan = json::parse(whole_text(explain(additive)));
  EXPECT_EQ(plan.at("layer"), "multi_head_attention");
  EXPECT_NE(plan.at("kernel"), before.at("kernel"));
  EXPECT_EQ(plan.at("operations").size(), 5u);
  // Two more operations for each of 2 * 2 * 3 * 5 pairs and 4 elements of a head; w_v is (2, 4).
  EXPECT_EQ(plan.at("flops").get<double>(), before.at("flops").get<double>() + 2 * 60 * 4);
  EXPECT_EQ(plan.at("bytes").get<double>(), before.at("bytes").get<double>() + 4 * 2 * 4);
}

TEST(Explain, OfALinearLayer) {
  const AttentionCall call(Kind::Linear);
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("layer"), "linear");
  EXPECT_EQ(plan.at("kernel"), "tiled");
  EXPECT_EQ(plan.at("workspace_bytes"), call.workspace_size());
  const json& operations = plan.at("operations");
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations.at(0).at("operation"), "linear");
  EXPECT_EQ(operations.at(0).at("kernel"), "tiled");
  EXPECT_EQ(plan.at("flops"), 2 * 6 * 6 * 5);
  EXPECT_EQ(plan.at("bytes"), 4 * (6 * 6 + 5 * 6 + 5 + 6 * 5));
}

TEST(Explain, OfALinearLayerCountsTheSameWhateverTheStrides) {
  AttentionCall call(Kind::Linear);
  const std::vector<int32_t> axes = {3, 2, 1, 0, 4};
  call.inputs.queries = call.keep(make_transposed(call.zeros({2, 3, 4, 5, 6}), axes));
  call.outputs.output = call.zeros({5, 4, 3, 2, 5});
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("flops"), 2 * 120 * 6 * 5);
  EXPECT_EQ(plan.at("bytes"), 4 * (120 * 6 + 5 * 6 + 5 + 120 * 5));
}

TEST(Explain, OfALinearLayerCountsRepeatedInputsOnce) {
  AttentionCall call(Kind::Linear);
  // The axes of size 3 and 5 are repeated, and no axis can be merged with its neighbour.
  call.inputs.queries = call.keep(make_view(call.zeros({2, 4, 6}), {2, 3, 4, 5, 6}, {24, 0, 6, 0, 1}));
  call.outputs.output = call.zeros({2, 3, 4, 5, 5});
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("flops"), 2 * 120 * 6 * 5);
  EXPECT_EQ(plan.at("bytes"), 4 * (8 * 6 + 5 * 6 + 5 + 120 * 5));
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

TEST(Explain, HasTheReasonsOfEachOperationAndEachReasonOnceForTheCall) {
  AttentionCall call(Kind::MultiHead);
  const json fast = json::parse(whole_text(explain(call)));
  for (const json& operation : fast.at("operations")) EXPECT_EQ(operation.at("not_fastest"), json::array());
  call.inputs.keys = call.keep(make_transposed(call.zeros({7, 5, 2}), {2, 1, 0}));
  call.inputs.values = call.keep(make_transposed(call.zeros({9, 5, 2}), {2, 1, 0}));
  const json plan = json::parse(whole_text(explain(call)));
  const json reasons = plan.at("operations").at(1).at("not_fastest");
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_NE(reasons.at(0).get<std::string>().find("stride 1"), std::string::npos) << reasons;
  EXPECT_EQ(plan.at("operations").at(0).at("not_fastest"), json::array());
  EXPECT_EQ(plan.at("operations").at(2).at("not_fastest"), reasons);
  EXPECT_EQ(plan.at("not_fastest"), reasons);
}

// A strict context refuses exactly the calls for which explain gives reasons, in the same words.
TEST(Explain, HasTheReasonsForWhichAStrictContextRefuses) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.strict = 1;
  int num_refused = 0;
  for (const Kind kind : kEveryKind) {
    for (const bool is_strided : {false, true}) {
      AttentionCall call(make_context(&options), kind);
      const Dims dims = dims_of(call.inputs.queries);
      if (is_strided) {
        Dims twice = dims;
        twice.back() *= 2;
        Dims strides = strides_of(call.zeros(twice));
        strides.back() = 2;
        call.inputs.queries =
            call.keep(make_view(call.zeros(twice, heed_tensor_dtype(call.inputs.queries)), dims, strides));
      }
      const json reasons = json::parse(whole_text(explain(call))).at("not_fastest");
      const heed_status status = call.forward();
      EXPECT_EQ(status, reasons.empty() ? HEED_OK : HEED_ERROR_NOT_FASTEST) << heed_last_error();
      if (status == HEED_OK) continue;
      ++num_refused;
      EXPECT_NE(std::string(heed_last_error()).find(reasons.at(0).get<std::string>()), std::string::npos);
    }
  }
  EXPECT_GT(num_refused, 0);
}

// The number of reasons that explain gives for queries, keys, values and an output of (1, 2, rows, size) with these
// strides.
struct Layouts {
  Dims queries;
  Dims keys;
  Dims output;
};
size_t num_reasons(int64_t num_queries, int64_t num_keys, int64_t size, const Layouts& layouts) {
  AttentionCall call(Kind::DotProductRank4);
  const auto shape = [&](int64_t rows, const Dims& strides) {
    const Dims dims = {1, 2, rows, size};
    const int64_t reach = 1 + strides[1] + (rows - 1) * strides[2] + (size - 1) * strides[3];
    return call.keep(make_view(call.zeros({reach}), dims, strides));
  };
  call.inputs.queries = shape(num_queries, layouts.queries);
  call.inputs.keys = shape(num_keys, layouts.keys);
  call.inputs.values = shape(num_keys, layouts.keys);
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.output =
      call.keep(make_view(call.zeros({2 * num_queries * size}), {1, 2, num_queries, size}, layouts.output));
  return json::parse(whole_text(explain(call))).at("not_fastest").size();
}

// Layouts that are slower than the best one by more than 30 % are reported, and no others.
TEST(Explain, NamesTheLayoutsThatAreSlower) {
  constexpr int64_t kSize = 64;
  const auto in_heads = [](int64_t rows) { return Dims{0, rows * kSize, kSize, 1}; };
  const auto in_tokens = [](int64_t) { return Dims{0, kSize, 2 * kSize, 1}; };
  const auto along_rows = [](int64_t rows) { return Dims{0, rows * kSize, 1, rows}; };
  const auto neither = [](int64_t rows) { return Dims{0, 1, 2, 2 * rows}; };
  for (const int64_t num_queries : {1, 16, 17, 32, 33, 200}) {
    for (const int64_t num_keys : {40, 2047, 2048}) {
      const auto reasons = [&](const auto& queries, const auto& keys, const auto& output) {
        return num_reasons(num_queries, num_keys, kSize, {queries(num_queries), keys(num_keys), output(num_queries)});
      };
      EXPECT_EQ(reasons(in_heads, in_heads, in_heads), 0u);
      EXPECT_EQ(reasons(in_tokens, in_heads, in_tokens), 0u);
      if (num_queries > 1) {
        EXPECT_EQ(reasons(along_rows, in_heads, along_rows), 0u);
        EXPECT_EQ(reasons(neither, in_heads, in_heads), 1u);
        EXPECT_EQ(reasons(in_heads, in_heads, neither), 1u);
      }
      EXPECT_EQ(reasons(in_heads, neither, in_heads), 1u);
      EXPECT_EQ(reasons(in_heads, along_rows, in_heads), num_queries <= 16 ? 1u : 0u) << num_queries;
      // Keys and values have 2 * 2048 rows of 256 bytes each: 2 MiB.
      EXPECT_EQ(reasons(in_heads, in_tokens, in_heads), num_queries <= 16 && num_keys == 2048 ? 1u : 0u) << num_queries;
    }
  }
}

// Every option and every form of the optional inputs runs on the fastest path.
TEST(Explain, HasNoReasonForAnyOption) {
  heed_context_options strict = HEED_CONTEXT_OPTIONS_INIT;
  strict.strict = 1;
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const int32_t scoring : {HEED_SCORING_DOT_PRODUCT, HEED_SCORING_ADDITIVE}) {
      AttentionCall call(make_context(&strict), Kind::MultiHead, {}, dtype);
      heed_multi_head_attention_options options = two_heads();
      options.num_heads = 4;
      options.num_kv_heads = 2;
      options.head_size = 3;
      options.value_head_size = 5;
      options.biases = HEED_BIAS_ALL;
      options.scoring = scoring;
      options.soft_cap = 5.0f;
      options.dropout = 0.25f;
      options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      options.window = HEED_WINDOW_TOP_LEFT;
      options.window_left = 2;
      options.window_right = -1;
      options.empty_rows = HEED_EMPTY_ROWS_MEAN;
      call.replace_layer(options);
      check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
      call.outputs.weights = call.zeros({2, 4, 3, 5}, dtype);
      call.outputs.log_sum_exp = call.zeros({2, 4, 3});
      call.inputs.training = 1;
      for (const Dims& lens : {Dims{2}, Dims{2, 3}}) {
        call.inputs.valid_lens = call.zeros(lens);
        for (const Dims& pairs : {Dims{2, 4, 3, 5}, Dims{2, 1, 1, 5}, Dims{1, 4, 3, 1}, Dims{3, 5}, Dims{1, 1}}) {
          call.inputs.mask = call.zeros(pairs, HEED_BOOL);
          call.inputs.bias = call.zeros(pairs, dtype);
          EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
        }
      }
    }
  }
}

// The axes of batch, heads and rows may be in any order in memory.
TEST(Explain, HasNoReasonForRowsInAnyOrder) {
  AttentionCall call(Kind::DotProductRank4);
  call.inputs.queries = call.keep(make_transposed(call.zeros({2, 3, 4, 4}), {0, 2, 1, 3}));
  call.inputs.keys = call.keep(make_transposed(call.zeros({5, 2, 2, 4}), {1, 2, 0, 3}));
  call.inputs.values = call.keep(make_transposed(call.zeros({2, 2, 5, 6}), {1, 0, 2, 3}));
  call.outputs.output = call.keep(make_transposed(call.zeros({3, 2, 4, 6}), {1, 2, 0, 3}));
  EXPECT_EQ(json::parse(whole_text(explain(call))).at("not_fastest"), json::array());
}

// One reason for each group of operands.
TEST(Explain, HasAReasonForEachOperandThatAttentionGathersOrScatters) {
  AttentionCall call(Kind::DotProductRank4);
  const heed_layer_inputs inputs = call.inputs;
  const auto expect_reason = [&](const std::string& of) {
    const json reasons = json::parse(whole_text(explain(call))).at("not_fastest");
    ASSERT_EQ(reasons.size(), 1u) << of;
    EXPECT_NE(reasons.at(0).get<std::string>().find(of), std::string::npos) << reasons;
    call.inputs = inputs;
  };
  call.inputs.values = call.keep(make_transposed(call.zeros({6, 5, 2, 2}), {2, 3, 1, 0}));
  expect_reason("queries, keys or values");
  call.inputs.mask = call.keep(make_transposed(call.zeros({5, 3}, HEED_BOOL), {1, 0}));
  expect_reason("mask or bias");
  call.inputs.bias = call.keep(make_transposed(call.zeros({5, 3}), {1, 0}));
  expect_reason("mask or bias");
  call.outputs.weights = call.keep(make_transposed(call.zeros({5, 3, 2, 4}), {2, 3, 1, 0}));
  expect_reason("output or weights");
}

TEST(Explain, OfDropout) {
  AttentionCall call(Kind::Dropout, {}, HEED_F16);
  json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("layer"), "dropout");
  EXPECT_EQ(plan.at("kernel"), "dropout");
  EXPECT_EQ(plan.at("workspace_bytes"), call.workspace_size());
  ASSERT_EQ(plan.at("operations").size(), 1u);
  EXPECT_EQ(plan.at("operations").at(0).at("operation"), "dropout");
  EXPECT_EQ(plan.at("flops"), 36);
  EXPECT_EQ(plan.at("bytes"), 2 * 36 + 2 * 36);
  call.inputs.training = 0;
  plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("kernel"), "copy");
  EXPECT_EQ(plan.at("flops"), 0);
}

TEST(Explain, CountsEveryOperandsBytesOnce) {
  AttentionCall call(Kind::DotProductRank3);
  call.outputs.weights = nullptr;
  call.outputs.log_sum_exp = nullptr;
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("layer"), "dot_product_attention");
  EXPECT_EQ(plan.at("bytes"), 4 * 2 * (3 * 4 + 5 * 4 + 5 * 6 + 3 * 6));
}

// Multiplications and additions for the visible pairs of a call, counted pair by pair.
struct Visibility {
  int64_t num_queries;
  int64_t num_keys;
  int32_t causal = HEED_CAUSAL_NONE;
  int32_t window = HEED_WINDOW_NONE;
  int64_t left = 0;
  int64_t right = 0;

  bool sees(int64_t query, int64_t key, int64_t length) const {
    const int64_t to_end = num_keys - num_queries;
    if (key >= length) return false;
    if (causal == HEED_CAUSAL_TOP_LEFT && key > query) return false;
    if (causal == HEED_CAUSAL_BOTTOM_RIGHT && key > query + to_end) return false;
    if (window == HEED_WINDOW_NONE) return true;
    const int64_t position = query + (window == HEED_WINDOW_BOTTOM_RIGHT ? to_end : 0);
    return (left < 0 || key >= position - left) && (right < 0 || key <= position + right);
  }
};

// `lens` has one length for each batch element or for each query, or is empty.
double count_flops(const Visibility& visibility, const std::vector<int32_t>& lens) {
  const int64_t batch = 2;
  const bool per_query = lens.size() > static_cast<size_t>(batch);
  int64_t pairs = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t q = 0; q < visibility.num_queries; ++q) {
      const auto row = static_cast<size_t>(per_query ? b * visibility.num_queries + q : b);
      const int64_t length = lens.empty() ? visibility.num_keys : lens[row];
      for (int64_t k = 0; k < visibility.num_keys; ++k) pairs += visibility.sees(q, k, length) ? 1 : 0;
    }
  }
  return 2.0 * 4 * static_cast<double>(pairs) * (4 + 6);  // 4 heads, head sizes 4 and 6
}

TEST(Explain, CountsTheFlopsOfVisiblePairs) {
  for (const auto& [num_queries, num_keys] : {std::pair{5, 5}, {3, 8}, {8, 3}, {1, 6}, {6, 1}}) {
    for (const int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT}) {
      for (const int32_t window : {HEED_WINDOW_NONE, HEED_WINDOW_TOP_LEFT, HEED_WINDOW_BOTTOM_RIGHT}) {
        for (const int64_t left : {int64_t{-1}, int64_t{0}, int64_t{2}, INT64_MAX}) {
          for (const int64_t right : {int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
            if (window == HEED_WINDOW_NONE && (left > 0 || right > 0)) continue;
            AttentionCall call(Kind::DotProductRank4, {.batch = 2, .num_queries = num_queries, .num_keys = num_keys});
            heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
            options.causal = causal;
            options.window = window;
            options.window_left = left;
            options.window_right = right;
            call.layer = make_dot_product(call.context.get(), options);
            // Smaller limits with the same meaning for these sizes, so that position + right does not overflow.
            const Visibility visibility{
                num_queries, num_keys, causal, window, std::min<int64_t>(left, 100), std::min<int64_t>(right, 100)};
            const auto flops = [&] { return json::parse(whole_text(explain(call))).at("flops").get<double>(); };
            EXPECT_EQ(flops(), count_flops(visibility, {}));

            std::vector<int32_t> lens = {num_keys / 2, num_keys};
            call.inputs.valid_lens = call.tensor_of<int32_t>({2}, lens);
            EXPECT_EQ(flops(), count_flops(visibility, lens));
            lens.clear();
            for (int32_t i = 0; i < 2 * num_queries; ++i) lens.push_back(i * 5 % (num_keys + 1));
            if (num_queries == 1) continue;
            call.inputs.valid_lens = call.tensor_of<int32_t>({2, num_queries}, lens);
            EXPECT_EQ(flops(), count_flops(visibility, lens));
          }
        }
      }
    }
  }
}

TEST(Explain, LengthsWithoutDataCountAsAllKeys) {
  AttentionCall call(Kind::DotProductRank4);
  const json without = json::parse(whole_text(explain(call)));
  call.inputs.valid_lens = call.shape_only({2}, HEED_I64);
  EXPECT_EQ(json::parse(whole_text(explain(call))).at("flops"), without.at("flops"));
  call.inputs.valid_lens = call.shape_only({2, 3}, HEED_F32);
  EXPECT_EQ(json::parse(whole_text(explain(call))).at("flops"), without.at("flops"));
}

TEST(Explain, RunsNothing) {
  const AttentionCall call(Kind::MultiHead);
  const std::vector<uint8_t> before = call.read_outputs();
  whole_text(explain(call));
  EXPECT_EQ(call.read_outputs(), before);
}

TEST(Explain, AcceptsShapesThatCouldNotBeComputed) {
  AttentionCall call(Kind::DotProductRank3);
  const int64_t large = int64_t{1} << 28;
  call.inputs.queries = call.shape_only({1, large, 4});
  call.inputs.keys = call.shape_only({1, large, 4});
  call.inputs.values = call.shape_only({1, large, 6});
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.output = call.shape_only({1, large, 6});
  const json plan = json::parse(whole_text(explain(call)));
  EXPECT_EQ(plan.at("flops").get<double>(), 0x1p56 * 2 * 10);
}

// The largest sizes of a shape-only tensor, on each axis in turn.
TEST(Explain, HasNoIntegerAbove64Bits) {
  for (const int64_t queries : {int64_t{1}, int64_t{1} << 50}) {
    for (const int64_t batch : {int64_t{1}, int64_t{1} << 7}) {
      AttentionCall call(Kind::DotProductRank3);
      const int64_t keys = (int64_t{1} << 50) / batch / 8;
      call.inputs.queries = call.shape_only({batch, queries / batch + 1, 4});
      call.inputs.keys = call.shape_only({batch, keys, 4});
      call.inputs.values = call.shape_only({batch, keys, 6});
      call.outputs = HEED_LAYER_OUTPUTS_INIT;
      call.outputs.output = call.shape_only({batch, queries / batch + 1, 6});
      const json plan = json::parse(whole_text(explain(call)));
      for (const char* name : {"items", "threads", "workspace_bytes", "flops", "bytes"}) {
        EXPECT_TRUE(plan.at(name).is_number_integer()) << name << plan;
        EXPECT_LE(plan.at(name).get<uint64_t>(), uint64_t{INT64_MAX}) << name << plan;
      }
      for (const char* name : {"items", "scratch_bytes", "flops", "bytes"}) {
        EXPECT_TRUE(plan.at("operations")[0].at(name).is_number_integer()) << name << plan;
        EXPECT_LE(plan.at("operations")[0].at(name).get<uint64_t>(), uint64_t{INT64_MAX}) << name << plan;
      }
      if (queries > 1) {
        EXPECT_EQ(plan.at("flops"), INT64_MAX);
      }
    }
  }
}

TEST(Explain, WithoutOutputsIsForTheOutputAlone) {
  for (const Kind kind : kEveryKind) {
    for (const heed_dtype dtype : {HEED_F32, HEED_BF16}) {
      AttentionCall call(kind, {}, dtype);
      call.outputs.weights = call.outputs.log_sum_exp = nullptr;
      const std::string expected = whole_text(explain(call));
      const std::string text = whole_text([&](char* given, size_t capacity, size_t* num_bytes) {
        return heed_layer_explain(call.layer.get(), &call.inputs, nullptr, given, capacity, num_bytes);
      });
      EXPECT_EQ(text, expected);
    }
  }
}

TEST(Explain, WithoutOutputsRefusesTheSameCalls) {
  AttentionCall call(Kind::MultiHead);
  call.inputs.values = call.zeros({2, 6, 9});
  expect_refused({{"values of another length",
                   [&](OutParameters& out) {
                     return heed_layer_explain(call.layer.get(), &call.inputs, nullptr, out.text.data(),
                                               out.text.size(), &out.num_bytes);
                   },
                   {HEED_ERROR_INVALID_ARGUMENT, {"inputs->values", "6", "5"}}}});
  heed_multi_head_attention_options options = two_heads();
  call.replace_layer(options);
  call.inputs.values = nullptr;
  expect_refused({{"not initialized",
                   [&](OutParameters& out) {
                     return heed_layer_explain(call.layer.get(), &call.inputs, nullptr, out.text.data(),
                                               out.text.size(), &out.num_bytes);
                   },
                   {HEED_ERROR_NOT_INITIALIZED, {"W_q.weight"}}}});
}

}  // namespace
}  // namespace heed::capi_test
