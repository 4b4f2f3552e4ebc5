// SPDX-License-Identifier: Apache-2.0
// Positions against numbers that follow from the papers' formulas, each computed once with more digits than F32 has.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/rotated.h"

namespace heed::golden {
namespace {

constexpr double kUnit = 0x1p-24;

heed_rope_options rope_of(int32_t layout, float base = 0) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = layout;
  rope.base = base;
  return rope;
}

// The numbers below are rounded to six decimals.
void expect_rounded(const std::vector<double>& is, const std::vector<double>& should) {
  ASSERT_EQ(is.size(), should.size());
  for (size_t i = 0; i < is.size(); ++i)
    EXPECT_NEAR(is[i], should[i], 0.51e-6 + 8 * kUnit * std::abs(should[i]) * property::coarseness(HEED_F32))
        << "element " << i;
}

// (a, b) becomes (a cos - b sin, b cos + a sin) with the angle 3 * 10000^(-2i / r).
TEST(RotaryFormula, OfTheVectorOneTwoThreeFourAtPositionThree) {
  struct Row {
    const char* what;
    int32_t layout;
    float linear_factor;
    std::vector<double> expected;
  };
  const Row table[] = {
      {"pairs (0, 1) and (2, 3)", HEED_ROPE_INTERLEAVED, 0, {-1.272233, -1.838865, 2.878668, 4.088187}},
      {"pairs (0, 2) and (1, 3)", HEED_ROPE_HALF, 0, {-1.413353, 1.879118, -2.828857, 4.058191}},
      {"positions divided by 4", HEED_ROPE_HALF, 4, {-1.313227, 1.969944, 2.876705, 4.014887}},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(row.what);
    on_device([&](Fallback fallback) {
      heed_rope_options rope = rope_of(row.layout);
      rope.factor = row.linear_factor;
      rope.scaling = row.linear_factor == 0 ? HEED_ROPE_SCALING_NONE : HEED_ROPE_SCALING_LINEAR;
      expect_rounded(rotated(make_context(fallback).get(), rope, {1, 4, {1, 2, 3, 4}, {3}}), row.expected);
    });
  }
}

// The exponent has the rotary size as divisor, not the size of the head, which would make 0.728592 of the second element.
TEST(RotaryFormula, OfHalfOfAHead) {
  on_device([&](Fallback fallback) {
    heed_rope_options rope = rope_of(HEED_ROPE_HALF);
    rope.rotary_size = 4;
    expect_rounded(rotated(make_context(fallback).get(), rope, {1, 8, {1, 2, 3, 4, 5, 6, 7, 8}, {3}}),
                   {-1.413353, 1.879118, -2.828857, 4.058191, 5, 6, 7, 8});
  });
}

// theta of a pair, from an angle that is near 1 so that the roundings of its cosine and sine matter least.
void expect_theta(heed_context* context, const heed_rope_options& rope, int64_t size, int64_t pair, double theta) {
  const auto position = static_cast<int64_t>(std::lround(1 / theta));
  const Turn turn = turn_of(context, rope, size, pair, position);
  // Cosine and sine are each rounded twice, once with the factor; theta has eight digits.
  const double allowed = 4 * kUnit * property::coarseness(HEED_F32) + 1e-8;
  EXPECT_NEAR(turn.angle / (static_cast<double>(position) * theta), 1, allowed) << "pair " << pair;
}

// "NTK-aware" scaling: the base times s^(r / (r - 2)), so that the last theta is divided by s.
TEST(RotaryFormula, NtkChangesTheBase) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    heed_rope_options rope = rope_of(HEED_ROPE_HALF);
    rope.scaling = HEED_ROPE_SCALING_NTK;
    rope.factor = 8;
    constexpr double kBase = 82684.62264;
    for (const int64_t pair : {1, 31, 63})
      expect_theta(context.get(), rope, 128, pair, std::pow(kBase, -static_cast<double>(pair) / 64));
    expect_theta(context.get(), rope, 128, 63, std::pow(1e4, -63.0 / 64) / 8);
    // Dynamic NTK at length L: s L / L0 - (s - 1) in place of s, here 2 * 4096 / 2048 - 1 = 3.
    rope.factor = 3;
    for (const int64_t pair : {1, 31, 63})
      expect_theta(context.get(), rope, 128, pair, std::pow(30527.73675, -static_cast<double>(pair) / 64));
  });
}

