// SPDX-License-Identifier: Apache-2.0
// Tokenizers' masks in calls of whole models: what is filled into caches, the shapes of taps, the workspace, and rows as sentences
// name them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// The largest difference of two outputs, relative to the largest number.
float difference(const std::vector<float>& is, const std::vector<float>& expected) {
  if (is.size() != expected.size()) return std::numeric_limits<float>::infinity();
  float largest = 0;
  float worst = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const float distance = std::abs(is[i] - expected[i]);
    worst = std::isnan(distance) ? std::numeric_limits<float>::infinity() : std::max(worst, distance);
  }
  return worst / largest;
}

class MaskedFill : public testing::TestWithParam<const char*> {
 protected:
  heed_tensor* tensor(const Dims& dims, const std::vector<int64_t>& elements) {
    return call_.keep(make_tensor_of(call_.context.get(), dims, elements));
  }
  // The output of the decoder over a cache that the call has filled, whose sequences have these lengths.
  std::vector<float> run_over(heed_layer_inputs fill, int64_t first, int64_t second) {
    const Cache cache = make_cache_of(call_.context.get(), call_.layer.get(), 2, 8);
    heed_cache_inputs filled = HEED_CACHE_INPUTS_INIT;
    filled.cache = cache.get();
    fill.cache = &filled;
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(call_.layer.get(), &fill, nullptr, &num_bytes));
    heed_workspace* made = nullptr;
    check(heed_workspace_create(call_.context.get(), num_bytes, &made));
    const Workspace workspace(made);
    check(heed_layer_fill_cache(call_.layer.get(), &fill, workspace.get()));
    EXPECT_EQ(heed_cache_length(cache.get(), 0), first);
    EXPECT_EQ(heed_cache_length(cache.get(), 1), second);
    heed_cache_inputs read = HEED_CACHE_INPUTS_INIT;
    read.cache = cache.get();
    read.use = HEED_CACHE_READ;
    call_.inputs.keys = nullptr;
    call_.inputs.attention_mask = nullptr;
    call_.inputs.decoder = &call_.decoder;
    call_.decoder.memory_cache = &read;
    std::vector<float> output = call_.run_for_floats();
    call_.decoder.memory_cache = nullptr;
    return output;
  }

  ModelCall call_{golden_model(GetParam())};
};

// Hidden rows of the memory hold NaN, which no cache may have.
TEST_P(MaskedFill, HasTheVisibleRowsOfIdsAndOfMemory) {
  const heed_tensor* const ids = call_.ids({2, 5}, 11);
  const heed_tensor* const mask = tensor({2, 5}, {0, 0, 1, 1, 1, 1, 0, 1, 1, 0});
  call_.inputs.keys = ids;
  call_.inputs.attention_mask = mask;
  const std::vector<float> expected = call_.run_for_floats();
  heed_layer_inputs encoder = HEED_LAYER_INPUTS_INIT;
  encoder.keys = ids;
  encoder.attention_mask = mask;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(call_.layer.get(), &encoder, HEED_WANT_OUTPUT, &outputs));
  const Tensor memory(outputs.output);
  check(heed_layer_forward(call_.layer.get(), &encoder, nullptr, &outputs));
  EXPECT_LE(difference(run_over(encoder, 3, 3), expected), 1e-5F);

  std::vector<float> rows = read_elements<float>(memory.get());
  const auto size = static_cast<size_t>(dims_of(memory.get())[2]);
  for (const size_t hidden : {0, 1, 6, 9}) {
    std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(hidden * size), size, std::nanf(""));
  }
  const Tensor with_nan = make_tensor_of(call_.context.get(), dims_of(memory.get()), rows);
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  decoder.memory = with_nan.get();
  heed_layer_inputs fill = HEED_LAYER_INPUTS_INIT;
  fill.attention_mask = mask;
  fill.decoder = &decoder;
  EXPECT_LE(difference(run_over(fill, 3, 3), expected), 1e-5F);
}

