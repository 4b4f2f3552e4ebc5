// SPDX-License-Identifier: Apache-2.0
// Rules 4 to 8: which keys a query sees, and the results of rows that see no key or a number that is not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

bool is_finite(const Result& result) {
  for (double element : result.contents.values) {
    if (!std::isfinite(element)) return false;
  }
  return true;
}

// ---- rule 4 ---------------------------------------------------------------------------------------------------------

TEST(Rule04, LengthsPerBatchElementHideLaterKeys) {
  Random random(401);
  for (heed_dtype dtype : {HEED_F32, HEED_I32, HEED_I64}) {
    for (Call call : call_of_each_kind(random)) {
      call.valid_lens = make_input({{2}, {2.0, 5.0}}, dtype);
      want_everything(call);
      const Results results = run(call);
      EXPECT_TRUE(sees_exactly(results, sizes_of(call),
                               [](int64_t b, int64_t, int64_t, int64_t k) { return b == 1 || k < 2; }));
      EXPECT_TRUE(agree(results, solve(call)));
    }
  }
}

TEST(Rule04, LengthsPerQueryHideLaterKeys) {
  Random random(402);
  const Array lengths = {{2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 0.0}};
  for (heed_dtype dtype : {HEED_F32, HEED_I32, HEED_I64}) {
    for (Call call : call_of_each_kind(random)) {
      call.valid_lens = make_input(lengths, dtype);
      want_everything(call);
      const Results results = run(call);
      EXPECT_TRUE(sees_exactly(results, sizes_of(call), [&](int64_t b, int64_t, int64_t q, int64_t k) {
        return static_cast<double>(k) < lengths.values[static_cast<size_t>(b * 3 + q)];
      }));
      EXPECT_TRUE(agree(results, solve(call)));
    }
  }
}

TEST(Rule04, LengthsOfOneColumnAreForOneQuery) {
  Random random(403);
  for (Call call : call_of_each_kind(random, HEED_F32, 1, 5)) {
    call.valid_lens = make_input({{2, 1}, {2.0, 3.0}}, HEED_I32);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule04, InvalidLengthsAreRefused) {
  Random random(404);
  for (const Call& right : call_of_each_kind(random)) {
    Call call = right;
    for (double length : {-1.0, 1.5, 6.0, kNaN, kInfinity, -kInfinity, 1e30}) {
      call.valid_lens = make_input({{2}, {5.0, length}}, HEED_F32);
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"valid_lens"})) << length;
    }
    for (heed_dtype dtype : {HEED_I32, HEED_I64}) {
      for (double length : {-1.0, 6.0, -2147483648.0, 2147483647.0}) {
        call.valid_lens = make_input({{2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, length}}, dtype);
        EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"valid_lens"})) << length;
      }
    }
    for (const Dims& dims : {Dims{2, 1}, Dims{1}, Dims{3}, Dims{}, Dims{2, 3, 1}, Dims{1, 3}}) {
      call.valid_lens = make_input(filled(dims, 1.0), HEED_I32);
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"valid_lens"})) << testing::PrintToString(dims);
    }
  }
}

// ---- rule 5 ---------------------------------------------------------------------------------------------------------

TEST(Rule05, AnyNonZeroByteOfTheMaskMakesAKeyVisible) {
  Random random(501);
  const std::vector<double> bytes = {0.0, 1.0, 2.0, 128.0, 255.0};
  for (Call call : call_of_each_kind(random)) {
    call.mask = make_input({{1, 5}, bytes}, HEED_BOOL);
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(sees_exactly(results, sizes_of(call), [](int64_t, int64_t, int64_t, int64_t k) { return k > 0; }));
    EXPECT_TRUE(agree(results, solve(call)));
  }
}

TEST(Rule05, BiasIsAddedAndMinusInfinityHides) {
  Random random(502);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (Call call : call_of_each_kind(random, dtype)) {
      Array bias = random_array({3, 5}, random, 4.0);
      bias.values[7] = -kInfinity;
      for (heed_dtype bias_dtype : {HEED_F32, dtype}) {
        call.bias = make_input(bias, bias_dtype);
        want_everything(call);
        const Results results = run(call);
        EXPECT_TRUE(sees_exactly(results, sizes_of(call),
                                 [](int64_t, int64_t, int64_t q, int64_t k) { return q != 1 || k != 2; }));
        EXPECT_TRUE(agree(results, solve(call)));
      }
    }
  }
}

