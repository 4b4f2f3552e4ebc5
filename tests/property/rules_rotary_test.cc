// SPDX-License-Identifier: Apache-2.0
// Rule 16: rotary positions, and the norms of queries and keys before them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

heed_rope_options rope_with(int32_t layout) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = layout;
  return rope;
}

Input identity(int64_t size) {
  Array matrix = filled({size, size}, 0.0);
  for (int64_t i = 0; i < size; ++i) matrix.values[static_cast<size_t>(i * size + i)] = 1.0;
  return make_input(std::move(matrix));
}

// One head whose projections are identities, and the query x at a position. Batch element d has one key, at position 0,
// which is unit vector d: so its score is element d of the query as attention reads it.
Call call_that_shows(const std::vector<double>& x, int64_t position) {
  const auto size = static_cast<int64_t>(x.size());
  Call call;
  call.options.num_hiddens = size;
  call.options.num_heads = 1;
  call.options.scale = 1.0F;
  call.options.no_output_projection = 1;
  call.queries = make_input(broadcast({{1, 1, size}, x}, {size, 1, size}));
  call.keys = identity(size);
  call.keys->contents.dims = {size, 1, size};
  call.keys = make_input(call.keys->contents);
  call.positions = make_input(filled({size, 1}, static_cast<double>(position)), HEED_I64);
  for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight"}) call.parameters[name] = identity(size);
  call.output.reset();
  call.log_sum_exp = OutputRequest();
  return call;
}

std::vector<double> shown(const Call& call) { return run(call).log_sum_exp->contents.values; }

std::vector<double> rotated(const heed_rope_options& rope, const std::vector<double>& x, int64_t position,
                            std::vector<float> factors = {}) {
  Call call = call_that_shows(x, position);
  call.rope = rope;
  call.rope_factors = std::move(factors);
  EXPECT_TRUE(agrees_with_reference(call));
  return shown(call);
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

// Half a unit of the last digit that the expected numbers have, and roundings of F32.
constexpr double kSixDigits = 0.5e-6;
double six_digits(double magnitude) { return kSixDigits + a_few_roundings(magnitude); }

TEST(Rule16, EachPairingRotatesItsElements) {
  const std::vector<double> x = {1, 2, 3, 4};
  const std::vector<double> interleaved = rotated(rope_with(HEED_ROPE_INTERLEAVED), x, 3);
  const std::vector<double> half = rotated(rope_with(HEED_ROPE_HALF), x, 3);
  expect_near(interleaved, {-1.272233, -1.838865, 2.878668, 4.088187}, six_digits(5.0));
  expect_near(half, {-1.413353, 1.879118, -2.828857, 4.058191}, six_digits(5.0));
  for (size_t i = 0; i < x.size(); ++i) EXPECT_GT(std::fabs(interleaved[i] - half[i]), 0.02) << i;
}

TEST(Rule16, PositionZeroChangesNothing) {
  Random random(1601);
  for (int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (int64_t size : {2, 8, 34, 128}) {
      const Call plain = call_that_shows(random_array({size}, random, 2.0).values, 0);
      Call call = plain;
      call.rope = rope_with(layout);
      EXPECT_EQ(shown(call), shown(plain)) << size;
    }
  }
}

TEST(Rule16, ASliceOfTheHeadHasFrequenciesOfItsOwnSize) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<double> plain = shown(call_that_shows(x, 0));
  for (int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (int64_t offset : {0, 1, 4}) {
      heed_rope_options rope = rope_with(layout);
      rope.rotary_size = 4;
      rope.rotary_offset = offset;
      const std::vector<double> result = rotated(rope, x, 3);
      const auto begin = x.begin() + offset;
      const std::vector<double> whole = rotated(rope_with(layout), {begin, begin + 4}, 3);
      for (int64_t d = 0; d < 8; ++d) {
        const bool is_inside = d >= offset && d < offset + 4;
        const double expected = is_inside ? whole[static_cast<size_t>(d - offset)] : plain[static_cast<size_t>(d)];
        EXPECT_EQ(result[static_cast<size_t>(d)], expected) << offset << " " << d;
      }
    }
  }
}

