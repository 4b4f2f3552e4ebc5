// SPDX-License-Identifier: Apache-2.0
// Rules 2 and 3: how a score is computed, with numbers that were computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// One query with q . k = `product`, and one key.
Call one_pair(double product, int64_t head_size) {
  Call call;
  call.kind = Kind::DotProductRank3;
  call.queries = make_input(filled({1, 1, head_size}, 1.0));
  call.keys = make_input(filled({1, 1, head_size}, product / static_cast<double>(head_size)));
  call.values = make_input(filled({1, 1, 1}, 1.0));
  call.log_sum_exp = OutputRequest();
  return call;
}

// With a single visible key, log_sum_exp is the key's score.
double score_of(const Call& call) { return run(call).log_sum_exp->contents.values[0]; }

TEST(Rule02, ScaleDefaultsToTheRootOfTheHeadSize) {
  for (int64_t head_size : {1, 4, 16, 64}) {
    EXPECT_EQ(score_of(one_pair(8.0, head_size)), 8.0 / std::sqrt(static_cast<double>(head_size)));
  }
  EXPECT_NEAR(score_of(one_pair(12.0, 3)), 12.0 / std::sqrt(3.0), a_few_roundings(7.0));

  Random random(201);
  for (Call call : call_of_each_kind(random)) {
    want_everything(call);
    const Results by_default = run(call);
    const auto head_size = static_cast<double>(sizes_of(call).head_size);
    const bool is_unscaled = call.kind == Kind::Additive || call.kind == Kind::General;
    call.options.scale = is_unscaled ? 1.0F : static_cast<float>(1.0 / std::sqrt(head_size));
    EXPECT_TRUE(same_bits(by_default.output, run(call).output));
  }
}

// Queries and keys of two elements with identity projections, and one key.
Call one_additive_pair(Kind kind, const std::vector<double>& query, const std::vector<double>& key,
                       const std::vector<double>& score_weights) {
  Call call;
  call.kind = kind;
  call.options.num_hiddens = 2;
  call.queries = make_input({{1, 1, 2}, query});
  call.keys = make_input({{1, 1, 2}, key});
  call.values = make_input(filled({1, 1, 2}, 1.0));
  call.log_sum_exp = OutputRequest();
  const Input identity = make_input({{2, 2}, {1.0, 0.0, 0.0, 1.0}});
  call.parameters = {{"W_q.weight", identity}, {"W_k.weight", identity}};
  call.parameters["w_v.weight"] = make_input({{1, 2}, score_weights});
  if (kind == Kind::Additive) return call;
  call.options.num_heads = 1;
  call.options.scoring = HEED_SCORING_ADDITIVE;
  call.parameters["W_v.weight"] = call.parameters["W_o.weight"] = identity;
  return call;
}

TEST(Rule02, AdditiveScoreIsTheWeightedTanhOfTheSum) {
  const double score = 2.0 * std::tanh(0.5 + 0.25) - 3.0 * std::tanh(-1.0 + 0.25);
  Call layer = one_additive_pair(Kind::Additive, {0.5, -1.0}, {0.25, 0.25}, {2.0, -3.0});
  EXPECT_NEAR(score_of(layer), score, a_few_roundings(4.0));
  layer.options.scale = -0.5F;
  EXPECT_NEAR(score_of(layer), -0.5 * score, a_few_roundings(4.0));

  Call multi_head = one_additive_pair(Kind::MultiHead, {0.5, -1.0}, {0.25, 0.25}, {2.0, -3.0});
  EXPECT_NEAR(score_of(multi_head), score / std::sqrt(2.0), a_few_roundings(4.0));
  multi_head.options.scale = 1.0F;
  EXPECT_NEAR(score_of(multi_head), score, a_few_roundings(4.0));
}

// Each query head has its own row of w_v, and is scored against the keys of its group.
TEST(Rule02, AdditiveScoresOfAHeadHaveItsWeights) {
  Call call;
  call.kind = Kind::MultiHead;
  call.options.num_hiddens = call.options.num_heads = 4;
  call.options.num_kv_heads = 2;
  call.options.scale = 1.0F;
  call.options.scoring = HEED_SCORING_ADDITIVE;
  call.options.no_output_projection = 1;
  const std::vector<double> queries = {0.1, 0.2, 0.3, 0.4};
  const std::vector<double> keys = {0.5, -0.7};
  const std::vector<double> weights = {1.0, 20.0, 300.0, 4000.0};
  call.queries = make_input(filled({1, 1, 1}, 1.0));
  call.keys = call.values = call.queries;
  call.parameters["W_q.weight"] = make_input({{4, 1}, queries});
  call.parameters["W_k.weight"] = call.parameters["W_v.weight"] = make_input({{2, 1}, keys});
  call.parameters["w_v.weight"] = make_input({{4, 1}, weights});
  call.log_sum_exp = OutputRequest();
  const Results results = run(call);
  for (size_t h = 0; h < 4; ++h) {
    EXPECT_NEAR(results.log_sum_exp->contents.values[h], weights[h] * std::tanh(queries[h] + keys[h / 2]),
                a_few_roundings(weights[h]))
        << "head " << h;
  }
}