TEST(Rule05, NonFiniteBiasMakesNaNOfTheRowsThatSeeIt) {
  Random random(503);
  for (double spoiler : {kNaN, kInfinity}) {
    for (Call call : call_of_each_kind(random)) {
      want_everything(call);
      call.mask = make_input({{3, 5}, {1, 1, 1, 1, 1, /**/ 1, 1, 0, 1, 1, /**/ 1, 1, 1, 1, 1}}, HEED_BOOL);
      Array bias = filled({3, 5}, 0.25);
      const Call clean = [&] {
        Call with_bias = call;
        with_bias.bias = make_input(bias);
        return with_bias;
      }();
      bias.values[1 * 5 + 2] = spoiler;  // where the mask hides it
      call.bias = make_input(bias);
      EXPECT_TRUE(same_bits(run(call).output, run(clean).output));
      EXPECT_TRUE(same_bits(run(call).weights, run(clean).weights));
      bias.values[2 * 5 + 2] = spoiler;
      call.bias = make_input(bias);
      const Results results = run(call);
      const reference::AttentionSizes sizes = sizes_of(call);
      EXPECT_TRUE(std::isnan(log_sum_exp_at(results, sizes, 0, 0, 2)));
      EXPECT_TRUE(std::isfinite(log_sum_exp_at(results, sizes, 0, 0, 0)));
      EXPECT_TRUE(std::isfinite(log_sum_exp_at(results, sizes, 0, 0, 1)));
      EXPECT_TRUE(agree(results, solve(call)));
    }
  }
}

// Scores of 0, so that the weights are the softmax of the penalties alone, computed here by hand.
TEST(Rule05, AlibiLowersAScoreByTheDistanceFromQueryToKey) {
  for (const auto& [num_queries, num_keys] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {4, 4}, {3, 9}, {6, 2}}) {
    const reference::AttentionSizes sizes = {1, 4, 2, num_queries, num_keys, 3, 2};
    Random random(515);
    Call call = dot_product_call(sizes, random);
    call.queries = make_input(filled({1, 4, num_queries, 3}, 0.0));
    const std::vector<double> slopes = {0.5, 0.25, -0.125, 0.0};
    call.alibi_slopes = make_input({{4}, slopes});
    want_everything(call);
    const Results results = run(call);
    for (int64_t h = 0; h < 4; ++h) {
      for (int64_t q = 0; q < num_queries; ++q) {
        // The last query is at the last key.
        const int64_t position = num_keys - num_queries + q;
        const auto exponential = [&, h](int64_t k) {
          return std::exp(-slopes[static_cast<size_t>(h)] * std::fabs(static_cast<double>(position - k)));
        };
        double sum = 0;
        for (int64_t k = 0; k < num_keys; ++k) sum += exponential(k);
        for (int64_t k = 0; k < num_keys; ++k)
          EXPECT_NEAR(weight_at(results, sizes, 0, h, q, k), exponential(k) / sum, a_few_roundings(4.0));
        EXPECT_NEAR(log_sum_exp_at(results, sizes, 0, h, q), std::log(sum), a_few_roundings(4.0));
      }
    }
  }
}

TEST(Rule05, AlibiIsForEveryKindOfAttention) {
  Random random(516);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (Call call : call_of_each_kind(random, dtype, 6, 40)) {
      call.alibi_slopes = make_input(random_array({sizes_of(call).num_heads}, random, 0.5));
      want_everything(call);
      EXPECT_TRUE(agrees_with_reference(call));
      const Results with = run(call);
      call.alibi_slopes.reset();
      EXPECT_FALSE(same_bits(with.weights, run(call).weights));
    }
  }
}

TEST(Rule05, AlibiHidesNothing) {
  Random random(518);
  Call call = dot_product_call({1, 1, 1, 1, 3, 4, 2}, random);
  want_everything(call);
  call.alibi_slopes = make_input(filled({1}, 3e38));
  const Results results = run(call);
  // The nearest key takes all weight; the others' scores of -inf are weights of 0, whose values still count (rule 8).
  EXPECT_EQ(results.weights->contents.values, (std::vector<double>{0, 0, 1}));
  call.values->contents.values[0] = kInfinity;
  call.values = make_input(call.values->contents);
  EXPECT_TRUE(std::isnan(run(call).output->contents.values[0]));
}

