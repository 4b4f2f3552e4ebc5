// SPDX-License-Identifier: Apache-2.0
// Where rows are: positions of queries, lengths of queries, packed batches, and what follows from distances.
#include <gtest/gtest.h>

#include <algorithm>
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

// The sizes of batch elements next to the ends of vectors, tiles and key blocks, and none.
const std::vector<int64_t> kItemSizes = {16, 0, 1, 257, 15, 64, 17, 0, 63, 65, 255, 256, 1};

Input positions_of(const Dims& dims, const std::vector<double>& values, heed_dtype dtype = HEED_I64) {
  return make_input({dims, values}, dtype);
}

// The positions that queries have without an input: K - Q + i.
Input default_positions(const Call& call) {
  const reference::AttentionSizes sizes = sizes_of(call);
  Array positions = filled({sizes.batch, sizes.num_queries}, 0.0);
  for_each_index(positions.dims, [&](const Dims& index, size_t i) {
    positions.values[i] = static_cast<double>(sizes.num_keys - sizes.num_queries + index[1]);
  });
  return make_input(positions, HEED_I32);
}

// Calls of each kind with the last one at everything that depends on positions.
std::vector<Call> call_of_each_kind_and_positions(Random& random, heed_dtype dtype, int64_t num_queries,
                                                  int64_t num_keys) {
  std::vector<Call> calls = call_of_each_kind(random, dtype, num_queries, num_keys);
  for (Call& call : calls) {
    const int64_t num_heads = sizes_of(call).num_heads;
    call.alibi_slopes = make_input(random_array({num_heads}, random, 0.5));
    call.sinks = make_input(random_array({num_heads}, random, 2.0));
  }
  MultiHeadSample sample;
  sample.num_queries = num_queries;
  sample.num_keys = num_keys;
  sample.dtype = dtype;
  calls.push_back(positions_call(with_positions(), sample, random));
  return calls;
}

// ---- rules 3 and 7: sinks -------------------------------------------------------------------------------------------

// Scores 1 and 2 with the values 10 and 20.
Call two_scores() {
  Call call;
  call.kind = Kind::DotProductRank3;
  call.options.scale = 1.0F;
  call.queries = make_input({{1, 1, 1}, {1.0}});
  call.keys = make_input({{1, 2, 1}, {1.0, 2.0}});
  call.values = make_input({{1, 2, 1}, {10.0, 20.0}});
  want_everything(call);
  return call;
}