TEST_P(MaskedFill, TakesLengthsOfTheRowsByEitherName) {
  const heed_tensor* const ids = call_.ids({2, 5}, 11);
  const heed_tensor* const lens = tensor({2}, {3, 5});
  call_.inputs.keys = ids;
  call_.inputs.valid_lens = lens;
  const std::vector<float> expected = call_.run_for_floats();
  call_.inputs.valid_lens = nullptr;
  heed_layer_inputs fill = HEED_LAYER_INPUTS_INIT;
  fill.keys = ids;
  fill.valid_lens = lens;
  EXPECT_LE(difference(run_over(fill, 3, 5), expected), 1e-5F);
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  sequences.query_lens = lens;
  fill.valid_lens = nullptr;
  fill.sequences = &sequences;
  EXPECT_LE(difference(run_over(fill, 3, 5), expected), 1e-5F);

  const Cache cache = make_cache_of(call_.context.get(), call_.layer.get(), 2, 8);
  heed_cache_inputs filled = HEED_CACHE_INPUTS_INIT;
  filled.cache = cache.get();
  fill.cache = &filled;
  fill.valid_lens = lens;
  EXPECT_TRUE(is_refused(heed_layer_fill_cache(call_.layer.get(), &fill, nullptr),
                         invalid({"inputs->valid_lens is set, but so is inputs->sequences->query_lens"})));
  fill.valid_lens = nullptr;
  fill.attention_mask = tensor({2, 5}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1});
  EXPECT_TRUE(is_refused(heed_layer_fill_cache(call_.layer.get(), &fill, nullptr),
                         invalid({"inputs->attention_mask is set, but so is inputs->sequences->query_lens"})));
  EXPECT_EQ(heed_cache_length(cache.get(), 1), 0);
}

TEST_P(MaskedFill, RefusesAMaskOfRowsThatTheCallLacks) {
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  decoder.self_attention_mask = tensor({2, 5}, std::vector<int64_t>(10, 1));
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.keys = call_.ids({2, 5}, 11);
  inputs.decoder = &decoder;
  const Refusal expected =
      invalid({"inputs->decoder->self_attention_mask is set, but inputs->queries, whose rows it hides, is NULL"});
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  EXPECT_TRUE(is_refused(heed_layer_create_outputs(call_.layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs), expected));
  const Cache cache = make_cache_of(call_.context.get(), call_.layer.get(), 2, 8);
  heed_cache_inputs filled = HEED_CACHE_INPUTS_INIT;
  filled.cache = cache.get();
  inputs.cache = &filled;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_layer_fill_cache(call_.layer.get(), &inputs, nullptr), expected));
}

INSTANTIATE_TEST_SUITE_P(Transformers, MaskedFill, testing::ValuesIn(kTransformerModels));

