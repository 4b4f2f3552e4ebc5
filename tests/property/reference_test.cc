// SPDX-License-Identifier: Apache-2.0
// The reference itself, against numbers that were computed by hand or published.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/error_bound.h"
#include "reference/head_norm.h"
#include "reference/multi_head_attention.h"
#include "reference/narrow_bound.h"
#include "reference/norm.h"
#include "reference/number_format.h"
#include "reference/philox.h"
#include "reference/positional_encoding.h"
#include "reference/positions.h"
#include "reference/rotary.h"
#include "reference/transformer.h"
#include "reference/visibility.h"

namespace heed::reference {
namespace {

// For f64 arithmetic in a different order from the reference's.
constexpr double kF64Error = 1e-14;

Bounded exact(std::vector<double> values) {
  Bounded result(values.size());
  result.values = std::move(values);
  return result;
}

// One batch element, one head, one query q = 1, and D = Dv = 1: at scale 1 the keys are the scores.
AttentionProblem one_row(std::vector<double> scores, std::vector<double> values) {
  AttentionProblem problem;
  problem.sizes.batch = 1;
  problem.sizes.num_queries = 1;
  problem.sizes.num_keys = static_cast<int64_t>(scores.size());
  problem.options.scale = 1.0;
  problem.queries = exact({1.0});
  problem.keys = exact(std::move(scores));
  problem.values = exact(std::move(values));
  return problem;
}

TEST(NumberFormat, DecodesAndEncodesEveryPattern) {
  for (Format format : {Format::F16, Format::BF16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double number = decode_bits(format, static_cast<uint16_t>(bits));
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(decode_bits(format, encode_bits(format, number))));
      } else {
        ASSERT_EQ(encode_bits(format, number), bits) << number;
      }
    }
  }
  EXPECT_EQ(decode_bits(Format::F16, 0x3C00), 1.0);
  EXPECT_EQ(decode_bits(Format::F16, 0x7BFF), 65504.0);
  EXPECT_EQ(decode_bits(Format::F16, 0x8001), -0x1p-24);
  EXPECT_EQ(decode_bits(Format::BF16, 0x4049), 3.140625);
  EXPECT_EQ(decode_bits(Format::BF16, 0xFF80), -kInfinity);
}

TEST(NumberFormat, RoundsToNearestEvenWithSubnormalsAndOverflow) {
  for (double number :
       {1.0 / 3.0, 16777217.0, 16777219.0, 1e-40, 3.4028235677973366e38, 3.4e38, -1e39, 1e-46, 0x1p-150}) {
    EXPECT_EQ(round_to(Format::F32, number), static_cast<double>(static_cast<float>(number))) << number;
  }
  EXPECT_EQ(round_to(Format::F16, 65519.9), 65504.0);
  EXPECT_EQ(round_to(Format::F16, 65520.0), kInfinity);
  EXPECT_EQ(round_to(Format::F16, 2049.0), 2048.0);
  EXPECT_EQ(round_to(Format::F16, 2051.0), 2052.0);
  EXPECT_EQ(round_to(Format::F16, 0x1p-25), 0.0);
  EXPECT_EQ(round_to(Format::F16, 0x1.1p-25), 0x1p-24);
  EXPECT_EQ(half_unit(Format::F16, 1.5), 0x1p-11);
  EXPECT_EQ(half_unit(Format::F16, 0.0), 0x1p-25);
  EXPECT_EQ(half_unit(Format::F32, 1.0), 0x1p-24);
}