// Between the pairs low and high = r ln(L0 / (rotations * 2 pi)) / (2 ln base), for 32 and 1 rotations, theta goes over to
// theta / s; cosines and sines are multiplied by 0.1 ln s + 1.
TEST(RotaryFormula, YarnOfGptOssAndQwen) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    heed_rope_options rope = rope_of(HEED_ROPE_HALF, 150000);
    rope.scaling = HEED_ROPE_SCALING_YARN;
    rope.factor = 32;
    rope.original_length = 4096;
    // The range is 8 to 18, and without rounding 8.092779 to 17.398025.
    expect_theta(context.get(), rope, 64, 12, 7.0157139e-3);
    rope.no_rounding = 1;
    expect_theta(context.get(), rope, 64, 12, 6.7949595e-3);
    expect_theta(context.get(), rope, 64, 8, std::pow(150000.0, -8.0 / 32));
    expect_theta(context.get(), rope, 64, 18, std::pow(150000.0, -18.0 / 32) / 32);
    EXPECT_NEAR(turn_of(context.get(), rope, 64, 12, 100).factor, 1.3465736, 5e-7 * property::coarseness(HEED_F32));
    rope = rope_of(HEED_ROPE_HALF, 1e6);
    rope.scaling = HEED_ROPE_SCALING_YARN;
    rope.factor = 4;
    rope.original_length = 32768;
    expect_theta(context.get(), rope, 128, 32, 6.0294118e-4);
    expect_theta(context.get(), rope, 128, 23, std::pow(1e6, -23.0 / 64));
    expect_theta(context.get(), rope, 128, 40, std::pow(1e6, -40.0 / 64) / 4);
    EXPECT_NEAR(turn_of(context.get(), rope, 128, 32, 100).factor, 1.1386294, 5e-7 * property::coarseness(HEED_F32));
    rope.attention_factor = 1.5F;
    EXPECT_NEAR(turn_of(context.get(), rope, 128, 32, 100).factor, 1.5, 5e-7 * property::coarseness(HEED_F32));
  });
}

// Wavelengths below L0 / 4 stay, those above L0 are divided by s, and between them is a blend.
TEST(RotaryFormula, Llama3ChangesLongWavelengths) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    heed_rope_options rope = rope_of(HEED_ROPE_HALF, 5e5);
    rope.scaling = HEED_ROPE_SCALING_LLAMA3;
    rope.factor = 8;
    rope.original_length = 8192;
    const auto plain = [](int64_t pair) { return std::pow(5e5, -static_cast<double>(pair) / 64); };
    expect_theta(context.get(), rope, 128, 28, plain(28));
    expect_theta(context.get(), rope, 128, 30, 1.37189357e-3);
    expect_theta(context.get(), rope, 128, 32, 5.2484616e-4);
    for (const int64_t pair : {35, 63}) expect_theta(context.get(), rope, 128, pair, plain(pair) / 8);
    // Pair 29 is the first and pair 34 the last of the blend.
    for (const int64_t pair : {29, 34}) {
      const double theta = turn_of(context.get(), rope, 128, pair, 1000).angle / 1000;
      EXPECT_LT(theta, plain(pair) * 0.9999) << "pair " << pair;
      EXPECT_GT(theta, plain(pair) / 8 * 1.0001) << "pair " << pair;
    }
  });
}

// sqrt(1 + ln(L / L0) / ln L0) with L = 131072 and L0 = 4096.
TEST(RotaryFormula, AttentionFactorOfLongRope) {
  on_device([&](Fallback fallback) {
    heed_rope_options rope = rope_of(HEED_ROPE_HALF);
    rope.scaling = HEED_ROPE_SCALING_FACTORS;
    const float factors[] = {1, 5};
    rope.factors = factors;
    rope.num_factors = 2;
    rope.factor = 32;
    rope.original_length = 4096;
    const Context context = make_context(fallback);
    const Turn turn = turn_of(context.get(), rope, 4, 1, 100);
    EXPECT_NEAR(turn.factor, 1.19023807, 5e-7 * property::coarseness(HEED_F32));
    // 100 * 10000^(-1/2) / 5
    EXPECT_NEAR(turn.angle, 0.2, 4 * kUnit * property::coarseness(HEED_F32));
  });
}

