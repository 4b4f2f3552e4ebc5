// SPDX-License-Identifier: Apache-2.0
// Keys that every row sees: add_bias_kv and add_zero_attn of multi-head attention.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/batch_part.h"
#include "support/numbers.h"
#include "support/packing.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Four query heads on two key heads, with both constant keys.
heed_multi_head_attention_options with_constant_keys() {
  heed_multi_head_attention_options options = two_heads();
  options.num_heads = 4;
  options.num_kv_heads = 2;
  options.head_size = 17;
  options.value_head_size = 5;
  options.add_bias_kv = 1;
  options.add_zero_attn = 1;
  return options;
}

MultiHeadSample sample_of(int64_t num_queries, int64_t num_keys, heed_dtype dtype = HEED_F32) {
  MultiHeadSample sample;
  sample.num_queries = num_queries;
  sample.num_keys = num_keys;
  sample.dtype = dtype;
  return sample;
}

// A query 1 and the keys 1 and 3 with the values 10 and 20, which are projected by 1; bias_k 2, bias_v 7.
Call two_keys(bool has_bias_key, bool has_zero_key) {
  Call call;
  call.options.num_hiddens = 1;
  call.options.num_heads = 1;
  call.options.scale = 1.0F;
  call.options.add_bias_kv = has_bias_key;
  call.options.add_zero_attn = has_zero_key;
  call.queries = make_input({{1, 1, 1}, {1.0}});
  call.keys = make_input({{1, 2, 1}, {1.0, 3.0}});
  call.values = make_input({{1, 2, 1}, {10.0, 20.0}});
  for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"})
    call.parameters[name] = make_input({{1, 1}, {1.0}});
  if (has_bias_key) {
    call.parameters["bias_k"] = make_input({{1}, {2.0}});
    call.parameters["bias_v"] = make_input({{1}, {7.0}});
  }
  want_everything(call);
  return call;
}

void hide_all_keys(Call& call) { call.mask = make_input({{1, 2}, {0.0, 0.0}}, HEED_BOOL); }

void expect_weights(const Results& results, const std::vector<double>& exponentials) {
  double sum = 0.0;
  for (const double exponential : exponentials) sum += exponential;
  const Array& weights = results.weights->contents;
  ASSERT_EQ(weights.dims, (Dims{1, 1, 1, static_cast<int64_t>(exponentials.size())}));
  for (size_t k = 0; k < exponentials.size(); ++k)
    EXPECT_NEAR(weights.values[k], exponentials[k] / sum, a_few_roundings(1.0));
  EXPECT_NEAR(results.log_sum_exp->contents.values[0], std::log(sum), a_few_roundings(4.0));
}

TEST(Rule03, ConstantKeysAreSeenByEveryRow) {
  const double e1 = std::exp(1.0), e2 = std::exp(2.0), e3 = std::exp(3.0);
  for (const int32_t empty_rows : {HEED_EMPTY_ROWS_ZERO, HEED_EMPTY_ROWS_MEAN}) {
    Call call = two_keys(true, true);
    call.options.empty_rows = empty_rows;
    expect_weights(run(call), {e1, e3, e2, 1.0});
    EXPECT_TRUE(agrees_with_reference(call));
    hide_all_keys(call);
    Results results = run(call);
    expect_weights(results, {0.0, 0.0, e2, 1.0});
    EXPECT_NEAR(results.output->contents.values[0], 7.0 * e2 / (e2 + 1.0), a_few_roundings(7.0));
    EXPECT_TRUE(agrees_with_reference(call));

    call = two_keys(true, false);
    call.options.empty_rows = empty_rows;
    expect_weights(run(call), {e1, e3, e2});
    hide_all_keys(call);
    results = run(call);
    expect_weights(results, {0.0, 0.0, e2});
    EXPECT_EQ(results.output->contents.values[0], 7.0);

    call = two_keys(false, true);
    call.options.empty_rows = empty_rows;
    expect_weights(run(call), {e1, e3, 1.0});
    hide_all_keys(call);
    results = run(call);
    expect_weights(results, {0.0, 0.0, 1.0});
    EXPECT_EQ(results.output->contents.values[0], 0.0);
    EXPECT_EQ(results.log_sum_exp->contents.values[0], 0.0);
  }
}