TEST(Rule05, SlopesOfAnotherShapeOrDtypeAreRefused) {
  Random random(519);
  for (Call call : call_of_each_kind(random)) {
    const int64_t heads = sizes_of(call).num_heads;
    call.alibi_slopes = make_input(filled({heads + 1}, 1.0));
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"alibi_slopes", "(" + std::to_string(heads) + ")"}));
    call.alibi_slopes = make_input(filled({heads, 1}, 1.0));
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"alibi_slopes", "(" + std::to_string(heads) + ")"}));
    call.alibi_slopes = make_input(filled({heads}, 1.0), HEED_F16);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"alibi_slopes", "F16", "F32"}));
  }
}

TEST(Rule05, MaskAndBiasRepeatAxesOfSizeOne) {
  Random random(504);
  for (Call call : call_of_each_kind(random)) {
    const reference::AttentionSizes sizes = sizes_of(call);
    const Dims full = {sizes.batch, sizes.num_heads, sizes.num_queries, sizes.num_keys};
    want_everything(call);
    for (uint32_t ones = 0; ones < 16; ++ones) {
      for (size_t missing : {0U, 2U}) {
        Dims dims(full.begin() + static_cast<std::ptrdiff_t>(missing), full.end());
        for (size_t axis = 0; axis < dims.size(); ++axis) {
          if ((ones >> (axis + missing) & 1U) != 0) dims[axis] = 1;
        }
        Array mask = filled(dims, 0.0);
        for (double& element : mask.values) element = random.chance(0.7);
        const Array bias = random_array(dims, random);
        Call written_out = call;
        call.mask = make_input(mask, HEED_BOOL);
        call.bias = make_input(bias);
        written_out.mask = make_input(broadcast(mask, full), HEED_BOOL);
        written_out.bias = make_input(broadcast(bias, full));
        const Results results = run(call);
        EXPECT_TRUE(same_bits(results.weights, run(written_out).weights)) << testing::PrintToString(dims);
        EXPECT_TRUE(agree(results, solve(call))) << testing::PrintToString(dims);
      }
    }
  }
}

TEST(Rule05, OtherRanksAndSizesAreRefused) {
  Random random(505);
  for (const Call& right : call_of_each_kind(random)) {
    for (const Dims& dims : {Dims{2, 3, 5}, Dims{5}, Dims{}, Dims{1, 1, 1, 3, 5}}) {
      Call call = right;
      call.mask = make_input(filled(dims, 1.0), HEED_BOOL);
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"mask", "(B, 1, 1, K)"}))
          << testing::PrintToString(dims);
      call = right;
      call.bias = make_input(filled(dims, 1.0));
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"bias", "(B, 1, 1, K)"}))
          << testing::PrintToString(dims);
    }
    for (const Dims& dims : {Dims{3, 4}, Dims{2, 5}, Dims{2, 7, 3, 5}, Dims{3, 1, 3, 5}, Dims{2, 1, 3, 6}}) {
      Call call = right;
      call.mask = make_input(filled(dims, 1.0), HEED_BOOL);
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"mask"})) << testing::PrintToString(dims);
    }
  }
}

TEST(Rule05, RankTwoWithARowPerBatchElementIsRefusedWithTheShapeItNeeds) {
  Random random(507);
  for (const Call& right : call_of_each_kind(random)) {
    for (const int64_t keys : {int64_t{5}, int64_t{1}}) {
      const std::string shape = "(2, 1, 1, " + std::to_string(keys) + ")";
      Call call = right;
      call.mask = make_input(filled({2, keys}, 1.0), HEED_BOOL);
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"mask", "(B, 1, 1, K)", shape}));
      call = right;
      call.bias = make_input(filled({2, keys}, 1.0));
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"bias", "(B, 1, 1, K)", shape}));
    }
  }
}