TEST(Rule03, SinkTakesPartInTheSoftmaxWithoutAValue) {
  struct Expected {
    double sink, output, log_sum_exp;
  };
  for (const Expected& expected : {Expected{0.5, 14.882873, 2.464369}, {0.0, 15.752104, 2.407606}}) {
    Call call = two_scores();
    call.sinks = make_input({{1}, {expected.sink}});
    const Results results = run(call);
    EXPECT_NEAR(results.output->contents.values[0], expected.output, 0.5e-6 + a_few_roundings(20.0));
    EXPECT_NEAR(results.log_sum_exp->contents.values[0], expected.log_sum_exp, 0.5e-6 + a_few_roundings(2.0));
    const double sum = results.weights->contents.values[0] + results.weights->contents.values[1];
    EXPECT_NEAR(sum, 1.0 - std::exp(expected.sink - results.log_sum_exp->contents.values[0]), a_few_roundings(1.0));
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule03, SinkIsNeitherScaledNorCappedNorBiased) {
  Call call = two_scores();
  call.sinks = make_input({{1}, {5.0}});
  call.options.scale = 0.5F;
  call.options.soft_cap = 1.0F;
  call.bias = make_input({{1, 2}, {0.25, -0.5}});
  call.alibi_slopes = make_input({{1}, {0.5}});
  const double a = std::exp(std::tanh(0.5) - 0.5 + 0.25);
  const double b = std::exp(std::tanh(1.0) - 0.5);
  const double sum = a + b + std::exp(5.0);
  EXPECT_NEAR(run(call).output->contents.values[0], (10.0 * a + 20.0 * b) / sum, a_few_roundings(20.0));
}

TEST(Rule03, SinkIsCountedOnceHoweverKeysAreSplit) {
  Random random(301);
  for (int64_t num_keys : {1, 31, 32, 255, 256, 257, 1023, 1025, 2300}) {
    for (int64_t num_queries : {1, 3, 40}) {
      for (double sink : {-80.0, 0.0, 3.0, 80.0}) {
        Call call = dot_product_call({1, 4, 2, num_queries, num_keys, 16, 8}, random);
        call.sinks = make_input({{4}, {sink, -1.0, sink, 1.0}});
        want_everything(call);
        EXPECT_TRUE(agrees_with_reference(call)) << num_keys << " keys, sink " << sink;
      }
    }
  }
}

TEST(Rule03, SinkFarAboveOrBelowEveryScore) {
  HEED_SKIP_ON_ASCEND("the CPU computes calls with sinks, and the NPU those without");
  Call call = two_scores();
  const Results without = run(call);
  call.sinks = make_input({{1}, {-kInfinity}});
  EXPECT_TRUE(same_bits(run(call), without));
  call.sinks = make_input({{1}, {-1e30}});
  EXPECT_TRUE(same_bits(run(call), without));
  call.sinks = make_input({{1}, {1e4}});
  const Results far = run(call);
  EXPECT_EQ(far.output->contents.values[0], 0.0);
  EXPECT_EQ(far.weights->contents.values, (std::vector<double>{0.0, 0.0}));
  EXPECT_NEAR(far.log_sum_exp->contents.values[0], 1e4, a_few_roundings(1e4));
  call.sinks = make_input({{1}, {kNaN}});
  const Results none = run(call);
  EXPECT_TRUE(std::isnan(none.output->contents.values[0]));
  EXPECT_TRUE(std::isnan(none.log_sum_exp->contents.values[0]));
  EXPECT_TRUE(std::isnan(none.weights->contents.values[0]));
}

// Hidden keys and values that are not finite change no row, and a sink that is NaN makes those that see a key NaN. Query
// 0 of each head sees none.
TEST(Rule07, EmptyRowWithASinkThatIsNaNIsEmptyAllTheSame) {
  Random random(703);
  for (const std::pair<int64_t, int64_t>& counts :
       std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {2, 600}, {3, 40}, {40, 40}, {40, 600}}) {
    const int64_t num_queries = counts.first;
    const int64_t num_keys = counts.second;
    for (Call call : call_of_each_kind(random, HEED_F32, num_queries, num_keys)) {
      const reference::AttentionSizes sizes = sizes_of(call);
      call.sinks = make_input(filled({sizes.num_heads}, kNaN));
      Array mask = filled({num_queries, num_keys}, 1.0);
      std::fill_n(mask.values.begin(), num_keys, 0.0);
      for (int64_t q = 0; q < num_queries; ++q) mask.values[static_cast<size_t>(q * num_keys + 2)] = 0.0;
      call.mask = make_input(mask, HEED_BOOL);
      want_everything(call);
      for (const double hidden : {1.0, kInfinity, kNaN}) {
        const size_t key_axis = call.keys->contents.dims.size() - 2;
        for (std::optional<Input>* input : {&call.keys, &call.values}) {
          for_each_index((*input)->contents.dims, [&](const Dims& index, size_t position) {
            if (index[key_axis] == 2) (*input)->contents.values[position] = hidden;
          });
        }
        const Results results = run(call);
        for (int64_t b = 0; b < sizes.batch; ++b) {
          for (int64_t h = 0; h < sizes.num_heads; ++h) {
            for (int64_t q = 0; q < num_queries; ++q) {
              EXPECT_TRUE(std::isnan(log_sum_exp_at(results, sizes, b, h, q)));
              EXPECT_EQ(weight_at(results, sizes, b, h, q, 2), 0.0);
              EXPECT_EQ(std::isnan(weight_at(results, sizes, b, h, q, 1)), q > 0) << "hidden " << hidden;
            }
          }
        }
        const size_t query_axis = call.kind == Kind::DotProductRank4 ? 2 : 1;
        for_each_index(results.output->contents.dims, [&](const Dims& index, size_t position) {
          EXPECT_EQ(std::isnan(results.output->contents.values[position]), index[query_axis] > 0)
              << num_queries << " queries, " << num_keys << " keys, hidden " << hidden;
        });
        EXPECT_TRUE(agree(results, solve(call)));
      }
    }
  }
}

