// SPDX-License-Identifier: Apache-2.0
// Rule 6 of docs/semantics.md: `positions` of self-attention, which are those of its queries and keys, and `key_positions` of
// separate keys.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/device.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Sizes next to the ends of vectors, tiles and blocks of keys.
constexpr int64_t kSizes[] = {1, 5, 17, 40, 70, 300};

// Self-attention of a batch of 2.
Call self_call(heed_multi_head_attention_options options, int64_t num_rows, Random& random,
               heed_dtype dtype = HEED_F32) {
  MultiHeadSample sample;
  sample.num_queries = sample.num_keys = num_rows;
  sample.key_size = sample.value_size = sample.query_size;
  sample.dtype = dtype;
  Call call = positions_call(options, sample, random);
  call.keys.reset();
  call.values.reset();
  return call;
}

// Rising positions with gaps, and now and then the same one twice.
Array rising(int64_t batch, int64_t num_rows, Random& random) {
  Array positions = filled({batch, num_rows}, 0.0);
  for (int64_t b = 0; b < batch; ++b) {
    int64_t position = random.below(20);
    for (int64_t i = 0; i < num_rows; ++i, position += random.below(4))
      positions.values[static_cast<size_t>(b * num_rows + i)] = static_cast<double>(position);
  }
  return positions;
}

Array any(int64_t batch, int64_t num_rows, int64_t most, Random& random) {
  Array positions = filled({batch, num_rows}, 0.0);
  for (double& position : positions.values) position = static_cast<double>(random.below(most));
  return positions;
}

Input any_pairs_mask(int64_t num_rows, Random& random) {
  Array mask = filled({2, 1, num_rows, num_rows}, 0.0);
  for (double& element : mask.values) element = random.chance(0.7) ? 1.0 : 0.0;
  return make_input(mask, HEED_BOOL);
}

TEST(Rule06, PositionsOfSelfAttentionAreThoseOfItsKeys) {
  Random random(611);
  for (const int64_t num_rows : kSizes) {
    for (const int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT}) {
      for (const bool has_window : {false, true}) {
        // Each once among the largest.
        if (num_rows == 300 && has_window != (causal == HEED_CAUSAL_TOP_LEFT)) continue;
        heed_multi_head_attention_options options = with_positions();
        options.causal = causal;
        if (has_window) {
          options.window = HEED_WINDOW_TOP_LEFT;
          options.window_left = 9;
          options.window_right = 4;
        }
        Call call = self_call(options, num_rows, random, random.one_of<heed_dtype>({HEED_F32, HEED_F16, HEED_BF16}));
        want_everything(call);
        call.positions = make_input(rising(2, num_rows, random), HEED_I64);
        EXPECT_TRUE(agrees_with_reference(call)) << num_rows;
        const int64_t half = num_rows / 2;
        call.query_lens = make_input({{2}, {static_cast<double>(num_rows), static_cast<double>(half)}}, HEED_I32);
        call.num_threads = 3;
        EXPECT_TRUE(agrees_with_reference(call)) << num_rows;
        // A mask with a row for each query separates texts, so that their positions may be any.
        call.mask = any_pairs_mask(num_rows, random);
        if (num_rows > 1) call.positions = make_input(any(2, num_rows, 2 * num_rows, random), HEED_I32);
        EXPECT_TRUE(agrees_with_reference(call)) << num_rows;
      }
    }
  }
}

// Each of what depends on positions, alone: nothing else reads them.
TEST(Rule06, EachTermOfSelfAttentionReadsPositions) {
  Random random(612);
  const std::vector<std::function<void(Call&)>> changes = {
      [](Call& call) { call.rope.reset(); }, [](Call& call) { call.options.alibi = HEED_ALIBI_NONE; },
      [](Call& call) {
        call.options.relative_bias = HEED_RELATIVE_BIAS_NONE;
        call.parameters.erase("relative_bias.weight");
      },
      [](Call& call) {
        call.options.window = HEED_WINDOW_NONE, call.options.window_left = call.options.window_right = -1;
      }};
  for (const int64_t num_rows : {6, 90}) {
    for (size_t kept = 0; kept <= changes.size(); ++kept) {
      heed_multi_head_attention_options options = with_positions();
      options.window = HEED_WINDOW_BOTTOM_RIGHT;
      options.window_left = 5;
      options.window_right = 2;
      Call call = self_call(options, num_rows, random);
      for (size_t i = 0; i < changes.size(); ++i) {
        if (i != kept) changes[i](call);
      }
      want_everything(call);
      call.positions = make_input(rising(2, num_rows, random), HEED_I32);
      EXPECT_TRUE(agrees_with_reference(call)) << num_rows << " rows, term " << kept;
    }
  }
}

TEST(Rule06, PositionsThatOnlyShiftChangeNothing) {
  HEED_SKIP_ON_ASCEND("the CPU computes calls with positions, and the NPU those without");
  Random random(613);
  for (const int64_t num_rows : kSizes) {
    heed_multi_head_attention_options options = with_positions();
    options.causal = HEED_CAUSAL_TOP_LEFT;
    options.window = HEED_WINDOW_TOP_LEFT;
    options.window_left = 30;
    Call call = self_call(options, num_rows, random);
    call.rope.reset();
    want_everything(call);
    const Results expected = run(call);
    Array positions = filled({2, num_rows}, 0.0);
    for_each_index(positions.dims, [&](const Dims& index, size_t i) {
      positions.values[i] = static_cast<double>(index[1] + (index[0] == 0 ? 7 : 1000000));
    });
    call.positions = make_input(positions, HEED_I64);
    EXPECT_TRUE(same_bits(run(call), expected)) << num_rows;
  }
}