TEST(Rule02, GivenScaleReplacesTheDefault) {
  Call call = one_pair(8.0, 16);
  call.options.scale = 3.0F;
  EXPECT_EQ(score_of(call), 24.0);
  call.options.scale = -0.5F;
  EXPECT_EQ(score_of(call), -4.0);
  // d2l-java's DotProductAttention divides by sqrt(2), since the slices it sees have rank 2.
  call.options.scale = static_cast<float>(1.0 / std::sqrt(2.0));
  EXPECT_NEAR(score_of(call), 8.0 / std::sqrt(2.0), a_few_roundings(6.0));
}

// q . (W k) with q = (1, 2), k = (1, -1, 2) and W k = (3, -1).
TEST(Rule02, GeneralScoreIsTheDotProductWithAProjectedKey) {
  Call call;
  call.kind = Kind::General;
  call.queries = make_input({{1, 1, 2}, {1.0, 2.0}});
  call.keys = make_input({{1, 1, 3}, {1.0, -1.0, 2.0}});
  call.values = make_input({{1, 1, 4}, {1.0, 2.0, 3.0, 4.0}});
  call.parameters["W.weight"] = make_input({{2, 3}, {1.0, 0.0, 1.0, 2.0, 1.0, -1.0}});
  want_everything(call);
  EXPECT_EQ(score_of(call), 1.0);
  EXPECT_EQ(run(call).output->contents.values, call.values->contents.values);
  call.options.scale = -0.5F;
  EXPECT_EQ(score_of(call), -0.5);
}

// Sizes of heads and inputs next to multiples of a vector, few and many queries.
TEST(Rule02, GeneralScoresOfEverySize) {
  Random random(207);
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const int64_t size : {1, 3, 16, 17, 64}) {
      for (const int64_t num_queries : {1, 20}) {
        MultiHeadSample sample;
        sample.num_queries = num_queries;
        sample.num_keys = 70;
        sample.query_size = size;
        sample.key_size = 65 - size;
        sample.value_size = size + 1;
        sample.dtype = dtype;
        Call call = general_call(sample, random);
        if (size > 3) call.options.scale = 0.25F;
        call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call)) << size << ", " << num_queries << " queries";
      }
    }
  }
}

TEST(Rule02, ScaleThatIsNotFiniteIsRefused) {
  Random random(203);
  for (Call call : call_of_each_kind(random)) {
    call.options.scale = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"scale"}));
    call.options.scale = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"scale"}));
  }
}

TEST(Rule03, SoftCapFollowsTheScaleAndPrecedesTheBias) {
  Call call = one_pair(8.0, 16);  // scaled: 2
  call.options.soft_cap = 1.5F;
  const double capped = 1.5 * std::tanh(2.0 / 1.5);
  EXPECT_NEAR(score_of(call), capped, a_few_roundings(2.0));
  call.bias = make_input(filled({1, 1}, 50.0));
  EXPECT_NEAR(score_of(call), capped + 50.0, a_few_roundings(52.0));
}

TEST(Rule03, SoftCapFollowsTheScaleOfAdditiveScoresToo) {
  Call call = one_additive_pair(Kind::Additive, {0.5, 0.0}, {0.5, 0.0}, {6.0, 0.0});
  call.options.scale = 0.5F;
  call.options.soft_cap = 1.5F;
  call.bias = make_input(filled({1, 1}, 50.0));
  const double scaled = 3.0 * std::tanh(1.0);
  EXPECT_NEAR(score_of(call), 1.5 * std::tanh(scaled / 1.5) + 50.0, a_few_roundings(52.0));
}

TEST(Rule03, HidingFollowsTheBias) {
  Random random(302);
  Call call = dot_product_call({1, 1, 1, 1, 3, 4, 2}, random);
  want_everything(call);
  call.bias = make_input({{1, 3}, {0.0, 1000.0, 0.0}});
  call.mask = make_input({{1, 3}, {1.0, 0.0, 1.0}}, HEED_BOOL);
  const Results results = run(call);
  EXPECT_EQ(results.weights->contents.values[1], 0.0);
  EXPECT_LT(results.log_sum_exp->contents.values[0], 100.0);
  EXPECT_TRUE(agrees_with_reference(call));
}