TEST(Rule07, EmptyRowWithASinkHasItAsItsLogSumExp) {
  Random random(702);
  for (int64_t num_keys : {0, 5, 40, 300}) {
    for (int64_t num_queries : {1, 30}) {
      for (int32_t empty_rows : {HEED_EMPTY_ROWS_ZERO, HEED_EMPTY_ROWS_MEAN}) {
        Call call = dot_product_call({2, 2, 1, num_queries, num_keys, 8, 4}, random);
        call.options.empty_rows = empty_rows;
        call.sinks = make_input({{2}, {0.75, -3.5}});
        call.valid_lens = make_input(filled({2}, 0.0), HEED_I32);
        want_everything(call);
        const Results results = run(call);
        EXPECT_TRUE(agree(results, solve(call)));
        const reference::AttentionSizes sizes = sizes_of(call);
        for (int64_t q = 0; q < num_queries; ++q) {
          EXPECT_NEAR(log_sum_exp_at(results, sizes, 1, 0, q), 0.75, a_few_roundings(0.75));
          EXPECT_NEAR(log_sum_exp_at(results, sizes, 1, 1, q), -3.5, a_few_roundings(3.5));
        }
        if (empty_rows == HEED_EMPTY_ROWS_MEAN) continue;
        for (double element : results.output->contents.values) EXPECT_EQ(element, 0.0);
      }
    }
  }
}

// ---- rules 8, 9 and 15 with sinks and biases ------------------------------------------------------------------------

// A hidden value that is not finite, and values whose sum overflows before the division, have their row summed again.
TEST(Rule08, RowsThatAreSummedAgainCountTheirSinkOnce) {
  Random random(803);
  for (const auto& [num_queries, num_keys] : {std::pair{2, 600}, {40, 600}, {40, 40}}) {
    for (Call call : call_of_each_kind_and_positions(random, HEED_F32, num_queries, num_keys)) {
      Array mask = filled({num_queries, num_keys}, 1.0);
      for (int64_t q = 0; q < num_queries; q += 2) mask.values[static_cast<size_t>(q * num_keys + 7)] = 0.0;
      call.mask = make_input(mask, HEED_BOOL);
      want_everything(call);
      const Results clean = run(call);
      const size_t key_axis = call.keys->contents.dims.size() - 2;
      for_each_index(call.values->contents.dims, [&](const Dims& index, size_t position) {
        if (index[key_axis] == 7) call.values->contents.values[position] = kInfinity;
      });
      const Results results = run(call);
      EXPECT_TRUE(same_bits(results.weights, clean.weights));
      EXPECT_TRUE(same_bits(results.log_sum_exp, clean.log_sum_exp));
      const size_t query_axis = call.kind == Kind::DotProductRank4 ? 2 : 1;
      for_each_index(results.output->contents.dims, [&](const Dims& index, size_t position) {
        const double value = results.output->contents.values[position];
        if (index[query_axis] % 2 != 0) {
          EXPECT_FALSE(std::isfinite(value));
        } else if (!on_ascend()) {
          EXPECT_EQ(value, clean.output->contents.values[position]);
        }
      });
    }
    Call call = dot_product_call({1, 2, 1, num_queries, num_keys, 4, 5}, random);
    for (double& value : call.values->contents.values) value = 3e38 * std::copysign(1.0, value);
    call.sinks = make_input({{2}, {3.0, -1.0}});
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule09, RequestingMoreResultsChangesNothingWithSinksAndPositions) {
  Random random(904);
  for (const auto& [num_queries, num_keys] : {std::pair{2, 300}, {37, 131}}) {
    for (Call all : call_of_each_kind_and_positions(random, HEED_F32, num_queries, num_keys)) {
      all.query_lens = make_input({{2}, {static_cast<double>(num_queries), 1.0}}, HEED_I32);
      want_everything(all);
      const Results expected = run(all);
      for (uint32_t wanted = 1; wanted < 8; ++wanted) {
        Call call = all;
        if ((wanted & HEED_WANT_OUTPUT) == 0) call.output.reset();
        if ((wanted & HEED_WANT_WEIGHTS) == 0) call.weights.reset();
        if ((wanted & HEED_WANT_LOG_SUM_EXP) == 0) call.log_sum_exp.reset();
        const Results results = run(call);
        EXPECT_TRUE(!results.output || same_bits(results.output, expected.output)) << wanted;
        EXPECT_TRUE(!results.weights || same_bits(results.weights, expected.weights)) << wanted;
        EXPECT_TRUE(!results.log_sum_exp || same_bits(results.log_sum_exp, expected.log_sum_exp)) << wanted;
      }
    }
  }
}

// ---- rule 4: lengths of queries -------------------------------------------------------------------------------------

TEST(Rule04, LaterQueriesHaveNoResults) {
  Random random(401);
  for (Call call : call_of_each_kind_and_positions(random, HEED_F32, 20, 33)) {
    call.query_lens = make_input({{2}, {7.0, 0.0}}, HEED_I32);
    call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    const reference::AttentionSizes sizes = sizes_of(call);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t q = b == 0 ? 7 : 0; q < 20; ++q) {
        EXPECT_EQ(log_sum_exp_at(results, sizes, b, 0, q), -kInfinity);
        EXPECT_EQ(weight_at(results, sizes, b, 0, q, 0), 0.0);
      }
    }
  }
}