TEST(Rule03, ConstantKeysAreScaledAndCappedButNothingIsAdded) {
  Call call = two_keys(true, true);
  call.options.scale = 1.5F;
  call.options.soft_cap = 2.0F;
  const double score = 2.0 * std::tanh(3.0 / 2.0);
  hide_all_keys(call);
  expect_weights(run(call), {0.0, 0.0, std::exp(score), 1.0});
  const Results expected = run(call);
  call.bias = make_input({{1, 2}, {5.0, 5.0}});
  call.alibi_slopes = make_input({{1}, {3.0}});
  call.options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  call.parameters["relative_bias.weight"] = make_input(filled({32, 1}, 4.0));
  EXPECT_TRUE(same_bits(run(call), expected));
}

// A query is normalized and rotated before it meets a constant key, which is not.
TEST(Rule03, ConstantKeysFollowNormsAndRotations) {
  Random random(311);
  for (const int32_t norm : {HEED_QK_NORM_RMS, HEED_QK_NORM_LAYER}) {
    heed_multi_head_attention_options options = with_constant_keys();
    options.head_size = 16;
    options.qk_norm = norm;
    options.qk_norm_epsilon = 1e-5F;
    Call call = multi_head_call(options, sample_of(20, 30), random);
    const bool is_layer = norm == HEED_QK_NORM_LAYER;
    call.parameters["q_norm.weight"] = make_input(random_array(is_layer ? Dims{4, 16} : Dims{16}, random, 2.0));
    call.parameters["k_norm.weight"] = make_input(random_array(is_layer ? Dims{2, 16} : Dims{16}, random, 2.0));
    call.rope = heed_rope_options HEED_ROPE_OPTIONS_INIT;
    call.rope->layout = HEED_ROPE_HALF;
    call.options.causal = HEED_CAUSAL_TOP_LEFT;
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

// Numbers of queries and keys next to the ends of query tiles, key blocks and chunks, with and without sinks.
TEST(Rule03, ConstantKeysOfFewAndManyQueries) {
  Random random(312);
  int number = 0;
  for (const int64_t num_queries : {1, 4, 16, 33}) {
    for (const int64_t num_keys : {0, 1, 2, 16, 255, 257, 1025}) {
      for (int32_t constant = 1; constant <= 3; ++constant, ++number) {
        heed_multi_head_attention_options options = with_constant_keys();
        options.add_bias_kv = constant % 2;
        options.add_zero_attn = constant / 2;
        options.num_kv_heads = number % 2 == 0 ? 1 : 2;
        const heed_dtype dtypes[] = {HEED_F32, HEED_F16, HEED_BF16};
        Call call = multi_head_call(options, sample_of(num_queries, num_keys, dtypes[number / 3 % 3]), random);
        if (number % 4 < 2) call.sinks = make_input(random_array({4}, random, 3.0));
        if (number % 5 < 3) call.options.causal = HEED_CAUSAL_TOP_LEFT;
        if (number % 5 == 1) call.valid_lens = make_input(filled({2}, 0.0), HEED_I32);
        if (number % 7 < 3) {
          call.options.dropout = 0.4F;
          call.training = 1;
        }
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call)) << num_queries << " queries, " << num_keys << " keys, " << constant;
      }
    }
  }
}

// A constant key whose score is far above or below all others, before the first key block.
TEST(Rule03, ConstantKeysFarAboveOrBelowEveryScore) {
  Random random(313);
  for (const double factor : {-300.0, 300.0}) {
    for (const int64_t num_queries : {2, 40}) {
      Call call = multi_head_call(with_constant_keys(), sample_of(num_queries, 300), random);
      Input& key = call.parameters.at("bias_k");
      for (double& element : key.contents.values) element *= factor;
      key = make_input(key.contents);
      want_everything(call);
      EXPECT_TRUE(agrees_with_reference(call)) << factor << ", " << num_queries << " queries";
    }
  }
}

TEST(Rule03, ConstantKeysAreRefusedWithAdditiveScores) {
  for (const char* name : {"add_bias_kv", "add_zero_attn"}) {
    Call call = two_keys(name == std::string("add_bias_kv"), name == std::string("add_zero_attn"));
    call.options.scoring = HEED_SCORING_ADDITIVE;
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {name, "HEED_SCORING_ADDITIVE"}));
  }
}

// The weights of rows behind query_lens are 0 in the columns of constant keys too.
TEST(Rule04, LaterQueriesSeeNoConstantKeys) {
  Random random(411);
  for (const int64_t num_queries : {3, 20}) {
    Call call = multi_head_call(with_constant_keys(), sample_of(num_queries, 21), random);
    call.query_lens = make_input({{2}, {0.0, 2.0}}, HEED_I32);
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    const reference::AttentionSizes sizes = sizes_of(call);
    for (const int64_t k : {21, 22}) {
      EXPECT_EQ(weight_at(results, sizes, 0, 0, 0, k), 0.0);
      EXPECT_EQ(weight_at(results, sizes, 1, 3, 2, k), 0.0);
      EXPECT_NE(weight_at(results, sizes, 1, 3, 1, k), 0.0);
    }
  }
}