// With a cache the columns of weights are the rows that it has then, so that the number of visible rows counts.
TEST(MaskedTaps, HaveTheColumnsThatTheCacheHasThen) {
  ModelCall call(golden_model("llama"));
  const std::vector<std::vector<int64_t>> masks = {{0, 0, 1, 1, 1, 0, 0, 0, 1, 1},
                                                   {1, 1, 1, 0, 0, 1, 0, 0, 0, 0},
                                                   std::vector<int64_t>(10, 1),
                                                   std::vector<int64_t>(10, 0)};
  const std::vector<int64_t> columns = {3, 3, 5, 0};
  for (size_t i = 0; i < masks.size(); ++i) {
    SCOPED_TRACE(i);
    const Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 16);
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = cache.get();
    call.inputs.cache = &cached;
    call.inputs.attention_mask = call.keep(make_tensor_of(call.context.get(), {2, 5}, masks[i]));
    call.make_output();
    heed_layer_tap tap = HEED_LAYER_TAP_INIT;
    check(heed_layer_create_tap(call.layer.get(), &call.inputs, "layers.1.self_attention", HEED_WANT_WEIGHTS, &tap));
    const Tensor weights(tap.weights);
    EXPECT_EQ(dims_of(weights.get())[3], columns[i]);
    const heed_layer_tap* const taps[] = {&tap};
    call.outputs.taps = taps;
    call.outputs.num_taps = 1;
    size_t num_bytes = 0;
    ASSERT_EQ(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes), HEED_OK)
        << heed_last_error();
    size_t length = 0;
    EXPECT_EQ(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &length), HEED_OK)
        << heed_last_error();
    heed_workspace* made = nullptr;
    check(heed_workspace_create(call.context.get(), num_bytes, &made));
    const Workspace workspace(made);
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    // A visible row attends to those up to itself, a hidden one to none.
    const std::vector<float> elements = read_elements<float>(weights.get());
    int64_t number = 0;
    for (int64_t row = 0; row < 5 && columns[i] > 0; ++row) {
      float sum = 0;
      for (int64_t column = 0; column < columns[i]; ++column)
        sum += elements[static_cast<size_t>(row * columns[i] + column)];
      const bool is_visible = masks[i][static_cast<size_t>(row)] != 0;
      EXPECT_NEAR(sum, is_visible ? 1 : 0, 1e-5) << "row " << row;
      if (is_visible) ++number;
    }
    EXPECT_EQ(number, std::min<int64_t>(number, columns[i]));
    call.outputs.taps = nullptr;
    call.outputs.num_taps = 0;
    call.inputs.cache = nullptr;
  }
}

// The workspace has room for any mask of that shape, with weights of cross attention, too.
TEST(MaskedTaps, OfCrossAttentionFitTheWorkspaceThatIsAskedFor) {
  for (const char* const family : kTransformerModels) {
    ModelCall call(golden_model(family));
    for (const auto& [num_queries, num_keys] : {std::pair<int64_t, int64_t>{11, 3}, {3, 11}, {4, 5}}) {
      call.inputs.queries = call.ids({1, num_queries}, 3);
      call.inputs.keys = call.ids({1, num_keys}, 4);
      std::vector<int64_t> mask(static_cast<size_t>(num_keys), 1);
      for (const int changed : {-1, 0, static_cast<int>(num_keys) - 1}) {
        SCOPED_TRACE(testing::Message() << family << ", " << num_queries << " on " << num_keys << ", " << changed);
        if (changed >= 0) mask[static_cast<size_t>(changed)] ^= 1;
        call.inputs.attention_mask = call.keep(make_tensor_of(call.context.get(), {1, num_keys}, mask));
        call.make_output();
        heed_layer_tap tap = HEED_LAYER_TAP_INIT;
        check(heed_layer_create_tap(call.layer.get(), &call.inputs, "decoder.layers.0.cross_attention",
                                    HEED_WANT_WEIGHTS, &tap));
        const Tensor weights(tap.weights);
        const heed_layer_tap* const taps[] = {&tap};
        call.outputs.taps = taps;
        call.outputs.num_taps = 1;
        size_t num_bytes = 0;
        check(heed_layer_workspace_size(call.layer.get(), &call.inputs, &call.outputs, &num_bytes));
        heed_workspace* made = nullptr;
        check(heed_workspace_create(call.context.get(), num_bytes, &made));
        const Workspace workspace(made);
        EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
        call.outputs.taps = nullptr;
        call.outputs.num_taps = 0;
      }
    }
  }
}