TEST(Rule04, InSelfAttentionLaterQueriesAreNoKeys) {
  Random random(402);
  for (Call call : call_of_each_kind_and_positions(random, HEED_F32, 20, 20)) {
    call.values.reset();
    call.keys.reset();
    if (call.kind == Kind::DotProductRank4) continue;  // its key heads are fewer than its query heads
    if (!call.parameters.empty()) {
      MultiHeadSample sample;
      sample.key_size = sample.value_size = sample.query_size;
      sample.num_queries = 20;
      if (call.kind == Kind::MultiHead) {
        call = positions_call(with_positions(), sample, random);
      } else {
        call = call.kind == Kind::Additive ? additive_call(5, sample, random) : general_call(sample, random);
      }
      call.keys.reset();
      call.values.reset();
    }
    call.query_lens = make_input({{2}, {7.0, 20.0}}, HEED_I64);
    want_everything(call);
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    const reference::AttentionSizes sizes = sizes_of(call);
    for (int64_t k = 0; k < 20; ++k) EXPECT_EQ(weight_at(results, sizes, 0, 0, 0, k) != 0.0, k < 7);
  }
}

// ---- rules 5 and 6: distances ---------------------------------------------------------------------------------------

// The scores of pairs (q, k = q) are the biases: queries are 0, and the weight of bucket n is n.
std::vector<double> buckets_of(int32_t kind, const std::vector<double>& distances, int64_t num_buckets = 32,
                               int64_t max_distance = 128) {
  const auto count = static_cast<int64_t>(distances.size());
  Random random(503);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 2;
  options.num_heads = 1;
  options.relative_bias = kind;
  options.relative_bias_buckets = num_buckets;
  options.relative_bias_max_distance = max_distance;
  const double largest = *std::max_element(distances.begin(), distances.end());
  MultiHeadSample sample;
  sample.batch = 1;
  sample.num_queries = count;
  sample.num_keys = static_cast<int64_t>(largest) + count + 1;
  Call call = multi_head_call(options, sample, random);
  call.queries = make_input(filled(call.queries.contents.dims, 0.0));
  Array weight = filled({num_buckets, 1}, 0.0);
  for (size_t n = 0; n < weight.values.size(); ++n) weight.values[n] = static_cast<double>(n);
  call.parameters["relative_bias.weight"] = make_input(weight);
  // Query i sees the key that is at the distance from it.
  Array positions = filled({1, count}, 0.0);
  Array mask = filled({count, sample.num_keys}, 0.0);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = distances[static_cast<size_t>(i)];
    const double key = std::max(0.0, distance);
    positions.values[static_cast<size_t>(i)] = key - distance;
    mask.values[static_cast<size_t>(i * sample.num_keys + static_cast<int64_t>(key))] = 1.0;
  }
  call.positions = make_input(positions, HEED_I64);
  call.mask = make_input(mask, HEED_BOOL);
  want_everything(call);
  const Results results = run(call);
  EXPECT_TRUE(agree(results, solve(call)));
  std::vector<double> buckets = results.log_sum_exp->contents.values;
  for (double& bucket : buckets) {
    EXPECT_NEAR(bucket, std::round(bucket), a_few_roundings(static_cast<double>(num_buckets)));
    bucket = std::round(bucket);
  }
  return buckets;
}