TEST(Rule05, RankTwoMeansQueriesAndKeysWhenTheBatchHasTheSameSize) {
  Random random(508);
  for (Call call : call_of_each_kind(random, HEED_F32, 2, 5)) {
    want_everything(call);
    Array bias = random_array({2, 5}, random);
    call.bias = make_input(bias);
    const Results results = run(call);
    bias.dims = {1, 1, 2, 5};
    call.bias = make_input(bias);
    EXPECT_TRUE(same_bits(results.weights, run(call).weights));
    bias.dims = {2, 1, 1, 5};
    call.bias = make_input(bias);
    EXPECT_FALSE(same_bits(results.weights, run(call).weights));
  }
}

TEST(Rule05, KeysMustBeVisibleByEveryRule) {
  Random random(506);
  constexpr int64_t kQueries = 20;
  constexpr int64_t kKeys = 70;
  for (Call call : call_of_each_kind(random, HEED_F32, kQueries, kKeys)) {
    Array lengths = filled({2, kQueries}, 0.0);
    for (double& length : lengths.values) length = static_cast<double>(random.below(kKeys + 1));
    Array mask = filled({2, 1, 1, kKeys}, 0.0);
    for (double& element : mask.values) element = random.chance(0.8);
    Array bias = random_array({kQueries, kKeys}, random);
    for (double& element : bias.values) element = random.chance(0.2) ? -kInfinity : element;
    call.valid_lens = make_input(lengths, HEED_I32);
    call.mask = make_input(mask, HEED_BOOL);
    call.bias = make_input(bias);
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    call.options.window = HEED_WINDOW_TOP_LEFT;
    call.options.window_left = 4;
    call.options.window_right = 45;
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(sees_exactly(results, sizes_of(call), [&](int64_t b, int64_t, int64_t q, int64_t k) {
      const auto at = [](const Array& array, int64_t position) { return array.values[static_cast<size_t>(position)]; };
      return static_cast<double>(k) < at(lengths, b * kQueries + q) && at(mask, b * kKeys + k) != 0.0 &&
             at(bias, q * kKeys + k) != -kInfinity && k <= q + kKeys - kQueries && q - 4 <= k && k <= q + 45;
    }));
    EXPECT_TRUE(agree(results, solve(call)));
  }
}

// ---- rule 6 ---------------------------------------------------------------------------------------------------------

TEST(Rule06, CausalFollowsItsAlignment) {
  Random random(601);
  for (const auto& [num_queries, num_keys] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 5}, {5, 3}, {4, 4}, {1, 6}, {33, 70}}) {
    for (Call call : call_of_each_kind(random, HEED_F32, num_queries, num_keys)) {
      want_everything(call);
      call.options.causal = HEED_CAUSAL_TOP_LEFT;
      EXPECT_TRUE(
          sees_exactly(run(call), sizes_of(call), [](int64_t, int64_t, int64_t q, int64_t k) { return k <= q; }));
      EXPECT_TRUE(agrees_with_reference(call));
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      const int64_t shift = num_keys - num_queries;
      EXPECT_TRUE(sees_exactly(run(call), sizes_of(call),
                               [&](int64_t, int64_t, int64_t q, int64_t k) { return k <= q + shift; }));
      EXPECT_TRUE(agrees_with_reference(call));
    }
  }
}

TEST(Rule06, WindowFollowsItsAlignment) {
  Random random(602);
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  for (const auto& [num_queries, num_keys] : std::vector<std::pair<int64_t, int64_t>>{{3, 5}, {5, 3}, {20, 70}}) {
    const int64_t shift = num_keys - num_queries;
    for (Call call : call_of_each_kind(random, HEED_F32, num_queries, num_keys)) {
      want_everything(call);
      for (const auto& [left, right] : std::vector<std::pair<int64_t, int64_t>>{{0, 0},
                                                                                {1, 0},
                                                                                {0, 2},
                                                                                {-1, 1},
                                                                                {1, -1},
                                                                                {-7, -7},
                                                                                {kLargest, 0},
                                                                                {0, kLargest},
                                                                                {kSmallest, kSmallest},
                                                                                {kLargest, kLargest}}) {
        call.options.window_left = left;
        call.options.window_right = right;
        for (int32_t window : {HEED_WINDOW_TOP_LEFT, HEED_WINDOW_BOTTOM_RIGHT}) {
          call.options.window = window;
          const int64_t offset = window == HEED_WINDOW_BOTTOM_RIGHT ? shift : 0;
          const auto is_visible = [&, l = left, r = right](int64_t, int64_t, int64_t q, int64_t k) {
            const int64_t p = q + offset;
            return (l < 0 || p - k <= l) && (r < 0 || k - p <= r);
          };
          EXPECT_TRUE(sees_exactly(run(call), sizes_of(call), is_visible)) << left << " " << right;
        }
        EXPECT_TRUE(agrees_with_reference(call));
      }
    }
  }
}