// Test vectors of the paper's authors (Random123, kat_vectors).
TEST(Philox, GivesThePublishedNumbers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox_4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox_4x32_10({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFF, 0xFFFFFFFF}),
            (Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox_4x32_10({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(Visibility, CausalAndWindowFollowTheirAlignment) {
  AttentionProblem problem;
  problem.sizes.batch = 1;
  problem.sizes.num_queries = 2;
  problem.sizes.num_keys = 4;
  const auto row = [&](int64_t q) {
    std::string text;
    for (int64_t k = 0; k < 4; ++k) text += is_visible(problem, 0, 0, q, k) ? 'x' : '.';
    return text;
  };
  problem.options.causal = Alignment::TopLeft;
  EXPECT_EQ(row(0), "x...");
  EXPECT_EQ(row(1), "xx..");
  problem.options.causal = Alignment::BottomRight;
  EXPECT_EQ(row(0), "xxx.");
  EXPECT_EQ(row(1), "xxxx");
  problem.options.causal = Alignment::None;
  problem.options.window = Alignment::TopLeft;
  problem.options.window_left = 0;
  problem.options.window_right = 1;
  EXPECT_EQ(row(0), "xx..");
  EXPECT_EQ(row(1), ".xx.");
  problem.options.window = Alignment::BottomRight;
  EXPECT_EQ(row(0), "..xx");
  EXPECT_EQ(row(1), "...x");
  problem.options.window_left = -1;
  EXPECT_EQ(row(0), "xxxx");
}

TEST(Reference, WeightsOfTwoKeysAreTheLogisticFunction) {
  const AttentionResult result = attention(one_row({0.0, std::log(3.0)}, {10.0, 20.0}));
  EXPECT_NEAR(result.weights.values[0], 0.25, kF64Error);
  EXPECT_NEAR(result.weights.values[1], 0.75, kF64Error);
  EXPECT_NEAR(result.output.values[0], 17.5, 20 * kF64Error);
  EXPECT_NEAR(result.log_sum_exp.values[0], std::log(4.0), kF64Error);
}

TEST(Reference, ScalesCapsAddsAndHidesInThisOrder) {
  AttentionProblem problem = one_row({8.0, -4.0, 100.0}, {1.0, 2.0, 3.0});
  problem.options.scale = 0.5;
  problem.options.soft_cap = 2.0;
  problem.limits.bias = {10.0, 11.0, -kInfinity};
  const double a = std::exp(2.0 * std::tanh(2.0) + 10.0);
  const double b = std::exp(2.0 * std::tanh(-1.0) + 11.0);
  const AttentionResult result = attention(problem);
  EXPECT_NEAR(result.log_sum_exp.values[0], std::log(a + b), 20 * kF64Error);
  EXPECT_NEAR(result.output.values[0], (a + 2.0 * b) / (a + b), 20 * kF64Error);
  EXPECT_EQ(result.weights.values[2], 0.0);
  EXPECT_EQ(result.weights.errors[2], 0.0);
}

TEST(Reference, ScaleDefaultsToTheRootOfTheHeadSize) {
  AttentionProblem problem;
  problem.sizes.batch = problem.sizes.num_queries = problem.sizes.num_keys = 1;
  problem.sizes.head_size = 4;
  problem.queries = exact({1.0, 2.0, 3.0, 4.0});
  problem.keys = exact({1.0, 1.0, 1.0, 1.0});
  problem.values = exact({7.0});
  EXPECT_NEAR(attention(problem).log_sum_exp.values[0], 5.0, 5 * kF64Error);
}

TEST(Reference, AdditiveScoresAreTheWeightedTanhOfTheSum) {
  // Two heads of size 2 that share their keys.
  AttentionProblem problem;
  problem.sizes.batch = problem.sizes.num_queries = problem.sizes.num_keys = 1;
  problem.sizes.num_heads = 2;
  problem.sizes.head_size = 2;
  problem.options.scoring = Scoring::Additive;
  problem.options.scale = 0.5;
  problem.queries = exact({1.0, 2.0, 3.0, 4.0});
  problem.keys = exact({0.25, -2.5});
  problem.values = exact({7.0});
  problem.score_weights = {10.0, 100.0, -1.0, 3.0};
  const AttentionResult result = attention(problem);
  EXPECT_NEAR(result.log_sum_exp.values[0], 0.5 * (10.0 * std::tanh(1.25) + 100.0 * std::tanh(-0.5)), 60 * kF64Error);
  EXPECT_NEAR(result.log_sum_exp.values[1], 0.5 * (std::tanh(1.5) * 3.0 - std::tanh(3.25)), 5 * kF64Error);
}

// An error of the sum of query and key changes a score by at most the weight times the error, since |tanh'| <= 1.
TEST(Reference, ErrorsOfQueriesAndKeysReachAdditiveScores) {
  AttentionProblem problem;
  problem.sizes.batch = problem.sizes.num_queries = problem.sizes.num_keys = 1;
  problem.options.scoring = Scoring::Additive;
  problem.options.scale = 2.0;
  problem.queries = exact({0.0});
  problem.keys = exact({0.0});
  problem.values = exact({1.0});
  problem.score_weights = {-5.0};
  const double without = attention(problem).log_sum_exp.errors[0];
  problem.queries.errors = {0.25};
  problem.keys.errors = {0.5};
  EXPECT_NEAR(attention(problem).log_sum_exp.errors[0] - without, kSecondOrder * 2.0 * 2.0 * 5.0 * 0.75, 1e-4);
}

TEST(Reference, SinkTakesPartInTheSoftmaxWithoutAValue) {
  AttentionProblem problem = one_row({1.0, 2.0}, {10.0, 20.0});
  problem.limits.sinks = {0.5};
  AttentionResult result = attention(problem);
  EXPECT_NEAR(result.output.values[0], 14.882873, 0.5e-6);
  EXPECT_NEAR(result.log_sum_exp.values[0], 2.464369, 0.5e-6);
  problem.limits.lengths = {0.0};
  result = attention(problem);
  EXPECT_EQ(result.output.values[0], 0.0);
  EXPECT_EQ(result.log_sum_exp.values[0], 0.5);
}

TEST(Reference, ConstantKeysAreSeenWhateverHidesOthers) {
  AttentionProblem problem = one_row({1.0, 2.0}, {10.0, 20.0});
  problem.constant_keys = {2, exact({std::log(3.0), 0.0}), exact({8.0, 0.0})};
  problem.limits.lengths = {0.0};
  problem.limits.alibi_slopes = {5.0};
  problem.limits.bias = {7.0, 7.0};
  problem.options.empty_rows = EmptyRows::Mean;
  AttentionResult result = attention(problem);
  EXPECT_NEAR(result.output.values[0], 6.0, kF64Error * 8.0);
  EXPECT_NEAR(result.log_sum_exp.values[0], std::log(4.0), kF64Error);
  EXPECT_EQ(result.weights.values.size(), 4U);
  EXPECT_EQ(result.weights.values[1], 0.0);
  EXPECT_NEAR(result.weights.values[2], 0.75, kF64Error);
  EXPECT_NEAR(result.weights.values[3], 0.25, kF64Error);

  problem.limits = {};
  result = attention(problem);
  EXPECT_NEAR(result.log_sum_exp.values[0], std::log(std::exp(1.0) + std::exp(2.0) + 4.0), kF64Error);
  problem.limits.query_counts = {0};
  EXPECT_EQ(attention(problem).weights.values, std::vector<double>(4, 0.0));
}

// Dropout numbers constant keys after the keys of the batch element, not after those of the longest one.
TEST(Reference, DropoutOfConstantKeysFollowsTheKeysOfTheBatchElement) {
  AttentionProblem problem = one_row({0.0, 0.0, 0.0}, {1.0, 1.0, 1.0});
  problem.constant_keys = {1, exact({0.0}), exact({4.0})};
  problem.limits.lengths = {0.0};
  problem.options.dropout = 0.75;
  problem.options.training = true;
  // Of the words 6627E8D5 E169C58D BC57AC4C 9B00DBD8 only the second is at least C0000000.
  EXPECT_EQ(attention(problem).output.values[0], 0.0);
  problem.limits.key_counts = {1};
  EXPECT_EQ(attention(problem).output.values[0], 16.0);
}

TEST(Reference, RowsBeyondTheQueriesOfABatchElementAreEmpty) {
  AttentionProblem problem = one_row({1.0, 2.0}, {10.0, 20.0});
  problem.limits.sinks = {0.5};
  problem.limits.query_counts = {0};
  problem.options.empty_rows = EmptyRows::Mean;
  AttentionResult result = attention(problem);
  EXPECT_EQ(result.output.values[0], 0.0);
  EXPECT_EQ(result.log_sum_exp.values[0], -kInfinity);
  problem.limits = {};
  problem.limits.key_counts = {1};
  result = attention(problem);
  EXPECT_EQ(result.output.values[0], 10.0);
  EXPECT_EQ(result.weights.values, (std::vector<double>{1.0, 0.0}));
}

TEST(Positions, AreGivenOrEndAtTheLastKey) {
  AttentionSizes sizes;
  sizes.batch = 2;
  sizes.num_queries = 3;
  sizes.num_keys = 5;
  AttentionLimits limits;
  EXPECT_EQ(query_position(sizes, limits, 1, 0), 2);
  limits.query_counts = {3, 1};
  EXPECT_EQ(query_position(sizes, limits, 1, 0), 4);
  limits.key_counts = {5, 0};
  EXPECT_EQ(query_position(sizes, limits, 1, 0), -1);
  limits.positions = {0, 0, 0, 7, 8, 6};
  EXPECT_EQ(query_position(sizes, limits, 1, 2), 6);
}

TEST(Positions, BucketsAreThoseOfT5) {
  RelativeBias bias = {{}, 32, 128, true};
  for (const auto& [distance, bucket] : {std::pair{-7, 7},
                                         {-8, 8},
                                         {-16, 10},
                                         {-64, 14},
                                         {1, 17},
                                         {8, 24},
                                         {64, 30},
                                         {127, 31},
                                         {0, 0},
                                         {500, 31},
                                         {-500, 15}})
    EXPECT_EQ(relative_bucket(bias, distance), bucket) << distance;
  bias.both_ways = false;
  for (const auto& [distance, bucket] :
       {std::pair{-15, 15}, {-16, 16}, {-32, 21}, {-64, 26}, {-127, 31}, {0, 0}, {1, 0}, {300, 0}})
    EXPECT_EQ(relative_bucket(bias, distance), bucket) << distance;
}

TEST(Positions, SlopesAreThoseOfThePaper) {
  for (int64_t h = 0; h < 8; ++h) EXPECT_EQ(alibi_slope(h, 8), std::exp2(-static_cast<double>(h + 1)));
  const double others[] = {0.707107, 0.353553, 0.176777, 0.088388};
  for (int64_t h = 8; h < 12; ++h) EXPECT_NEAR(alibi_slope(h, 12), others[h - 8], 0.5e-6);
}

TEST(Rotary, EachPairingRotatesItsElements) {
  RotaryOptions options;
  options.size = 4;
  const double expected[][4] = {{-1.413353, 1.879118, -2.828857, 4.058191}, {-1.272233, -1.838865, 2.878668, 4.088187}};
  for (Pairing pairing : {Pairing::Half, Pairing::Interleaved}) {
    options.pairing = pairing;
    double x[] = {1, 2, 3, 4};
    double errors[] = {0, 0, 0, 0};
    rotate(options, rotary_frequencies(options), 3, std::nullopt, x, errors);
    for (int d = 0; d < 4; ++d) {
      EXPECT_NEAR(x[d], expected[pairing == Pairing::Half ? 0 : 1][d], 0.5e-6);
      EXPECT_GT(errors[d], kUnitRoundoff);
      EXPECT_LT(errors[d], 20.0 * kUnitRoundoff);
    }
  }
}

TEST(Rotary, FrequenciesAreThoseOfTheModels) {
  RotaryOptions yarn;
  yarn.size = 64;
  yarn.scaling = RotaryScaling::Yarn;
  yarn.base = 150000;
  yarn.factor = 32;
  yarn.original_length = 4096;
  EXPECT_NEAR(rotary_frequencies(yarn)[12].value, 7.0157139e-3, 0.5e-10);
  yarn.rounds_range = false;
  EXPECT_NEAR(rotary_frequencies(yarn)[12].value, 6.7949595e-3, 0.5e-10);
  EXPECT_NEAR(attention_factor(yarn), 1.3465736, 0.5e-7);
  EXPECT_LT(rotary_frequencies(yarn)[12].error, 1e-12);
  RotaryOptions llama;
  llama.size = 128;
  llama.scaling = RotaryScaling::Llama3;
  llama.base = 5e5;
  llama.factor = 8;
  llama.original_length = 8192;
  EXPECT_NEAR(rotary_frequencies(llama)[30].value, 1.37189357e-3, 0.5e-11);
  EXPECT_NEAR(rotary_frequencies(llama)[32].value, 5.2484616e-4, 0.5e-11);
  EXPECT_LT(rotary_frequencies(llama)[32].error, 1e-12);
  RotaryOptions ntk;
  ntk.size = 128;
  ntk.scaling = RotaryScaling::Ntk;
  ntk.factor = 8;
  EXPECT_NEAR(std::pow(rotary_frequencies(ntk)[1].value, -64.0), 82684.62264, 0.5e-5);
  RotaryOptions factors;
  factors.size = 4;
  factors.scaling = RotaryScaling::Factors;
  factors.factor = 32;
  factors.original_length = 4096;
  factors.factors = {2.0, 5.0};
  EXPECT_NEAR(rotary_frequencies(factors)[1].value, 0.002, kF64Error);
  EXPECT_NEAR(attention_factor(factors), 1.19023807, 0.5e-8);
}

// Moves the elements of a head to the ends of their intervals. The results move by no more than their errors, and by a
// good part of them.
TEST(HeadNorm, ErrorsOfTheElementsMoveTheRowWithinTheBound) {
  constexpr int64_t kSize = 7;
  for (bool subtracts_mean : {false, true}) {
    const HeadNorm norm = {{1.0, -2.0, 0.5, 3.0, 1.0, 1.0, 1.0}, 1e-3, subtracts_mean};
    const std::vector<double> x = {0.5, -1.5, 2.0, 0.25, -0.75, 1.0, 0.125};
    Bounded expected = exact(x);
    expected.errors = {0.01, 0.02, 0.005, 0.01, 0.03, 0.0, 0.01};
    const std::vector<double> errors = expected.errors;
    normalize_heads(norm, 1, 1, kSize, std::nullopt, expected);
    double largest_fraction = 0.0;
    for (uint32_t ends = 0; ends < (1U << kSize); ++ends) {
      Bounded moved = exact(x);
      for (size_t d = 0; d < kSize; ++d) moved.values[d] += (ends >> d & 1U) != 0 ? errors[d] : -errors[d];
      normalize_heads(norm, 1, 1, kSize, std::nullopt, moved);
      for (size_t d = 0; d < kSize; ++d) {
        const double fraction = std::fabs(moved.values[d] - expected.values[d]) / expected.errors[d];
        EXPECT_LE(fraction, 1.0) << d;
        largest_fraction = std::max(largest_fraction, fraction);
      }
    }
    EXPECT_GT(largest_fraction, 0.5);
  }
}

TEST(HeadNorm, RowsOfZerosAndOfLargeNumbers) {
  const HeadNorm norm = {{1.0, 2.0}, 1e-6, false};
  Bounded heads = exact({0.0, 0.0, 1e30, 1e-30, kNaN, 1.0});
  heads.errors = {0.0, 1e-9, 0.0, 0.0, 0.0, 0.0};
  normalize_heads(norm, 1, 3, 2, std::nullopt, heads);
  EXPECT_EQ(heads.values[1], 0.0);
  EXPECT_NEAR(heads.errors[1], 2.0 * 1e-9 * 1e3, 1e-8);
  EXPECT_EQ(heads.errors[2], kInfinity);
  EXPECT_TRUE(std::isnan(heads.values[5]));
}

TEST(Sinusoids, OfEachKind) {
  struct Expected {
    Sinusoids kind;
    std::vector<double> row;
  };
  for (const Expected& expected :
       {Expected{Sinusoids::InTurn, {0.14112, -0.989992, 0.138798, 0.990321, 0.006463, 0.999979}},
        {Sinusoids::Halves, {0.14112, 0.029996, 0.0003, -0.989992, 0.99955, 1.0}},
        {Sinusoids::HalvesOfPairs, {0.14112, 0.138798, 0.006463, -0.989992, 0.990321, 0.999979}}}) {
    for (int64_t d = 0; d < 6; ++d)
      EXPECT_NEAR(sinusoid(expected.kind, 6, 3, d).value, expected.row[static_cast<size_t>(d)], 0.5e-6);
  }
}

TEST(Reference, EmptyRowsAreZeroOrTheMean) {
  AttentionProblem problem = one_row({1.0, 2.0}, {10.0, 30.0});
  problem.limits.lengths = {0.0};
  AttentionResult result = attention(problem);
  EXPECT_EQ(result.output.values[0], 0.0);
  EXPECT_EQ(result.output.errors[0], 0.0);
  EXPECT_EQ(result.weights.values, (std::vector<double>{0.0, 0.0}));
  EXPECT_EQ(result.log_sum_exp.values[0], -kInfinity);
  problem.options.empty_rows = EmptyRows::Mean;
  result = attention(problem);
  EXPECT_EQ(result.output.values[0], 20.0);
  EXPECT_EQ(result.weights.values, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(result.log_sum_exp.values[0], -kInfinity);
}

TEST(Reference, NonFiniteNumbersStayInTheRowsThatSeeThem) {
  AttentionProblem problem = one_row({1.0, kNaN, 2.0}, {1.0, kInfinity, 3.0});
  problem.limits.mask = {1, 0, 1};
  AttentionResult result = attention(problem);
  EXPECT_TRUE(std::isfinite(result.output.values[0]));
  EXPECT_EQ(result.weights.values[1], 0.0);
  problem.limits.mask = {0, 1, 1};
  result = attention(problem);
  EXPECT_TRUE(std::isnan(result.output.values[0]));
  EXPECT_TRUE(std::isnan(result.log_sum_exp.values[0]));
  EXPECT_EQ(result.weights.values[0], 0.0);
  EXPECT_TRUE(std::isnan(result.weights.values[1]));
  EXPECT_TRUE(std::isnan(result.weights.values[2]));

  result = attention(one_row({1.0, -kInfinity}, {5.0, 6.0}));
  EXPECT_EQ(result.weights.values, (std::vector<double>{1.0, 0.0}));
  EXPECT_EQ(result.output.values[0], 5.0);
  EXPECT_TRUE(std::isnan(attention(one_row({-kInfinity, -kInfinity}, {5.0, 6.0})).output.values[0]));
  EXPECT_TRUE(std::isnan(attention(one_row({kInfinity, 0.0}, {5.0, 6.0})).output.values[0]));
}

TEST(Reference, InfinityIsCertainUnlessAnotherTermOverflowsInF32) {
  // Scores of q . k = 1 * k_0 + 1 * k_1, capped at 2, for keys (k_0, infinity) and (0, 0).
  AttentionProblem problem = one_row({0.0, 0.0}, {5.0, 6.0});
  problem.sizes.head_size = 2;
  problem.options.soft_cap = 2.0;
  problem.queries = exact({1.0, 1.0});
  problem.keys = exact({-1e30, kInfinity, 0.0, 0.0});
  AttentionResult result = attention(problem);
  EXPECT_NEAR(result.weights.values[0], 1.0 / (1.0 + std::exp(-2.0)), kF64Error);
  EXPECT_LT(result.weights.errors[0], 1e-4);
  EXPECT_LT(result.output.errors[0], 1e-4);
  problem.keys.values[0] = -3e38;
  result = attention(problem);
  EXPECT_EQ(result.weights.errors[0], kInfinity);
  EXPECT_EQ(result.output.errors[0], kInfinity);
  EXPECT_EQ(result.log_sum_exp.errors[0], kInfinity);
  problem.limits.mask = {0, 1};
  result = attention(problem);
  EXPECT_EQ(result.weights.errors[0], 0.0);
  EXPECT_EQ(result.output.values[0], 6.0);

  // With an error in the query, the factor of the infinity could have either sign.
  problem.limits.mask.clear();
  problem.keys.values = {1.0, kInfinity, 0.0, 0.0};
  problem.queries.values = {1.0, 1e-9};
  EXPECT_LT(attention(problem).output.errors[0], 1e-4);
  problem.queries.errors = {0.0, 1e-8};
  EXPECT_EQ(attention(problem).output.errors[0], kInfinity);

  // An infinite value gives a certain output if its weight is certain.
  problem = one_row({0.0, 0.0}, {5.0, kInfinity});
  result = attention(problem);
  EXPECT_EQ(result.output.values[0], kInfinity);
  EXPECT_EQ(result.output.errors[0], 0.0);
  problem.keys.values[1] = -100.0;
  EXPECT_TRUE(std::isnan(attention(problem).output.values[0]));
  EXPECT_EQ(attention(problem).output.errors[0], kInfinity);
}

TEST(Reference, ProjectionsOfInfinityAreCertainUnlessAnotherTermOverflowsInF32) {
  Projection projection;
  projection.input_size = 2;
  projection.output_size = 1;
  projection.weight = {1.0, 1.0};
  projection.bias = {1.0};
  Bounded y = project(projection, exact({-kInfinity, 1e30}), 1);
  EXPECT_EQ(y.values[0], -kInfinity);
  EXPECT_EQ(y.errors[0], 0.0);
  EXPECT_EQ(project(projection, exact({-kInfinity, 3e38}), 1).errors[0], kInfinity);
  projection.bias = {3e38};
  EXPECT_EQ(project(projection, exact({-kInfinity, 1e30}), 1).errors[0], kInfinity);
  y = project(projection, exact({kNaN, 1.0}), 1);
  EXPECT_TRUE(std::isnan(y.values[0]));
  EXPECT_EQ(y.errors[0], 0.0);
  // A non-finite result stays non-finite, even if its error is infinite.
  Bounded x = exact({kNaN, 1.0});
  x.errors = {kInfinity, 0.0};
  y = project(projection, x, 1);
  EXPECT_TRUE(std::isnan(y.values[0]));
  EXPECT_EQ(y.errors[0], kInfinity);
}

TEST(Reference, DropoutLeavesTheWeightsAndScalesKeptTerms) {
  AttentionProblem problem = one_row({0.0, 0.0, 0.0, 0.0}, {1.0, 10.0, 100.0, 1000.0});
  problem.options.dropout = 0.75;
  problem.options.training = true;
  double expected = 0.0;
  for (int64_t k = 0; k < 4; ++k) {
    const uint32_t word = philox_4x32_10({0, 0, 0, 0}, {0, 0})[static_cast<size_t>(k)];
    if (word >= 0xC0000000) expected += std::pow(10.0, static_cast<double>(k)) * 0.25 * 4.0;
  }
  const AttentionResult result = attention(problem);
  EXPECT_EQ(expected, 10.0);  // only the second of the words 6627E8D5 E169C58D BC57AC4C 9B00DBD8 is large enough
  EXPECT_EQ(result.output.values[0], expected);
  EXPECT_EQ(result.weights.values, std::vector<double>(4, 0.25));
}

TEST(Reference, MultiHeadProjectsSplitsAndJoins) {
  // Two heads of size 1. W_q = W_k = 0, so that all keys have the same weight; head 0 reads the first input column,
  // head 1 the second.
  MultiHeadProblem problem;
  problem.sizes.batch = 1;
  problem.sizes.num_heads = problem.sizes.num_kv_heads = 2;
  problem.sizes.num_queries = 1;
  problem.sizes.num_keys = 2;
  problem.queries = {1.0, 1.0};
  problem.keys = problem.values = {1.0, 10.0, 3.0, 30.0};
  problem.key_projection = {2, 2, {0.0, 0.0, 0.0, 0.0}, {}};
  problem.query_projection = problem.key_projection;
  problem.value_projection = {2, 2, {1.0, 0.0, 0.0, 1.0}, {0.5, 0.0}};
  problem.output_projection = Projection{2, 1, {1.0, 2.0}, {100.0}};
  const AttentionResult result = multi_head_attention(problem);
  EXPECT_EQ(result.output.values, std::vector<double>{100.0 + 2.5 + 2.0 * 20.0});
  EXPECT_EQ(result.weights.values, std::vector<double>(4, 0.5));
}

TEST(Reference, ActivationsAreThoseOfTheirFormulas) {
  const auto value = [](Activation activation, double x) { return activate(activation, {x, 0.0}).value; };
  EXPECT_EQ(value(Activation::Relu, -2.0), 0.0);
  EXPECT_EQ(value(Activation::Relu, 2.0), 2.0);
  EXPECT_TRUE(std::isnan(value(Activation::Relu, kNaN)));
  // Of the distribution function at 1 and -2.
  EXPECT_NEAR(value(Activation::Gelu, 1.0), 0.841344746068543, 1e-15);
  EXPECT_NEAR(value(Activation::Gelu, -2.0), -0.0455002638963584, 1e-15);
  EXPECT_NEAR(value(Activation::GeluTanh, 1.0), 0.5 * (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * 1.044715)),
              1e-15);
  EXPECT_NEAR(value(Activation::GeluQuick, 1.0), 1.0 / (1.0 + std::exp(-1.702)), 1e-15);
  EXPECT_NEAR(value(Activation::Silu, -1.0), -0.268941421369995, 1e-15);
}

TEST(Reference, NormsDivideByTheRootOfTheMeanSquare) {
  Norm norm;
  norm.weight = {2.0, 2.0};
  norm.epsilon = 0.0;
  norm.bias = {10.0, 20.0};
  norm.subtracts_mean = true;
  EXPECT_EQ(normalize(norm, {1.0, 5.0, 7.0, 3.0}).values, (std::vector<double>{8.0, 22.0, 12.0, 18.0}));
  norm.subtracts_mean = false;
  norm.bias.clear();
  norm.epsilon = 11.0;
  EXPECT_EQ(normalize(norm, {1.0, 7.0}).values, (std::vector<double>{2.0 / 6.0, 14.0 / 6.0}));
}

TEST(Reference, GatesMultiplyTheActivation) {
  FeedForward network;
  network.first = {1, 1, {3.0}, {1.0}};
  network.gate = Projection{1, 1, {-1.0}, {}};
  network.second = {1, 2, {1.0, -1.0}, {0.0, 0.5}};
  // relu(2) * (3 * -2 + 1) = -10
  EXPECT_EQ(feed_forward(network, {-2.0}).values, (std::vector<double>{-10.0, 10.5}));
  network.gate.reset();
  EXPECT_EQ(feed_forward(network, {2.0}).values, (std::vector<double>{7.0, -6.5}));
}

// One key, so that attention gives W_o W_v of its row: here twice the row.
TEST(Reference, NormsAreBeforeOrBehindTheResiduals) {
  TransformerLayer layer;
  layer.self_attention.sizes.batch = layer.self_attention.sizes.num_queries = layer.self_attention.sizes.num_keys = 1;
  layer.self_attention.sizes.head_size = layer.self_attention.sizes.value_head_size = 2;
  layer.self_attention.key_projection = {2, 2, {0.0, 0.0, 0.0, 0.0}, {}};
  layer.self_attention.query_projection = layer.self_attention.key_projection;
  layer.self_attention.value_projection = Projection{2, 2, {2.0, 0.0, 0.0, 2.0}, {}};
  layer.feed_forward.first = {2, 1, {0.0, 0.0}, {1.0}};
  layer.feed_forward.second = {1, 2, {0.0, 0.0}, {3.0, 0.0}};
  layer.dropouts.resize(2);
  Norm norm;
  norm.weight = {1.0, 1.0};
  norm.subtracts_mean = true;
  layer.norms = {norm, norm};
  const auto unchanged = [](Bounded result) { return result.values; };
  // norm(3 * (1, 5)) = (-1, 1), and norm((-1, 1) + (3, 0)) = (1, -1).
  EXPECT_EQ(transform({{layer}, {}}, {1.0, 5.0}, {}, unchanged), (std::vector<double>{1.0, -1.0}));
  // (1, 5) + 2 * (-1, 1) = (-1, 7), and (3, 0) is added.
  layer.norm_first = true;
  EXPECT_EQ(transform({{layer}, {}}, {1.0, 5.0}, {}, unchanged), (std::vector<double>{2.0, 7.0}));
  EXPECT_EQ(transform({{layer}, norm}, {1.0, 5.0}, {}, unchanged), (std::vector<double>{-1.0, 1.0}));
}

// The rows of the table in docs/semantics.md, for D = 8; K = 130 makes N = 2 rescales.
TEST(ErrorBound, ConstantsAreAsInTheTable) {
  const BoundConstants plain = bound_constants({8, 130, false, false, false});
  EXPECT_EQ(plain.c1, 6.0);
  EXPECT_EQ(plain.c2, 20.0);
  EXPECT_EQ(plain.c3, 260.0);
  EXPECT_EQ(plain.c4, 6.5);
  EXPECT_EQ(bound_constants({8, 600, false, false, false}).c3, 1218.0);
  const BoundConstants full = bound_constants({8, 64, true, true, true});
  EXPECT_EQ(full.c1, 7.0);
  EXPECT_EQ(full.c3, 128.0);
  EXPECT_EQ(full.c4, 22.5);
  EXPECT_EQ(bound_constants({8, 64, true, true, true, Scoring::DotProduct, true}).c3, 134.0);
  EXPECT_EQ(bound_constants({8, 600, false, false, false, Scoring::DotProduct, true}).c3, 1218.0);
  EXPECT_EQ(bound_constants({8, 64, false, false, false, Scoring::DotProduct, false, 2}).c3, 138.0);
  const BoundConstants additive = bound_constants({8, 130, false, false, false, Scoring::Additive});
  EXPECT_EQ(additive.c1, plain.c1);
  EXPECT_EQ(additive.c2, 30.0);
  EXPECT_EQ(additive.c3, plain.c3);
  EXPECT_EQ(additive.c4, plain.c4);
}

TEST(ErrorBound, RoundingToAFormatMayOverflow) {
  // 1 + 2^-8 is half-way between two numbers of BF16.
  EXPECT_GE(error_after_rounding(Format::BF16, 1.0 + 0x1p-8, 0.0), 0x1p-8);
  EXPECT_LT(error_after_rounding(Format::BF16, 1.0 + 0x1p-8, 0.0), 1.01 * 0x1p-8);
  EXPECT_EQ(error_after_rounding(Format::F16, 0.0, 0.0), 0x1p-25);
  EXPECT_TRUE(std::isfinite(error_after_rounding(Format::F16, 65000.0, 0.0)));
  EXPECT_TRUE(std::isinf(error_after_rounding(Format::F16, 65504.0, 1.0)));
}

TEST(ErrorBound, OperandsAreRoundedToTheFormat) {
  const Bounded read = as_read({1.0, 1.0 + 0x1p-9, -kInfinity, 1e39}, Format::BF16);
  EXPECT_EQ(read.values[1], 1.0 + 0x1p-9);
  EXPECT_EQ(read.errors, (std::vector<double>{0.0, 0x1p-9, 0.0, kInfinity}));
  EXPECT_EQ(as_read({1.0 / 3.0}, std::nullopt).errors, std::vector<double>{0.0});
}

NarrowRowParameters narrow_row(int64_t num_keys, bool has_bias) {
  NarrowRowParameters parameters;
  parameters.num_keys = num_keys;
  parameters.scale = 1.0;
  parameters.has_bias = has_bias;
  return parameters;
}

TEST(NarrowBound, ExactScoresHaveTheirWeights) {
  std::vector<KeyMagnitudes> keys(2);
  keys[1].score = std::log(3.0);
  const NarrowWeights weights = fused_weights(narrow_row(2, false), keys);
  for (const Eigen::ArrayXd& bound : {weights.low, weights.high}) {
    EXPECT_NEAR(bound[0], 0.25, 1e-5);
    EXPECT_NEAR(bound[1], 0.75, 1e-5);
  }
  EXPECT_LE(weights.low[0], 0.25);
  EXPECT_GE(weights.high[0], 0.25);
}

// A large negative bias, as callers use it to hide keys, has a rounding error larger than any score. The other keys of
// the row keep their small errors.
TEST(NarrowBound, AKeyOfWeightZeroMayHaveALargeError) {
  std::vector<KeyMagnitudes> keys(3);
  keys[1].score = keys[1].bias = -1e30;
  for (const Format format : {Format::F16, Format::BF16}) {
    NarrowRowParameters parameters = narrow_row(3, true);
    parameters.format = format;
    const NarrowWeights weights = fused_weights(parameters, keys);
    EXPECT_EQ(weights.high[1], 0.0);
    EXPECT_NEAR(weights.high[0], 0.5, 1e-5);
    EXPECT_NEAR(weights.low[2], 0.5, 1e-5);
  }
}

TEST(NarrowBound, WeightsStayBetweenZeroAndOne) {
  std::vector<KeyMagnitudes> keys(2);
  keys[0].inherited = keys[1].inherited = 1e6;
  const NarrowWeights weights = unfused_weights(narrow_row(2, false), keys);
  EXPECT_NEAR(weights.low[0], 0.0, 1e-5);
  EXPECT_NEAR(weights.high[0], 1.0, 1e-5);
  EXPECT_TRUE(std::isfinite(weights.log_sum_exp_error));
}

TEST(ErrorBound, AcceptsRoundedNumbersOfTheInterval) {
  EXPECT_TRUE(accepts(Format::F16, 1.0, 0.0, 1.0));
  EXPECT_FALSE(accepts(Format::F16, 1.0, 0.0, 1.0 + 0x1p-10));
  EXPECT_TRUE(accepts(Format::F16, 1.0, 0x1.1p-11, 1.0 + 0x1p-10));
  EXPECT_TRUE(accepts(Format::F16, 65519.0, 2.0, kInfinity));
  EXPECT_FALSE(accepts(Format::F16, 65510.0, 2.0, kInfinity));
  EXPECT_FALSE(accepts(Format::F32, 1.0, 1.0, kNaN));
  EXPECT_TRUE(accepts(Format::F32, kNaN, 0.0, kNaN));
  EXPECT_FALSE(accepts(Format::F32, kNaN, 0.0, kInfinity));
  EXPECT_TRUE(accepts(Format::F32, kNaN, kInfinity, kInfinity));
  EXPECT_TRUE(accepts(Format::F32, -kInfinity, 0.0, -kInfinity));
  EXPECT_FALSE(accepts(Format::F32, -kInfinity, 0.0, kNaN));
  EXPECT_TRUE(accepts(Format::F32, -kInfinity, kInfinity, kNaN));
}

}  // namespace
}  // namespace heed::reference