TEST(Rule05, RelativeBiasHasTheBucketsOfT5) {
  const std::vector<double> distances = {0, -1, -7, -8, -15, -16, -17, -32, -64, -127, -128, -5000,
                                         1, 7,  8,  15, 16,  31,  32,  64,  127, 128,  300};
  EXPECT_EQ(
      buckets_of(HEED_RELATIVE_BIAS_BOTH_WAYS, distances),
      (std::vector<double>{0, 1, 7, 8, 9, 10, 10, 12, 14, 15, 15, 15, 17, 23, 24, 25, 26, 27, 28, 30, 31, 31, 31}));
  EXPECT_EQ(buckets_of(HEED_RELATIVE_BIAS_ONE_WAY, distances),
            (std::vector<double>{0, 1, 7, 8, 15, 16, 16, 21, 26, 31, 31, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// Distances where f64 logarithms are one bucket too low: 4 * 32^(1/5) = 8, 27 * (64/27)^(1/3) = 36, 8 * (27/8)^(2/3) = 18.
TEST(Rule05, RelativeBiasBucketsBeginAtWholeDistancesExactly) {
  EXPECT_EQ(buckets_of(HEED_RELATIVE_BIAS_ONE_WAY, {0, -7, -8, -15, -16, -63, -64}, 9, 128),
            (std::vector<double>{0, 4, 5, 5, 6, 7, 8}));
  EXPECT_EQ(buckets_of(HEED_RELATIVE_BIAS_BOTH_WAYS, {-8, -16, -64, 8, 16, 64}, 18, 128),
            (std::vector<double>{5, 6, 8, 14, 15, 17}));
  EXPECT_EQ(buckets_of(HEED_RELATIVE_BIAS_ONE_WAY, {0, -35, -36}, 54, 64), (std::vector<double>{0, 35, 36}));
  EXPECT_EQ(buckets_of(HEED_RELATIVE_BIAS_ONE_WAY, {0, -17, -18}, 17, 27), (std::vector<double>{0, 13, 14}));
}

TEST(Rule05, RelativeBiasOfAnyNumberOfBucketsAndAnyDistance) {
  std::vector<double> distances;
  for (int distance = -150; distance <= 150; ++distance) distances.push_back(distance);
  for (const auto& [num_buckets, max_distance] : {std::pair{4, 2}, {4, 100}, {6, 7}, {32, 17}, {32, 128}, {64, 1000}}) {
    const std::vector<double> both = buckets_of(HEED_RELATIVE_BIAS_BOTH_WAYS, distances, num_buckets, max_distance);
    EXPECT_EQ(*std::max_element(both.begin(), both.end()), max_distance > 150 ? both.back() : num_buckets - 1);
    buckets_of(HEED_RELATIVE_BIAS_ONE_WAY, distances, num_buckets, std::max(max_distance, num_buckets));
  }
}

// The bucket of all distances above 128 has the weight.
Call call_with_far_bias(double weight, int32_t causal) {
  Random random(506);
  heed_multi_head_attention_options options = with_positions();
  options.causal = causal;
  MultiHeadSample sample;
  sample.num_queries = sample.num_keys = 300;
  sample.key_size = sample.query_size;
  Call call = positions_call(options, sample, random);
  std::vector<double>& weights = call.parameters.at("relative_bias.weight").contents.values;
  std::fill(weights.end() - sizes_of(call).num_heads, weights.end(), weight);
  want_everything(call);
  return call;
}

TEST(Rule05, RelativeBiasThatIsNotFiniteReachesTheRowsThatSeeIt) {
  // Later keys, which a causal mask hides, have that bucket.
  const Results clean = run(call_with_far_bias(1.0, HEED_CAUSAL_BOTTOM_RIGHT));
  for (double weight : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_TRUE(same_bits(run(call_with_far_bias(weight, HEED_CAUSAL_BOTTOM_RIGHT)), clean)) << weight;
    const Call call = call_with_far_bias(weight, HEED_CAUSAL_NONE);
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call))) << weight;
    const reference::AttentionSizes sizes = sizes_of(call);
    const double far = log_sum_exp_at(results, sizes, 0, 0, 0);
    EXPECT_EQ(std::isnan(far), weight != -kInfinity);
    EXPECT_TRUE(std::isfinite(log_sum_exp_at(results, sizes, 0, 0, 299)));
  }
}

TEST(Rule05, OwnAlibiIsThatOfTheSlopesAndMayBeScaled) {
  Random random(504);
  for (int64_t num_heads : {1, 3, 8, 12}) {
    heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    options.num_heads = num_heads;
    options.head_size = 4;
    options.output_size = 5;
    Call call = multi_head_call(options, {}, random);
    want_everything(call);
    Call own = call;
    own.options.alibi = HEED_ALIBI_ADDED;
    Array slopes = filled({num_heads}, 0.0);
    const int64_t power = num_heads == 3 ? 2 : std::min<int64_t>(num_heads, 8);
    for (int64_t h = 0; h < num_heads; ++h) {
      const double number = h < power ? static_cast<double>(h + 1) : static_cast<double>(h - power) + 0.5;
      slopes.values[static_cast<size_t>(h)] = std::exp2(-8.0 * number / static_cast<double>(power));
    }
    call.alibi_slopes = make_input(slopes);
    EXPECT_TRUE(same_bits(run(own), run(call)));
    own.options.alibi = HEED_ALIBI_SCALED;
    for (double& slope : slopes.values) slope = reference::round_to(reference::Format::BF16, slope) / 2.0;
    call.alibi_slopes = make_input(slopes);
    EXPECT_TRUE(same_bits(run(own), run(call)));
    EXPECT_TRUE(agrees_with_reference(own));
    own.options.scale = -3.0F;
    EXPECT_TRUE(agrees_with_reference(own));
  }
}

TEST(Rule05, AlibiAndRelativeBiasFollowPositions) {
  Random random(505);
  for (const auto& [num_queries, num_keys] : {std::pair{1, 70}, {5, 3}, {3, 300}, {40, 70}, {70, 40}, {80, 270}}) {
    for (Call call : call_of_each_kind_and_positions(random, HEED_F32, num_queries, num_keys)) {
      want_everything(call);
      EXPECT_TRUE(agrees_with_reference(call));
      Array positions = filled({2, num_queries}, 0.0);
      for (double& position : positions.values) position = static_cast<double>(random.below(num_keys + 20));
      call.positions = make_input(positions, HEED_I32);
      EXPECT_TRUE(agrees_with_reference(call));
    }
  }
}

TEST(Rule06, PositionsDecideWhateverTheAlignment) {
  Random random(601);
  for (const auto& [num_queries, num_keys] : {std::pair{2, 50}, {40, 70}}) {
    for (Call call : call_of_each_kind_and_positions(random, HEED_F32, num_queries, num_keys)) {
      Array positions = filled({2, num_queries}, 0.0);
      for (double& position : positions.values) position = static_cast<double>(random.below(num_keys + 5));
      call.positions = make_input(positions, HEED_I64);
      call.options.window_left = 6;
      call.options.window_right = 3;
      want_everything(call);
      const auto position_of = [&, count = num_queries](int64_t b, int64_t q) {
        return static_cast<int64_t>(positions.values[static_cast<size_t>(b * count + q)]);
      };
      std::optional<Results> first;
      for (int32_t alignment : {HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT}) {
        call.options.causal = alignment;
        call.options.window = alignment;
        const Results results = run(call);
        EXPECT_TRUE(agree(results, solve(call)));
        EXPECT_TRUE(sees_exactly(results, sizes_of(call), [&](int64_t b, int64_t, int64_t q, int64_t k) {
          return k <= position_of(b, q) && k >= position_of(b, q) - 6;
        }));
        if (first) {
          EXPECT_TRUE(same_bits(results, *first));
        }
        first = results;
      }
    }
  }
}

TEST(Rule06, PositionsFarBeyondTheKeys) {
  HEED_SKIP_ON_ASCEND("the CPU computes calls with positions, and the NPU those without");
  Random random(602);
  Call call = dot_product_call({1, 2, 1, 3, 40, 8, 4}, random);
  call.positions = positions_of({1, 3}, {2147483647.0, 39.0, 2147483646.0}, HEED_I32);
  want_everything(call);
  call.options.causal = HEED_CAUSAL_TOP_LEFT;
  Call all = call;
  all.options.causal = HEED_CAUSAL_NONE;
  all.positions.reset();
  EXPECT_TRUE(same_bits(run(call), run(all)));
  call.options.window = HEED_WINDOW_TOP_LEFT;
  call.options.window_left = 2147483647 - 39;
  EXPECT_TRUE(sees_exactly(run(call), sizes_of(call),
                           [](int64_t, int64_t, int64_t q, int64_t k) { return q == 1 || k >= (q == 0 ? 39 : 38); }));
}

TEST(Rule10, PositionsThatAreTheDefaultChangeNothing) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1007);
  for (heed_dtype dtype : kFloats) {
    for (const auto& [num_queries, num_keys] : {std::pair{1, 300}, {3, 40}, {40, 40}, {37, 131}}) {
      for (Call call : call_of_each_kind_and_positions(random, dtype, num_queries, num_keys)) {
        call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        call.options.window = HEED_WINDOW_BOTTOM_RIGHT;
        call.options.window_left = 50;
        want_everything(call);
        const Results expected = run(call);
        call.positions = default_positions(call);
        EXPECT_TRUE(same_bits(run(call), expected)) << num_queries << " of " << num_keys;
      }
    }
  }
}