// Position 3 of six elements: sines and cosines of 3 / 10000^(2i / 6) in turn, the same as halves, and halves of 3 /
// 10000^(i / (6 / 2 - 1)).
TEST(SinusoidalFormula, OfPositionThree) {
  struct Row {
    int32_t kind;
    std::vector<double> expected;
  };
  for (const Row& row :
       {Row{HEED_POSITIONS_SINUSOIDAL, {0.14112, -0.989992, 0.138798, 0.990321, 0.006463, 0.999979}},
        Row{HEED_POSITIONS_SINUSOIDAL_HALVES_2I, {0.14112, 0.138798, 0.006463, -0.989992, 0.990321, 0.999979}},
        Row{HEED_POSITIONS_SINUSOIDAL_HALVES, {0.14112, 0.029996, 0.0003, -0.989992, 0.99955, 1}}}) {
    on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
      options.max_positions = 4;
      options.size = 6;
      options.kind = row.kind;
      const Layer layer = capi_test::make_positional_encoding(context.get(), options);
      const Tensor zeros = capi_test::make_tensor(context.get(), {1, 4, 6});
      const Tensor output = capi_test::make_tensor(context.get(), {1, 4, 6});
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = zeros.get();
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.output = output.get();
      check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
      const std::vector<double> all = numbers_of(output.get());
      expect_rounded({all.begin() + 18, all.end()}, row.expected);
    });
  }
}

// 2^-1 to 2^-8 for 8 heads; for 12 heads those, and then every second one of the 16 of 2^-0.5 to 2^-8.
TEST(AlibiFormula, SlopesOfEightAndTwelveHeads) {
  const Context context = make_context();
  std::vector<double> expected;
  for (int i = 1; i <= 8; ++i) expected.push_back(std::exp2(-i));
  const Tensor eight = capi_test::make_tensor(context.get(), {8});
  check(heed_tensor_fill_alibi_slopes(eight.get()));
  EXPECT_EQ(numbers_of(eight.get()), expected);
  expected.insert(expected.end(), {0.707107, 0.353553, 0.176777, 0.088388});
  const Tensor twelve = capi_test::make_tensor(context.get(), {12});
  check(heed_tensor_fill_alibi_slopes(twelve.get()));
  expect_rounded(numbers_of(twelve.get()), expected);
}

// A sink's exponential is in the denominator alone: scores 1 and 2, values 10 and 20.
TEST(SinkFormula, OfTwoScores) {
  struct Row {
    const char* what;
    std::vector<float> sinks;
    double output;
    double log_sum_exp;
  };
  // ln(e + e^2), ln(e + e^2 + e^0.5), ln(e + e^2 + 1)
  for (const Row& row : {Row{"none", {}, 17.310586, 2.313262}, Row{"0.5", {0.5F}, 14.882873, 2.464369},
                         Row{"0, as softmax with a 1 in its denominator", {0}, 15.752104, 2.407606}}) {
    SCOPED_TRACE(row.what);
    on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      const Tensor queries = capi_test::make_tensor_of<float>(context.get(), {1, 1, 1}, {1});
      const Tensor keys = capi_test::make_tensor_of<float>(context.get(), {1, 2, 1}, {1, 2});
      const Tensor values = capi_test::make_tensor_of<float>(context.get(), {1, 2, 1}, {10, 20});
      const Tensor sinks =
          row.sinks.empty() ? Tensor() : capi_test::make_tensor_of<float>(context.get(), {1}, row.sinks);
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = queries.get();
      inputs.keys = keys.get();
      inputs.values = values.get();
      inputs.sinks = sinks.get();
      const Layer layer = capi_test::make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
      const Outputs outputs = forward(layer.get(), inputs);
      expect_rounded(numbers_of(outputs.output.get()), {row.output});
      expect_rounded(numbers_of(outputs.log_sum_exp.get()), {row.log_sum_exp});
    });
  }
}