TEST(Rule03, LogSumExpIsOfTheScoresAfterBiasAndHiding) {
  Call call;
  call.kind = Kind::DotProductRank3;
  call.queries = make_input(filled({1, 1, 1}, 1.0));
  call.keys = make_input({{1, 4, 1}, {1.0, 2.0, 3.0, 4.0}});
  call.values = make_input(filled({1, 4, 1}, 1.0));
  call.bias = make_input({{1, 4}, {0.5, 0.0, -kInfinity, 0.0}});
  call.valid_lens = make_input({{1}, {3.0}}, HEED_I32);
  call.log_sum_exp = OutputRequest();
  EXPECT_NEAR(run(call).log_sum_exp->contents.values[0], std::log(std::exp(1.5) + std::exp(2.0)), a_few_roundings(3.0));
}

TEST(Rule03, DropoutFollowsTheSoftmax) {
  Random random(304);
  for (Call call : call_of_each_kind(random)) {
    call.options.dropout = 0.5F;
    call.training = 1;
    call.dropout_seed = 17;
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
    Call without = call;
    without.training = 0;
    const Results results = run(call);
    const Results expected = run(without);
    EXPECT_TRUE(agree(expected, solve(without)));
    // If dropout came before the softmax, the weights of the other keys would grow. On Ascend the CPU computes calls
    // with dropout, so there the bits differ from a call without it.
    if (!on_ascend()) {
      EXPECT_TRUE(same_bits(results.weights, expected.weights));
      EXPECT_TRUE(same_bits(results.log_sum_exp, expected.log_sum_exp));
    }
    EXPECT_FALSE(same_bits(results.output, expected.output));
  }
}

TEST(Rule03, EverythingTogether) {
  Random random(305);
  for (Call call : call_of_each_kind(random, HEED_F32, 20, 70)) {
    call.options.scale = -0.7F;
    call.options.soft_cap = 2.0F;
    call.options.dropout = 0.3F;
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    call.training = 1;
    call.bias = make_input(random_array({2, 1, 20, 70}, random, 3.0));
    call.valid_lens = make_input(filled({2}, 50.0), HEED_I64);
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

// The bound of rule 15 would allow any weights here. But equal scores must give equal weights, however large they are,
// and a much smaller score must give none. Callers mask with such biases: the lowest float hides all keys of a row.
TEST(Rule03, ScoresOfEverySizeAreNormalized) {
  constexpr int64_t kKeys = 600;
  const double lowest = std::numeric_limits<float>::lowest();
  for (const auto& [low, high] : {std::pair{lowest, lowest}, std::pair{-1e10, -1e10}, std::pair{1e10, 1e10},
                                  std::pair{-lowest, -lowest}, std::pair{lowest, -1e10}, std::pair{lowest, 0.0},
                                  std::pair{-3e6, -1e6}, std::pair{0.0, 2e6}, std::pair{-1e10, -lowest}}) {
    for (const auto& [num_queries, rises] :
         {std::pair{1, true}, std::pair{1, false}, std::pair{40, true}, std::pair{40, false}}) {
      Call call;
      call.kind = Kind::DotProductRank3;
      call.queries = make_input(filled({1, num_queries, 1}, 0.0));
      call.keys = make_input(filled({1, kKeys, 1}, 0.0));
      Array bias = filled({1, kKeys}, low);
      Array values = filled({1, kKeys, 1}, 1.0);
      double sum = 0.0;
      double count = 0.0;
      for (int64_t k = 0; k < kKeys; ++k) {
        const auto index = static_cast<size_t>(k);
        values.values[index] = static_cast<double>(k % 7);
        if ((k >= kKeys / 2) == rises) bias.values[index] = high;
        if (bias.values[index] != high) continue;
        sum += values.values[index];
        count += 1.0;
      }
      call.values = make_input(values);
      call.bias = make_input(bias);
      want_everything(call);
      const Results results = run(call);
      const double expected = static_cast<double>(static_cast<float>(high)) + std::log(count);
      // On every device the sum over so many keys is computed in f32.
      const double of_values = on_ascend() ? a_few_roundings(6.0) : a_few_roundings(6.0 * count);
      for (size_t q = 0; q < static_cast<size_t>(num_queries); ++q) {
        const size_t k = q * kKeys + (rises ? kKeys - 1 : 0);
        EXPECT_NEAR(results.output->contents.values[q], sum / count, of_values) << low << ' ' << high;
        EXPECT_NEAR(results.weights->contents.values[k], 1.0 / count, a_few_roundings(1.0)) << low << ' ' << high;
        EXPECT_NEAR(results.log_sum_exp->contents.values[q], expected, a_few_roundings(std::fabs(expected))) << low;
      }
    }
  }
}

}  // namespace
}  // namespace heed::property