TEST(Rule06, KeysOfTheirOwnHavePositionsInAnyOrder) {
  Random random(614);
  for (const auto& [num_queries, num_keys] : {std::pair{1, 70}, {5, 3}, {40, 70}, {70, 300}}) {
    for (const int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_TOP_LEFT}) {
      std::vector<Call> calls = call_of_each_kind(random, HEED_F32, num_queries, num_keys);
      MultiHeadSample sample;
      sample.num_queries = num_queries;
      sample.num_keys = num_keys;
      calls.push_back(positions_call(with_positions(), sample, random));
      for (Call& call : calls) {
        if (call.options.alibi == HEED_ALIBI_NONE)
          call.alibi_slopes = make_input(random_array({sizes_of(call).num_heads}, random, 0.5));
        call.options.causal = causal;
        call.options.window = HEED_WINDOW_BOTTOM_RIGHT;
        call.options.window_left = 20;
        call.options.window_right = 12;
        call.positions = make_input(any(2, num_queries, 100, random), HEED_I32);
        call.key_positions = make_input(any(2, num_keys, 100, random), HEED_I64);
        want_everything(call);
        EXPECT_TRUE(agrees_with_reference(call)) << num_queries << " of " << num_keys;
      }
    }
  }
}

TEST(Rule06, PositionsThatFallAreRefused) {
  Random random(615);
  heed_multi_head_attention_options plain = two_heads();
  const auto with_falling = [&](const heed_multi_head_attention_options& options) {
    MultiHeadSample sample;
    sample.num_queries = sample.num_keys = 4;
    sample.key_size = sample.value_size = sample.query_size;
    Call call = multi_head_call(options, sample, random);
    call.keys.reset();
    call.values.reset();
    call.positions = make_input({{2, 4}, {0, 1, 2, 3, 0, 1, 0, 1}}, HEED_I32);
    return call;
  };
  const auto is_refused_at_once = [](const Call& call) {
    return is_refused(call, HEED_ERROR_INVALID_ARGUMENT,
                      {"inputs->sequences->positions[1, 2] is 0, below 1 before it", "query_offsets"});
  };
  // Nothing reads them.
  EXPECT_TRUE(agrees_with_reference(with_falling(plain)));
  heed_multi_head_attention_options options = plain;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  EXPECT_TRUE(is_refused_at_once(with_falling(options)));
  options = plain;
  options.window = HEED_WINDOW_TOP_LEFT;
  options.window_left = 1;
  EXPECT_TRUE(is_refused_at_once(with_falling(options)));
  options = plain;
  options.alibi = HEED_ALIBI_ADDED;
  EXPECT_TRUE(is_refused_at_once(with_falling(options)));
  Call call = with_falling(plain);
  call.alibi_slopes = make_input(random_array({2}, random, 1.0));
  EXPECT_TRUE(is_refused_at_once(call));
  call = with_falling(plain);
  call.rope = heed_rope_options HEED_ROPE_OPTIONS_INIT;
  call.rope->layout = HEED_ROPE_HALF;
  EXPECT_TRUE(is_refused_at_once(call));
  // Rows that are hidden from every query do not count.
  Call hidden = call;
  hidden.valid_lens = make_input({{2}, {4, 2}}, HEED_I32);
  EXPECT_TRUE(agrees_with_reference(hidden));
  hidden = call;
  hidden.mask = make_input({{2, 1, 1, 4}, {1, 1, 1, 1, 0, 0, 1, 1}}, HEED_BOOL);
  EXPECT_TRUE(agrees_with_reference(hidden));
  // Those of each query, which hide no key from one query alone, separate nothing.
  hidden.mask = make_input({{4, 1}, {1, 1, 1, 1}}, HEED_BOOL);
  EXPECT_TRUE(is_refused_at_once(hidden));
  // A mask or bias with an element for each query and key may separate texts.
  call.mask = make_input({{4, 4}, {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}}, HEED_BOOL);
  EXPECT_TRUE(agrees_with_reference(call));
  call.mask.reset();
  call.bias = make_input(random_array({4, 4}, random, 1.0));
  EXPECT_TRUE(agrees_with_reference(call));
}

TEST(Rule06, KeyPositionsThatDoNotGoWithTheCallAreRefused) {
  Random random(616);
  Call call = self_call(with_positions(), 3, random);
  call.positions = make_input({{2, 3}, {0, 1, 2, 0, 1, 2}}, HEED_I32);
  call.key_positions = call.positions;
  EXPECT_TRUE(
      is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"inputs->sequences->key_positions is set, but the keys are"}));
  call = multi_head_call(two_heads(), {}, random);
  call.key_positions = make_input({{2, 5}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}}, HEED_I32);
  EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT,
                         {"inputs->sequences->key_positions is set, but inputs->sequences->positions is NULL"}));
  call.positions = make_input({{2, 3}, {0, 1, 2, 0, 1, 2}}, HEED_I32);
  EXPECT_TRUE(agrees_with_reference(call));
  call.key_positions = make_input({{2, 4}, {0, 1, 2, 3, 0, 1, 2, 3}}, HEED_I32);
  EXPECT_TRUE(
      is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"inputs->sequences->key_positions has dims (2, 4)", "(B, K)"}));
  call.key_positions = make_input({{2, 5}, {0, 1, 2, 3, -4, 0, 1, 2, 3, 4}}, HEED_I32);
  EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"inputs->sequences->key_positions[0, 4] is -4"}));
}

}  // namespace
}  // namespace heed::property