TEST(Rule06, CausalAndWindowMayHaveDifferentAlignments) {
  Random random(603);
  for (Call call : call_of_each_kind(random, HEED_F32, 4, 7)) {
    call.options.causal = HEED_CAUSAL_TOP_LEFT;
    call.options.window = HEED_WINDOW_BOTTOM_RIGHT;
    call.options.window_left = 3;
    call.options.window_right = 0;
    want_everything(call);
    EXPECT_TRUE(sees_exactly(run(call), sizes_of(call),
                             [](int64_t, int64_t, int64_t q, int64_t k) { return k <= q && q + 3 - 3 <= k; }));
  }
}

TEST(Rule06, WindowSizesWithoutAWindowAreRefused) {
  Random random(604);
  for (Call call : call_of_each_kind(random)) {
    call.options.window_left = 2;
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"window"}));
    call.options.window_left = 0;
    call.options.causal = 3;
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"causal"}));
  }
}

// ---- rule 7 ---------------------------------------------------------------------------------------------------------

TEST(Rule07, EmptyRowsAreZero) {
  Random random(701);
  for (Call call : call_of_each_kind(random)) {
    call.options.no_output_projection = call.kind == Kind::MultiHead;
    if (call.kind == Kind::MultiHead) {
      call.options.biases &= ~HEED_BIAS_O;
      call.parameters.erase("W_o.weight");
      call.parameters.erase("W_o.bias");
    }
    call.valid_lens = make_input({{2, 3}, {0.0, 5.0, 0.0, 0.0, 0.0, 1.0}}, HEED_I32);
    want_everything(call);
    const Results results = run(call);
    const reference::AttentionSizes sizes = sizes_of(call);
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      EXPECT_EQ(log_sum_exp_at(results, sizes, 0, h, 0), -kInfinity);
      EXPECT_TRUE(std::isfinite(log_sum_exp_at(results, sizes, 0, h, 1)));
      for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(weight_at(results, sizes, 1, h, 0, k), 0.0);
    }
    if (call.kind != Kind::DotProductRank4) {
      const auto& output = results.output->contents;
      for (int64_t d = 0; d < output.dims[2]; ++d)
        EXPECT_EQ(output.values[static_cast<size_t>(2 * output.dims[2] + d)], 0.0);
    }
    EXPECT_TRUE(agree(results, solve(call)));
  }
}

TEST(Rule07, EmptyRowOfMultiHeadIsTheOutputBias) {
  Random random(702);
  Call call = multi_head_call(two_heads(), {}, random);
  call.valid_lens = make_input({{2}, {0.0, 5.0}}, HEED_I32);
  const Results results = run(call);
  const std::vector<double>& bias = call.parameters.at("W_o.bias").contents.values;
  for (size_t q = 0; q < 3; ++q) {
    for (size_t d = 0; d < 8; ++d)
      EXPECT_EQ(results.output->contents.values[q * 8 + d], as_read_by_device(HEED_F32, bias[d]));
  }
}

TEST(Rule07, EmptyRowsCanBeTheMeanOfAllValues) {
  Random random(703);
  for (Call call : call_of_each_kind(random)) {
    call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
    call.valid_lens = make_input({{2, 3}, {0.0, 5.0, 0.0, 0.0, 0.0, 1.0}}, HEED_I32);
    want_everything(call);
    const Results results = run(call);
    const reference::AttentionSizes sizes = sizes_of(call);
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      EXPECT_EQ(log_sum_exp_at(results, sizes, 0, h, 0), -kInfinity);
      for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(weight_at(results, sizes, 0, h, 0, k), static_cast<double>(0.2F));
    }
    EXPECT_TRUE(agree(results, solve(call)));
    call.options.dropout = 0.5F;
    call.training = 1;
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule07, MeanIncludesHiddenNonFiniteValues) {
  Random random(704);
  Call call = dot_product_call({1, 1, 1, 2, 5, 4, 3}, random);
  call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  call.valid_lens = make_input({{1, 2}, {0.0, 1.0}}, HEED_I32);
  call.values->contents.values[3 * 3 + 1] = kNaN;
  const std::vector<double> output = run(call).output->contents.values;
  EXPECT_TRUE(std::isfinite(output[0]));
  EXPECT_TRUE(std::isnan(output[1]));
  // On Ascend the mean reads all values, so the NaN may reach the other row, too.
  EXPECT_TRUE(std::isfinite(output[3 + 1]) || (on_ascend() && std::isnan(output[3 + 1])));
}