// The frequency of each pair and the factor on cosines and sines, from the query (1, ..., 1, 0, ..., 0) at position 1.
struct Rotation {
  std::vector<double> frequencies;
  double factor = 0.0;
};

Rotation rotation_of(heed_rope_options rope, int64_t size, std::vector<float> factors = {}) {
  rope.layout = HEED_ROPE_HALF;
  std::vector<double> x(static_cast<size_t>(size), 0.0);
  std::fill_n(x.begin(), size / 2, 1.0);
  const std::vector<double> y = rotated(rope, x, 1, std::move(factors));
  Rotation rotation;
  for (size_t i = 0; i < x.size() / 2; ++i) rotation.frequencies.push_back(std::atan2(y[i + x.size() / 2], y[i]));
  // Queries and keys both have the factor.
  rotation.factor = std::sqrt(std::hypot(y[0], y[x.size() / 2]));
  return rotation;
}

// Eight digits are given, and the number has roundings of F32.
void expect_eight_digits(double actual, double expected) {
  EXPECT_NEAR(actual, expected, expected * 1e-8 + a_few_roundings(expected));
}

TEST(Rule16, LinearScalingDividesPositions) {
  heed_rope_options rope = rope_with(HEED_ROPE_HALF);
  rope.scaling = HEED_ROPE_SCALING_LINEAR;
  rope.factor = 4.0F;
  expect_near(rotated(rope, {1, 2, 3, 4}, 3), {-1.313227, 1.969944, 2.876705, 4.014887}, six_digits(5.0));
}

TEST(Rule16, NtkScalingMultipliesTheBase) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  const std::vector<double> plain = rotation_of(rope, 128).frequencies;
  rope.scaling = HEED_ROPE_SCALING_NTK;
  rope.factor = 8.0F;
  Rotation rotation = rotation_of(rope, 128);
  expect_eight_digits(rotation.frequencies[1], std::pow(82684.62264, -2.0 / 128.0));
  expect_eight_digits(rotation.frequencies[63], plain[63] / 8.0);
  EXPECT_NEAR(rotation.factor, 1.0, a_few_roundings(1.0));
  // The factor of a dynamic NTK that doubles 2048 positions, at 4096 tokens: 2 * 4096 / 2048 - 1.
  rope.factor = 3.0F;
  rotation = rotation_of(rope, 128);
  expect_eight_digits(rotation.frequencies[1], std::pow(30527.73675, -2.0 / 128.0));
}

TEST(Rule16, YarnScalingBlendsOverARangeOfPairs) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.base = 150000.0F;
  rope.factor = 32.0F;
  rope.original_length = 4096;
  rope.no_rounding = 1;
  Rotation rotation = rotation_of(rope, 64);  // gpt-oss
  expect_eight_digits(rotation.frequencies[12], 6.7949595e-3);
  expect_eight_digits(rotation.frequencies[8], std::pow(150000.0, -16.0 / 64.0));
  expect_eight_digits(rotation.frequencies[18], std::pow(150000.0, -36.0 / 64.0) / 32.0);
  expect_eight_digits(rotation.factor, 1.3465736);
  rope.no_rounding = 0;
  expect_eight_digits(rotation_of(rope, 64).frequencies[12], 7.0157139e-3);

  rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.base = 1e6F;
  rope.factor = 4.0F;
  rope.original_length = 32768;
  rotation = rotation_of(rope, 128);  // Qwen 2.5
  expect_eight_digits(rotation.frequencies[32], 6.0294118e-4);
  expect_eight_digits(rotation.frequencies[23], std::pow(1e6, -46.0 / 128.0));
  expect_eight_digits(rotation.frequencies[40], std::pow(1e6, -80.0 / 128.0) / 4.0);
  expect_eight_digits(rotation.factor, 1.1386294);
}

// With a long original length the range ends beyond the last pair, up to the last element.
TEST(Rule16, YarnsRangeMayEndBeyondTheLastPair) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.base = 500.0F;
  rope.factor = 4.0F;
  rope.original_length = 20000;
  const auto plain = [](int64_t i) { return std::pow(500.0, -2.0 * static_cast<double>(i) / 64.0); };
  // From floor(23.7) to ceil(41.5).
  const Rotation rotation = rotation_of(rope, 64);
  expect_eight_digits(rotation.frequencies[23], plain(23));
  expect_eight_digits(rotation.frequencies[31], plain(31) * (1.0 - 8.0 / 19.0 * 0.75));
  // From floor(16.3) to 63, the last element, instead of ceil(63.8).
  rope.original_length = 1500000;
  rope.beta_fast = 1e4F;
  expect_eight_digits(rotation_of(rope, 64).frequencies[31], plain(31) * (1.0 - 15.0 / 47.0 * 0.75));
}