// ---- rule 10: packed batches ----------------------------------------------------------------------------------------

// Without mask, bias and lengths. `of_keys` empty: self-attention.
std::vector<Call> packed_calls(Random& random, const std::vector<int64_t>& of_queries,
                               const std::vector<int64_t>& of_keys, heed_dtype dtype = HEED_F32) {
  const bool is_self = of_keys.empty();
  const Input queries = make_offsets(of_queries, HEED_I32);
  const Input keys = make_offsets(is_self ? of_queries : of_keys, HEED_I64);
  const auto num_queries = static_cast<int64_t>(queries.contents.values.back());
  const auto num_keys = static_cast<int64_t>(keys.contents.values.back());
  MultiHeadSample sample;
  sample.batch = 1;
  sample.num_queries = num_queries;
  sample.num_keys = num_keys;
  sample.dtype = dtype;
  if (is_self) sample.key_size = sample.value_size = sample.query_size;
  heed_multi_head_attention_options additive = two_heads();
  additive.scoring = HEED_SCORING_ADDITIVE;
  heed_multi_head_attention_options layer_norm = with_positions();
  layer_norm.relative_bias = HEED_RELATIVE_BIAS_NONE;
  layer_norm.alibi = HEED_ALIBI_NONE;
  layer_norm.no_output_projection = 1;
  layer_norm.output_size = 0;
  layer_norm.biases = HEED_BIAS_Q;
  std::vector<Call> calls = {dot_product_call({1, 1, 1, num_queries, num_keys, 16, is_self ? 16 : 20}, random, dtype),
                             dot_product_call({1, 4, is_self ? 4 : 2, num_queries, num_keys, 32, 32}, random, dtype),
                             multi_head_call(additive, sample, random),
                             additive_call(5, sample, random),
                             general_call(sample, random),
                             positions_call(with_positions(), sample, random),
                             positions_call(layer_norm, sample, random)};
  for (Call& call : calls) {
    const auto drop_batch = [](Input& input) {
      Dims dims = input.contents.dims;
      dims.erase(dims.begin());
      input = make_input({dims, input.contents.values}, input.dtype);
    };
    drop_batch(call.queries);
    drop_batch(*call.keys);
    drop_batch(*call.values);
    if (is_self) {
      call.keys.reset();
      call.values.reset();
    }
    call.query_offsets = queries;
    if (!is_self) call.key_offsets = keys;
    call.log_sum_exp = OutputRequest();
    if (call.options.sinks == 0) call.sinks = make_input(random_array({sizes_of(call).num_heads}, random, 2.0));
  }
  return calls;
}