// ---- rule 8 ---------------------------------------------------------------------------------------------------------

// Each of these hides keys 3 and 4 from all queries.
void hide_by_lengths(Call& call) { call.valid_lens = make_input(filled({2}, 3.0), HEED_I32); }
void hide_by_mask(Call& call) { call.mask = make_input({{1, 5}, {1, 1, 1, 0, 0}}, HEED_BOOL); }
void hide_by_bias(Call& call) { call.bias = make_input({{1, 5}, {0.5, 0, 0, -kInfinity, -kInfinity}}); }
void hide_by_causal(Call& call) { call.options.causal = HEED_CAUSAL_TOP_LEFT; }
void hide_by_window(Call& call) {
  call.options.window = HEED_WINDOW_TOP_LEFT;
  call.options.window_left = 2;
}

TEST(Rule08, HiddenKeysAndValuesChangeNothing) {
  Random random(801);
  for (auto hide : {hide_by_lengths, hide_by_mask, hide_by_bias, hide_by_causal, hide_by_window}) {
    for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (Call call : call_of_each_kind(random, dtype)) {
        hide(call);
        want_everything(call);
        const Results expected = run(call);
        EXPECT_TRUE(is_finite(*expected.output));
        for (double spoiler : {kNaN, kInfinity, -kInfinity}) {
          for (std::optional<Input>* input : {&call.keys, &call.values}) {
            const size_t key_axis = (*input)->contents.dims.size() - 2;
            for_each_index((*input)->contents.dims, [&](const Dims& index, size_t position) {
              if (index[key_axis] >= 3) (*input)->contents.values[position] = spoiler;
            });
          }
          const Results results = run(call);
          EXPECT_TRUE(same_bits(results.output, expected.output));
          EXPECT_TRUE(same_bits(results.weights, expected.weights));
          EXPECT_TRUE(same_bits(results.log_sum_exp, expected.log_sum_exp));
        }
      }
    }
  }
}

TEST(Rule08, KeysHiddenFromSomeRowsChangeNothingInThem) {
  Random random(802);
  // The 40 queries are in common query tiles, and 600 keys are three key blocks. Key 570, in the last block, is visible
  // from query 10 on.
  for (Call call : call_of_each_kind(random, HEED_F32, 40, 600)) {
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    want_everything(call);
    const Results clean = run(call);
    const size_t key_axis = call.keys->contents.dims.size() - 2;
    for_each_index(call.values->contents.dims, [&](const Dims& index, size_t position) {
      if (index[key_axis] == 570) call.values->contents.values[position] = kNaN;
    });
    const Results results = run(call);
    EXPECT_TRUE(same_bits(results.weights, clean.weights));
    const size_t query_axis = call.kind == Kind::DotProductRank4 ? 2 : 1;
    for_each_index(results.output->contents.dims, [&](const Dims& index, size_t position) {
      const double value = results.output->contents.values[position];
      if (index[query_axis] < 10) {
        const bool is_spoiled = on_ascend() && std::isnan(value);
        EXPECT_TRUE(is_spoiled || value == clean.output->contents.values[position]) << value;
      } else {
        EXPECT_TRUE(std::isnan(value));
      }
    });
  }
}

// The first row sees an infinite value, the second does not.
TEST(Rule08, InfinityAmongManyKeysChangesNothingInRowsThatDoNotSeeIt) {
  Random random(2106);
  Call call = dot_product_call({1, 1, 1, 2, 1500, 16, 16}, random);
  call.valid_lens = make_input({{1, 2}, {1500, 700}}, HEED_I32);
  want_everything(call);
  const Results expected = run(call);
  Call infinite = call;
  for (size_t d = 0; d < 16; ++d) infinite.values->contents.values[size_t{800} * 16 + d] = kInfinity;
  infinite.values = make_input(infinite.values->contents, HEED_F32);
  const Results results = run(infinite);
  for (size_t d = 0; d < 16; ++d) {
    EXPECT_EQ(results.output->contents.values[d], kInfinity);
    const double hidden = results.output->contents.values[16 + d];
    const bool is_spoiled = on_ascend() && std::isnan(hidden);
    EXPECT_TRUE(is_spoiled || hidden == expected.output->contents.values[16 + d]) << hidden;
  }
}