TEST(Rule16, Llama3ScalingStretchesLongWavelengths) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_LLAMA3;
  rope.base = 5e5F;
  rope.factor = 8.0F;
  rope.original_length = 8192;
  const Rotation rotation = rotation_of(rope, 128);
  const auto plain = [](int64_t i) { return std::pow(5e5, -2.0 * static_cast<double>(i) / 128.0); };
  expect_eight_digits(rotation.frequencies[28], plain(28));
  EXPECT_LT(rotation.frequencies[29], plain(29) * 0.999);
  expect_eight_digits(rotation.frequencies[30], 1.37189357e-3);
  expect_eight_digits(rotation.frequencies[32], 5.2484616e-4);
  EXPECT_GT(rotation.frequencies[34], plain(34) / 8.0 * 1.001);
  expect_eight_digits(rotation.frequencies[35], plain(35) / 8.0);
  EXPECT_NEAR(rotation.factor, 1.0, a_few_roundings(1.0));
}

TEST(Rule16, FactorsDivideFrequencies) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.factor = 32.0F;
  rope.original_length = 4096;
  const std::vector<float> factors = {1.0F, 2.0F, 30.0F, 0.5F};
  const Rotation rotation = rotation_of(rope, 8, factors);
  for (size_t i = 0; i < 4; ++i) {
    const double plain = std::pow(10000.0, -2.0 * static_cast<double>(i) / 8.0);
    expect_eight_digits(rotation.frequencies[i], plain / static_cast<double>(factors[i]));
  }
  expect_eight_digits(rotation.factor, 1.19023807);
}

TEST(Rule16, AnExplicitAttentionFactorReplacesTheDefault) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.factor = 32.0F;
  rope.original_length = 4096;
  for (float factor : {1.0F, 0.75F, 2.0F}) {
    rope.attention_factor = factor;
    EXPECT_NEAR(rotation_of(rope, 64).factor, static_cast<double>(factor), a_few_roundings(2.0));
  }
}

// Angles are in f64: at position p they are off by some p * 2^-52, in f32 they would be off by p * 2^-24.
TEST(Rule16, AnglesAreInF64UpToTheLargestPosition) {
  for (int64_t position : {int64_t{4095}, int64_t{131071}, int64_t{1048575}, (int64_t{1} << 31) - 1}) {
    const auto p = static_cast<double>(position);
    const std::vector<double> y = rotated(rope_with(HEED_ROPE_HALF), {1, 1, 0, 0}, position);
    // The frequencies are 1 and 1/100, which is not a number of f64.
    expect_near({y[0], y[2]}, {std::cos(p), std::sin(p)}, a_few_roundings(1.0) / 10.0);
    expect_near({y[1], y[3]}, {std::cos(p / 100.0), std::sin(p / 100.0)}, a_few_roundings(1.0) / 10.0 + p * 0x1p-50);
  }
}