// Tokenizers give hidden rows the position -1, or none at all.
TEST(MaskedPositions, OfHiddenRowsAreNotRead) {
  for (const char* const family : {"llama", "gpt2", "opt", "gemma2"}) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    call.inputs.sequences = &call.sequences;
    const auto tensor = [&](const std::vector<int64_t>& elements) {
      return call.keep(make_tensor_of(call.context.get(), {2, 5}, elements));
    };
    call.inputs.attention_mask = tensor({0, 0, 1, 1, 1, 1, 1, 1, 1, 0});
    call.sequences.positions = tensor({0, 0, 0, 1, 2, 0, 1, 2, 3, 0});
    const std::vector<uint8_t> expected = call.run();
    call.sequences.positions = tensor({-1, -1, 0, 1, 2, 0, 1, 2, 3, int64_t{1} << 40});
    EXPECT_EQ(call.run(), expected);
    // Behind the lengths, too.
    call.inputs.attention_mask = nullptr;
    call.sequences.query_lens = call.keep(make_tensor_of<int64_t>(call.context.get(), {2}, {5, 3}));
    call.sequences.positions = tensor({0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
    const std::vector<uint8_t> padded = call.run();
    call.sequences.positions = tensor({0, 1, 2, 3, 4, 0, 1, 2, -1, -1});
    EXPECT_EQ(call.run(), padded);
    call.sequences.query_lens = nullptr;
  }
}

// A table of 32 positions serves wider batches whose texts are short.
TEST(MaskedPositions, OfPaddingNeedNoRowOfTheTable) {
  for (const char* const family : {"bert", "gpt2", "opt", "roberta", "bart"}) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const heed_tensor*& ids = call.is_transformer ? call.inputs.keys : call.inputs.queries;
    ids = call.ids({1, 5}, 3);
    if (call.is_transformer) call.inputs.queries = call.ids({1, 3}, 4);
    const std::vector<uint8_t> alone = call.run();
    const std::vector<int32_t> text = read_elements<int32_t>(ids);
    for (const size_t first : {0, 35}) {
      std::vector<int32_t> padded(40, 0);
      std::vector<int32_t> mask(40, 0);
      std::copy(text.begin(), text.end(), padded.begin() + static_cast<std::ptrdiff_t>(first));
      std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(first), 5, 1);
      ids = call.keep(make_tensor_of(call.context.get(), {1, 40}, padded));
      call.inputs.attention_mask = call.keep(make_tensor_of(call.context.get(), {1, 40}, mask));
      std::vector<uint8_t> is = call.run();
      if (!call.is_transformer) {
        const size_t row = is.size() / 40;
        is = {is.begin() + static_cast<std::ptrdiff_t>(first * row),
              is.begin() + static_cast<std::ptrdiff_t>((first + 5) * row)};
      }
      EXPECT_EQ(is, alone);
      // 33 rows that count are too many.
      std::fill(mask.begin(), mask.end(), 1);
      call.inputs.attention_mask = call.keep(make_tensor_of(call.context.get(), {1, 40}, mask));
      forget_last_error();
      EXPECT_TRUE(is_refused(call.forward(),
                             invalid({call.is_transformer ? "inputs->keys has 40 rows in a batch element"
                                                          : "inputs->queries has 40 rows in a batch element"})));
    }
  }
}

TEST(MaskedRows, AreNamedAsTheCallHasThem) {
  ModelCall call(golden_model("llama"));
  call.inputs.sequences = &call.sequences;
  const auto tensor = [&](const std::vector<int64_t>& elements) {
    return call.keep(make_tensor_of(call.context.get(), {2, 5}, elements));
  };
  call.make_output();
  call.inputs.attention_mask = tensor({1, 1, 1, 1, 1, 0, 1, 0, 1, 1});
  const heed_tensor* const ids = call.inputs.queries;
  call.inputs.queries = tensor({1, 2, 3, 4, 5, 6, 7, 8, 1000, 9});
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->queries[1, 3] is 1000"})));
  call.inputs.queries = ids;
  call.sequences.positions = tensor({0, 1, 2, 3, 4, 0, 1, 0, 2, -9});
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->sequences->positions[1, 4] is -9"})));
  call.sequences.positions = tensor({0, 1, 2, 3, 4, 0, 4, 0, 2, 3});
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->sequences->positions[1, 3] is 2, below 4"})));
  // With a cache, too.
  const Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 16);
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  call.inputs.cache = &cached;
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->sequences->positions[1, 3] is 2, below 4"})));
  EXPECT_EQ(heed_cache_length(cache.get(), 0), 0);
}

}  // namespace
}  // namespace heed::capi_test