TEST(Rule08, InSelfAttentionAHiddenNaNTokenMakesOnlyItsOwnRowNaN) {
  Random random(803);
  Call call = dot_product_call({1, 1, 1, 4, 4, 3, 3}, random);
  call.keys.reset();
  call.values.reset();
  call.queries.contents.values[9] = kNaN;  // token 3
  call.valid_lens = make_input({{1, 4}, {3.0, 3.0, 3.0, 3.0}}, HEED_I32);
  want_everything(call);
  Results results = run(call);
  for (int64_t q = 0; q < 3; ++q) EXPECT_TRUE(std::isfinite(log_sum_exp_at(results, sizes_of(call), 0, 0, q)));
  EXPECT_TRUE(std::isnan(log_sum_exp_at(results, sizes_of(call), 0, 0, 3)));
  EXPECT_TRUE(agree(results, solve(call)));

  call.valid_lens = make_input({{1, 4}, {3.0, 3.0, 3.0, 0.0}}, HEED_I32);
  results = run(call);
  EXPECT_TRUE(is_finite(*results.output));
  EXPECT_EQ(log_sum_exp_at(results, sizes_of(call), 0, 0, 3), -kInfinity);
}

TEST(Rule08, NaNScoreMakesItsRowNaNButNotHiddenWeights) {
  Random random(804);
  // The NaN is in the first key, in another key of the first block, and in the last visible key.
  for (int64_t spoiled : {0, 2, 99}) {
    Call call = dot_product_call({1, 1, 1, 3, 130, 4, 3}, random);
    call.valid_lens = make_input({{1, 3}, {100.0, 100.0, 0.0}}, HEED_I32);
    call.keys->contents.values[static_cast<size_t>(spoiled * 4)] = kNaN;
    want_everything(call);
    const Results results = run(call);
    for (double value :
         std::vector<double>(results.output->contents.values.begin(), results.output->contents.values.begin() + 6)) {
      EXPECT_TRUE(std::isnan(value));
    }
    for (int64_t q = 0; q < 2; ++q) {
      EXPECT_TRUE(std::isnan(log_sum_exp_at(results, sizes_of(call), 0, 0, q)));
      for (int64_t k = 0; k < 100; ++k) EXPECT_TRUE(std::isnan(weight_at(results, sizes_of(call), 0, 0, q, k)));
      for (int64_t k = 100; k < 130; ++k) EXPECT_EQ(weight_at(results, sizes_of(call), 0, 0, q, k), 0.0);
    }
    EXPECT_TRUE(agree(results, solve(call)));
  }
}

// The tanh of an infinity is 1 or -1, so additive scores are finite even if queries and keys are not.
TEST(Rule08, AdditiveScoresOfInfiniteKeysAreFinite) {
  Random random(805);
  MultiHeadSample sample;
  sample.batch = 1;
  sample.num_keys = 4;
  sample.key_size = 1;
  Call call = additive_call(3, sample, random);
  call.parameters["W_k.weight"] = make_input({{3, 1}, {1.0, -1.0, 2.0}});
  call.parameters["w_v.weight"] = make_input({{1, 3}, {0.5, 0.25, -1.0}});
  call.keys = make_input({{1, 4, 1}, {kInfinity, -kInfinity, 100.0, -100.0}});
  want_everything(call);
  const Results results = run(call);
  EXPECT_TRUE(is_finite(*results.output));
  for (int64_t q = 0; q < sample.num_queries; ++q) {
    const auto weight = [&](int64_t k) { return weight_at(results, sizes_of(call), 0, 0, q, k); };
    // The tanh of 100 is 1 in f32, as that of infinity.
    EXPECT_EQ(weight(0), weight(2));
    EXPECT_EQ(weight(1), weight(3));
    EXPECT_NEAR(weight(0) / weight(1), std::exp(2.0 * (0.5 - 0.25 - 1.0)), 1e-6);
  }

  call.keys->contents.values[1] = kNaN;
  EXPECT_TRUE(std::isnan(run(call).output->contents.values[0]));
  call.mask = make_input({{1, 4}, {1.0, 0.0, 1.0, 1.0}}, HEED_BOOL);
  EXPECT_TRUE(is_finite(*run(call).output));
}