// A query far before the first key: with more queries than keys positions begin below 0.
TEST(Rule16, PositionsBelowZeroRotateBackwards) {
  Random random(1602);
  for (int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    MultiHeadSample sample;
    sample.num_queries = 70;
    sample.num_keys = 3;
    heed_multi_head_attention_options options = two_heads();
    options.num_hiddens = 16;
    Call call = multi_head_call(options, sample, random);
    call.rope = rope_with(layout);
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

// A query and a key that are moved together have the same score but for roundings.
TEST(Rule16, ScoresDependOnTheDistanceAlone) {
  Random random(1603);
  constexpr int64_t kCount = 200;
  constexpr int64_t kSize = 16;
  for (int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (int64_t distance : {0, 1, 7, 1000}) {
      Call call = call_that_shows(random_array({kSize}, random, 2.0).values, 0);
      call.queries = make_input(broadcast(slice(call.queries.contents, 0, 0, 1), {1, kCount, kSize}));
      call.keys = make_input(broadcast(random_array({1, 1, kSize}, random, 2.0), {1, kCount, kSize}));
      call.rope = rope_with(layout);
      Array positions = filled({1, kCount}, 0.0);
      Array mask = filled({kCount, kCount}, 0.0);
      for (int64_t i = 0; i < kCount; ++i) {
        positions.values[static_cast<size_t>(i)] = static_cast<double>(i + distance);
        mask.values[static_cast<size_t>(i * kCount + i)] = 1.0;
      }
      call.positions = make_input(positions, HEED_I32);
      call.mask = make_input(mask, HEED_BOOL);
      const std::vector<double> scores = shown(call);
      // The products of 16 elements of up to 2 with each other, rotated.
      const double tolerance = a_few_roundings(2.0 * 4.0 * kSize);
      for (double score : scores) EXPECT_NEAR(score, scores[0], tolerance) << distance;
    }
  }
}

// ---- permutations ---------------------------------------------------------------------------------------------------

// Moves the rows of each head so that the half layout computes what the interleaved layout did before.
Array rows_for_half_layout(const Array& array, int64_t head_size, const heed_rope_options& rope) {
  const int64_t num_pairs = rope.rotary_size / 2;
  const auto rows = static_cast<int64_t>(array.values.size()) / (array.dims.size() == 2 ? array.dims[1] : 1);
  const auto width = static_cast<int64_t>(array.values.size()) / rows;
  Array result = array;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t d = row % head_size - rope.rotary_offset;
    if (d < 0 || d >= 2 * num_pairs) continue;
    const int64_t from = row - d + (d < num_pairs ? 2 * d : 2 * (d - num_pairs) + 1);
    std::copy_n(array.values.begin() + from * width, width, result.values.begin() + row * width);
  }
  return result;
}

struct PermutedCase {
  int64_t head_size;
  int64_t rotary_size;
  int64_t rotary_offset;
};

TEST(Rule16, PermutedRowsTurnOnePairingIntoTheOther) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1604);
  for (const PermutedCase& of : {PermutedCase{8, 8, 0},
                                 {64, 64, 0},
                                 {64, 16, 0},
                                 {80, 32, 0},
                                 {17, 6, 3},
                                 {192, 64, 128},
                                 {6, 2, 1},
                                 {128, 128, 0}}) {
    for (int norm : {0, 1, 2}) {
      for (const auto& [num_queries, num_keys] : {std::pair{1, 40}, {37, 70}}) {
        heed_multi_head_attention_options options = two_heads();
        options.num_heads = 4;
        options.num_kv_heads = 2;
        options.head_size = of.head_size;
        options.num_hiddens = 0;
        options.output_size = 5;
        if (norm != 0) {
          options.qk_norm = norm == 1 ? HEED_QK_NORM_RMS : HEED_QK_NORM_LAYER;
          options.qk_norm_epsilon = 1e-5F;
        }
        MultiHeadSample sample;
        sample.num_queries = num_queries;
        sample.num_keys = num_keys;
        Call call = multi_head_call(options, sample, random);
        if (norm != 0) {
          for (const auto& [name, heads] : {std::pair{"q_norm.weight", 4}, {"k_norm.weight", 2}}) {
            const Dims dims = norm == 1 ? Dims{of.head_size} : Dims{heads, of.head_size};
            call.parameters[name] = make_input(random_array(dims, random, 2.0));
          }
        }
        call.rope = rope_with(HEED_ROPE_INTERLEAVED);
        call.rope->rotary_size = of.rotary_size;
        call.rope->rotary_offset = of.rotary_offset;
        want_everything(call);
        EXPECT_TRUE(agrees_with_reference(call));

        Call half = call;
        half.rope->layout = HEED_ROPE_HALF;
        for (const char* name : {"W_q.weight", "W_q.bias", "W_k.weight", "W_k.bias"})
          half.parameters[name] =
              make_input(rows_for_half_layout(call.parameters.at(name).contents, of.head_size, *call.rope));
        for (const char* name : {"q_norm.weight", "k_norm.weight"}) {
          if (norm == 0) continue;
          Array weight = call.parameters.at(name).contents;
          const Dims dims = weight.dims;
          weight.dims = {num_elements(dims)};
          weight = rows_for_half_layout(weight, of.head_size, *call.rope);
          weight.dims = dims;
          half.parameters[name] = make_input(weight);
        }
        EXPECT_TRUE(same_bits(run(half), run(call)))
            << of.head_size << ", " << of.rotary_size << " from " << of.rotary_offset << ", norm " << norm;
        half.rope->layout = HEED_ROPE_INTERLEAVED;
        // A single pair is the same in both.
        EXPECT_EQ(!same_bits(run(half).weights, run(call).weights), of.rotary_size > 2);
      }
    }
  }
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// With a key norm whose weights are 1 and whose epsilon is small, unit vector d becomes sqrt(D) times itself.
TEST(Rule16, RmsNormOfEachHead) {
  Call call = call_that_shows({3.0, -4.0, 0.0, 12.0}, 0);
  call.options.qk_norm_epsilon = 1e-12F;
  call.parameters["q_norm.weight"] = make_input({{4}, {1.0, 2.0, 3.0, -0.5}});
  call.parameters["k_norm.weight"] = make_input(filled({4}, 1.0));
  EXPECT_TRUE(agrees_with_reference(call));
  // The root of the mean of the squares is 13 / 2.
  const double norm = 2.0 / 13.0 * 2.0;
  expect_near(shown(call), {3.0 * norm, -8.0 * norm, 0.0, -6.0 * norm}, a_few_roundings(4.0));
  call.options.qk_norm_epsilon = 100.0F;
  const double of_key = 1.0 / std::sqrt(0.25 + 100.0);
  const double with_epsilon = of_key / std::sqrt(42.25 + 100.0);
  expect_near(shown(call), {3.0 * with_epsilon, -8.0 * with_epsilon, 0.0, -6.0 * with_epsilon}, a_few_roundings(1.0));
}