TEST(Rule08, HiddenKeysChangeNothingBesideConstantKeys) {
  Random random(811);
  for (const int64_t num_queries : {2, 40}) {
    Call call = multi_head_call(with_constant_keys(), sample_of(num_queries, 300), random);
    call.sinks = make_input(random_array({4}, random, 3.0));
    call.valid_lens = make_input({{2}, {0.0, 270.0}}, HEED_I32);
    want_everything(call);
    const Results expected = run(call);
    EXPECT_TRUE(agree(expected, solve(call)));
    for (const auto& [input, size] : {std::pair{&Call::keys, int64_t{7}}, {&Call::values, int64_t{9}}}) {
      for_each_index({2, 300, size}, [&, input = input](const Dims& index, size_t position) {
        if (index[0] == 0 || index[1] >= 270) (call.*input)->contents.values[position] = kNaN;
      });
      call.*input = make_input((call.*input)->contents);
    }
    EXPECT_TRUE(same_bits(run(call), expected)) << num_queries;
  }
}

// The score of a query that is not finite and the zero key is NaN, also where the row sees no other key.
TEST(Rule08, NaNQueryMakesARowOfConstantKeysNaN) {
  Random random(812);
  for (const int64_t num_queries : {2, 40}) {
    for (const int32_t has_bias_key : {0, 1}) {
      heed_multi_head_attention_options options = with_constant_keys();
      options.add_bias_kv = has_bias_key;
      Call call = multi_head_call(options, sample_of(num_queries, 20), random);
      call.valid_lens = make_input({{2}, {0.0, 20.0}}, HEED_I32);
      call.queries.contents.values[0] = kNaN;
      call.queries = make_input(call.queries.contents);
      want_everything(call);
      const Results results = run(call);
      EXPECT_TRUE(agree(results, solve(call)));
      EXPECT_TRUE(std::isnan(log_sum_exp_at(results, sizes_of(call), 0, 0, 0)));
      EXPECT_FALSE(std::isnan(log_sum_exp_at(results, sizes_of(call), 0, 0, 1)));
    }
  }
}

// Sums of values near the largest float are computed again with weights that are divided first.
TEST(Rule08, RowsThatAreSummedAgainCountTheirConstantKeysOnce) {
  Random random(813);
  for (const int64_t num_queries : {1, 30}) {
    for (const int32_t training : {0, 1}) {
      Call call = two_keys(true, true);
      call.queries = make_input(random_array({1, num_queries, 1}, random));
      call.keys = make_input(random_array({1, 300, 1}, random));
      call.values = make_input(filled({1, 300, 1}, 3e38));
      call.parameters["bias_v"] = make_input({{1}, {3e38}});
      call.options.no_output_projection = 1;
      call.parameters.erase("W_o.weight");
      call.options.dropout = 0.3F;
      call.training = training;
      EXPECT_TRUE(agrees_with_reference(call)) << num_queries << " " << training;
    }
  }
}

// With dropout, which numbers constant keys after the keys of their batch element.
TEST(Rule10, PackedBatchWithConstantKeysHasTheBitsOfThePaddedOne) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1011);
  const std::vector<int64_t> counts = {3, 0, 40, 17, 1, 300};
  const Input offsets = make_offsets(counts);
  for (const int32_t training : {0, 1}) {
    MultiHeadSample sample = sample_of(361, 361);
    sample.batch = 1;
    sample.key_size = sample.value_size = sample.query_size;
    Call call = multi_head_call(with_constant_keys(), sample, random);
    call.queries = make_input({{361, sample.query_size}, call.queries.contents.values});
    call.keys.reset();
    call.values.reset();
    call.query_offsets = offsets;
    call.options.dropout = 0.3F;
    call.training = training;
    call.log_sum_exp = OutputRequest();
    const Results packed = run(call);
    EXPECT_TRUE(agree(packed, solve(call)));
    EXPECT_TRUE(same_bits(packed, packed_results(call, run(padded_form(call, kNaN)))));
    // Dropout's numbers depend on the index in the batch.
    for (const int64_t b : {0, 3}) {
      if (training != 0 && b != 0) continue;
      EXPECT_TRUE(same_bits(run(part_of_batch(call, b, 1)), part_of_batch(call, packed, b, 1))) << b;
    }
  }
}

}  // namespace
}  // namespace heed::property