// Parts with log_sum_exp 1 and 2 and outputs 10 and 20: natural logarithms. Read as logarithms of base 2 they would give
// 16.666667.
TEST(MergeFormula, OfTwoParts) {
  const Context context = make_context();
  const Tensor outputs[] = {capi_test::make_tensor_of<float>(context.get(), {1, 1}, {10}),
                            capi_test::make_tensor_of<float>(context.get(), {1, 1}, {20})};
  const Tensor log_sum_exps[] = {capi_test::make_tensor_of<float>(context.get(), {1}, {1}),
                                 capi_test::make_tensor_of<float>(context.get(), {1}, {2})};
  const std::array<const heed_tensor*, 2> parts = {outputs[0].get(), outputs[1].get()};
  const std::array<const heed_tensor*, 2> sums = {log_sum_exps[0].get(), log_sum_exps[1].get()};
  const Tensor output = capi_test::make_tensor(context.get(), {1, 1});
  const Tensor log_sum_exp = capi_test::make_tensor(context.get(), {1});
  check(heed_attention_merge(parts.data(), sums.data(), 2, nullptr, output.get(), log_sum_exp.get()));
  expect_rounded(numbers_of(output.get()), {17.310586});
  expect_rounded(numbers_of(log_sum_exp.get()), {2.313262});
}

// The buckets of T5: 32 of them, up to a distance of 128, both ways for encoders and one way for decoders.
TEST(RelativeBiasFormula, BucketsOfT5) {
  struct Row {
    int32_t kind;
    std::vector<std::array<int64_t, 2>> buckets;  // distance from query to key, bucket
  };
  for (const Row& row : {Row{HEED_RELATIVE_BIAS_BOTH_WAYS,
                             {{-7, 7}, {-8, 8}, {-16, 10}, {-64, 14}, {0, 0}, {1, 17}, {8, 24}, {64, 30}, {127, 31}}},
                         Row{HEED_RELATIVE_BIAS_ONE_WAY,
                             {{-15, 15}, {-16, 16}, {-32, 21}, {-64, 26}, {-127, 31}, {0, 0}, {1, 0}, {100, 0}}}}) {
    on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
      options.num_hiddens = options.num_heads = 1;
      options.relative_bias = row.kind;
      const Layer layer = capi_test::make_multi_head(context.get(), options);
      const Tensor numbers = capi_test::make_tensor(context.get(), {32, 1});
      check(heed_tensor_fill_arange(numbers.get(), 0, 1));
      const auto count = static_cast<int64_t>(row.buckets.size());
      // Each batch element has one query and sees one key of 201.
      constexpr int64_t kNumKeys = 201;
      std::vector<int32_t> positions;
      std::vector<uint8_t> sees(static_cast<size_t>(count * kNumKeys));
      for (int64_t i = 0; i < count; ++i) {
        positions.push_back(static_cast<int32_t>(100 - row.buckets[static_cast<size_t>(i)][0] / 2));
        sees[static_cast<size_t>(i * kNumKeys + positions.back() + row.buckets[static_cast<size_t>(i)][0])] = 1;
      }
      const Tensor queries = capi_test::make_tensor(context.get(), {count, 1, 1});
      const Tensor keys = capi_test::make_tensor(context.get(), {count, kNumKeys, 1});
      const Tensor position_rows = capi_test::make_tensor_of(context.get(), {count, 1}, positions);
      const Tensor mask = capi_test::make_tensor_of(context.get(), {count, 1, 1, kNumKeys}, sees, HEED_BOOL);
      heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
      sequences.positions = position_rows.get();
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = queries.get();
      inputs.keys = keys.get();
      inputs.mask = mask.get();
      inputs.sequences = &sequences;
      check(heed_layer_initialize(layer.get(), &inputs, 1));
      check(heed_layer_set_parameter(layer.get(), "relative_bias.weight", numbers.get()));
      // The log-sum-exp of one key is its score, rounded a few times.
      const std::vector<double> scores = numbers_of(forward(layer.get(), inputs).log_sum_exp.get());
      for (size_t i = 0; i < scores.size(); ++i)
        EXPECT_NEAR(scores[i], static_cast<double>(row.buckets[i][1]), 1e-4) << "distance " << row.buckets[i][0];
    });
  }
}

}  // namespace
}  // namespace heed::golden