// The same items in another order, so that keys are more than queries in some and fewer in others.
std::vector<int64_t> other_sizes() {
  std::vector<int64_t> sizes = kItemSizes;
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

TEST(Rule10, PackedBatchHasTheBitsOfThePaddedOne) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1008);
  for (heed_dtype dtype : kFloats) {
    for (Call call : packed_calls(random, kItemSizes, {}, dtype)) {
      for (int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_BOTTOM_RIGHT}) {
        call.options.causal = causal;
        const Results packed = run(call);
        if (dtype == HEED_F32 && causal != HEED_CAUSAL_NONE) {
          EXPECT_TRUE(agree(packed, solve(call)));
        }
        // Padding holds NaN: none of it is read.
        Call padded = padded_form(call, kNaN);
        EXPECT_TRUE(same_bits(packed, packed_results(call, run(padded)))) << name_of(dtype) << " " << causal;
        padded.valid_lens = padded.query_lens;
        EXPECT_TRUE(same_bits(packed, packed_results(call, run(padded)))) << name_of(dtype) << " " << causal;
      }
    }
  }
}

TEST(Rule10, PackedCrossAttentionHasTheBitsOfThePaddedOne) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1009);
  for (heed_dtype dtype : kFloats) {
    for (Call call : packed_calls(random, kItemSizes, other_sizes(), dtype)) {
      // Where keys are padded, K is another number: so positions are given.
      Array positions = filled({call.queries.contents.dims[call.queries.contents.dims.size() - 2]}, 0.0);
      for (double& position : positions.values) position = static_cast<double>(random.below(300));
      call.positions = make_input(positions, HEED_I32);
      for (int32_t causal : {HEED_CAUSAL_NONE, HEED_CAUSAL_TOP_LEFT}) {
        call.options.causal = causal;
        const Results packed = run(call);
        if (dtype == HEED_F32 && causal != HEED_CAUSAL_NONE) {
          EXPECT_TRUE(agree(packed, solve(call)));
        }
        EXPECT_TRUE(same_bits(packed, packed_results(call, run(padded_form(call, kNaN)))))
            << name_of(dtype) << " " << causal;
      }
    }
  }
}