TEST(Rule08, VisibleScoreOfMinusInfinityIsAWeightOfZero) {
  Call call;
  call.kind = Kind::DotProductRank3;
  call.queries = make_input(filled({1, 1, 1}, 1.0));
  call.keys = make_input({{1, 3, 1}, {1.0, -kInfinity, 2.0}});
  call.values = make_input({{1, 3, 1}, {10.0, 20.0, 30.0}});
  want_everything(call);
  Results results = run(call);
  // Ascend treats an infinite key as NaN.
  if (!on_ascend()) {
    EXPECT_EQ(weight_at(results, sizes_of(call), 0, 0, 0, 1), 0.0);
  }
  EXPECT_TRUE(agree(results, solve(call)));

  // A score of -inf does not hide the value: it takes part with weight 0, and 0 * inf is NaN.
  call.values->contents.values[1] = kInfinity;
  EXPECT_TRUE(std::isnan(run(call).output->contents.values[0]));

  // A row whose visible scores are all -inf is not an empty row: its output is neither 0 nor the mean.
  for (int32_t empty_rows : {HEED_EMPTY_ROWS_ZERO, HEED_EMPTY_ROWS_MEAN}) {
    call.options.empty_rows = empty_rows;
    call.keys = make_input(filled({1, 3, 1}, -kInfinity));
    call.values = make_input(filled({1, 3, 1}, 1.0));
    results = run(call);
    EXPECT_TRUE(std::isnan(results.output->contents.values[0]));
    EXPECT_TRUE(std::isnan(weight_at(results, sizes_of(call), 0, 0, 0, 0)));
    EXPECT_TRUE(agree(results, solve(call)));
  }
}

// Key blocks after which the running maximum is still -inf, before and after blocks with finite scores.
TEST(Rule08, ManyVisibleScoresOfMinusInfinityAreWeightsOfZero) {
  Random random(806);
  constexpr int64_t kKeys = 200;
  for (const auto& [first, end] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {0, 64}, {0, 130}, {64, 128}, {100, 200}, {1, 200}}) {
    Call call = dot_product_call({1, 1, 1, 3, kKeys, 4, 3}, random);
    for (double& element : call.queries.contents.values) element = std::fabs(element);
    for (int64_t k = first; k < end; ++k) call.keys->contents.values[static_cast<size_t>(k * 4)] = -kInfinity;
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    if (on_ascend()) continue;  // Ascend treats an infinite key as NaN
    EXPECT_TRUE(is_finite(*results.output)) << first << " to " << end;
    EXPECT_TRUE(sees_exactly(results, sizes_of(call), [&, f = first, e = end](int64_t, int64_t, int64_t, int64_t k) {
      return k < f || k >= e;
    }));
  }
}

// A dropped weight is multiplied by 0, and 0 * NaN is NaN. An infinite value makes the kernel sum the row again.
TEST(Rule08, RowOfMinusInfinitiesIsNaNWhicheverWeightsAreDropped) {
  Random random(807);
  for (const int64_t num_queries : {1, 3, 40}) {
    for (const int64_t num_keys : {1, 5, 300}) {
      Call call = dot_product_call({2, 1, 1, num_queries, num_keys, 4, 9}, random);
      for (double& element : call.queries.contents.values) element = std::fabs(element);
      for (int64_t k = 0; k < num_keys; ++k) call.keys->contents.values[static_cast<size_t>(k * 4)] = -kInfinity;
      call.values->contents.values[4] = kInfinity;
      call.options.dropout = 0.9F;
      call.training = 1;
      want_everything(call);
      const Results results = run(call);
      EXPECT_TRUE(agree(results, solve(call))) << num_queries << " queries, " << num_keys << " keys";
      EXPECT_TRUE(std::isnan(results.output->contents.values[0]));
    }
  }
}

}  // namespace
}  // namespace heed::property