TEST(Rule16, LayerNormHasAWeightForEachHead) {
  Random random(1605);
  heed_multi_head_attention_options options = two_heads();
  options.qk_norm_epsilon = 1e-5F;
  options.qk_norm = HEED_QK_NORM_LAYER;
  options.no_output_projection = 1;
  options.biases = HEED_BIAS_NONE;
  options.scale = 1.0F;
  MultiHeadSample sample;
  sample.num_keys = 1;
  Call call = multi_head_call(options, sample, random);
  call.parameters["q_norm.weight"] = make_input({{2, 4}, {0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0}});
  call.parameters["k_norm.weight"] = make_input(filled({2, 4}, 1.0));
  want_everything(call);
  EXPECT_TRUE(agrees_with_reference(call));
  const Results results = run(call);
  const reference::AttentionSizes sizes = sizes_of(call);
  for (int64_t q = 0; q < sizes.num_queries; ++q) {
    EXPECT_EQ(log_sum_exp_at(results, sizes, 0, 0, q), 0.0);
    EXPECT_NE(log_sum_exp_at(results, sizes, 0, 1, q), 0.0);
  }
  // A number that is added to every element of a head has no effect.
  for (const char* name : {"W_q.bias", "W_k.bias"}) call.parameters[name] = make_input(filled({8}, 3.0));
  call.options.biases = HEED_BIAS_Q | HEED_BIAS_K;
  const Results moved = run(call);
  expect_near(moved.log_sum_exp->contents.values, results.log_sum_exp->contents.values, a_few_roundings(60.0));
}