TEST(Rule10, ElementAloneHasTheBitsOfAnyPackedBatch) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1010);
  for (heed_dtype dtype : {HEED_F32, HEED_BF16}) {
    for (const std::vector<int64_t>& of_keys : {std::vector<int64_t>{}, other_sizes()}) {
      for (Call call : packed_calls(random, kItemSizes, of_keys, dtype)) {
        call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        const Results together = run(call);
        for (int64_t b = 0; b < static_cast<int64_t>(kItemSizes.size()); ++b) {
          EXPECT_TRUE(same_bits(run(part_of_batch(call, b, 1)), part_of_batch(call, together, b, 1))) << b;
          // Without packing.
          const Call packed = part_of_batch(call, b, 1);
          Call alone = packed;
          const auto add_batch = [](Input& input) {
            Dims dims = input.contents.dims;
            dims.insert(dims.begin(), 1);
            input = make_input({dims, input.contents.values}, input.dtype);
          };
          add_batch(alone.queries);
          if (alone.keys) add_batch(*alone.keys);
          if (alone.values) add_batch(*alone.values);
          alone.query_offsets.reset();
          alone.key_offsets.reset();
          const Results of_alone = packed_results(packed, run(alone));
          EXPECT_TRUE(same_bits(of_alone, part_of_batch(call, together, b, 1))) << b << " alone";
        }
        const Results part = run(part_of_batch(call, 3, 6));
        EXPECT_TRUE(same_bits(part, part_of_batch(call, together, 3, 6)));
      }
    }
  }
}

TEST(Rule10, ThreadsChangeNothingInPackedBatches) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1011);
  for (const std::vector<int64_t>& of_keys : {std::vector<int64_t>{}, other_sizes()}) {
    for (Call call : packed_calls(random, kItemSizes, of_keys)) {
      call.options.dropout = 0.2F;
      call.training = 1;
      call.num_threads = 1;
      const Results expected = run(call);
      for (int32_t num_threads = 2; num_threads <= 8; ++num_threads) {
        call.num_threads = num_threads;
        call.with_workspace = num_threads % 2 == 0;
        EXPECT_TRUE(same_bits(run(call), expected)) << num_threads;
      }
    }
  }
}

// The size is found out from shapes alone: it suffices for all offsets with the same total, and for all lengths.
TEST(Rule10, WorkspaceServesAllOffsetsAndLengths) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1013);
  const std::vector<int64_t> sizes = {40, 0, 3, 100, 17};
  for (const std::vector<int64_t>& of_keys : {std::vector<int64_t>{}, {0, 30, 200, 1, 7}}) {
    for (const Call& call : packed_calls(random, sizes, of_keys)) {
      const Runner runner(call);
      const GuardedWorkspace workspace = runner.make_workspace(runner.workspace_size(call));
      const auto last = [](const Input& offsets) {
        std::vector<int64_t> counts(counts_of(offsets).size(), 0);
        counts.back() = static_cast<int64_t>(offsets.contents.values.back());
        return make_offsets(counts);
      };
      Call one_element = call;
      one_element.query_offsets = last(*call.query_offsets);
      if (call.key_offsets) one_element.key_offsets = last(*call.key_offsets);
      for (const Call& other : {one_element, call})
        EXPECT_TRUE(same_bits(runner.forward(other, workspace.get()), run(other)));

      Call padded = padded_form(call, kNaN);
      padded.query_lens = make_input(filled({5}, 0.0), HEED_I64);
      if (padded.valid_lens) padded.valid_lens = padded.query_lens;
      const GuardedWorkspace of_padded = runner.make_workspace(runner.workspace_size(padded));
      for (double length : {100.0, 1.0, 0.0, 64.0}) {
        padded.query_lens = make_input({{5}, {length, 100.0, 0.0, length, 3.0}}, HEED_I64);
        // All rows are read now.
        for (Input* input :
             {&padded.queries, padded.keys ? &*padded.keys : nullptr, padded.values ? &*padded.values : nullptr}) {
          if (input == nullptr) continue;
          for (double& element : input->contents.values) element = std::isnan(element) ? 0.5 : element;
        }
        EXPECT_TRUE(same_bits(runner.forward(padded, of_padded.get()), run(padded))) << length;
      }
    }
  }
}

// One query of each element against many keys, as in text generation.
TEST(Rule10, PackedBatchesOfFewQueriesAndManyKeys) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1012);
  for (heed_dtype dtype : kFloats) {
    for (Call call : packed_calls(random, {1, 3, 0, 1, 40, 2}, {2100, 31, 5, 1024, 1025, 0}, dtype)) {
      call.num_threads = 1;
      const Results together = run(call);
      EXPECT_TRUE(agree(together, solve(call)));
      call.num_threads = 4;
      EXPECT_TRUE(same_bits(run(call), together));
      for (int64_t b = 0; b < 6; ++b)
        EXPECT_TRUE(same_bits(run(part_of_batch(call, b, 1)), part_of_batch(call, together, b, 1))) << b;
    }
  }
}

}  // namespace
}  // namespace heed::property
