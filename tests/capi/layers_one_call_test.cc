// SPDX-License-Identifier: Apache-2.0
// heed_scaled_dot_product_attention: the same as a dot-product attention layer, without the layer.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/refusal.h"
#include "capi/support/run_together.h"

namespace heed::capi_test {
namespace {

using Options = heed_dot_product_attention_options;

heed_status in_one_call(const AttentionCall& call, const Options* options = nullptr) {
  return heed_scaled_dot_product_attention(call.context.get(), options, &call.inputs, &call.outputs);
}

// Options that differ in every member.
std::vector<Options> many_options() {
  std::vector<Options> all = {HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT};
  const auto add = [&](const std::function<void(Options&)>& change) {
    all.push_back(HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
    change(all.back());
  };
  add([](Options& options) { options.scale = -0.7f; });
  add([](Options& options) { options.soft_cap = 1.5f; });
  add([](Options& options) { options.dropout = 0.3f; });
  add([](Options& options) { options.causal = HEED_CAUSAL_TOP_LEFT; });
  add([](Options& options) {
    options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    options.window = HEED_WINDOW_BOTTOM_RIGHT;
    options.window_left = 4;
    options.window_right = -1;
    options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  });
  return all;
}

void give_every_input(AttentionCall& call, const Sizes& sizes, int64_t heads) {
  std::vector<int32_t> lens;
  for (int64_t i = 0; i < sizes.batch; ++i) lens.push_back(static_cast<int32_t>(i * 3 % (sizes.num_keys + 1)));
  call.inputs.valid_lens = call.tensor_of<int32_t>({sizes.batch}, lens);
  std::vector<uint8_t> seen;
  for (int64_t i = 0; i < heads * sizes.num_queries * sizes.num_keys; ++i) seen.push_back(i % 5 != 2);
  call.inputs.mask = call.tensor_of<uint8_t>({1, heads, sizes.num_queries, sizes.num_keys}, seen, HEED_BOOL);
  call.inputs.bias = call.random({sizes.num_queries, sizes.num_keys}, 9);
  call.inputs.alibi_slopes = call.random({heads}, 10);
  call.inputs.training = 1;
  call.inputs.dropout_seed = 5;
}

TEST(OneCall, GivesTheSameBitsAsALayer) {
  for (const Sizes sizes : {Sizes{}, Sizes{1, 1, 1}, Sizes{2, 17, 33}, Sizes{3, 1, 70}, Sizes{1, 70, 300},
                            Sizes{0, 3, 5}, Sizes{2, 3, 0}}) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (const auto& [kind, heads] : {std::pair{Kind::DotProductRank3, 1}, {Kind::DotProductRank4, 4}}) {
        for (const bool everything : {false, true}) {
          AttentionCall call(kind, sizes, dtype);
          if (everything) give_every_input(call, sizes, heads);
          for (const Options& options : many_options()) {
            const Layer layer = make_dot_product(call.context.get(), options);
            ASSERT_EQ(heed_layer_forward(layer.get(), &call.inputs, nullptr, &call.outputs), HEED_OK)
                << heed_last_error();
            const std::vector<uint8_t> expected = call.read_outputs();
            for (heed_tensor* output : {call.outputs.output, call.outputs.weights, call.outputs.log_sum_exp})
              check(heed_tensor_fill(output, 7));
            ASSERT_EQ(in_one_call(call, &options), HEED_OK) << heed_last_error();
            EXPECT_EQ(call.read_outputs(), expected);
          }
        }
      }
    }
  }
}

TEST(OneCall, TreatsNullAsTheMacrosOptions) {
  const AttentionCall call(Kind::DotProductRank4);
  const Options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  check(in_one_call(call, &options));
  const std::vector<uint8_t> expected = call.read_outputs();
  check(heed_tensor_fill(call.outputs.output, 7));
  check(in_one_call(call));
  EXPECT_EQ(call.read_outputs(), expected);
}

TEST(OneCall, GivesTheSameOutputIfMoreIsRequested) {
  AttentionCall call(Kind::DotProductRank3, {2, 20, 30});
  check(in_one_call(call));
  const std::vector<uint8_t> with_all = read_bytes(call.outputs.output);
  check(heed_tensor_fill(call.outputs.output, 7));
  call.outputs.weights = call.outputs.log_sum_exp = nullptr;
  check(in_one_call(call));
  EXPECT_EQ(read_bytes(call.outputs.output), with_all);
}

// Invalid inputs, outputs and options are refused in the same words as by a layer.
TEST(OneCall, RefusesTheSameCallsAsALayerInTheSameWords) {
  AttentionCall call(Kind::DotProductRank4);
  const heed_layer_inputs good_inputs = call.inputs;
  const heed_layer_outputs good_outputs = call.outputs;
  const std::vector<std::function<void()>> mistakes = {
      [&] { call.inputs.queries = nullptr; },
      [&] {
        call.inputs.queries = call.zeros({3, 4});
      },
      [&] {
        call.inputs.keys = call.zeros({2, 5, 4});
      },
      [&] {
        call.inputs.keys = call.zeros({2, 3, 5, 4});
      },
      [&] {
        call.inputs.values = call.zeros({2, 2, 4, 6});
      },
      [&] {
        call.inputs.values = call.zeros({2, 2, 5, 6}, HEED_F16);
      },
      [&] {
        call.inputs.valid_lens = call.tensor_of<int32_t>({2}, {5, 6});
      },
      [&] {
        call.inputs.mask = call.zeros({2, 5}, HEED_BOOL);
      },
      [&] {
        call.inputs.bias = call.zeros({3, 4});
      },
      [&] { call.inputs.reserved = 1; },
      [&] { call.inputs.training = 2; },
      [&] { call.inputs.struct_size = 8; },
      [&] {
        call.inputs.keys = call.shape_only({2, 2, 5, 4});
      },
      [&] { call.outputs.struct_size = 8; },
      [&] { call.outputs.output = call.outputs.weights = call.outputs.log_sum_exp = nullptr; },
      [&] {
        call.outputs.output = call.zeros({2, 4, 3, 5});
      },
      [&] {
        call.outputs.weights = call.zeros({2, 4, 3, 5}, HEED_F64);
      },
      [&] { call.outputs.output = const_cast<heed_tensor*>(call.inputs.queries); },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    SCOPED_TRACE(i);
    mistakes[i]();
    forget_last_error();
    const heed_status of_layer = call.forward();
    const std::string sentence = heed_last_error();
    EXPECT_NE(of_layer, HEED_OK);
    forget_last_error();
    EXPECT_EQ(in_one_call(call), of_layer);
    EXPECT_EQ(heed_last_error(), sentence);
    call.inputs = good_inputs;
    call.outputs = good_outputs;
  }
  EXPECT_EQ(in_one_call(call), HEED_OK);

  const std::vector<std::function<void(Options&)>> wrong_options = {
      [](Options& options) { options.struct_size = 8; }, [](Options& options) { options.soft_cap = -1; },
      [](Options& options) { options.dropout = 1; },     [](Options& options) { options.causal = 3; },
      [](Options& options) { options.window_left = 2; },
  };
  for (size_t i = 0; i < wrong_options.size(); ++i) {
    SCOPED_TRACE(i);
    Options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    wrong_options[i](options);
    heed_layer* made = nullptr;
    forget_last_error();
    const heed_status of_layer = heed_dot_product_attention_create(call.context.get(), &options, &made);
    const std::string sentence = heed_last_error();
    EXPECT_NE(of_layer, HEED_OK);
    forget_last_error();
    EXPECT_EQ(in_one_call(call, &options), of_layer);
    EXPECT_EQ(heed_last_error(), sentence);
  }
}

// Messages name the called function.
TEST(OneCall, IsNamedInItsMessages) {
  struct Messages {
    std::vector<std::string> texts;
    static void write(void* user, int32_t, const char* text) { static_cast<Messages*>(user)->texts.emplace_back(text); }
  } messages;
  const heed_logger logger = {sizeof(heed_logger), Messages::write, &messages};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  AttentionCall call(make_context(&options), Kind::DotProductRank3);
  const auto expect_name_in_all = [&] {
    EXPECT_FALSE(messages.texts.empty());
    for (const std::string& text : messages.texts)
      EXPECT_EQ(text.rfind("heed_scaled_dot_product_attention: ", 0), 0u) << text;
  };
  messages.texts.clear();
  EXPECT_EQ(in_one_call(call), HEED_OK);
  expect_name_in_all();
  messages.texts.clear();
  call.inputs.queries = nullptr;
  EXPECT_NE(in_one_call(call), HEED_OK);
  expect_name_in_all();
}

TEST(OneCall, IsRefusedInAStrictContextIfItIsNotTheFastest) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.strict = 1;
  AttentionCall call(make_context(&options), Kind::DotProductRank3, {.batch = 2, .num_queries = 40, .num_keys = 40});
  EXPECT_EQ(in_one_call(call), HEED_OK) << heed_last_error();
  call.inputs.queries = call.keep(make_transposed(call.random({2, 4, 40}, 1), {0, 2, 1}));
  const heed_status of_layer = call.forward();
  const std::string sentence = heed_last_error();
  EXPECT_EQ(in_one_call(call), of_layer);
  EXPECT_EQ(heed_last_error(), sentence);
}