// Norms of heads of every size, with and without rotation, within the bound.
TEST(Rule16, NormsAndRotationsOfHeadsOfEverySize) {
  Random random(1606);
  for (int64_t head_size : {2, 3, 7, 8, 16, 31, 32, 33, 64, 65, 96, 128, 256, 300}) {
    for (int norm : {0, 1, 2}) {
      for (int32_t layout : {0, int32_t{HEED_ROPE_HALF}, int32_t{HEED_ROPE_INTERLEAVED}}) {
        if (norm == 0 && layout == 0) continue;
        heed_multi_head_attention_options options = two_heads();
        options.num_heads = 3;
        options.num_kv_heads = 1;
        options.head_size = head_size;
        options.num_hiddens = 0;
        options.output_size = 7;
        if (norm != 0) {
          options.qk_norm = norm == 1 ? HEED_QK_NORM_RMS : HEED_QK_NORM_LAYER;
          options.qk_norm_epsilon = 1e-6F;
        }
        MultiHeadSample sample;
        sample.num_queries = 19;
        sample.num_keys = 37;
        sample.dtype = kFloats[static_cast<size_t>(random.below(3))];
        sample.parameter_dtype = kFloats[static_cast<size_t>(random.below(3))];
        Call call = multi_head_call(options, sample, random);
        if (norm != 0) {
          for (const auto& [name, heads] : {std::pair{"q_norm.weight", 3}, {"k_norm.weight", 1}}) {
            const Dims dims = norm == 1 ? Dims{head_size} : Dims{heads, head_size};
            call.parameters[name] = make_input(random_array(dims, random, 2.0), sample.parameter_dtype);
          }
        }
        if (layout != 0) {
          call.rope = rope_with(layout);
          call.rope->rotary_size = head_size / 2 * 2;
        }
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call)) << head_size << ", norm " << norm << ", layout " << layout;
      }
    }
  }
}

// Tasks of a projection end where heads end, whatever the sizes of panels and heads.
TEST(Rule16, NumbersOfHeadsAndThreadsChangeNothing) {
  Random random(1608);
  for (int64_t num_heads : {1, 2, 3, 5, 7, 12, 17}) {
    for (int64_t head_size : {6, 16, 20, 33, 64, 80, 96, 128}) {
      heed_multi_head_attention_options options = two_heads();
      options.num_heads = num_heads;
      options.num_kv_heads = num_heads % 2 == 0 ? num_heads / 2 : num_heads;
      options.head_size = head_size;
      options.num_hiddens = 0;
      options.output_size = 3;
      options.qk_norm = HEED_QK_NORM_LAYER;
      options.qk_norm_epsilon = 1e-6F;
      MultiHeadSample sample;
      sample.batch = 1 + random.below(3);
      sample.num_queries = random.one_of<int64_t>({1, 2, 5, 9, 33});
      sample.num_keys = random.one_of<int64_t>({1, 3, 17, 40});
      sample.query_size = random.one_of<int64_t>({3, 40, 600});
      sample.key_size = random.one_of<int64_t>({3, 40, 600});
      Call call = multi_head_call(options, sample, random);
      call.parameters["q_norm.weight"] = make_input(random_array({num_heads, head_size}, random, 2.0));
      call.parameters["k_norm.weight"] = make_input(random_array({options.num_kv_heads, head_size}, random, 2.0));
      call.rope = rope_with(random.chance(0.5) ? HEED_ROPE_HALF : HEED_ROPE_INTERLEAVED);
      call.rope->rotary_size = head_size / 2 * 2;
      want_everything(call);
      call.num_threads = 1;
      const Results expected = run(call);
      EXPECT_TRUE(agree(expected, solve(call))) << num_heads << " heads of " << head_size;
      if (on_ascend()) continue;
      for (int32_t num_threads : {2, 3, 8}) {
        call.num_threads = num_threads;
        EXPECT_TRUE(same_bits(run(call), expected)) << num_heads << " heads of " << head_size;
      }
    }
  }
}

// Each score is a sum of w_v[d] * tanh of elements d of query and key, in the order of the head.
TEST(Rule16, AdditiveScoresReadRotatedHeadsInTheirOrder) {
  Random random(1607);
  for (int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (int norm : {0, 1}) {
      heed_multi_head_attention_options options = two_heads();
      options.num_hiddens = 32;
      options.scoring = HEED_SCORING_ADDITIVE;
      options.qk_norm_epsilon = norm == 0 ? 0.0F : 1e-6F;
      Call call = multi_head_call(options, {}, random);
      if (norm != 0) {
        for (const char* name : {"q_norm.weight", "k_norm.weight"})
          call.parameters[name] = make_input(random_array({16}, random, 2.0));
      }
      call.rope = rope_with(layout);
      want_everything(call);
      EXPECT_TRUE(agrees_with_reference(call)) << layout;
    }
  }
}

}  // namespace
}  // namespace heed::property