TEST(OneCall, KeepsNoMemoryButThePool) {
  CountingAllocator allocator;
  const AttentionCall call(allocator.make_context(), Kind::DotProductRank4, {2, 20, 30});
  check(in_one_call(call));
  const int64_t live = allocator.num_live_blocks();
  const int64_t made = allocator.num_allocations();
  for (int round = 0; round < 3; ++round) check(in_one_call(call));
  EXPECT_EQ(allocator.num_live_blocks(), live);
  EXPECT_EQ(allocator.num_allocations(), made);
}

TEST(OneCall, RunsOnManyThreadsOfOneContext) {
  const AttentionCall first(Kind::DotProductRank4, {2, 30, 40});
  check(in_one_call(first));
  const std::vector<uint8_t> expected = first.read_outputs();
  std::vector<std::vector<uint8_t>> results(4);
  run_together(4, [&](int thread) {
    const AttentionCall call(Kind::DotProductRank4, {2, 30, 40});
    for (int round = 0; round < 10; ++round) {
      if (heed_scaled_dot_product_attention(first.context.get(), nullptr, &call.inputs, &call.outputs) != HEED_OK)
        return;
    }
    results[static_cast<size_t>(thread)] = call.read_outputs();
  });
  for (const std::vector<uint8_t>& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace heed::capi_test
