// SPDX-License-Identifier: Apache-2.0
// Options of positions, norms, sinks and biases of distances that are invalid or contradict each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

constexpr float kFactors[] = {1.0f, 2.0f};

// heed_rope_options of heads with 4 elements, and one change.
struct WrongRope {
  const char* what;
  std::function<void(heed_rope_options&)> change;
  std::vector<std::string> words;
};

void expect_refused_rope(const std::vector<WrongRope>& table, int64_t num_hiddens = 8) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const WrongRope& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       heed_rope_options rope = whole_heads();
                       row.change(rope);
                       heed_multi_head_attention_options options = two_heads();
                       options.num_hiddens = num_hiddens;
                       options.rope = &rope;
                       return heed_multi_head_attention_create(context.get(), &options, &out.layer);
                     },
                     invalid(row.words)});
  }
  expect_refused(calls);
}

TEST(RopeOptionErrors, LayoutsAndScalings) {
  expect_refused_rope({
      {"no layout",
       [](heed_rope_options& o) { o.layout = 0; },
       {"options->rope->layout is 0", "HEED_ROPE_HALF (1)", "HEED_ROPE_INTERLEAVED (2)"}},
      {"layout 3", [](heed_rope_options& o) { o.layout = 3; }, {"options->rope->layout is 3"}},
      {"scaling -1", [](heed_rope_options& o) { o.scaling = -1; }, {"options->rope->scaling is -1"}},
      {"scaling 6",
       [](heed_rope_options& o) { o.scaling = 6; },
       {"options->rope->scaling is 6", "HEED_ROPE_SCALING_NONE (0)", "_FACTORS (5)"}},
      {"no_rounding 2",
       [](heed_rope_options& o) { o.no_rounding = 2; },
       {"options->rope->no_rounding is 2, expected 0 or 1"}},
  });
}

TEST(RopeOptionErrors, SlicesOutsideOfTheHead) {
  expect_refused_rope({
      {"odd", [](heed_rope_options& o) { o.rotary_size = 3; }, {"options->rope->rotary_size is 3", "even", "2 to 4"}},
      {"negative", [](heed_rope_options& o) { o.rotary_size = -2; }, {"options->rope->rotary_size is -2"}},
      {"larger than a head", [](heed_rope_options& o) { o.rotary_size = 6; }, {"options->rope->rotary_size is 6", "4"}},
      {"larger than the rest of a head",
       [](heed_rope_options& o) {
         o.rotary_size = 4;
         o.rotary_offset = 2;
       },
       {"options->rope->rotary_size is 4", "2 to 2"}},
      {"an odd rest of a head",
       [](heed_rope_options& o) { o.rotary_offset = 1; },
       {"options->rope->rotary_size is 0, the 3 elements of a head from rotary_offset on", "even"}},
      {"a rest of one element",
       [](heed_rope_options& o) { o.rotary_offset = 3; },
       {"options->rope->rotary_offset is 3", "0 to 2"}},
      {"a negative offset", [](heed_rope_options& o) { o.rotary_offset = -1; }, {"options->rope->rotary_offset is -1"}},
      {"an offset beyond a head",
       [](heed_rope_options& o) { o.rotary_offset = 4; },
       {"options->rope->rotary_offset is 4"}},
      {"the largest offset",
       [](heed_rope_options& o) { o.rotary_offset = INT64_MAX; },
       {"options->rope->rotary_offset is 9223372036854775807"}},
      {"the smallest size",
       [](heed_rope_options& o) { o.rotary_size = INT64_MIN; },
       {"options->rope->rotary_size is -9223372036854775808"}},
  });
  expect_refused_rope(
      {{"heads of one element", [](heed_rope_options&) {}, {"a head has 1 element", "options->head_size"}}}, 2);
  expect_refused_rope({{"odd heads", [](heed_rope_options&) {}, {"rotary_size is 0, the 5 elements"}}}, 10);
  // The table of rotations has memory for each pair.
  expect_refused_rope(
      {{"large heads", [](heed_rope_options&) {}, {"rotary_size is 65538 by default, expected at most 65536"}},
       {"a large slice",
        [](heed_rope_options& o) { o.rotary_size = 65538; },
        {"rotary_size is 65538, expected at most 65536"}}},
      int64_t{2} * 65538);
  expect_refused_rope({{"the largest heads", [](heed_rope_options&) {}, {"expected at most 65536"}}}, INT64_MAX - 3);
}

TEST(RopeOptionErrors, NumbersThatAScalingNeeds) {
  const auto scaled = [](int32_t scaling, auto change) {
    return [scaling, change](heed_rope_options& o) {
      o.scaling = scaling;
      o.factor = 2;
      o.original_length = 64;
      change(o);
    };
  };
  const auto without_length = [](int32_t scaling, auto change) {
    return [scaling, change](heed_rope_options& o) {
      o.scaling = scaling;
      o.factor = 2;
      change(o);
    };
  };
  expect_refused_rope({
      {"base negative", [](heed_rope_options& o) { o.base = -1; }, {"options->rope->base is -1", "above 0", "10000"}},
      {"base NaN", [](heed_rope_options& o) { o.base = kNaN; }, {"options->rope->base is nan"}},
      {"base infinite", [](heed_rope_options& o) { o.base = kInfinity; }, {"options->rope->base is inf"}},
      {"attention_factor negative",
       [](heed_rope_options& o) { o.attention_factor = -0.5f; },
       {"options->rope->attention_factor is -0.5", "above 0"}},
      {"attention_factor NaN", [](heed_rope_options& o) { o.attention_factor = kNaN; }, {"attention_factor is nan"}},
      {"linear without factor",
       [](heed_rope_options& o) { o.scaling = HEED_ROPE_SCALING_LINEAR; },
       {"options->rope->factor is 0", "HEED_ROPE_SCALING_LINEAR"}},
      {"linear, negative",
       without_length(HEED_ROPE_SCALING_LINEAR, [](heed_rope_options& o) { o.factor = -4; }),
       {"options->rope->factor is -4"}},
      {"NTK, NaN",
       without_length(HEED_ROPE_SCALING_NTK, [](heed_rope_options& o) { o.factor = kNaN; }),
       {"options->rope->factor is nan", "HEED_ROPE_SCALING_NTK"}},
      {"NTK with one pair",
       without_length(HEED_ROPE_SCALING_NTK, [](heed_rope_options& o) { o.rotary_size = 2; }),
       {"options->rope->rotary_size is 2, expected at least 4 with HEED_ROPE_SCALING_NTK"}},
      {"YaRN without factor",
       scaled(HEED_ROPE_SCALING_YARN, [](heed_rope_options& o) { o.factor = 0; }),
       {"options->rope->factor is 0", "HEED_ROPE_SCALING_YARN"}},
      {"YaRN without length",
       without_length(HEED_ROPE_SCALING_YARN, [](heed_rope_options&) {}),
       {"options->rope->original_length is 0", "at least 1", "HEED_ROPE_SCALING_YARN"}},
      {"YaRN with base 1",
       scaled(HEED_ROPE_SCALING_YARN, [](heed_rope_options& o) { o.base = 1; }),
       {"options->rope->base is 1", "logarithm"}},
      {"YaRN, beta_fast",
       scaled(HEED_ROPE_SCALING_YARN, [](heed_rope_options& o) { o.beta_fast = -32; }),
       {"options->rope->beta_fast is -32", "0 for 32"}},
      {"YaRN, beta_slow",
       scaled(HEED_ROPE_SCALING_YARN, [](heed_rope_options& o) { o.beta_slow = kInfinity; }),
       {"options->rope->beta_slow is inf", "0 for 1"}},
      {"Llama 3 without factor",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.factor = 0; }),
       {"options->rope->factor is 0", "HEED_ROPE_SCALING_LLAMA3"}},
      {"Llama 3, negative length",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.original_length = -8192; }),
       {"options->rope->original_length is -8192"}},
      {"Llama 3, low",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.low_freq_factor = -1; }),
       {"options->rope->low_freq_factor is -1"}},
      {"Llama 3, low and high alike",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.low_freq_factor = o.high_freq_factor = 2; }),
       {"options->rope->high_freq_factor is 2, expected a finite number above low_freq_factor, 2"}},
      {"Llama 3, low above the default of high",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.low_freq_factor = 8; }),
       {"options->rope->high_freq_factor is 4 by default", "low_freq_factor, 8"}},
      {"Llama 3, high infinite",
       scaled(HEED_ROPE_SCALING_LLAMA3, [](heed_rope_options& o) { o.high_freq_factor = kInfinity; }),
       {"options->rope->high_freq_factor is inf"}},
  });
}

TEST(RopeOptionErrors, ListsOfFactors) {
  const auto with_factors = [](int64_t count, auto change) {
    return [count, change](heed_rope_options& o) {
      o.scaling = HEED_ROPE_SCALING_FACTORS;
      o.num_factors = count;
      o.factors = kFactors;
      o.factor = 4;
      o.original_length = 64;
      change(o);
    };
  };
  static constexpr float kZero[] = {1.0f, 0.0f};
  static constexpr float kNotANumber[] = {kNaN, 1.0f};
  const auto unchanged = [](heed_rope_options&) {};
  expect_refused_rope({
      {"none",
       with_factors(0, [](heed_rope_options& o) { o.factors = nullptr; }),
       {"options->rope->num_factors is 0", "2"}},
      {"too few", with_factors(1, unchanged), {"options->rope->num_factors is 1", "rotary_size / 2 = 2"}},
      {"for another slice",
       with_factors(2, [](heed_rope_options& o) { o.rotary_size = 2; }),
       {"options->rope->num_factors is 2", "rotary_size / 2 = 1"}},
      {"more than memory",
       with_factors(INT64_MAX, unchanged),
       {"options->rope->num_factors is 9223372036854775807", "2"}},
      {"negative", with_factors(-1, unchanged), {"options->rope->num_factors is -1", "at least 0"}},
      {"a number without factors",
       with_factors(2, [](heed_rope_options& o) { o.factors = nullptr; }),
       {"options->rope->num_factors is 2, but options->rope->factors is NULL"}},
      {"factors without a number",
       with_factors(0, unchanged),
       {"options->rope->num_factors is 0, but options->rope->factors is set"}},
      {"a factor 0",
       with_factors(2, [](heed_rope_options& o) { o.factors = kZero; }),
       {"options->rope->factors[1] is 0", "above 0"}},
      {"a factor NaN",
       with_factors(2, [](heed_rope_options& o) { o.factors = kNotANumber; }),
       {"options->rope->factors[0] is nan"}},
      {"without attention factor",
       with_factors(2, [](heed_rope_options& o) { o.factor = 0; }),
       {"options->rope->factor is 0", "attention_factor", "HEED_ROPE_SCALING_FACTORS"}},
      {"a factor NaN beside an attention factor",
       with_factors(2,
                    [](heed_rope_options& o) {
                      o.factor = kNaN;
                      o.attention_factor = 1;
                    }),
       {"options->rope->factor is nan"}},
      {"a negative length beside an attention factor",
       with_factors(2,
                    [](heed_rope_options& o) {
                      o.original_length = -1;
                      o.attention_factor = 1;
                    }),
       {"options->rope->original_length is -1"}},
      {"without the length of the training",
       with_factors(2, [](heed_rope_options& o) { o.original_length = 1; }),
       {"options->rope->original_length is 1", "at least 2", "attention_factor"}},
  });
}

TEST(RopeOptionErrors, MembersThatAScalingDoesNotUse) {
  struct Member {
    const char* name;
    std::function<void(heed_rope_options&)> set;
    std::vector<int32_t> users;
  };
  const Member members[] = {
      {"factor",
       [](heed_rope_options& o) { o.factor = 2; },
       {HEED_ROPE_SCALING_LINEAR, HEED_ROPE_SCALING_NTK, HEED_ROPE_SCALING_YARN, HEED_ROPE_SCALING_LLAMA3,
        HEED_ROPE_SCALING_FACTORS}},
      {"original_length",
       [](heed_rope_options& o) { o.original_length = 64; },
       {HEED_ROPE_SCALING_YARN, HEED_ROPE_SCALING_LLAMA3, HEED_ROPE_SCALING_FACTORS}},
      {"num_factors",
       [](heed_rope_options& o) {
         o.num_factors = 2;
         o.factors = kFactors;
       },
       {HEED_ROPE_SCALING_FACTORS}},
      {"beta_fast", [](heed_rope_options& o) { o.beta_fast = 30; }, {HEED_ROPE_SCALING_YARN}},
      {"beta_slow", [](heed_rope_options& o) { o.beta_slow = 2; }, {HEED_ROPE_SCALING_YARN}},
      {"no_rounding", [](heed_rope_options& o) { o.no_rounding = 1; }, {HEED_ROPE_SCALING_YARN}},
      {"low_freq_factor", [](heed_rope_options& o) { o.low_freq_factor = 2; }, {HEED_ROPE_SCALING_LLAMA3}},
      {"high_freq_factor", [](heed_rope_options& o) { o.high_freq_factor = 3; }, {HEED_ROPE_SCALING_LLAMA3}},
  };
  const auto uses = [](const Member& member, int32_t scaling) {
    return std::find(member.users.begin(), member.users.end(), scaling) != member.users.end();
  };
  const Context context = make_context();
  for (int32_t scaling = HEED_ROPE_SCALING_NONE; scaling <= HEED_ROPE_SCALING_FACTORS; ++scaling) {
    heed_rope_options used = whole_heads();
    used.scaling = scaling;
    for (const Member& member : members) {
      if (uses(member, scaling)) member.set(used);
    }
    heed_multi_head_attention_options options = two_heads();
    options.rope = &used;
    EXPECT_NO_THROW(make_multi_head(context.get(), options)) << "scaling " << scaling;
    for (const Member& member : members) {
      if (uses(member, scaling)) continue;
      expect_refused_rope({{member.name,
                            [&](heed_rope_options& o) {
                              o = used;
                              member.set(o);
                            },
                            {std::string("options->rope->") + member.name + " is set", "which does not use it"}}});
    }
  }
}

TEST(OptionErrors, NormsSinksAndBiasesOfDistances) {
  using Options = heed_multi_head_attention_options;
  struct Row {
    const char* what;
    std::function<void(Options&)> change;
    std::vector<std::string> words;
  };
  const Row table[] = {
      {"qk_norm_epsilon negative",
       [](Options& o) { o.qk_norm_epsilon = -1e-6f; },
       {"options->qk_norm_epsilon is -1e-06", "above 0"}},
      {"qk_norm_epsilon NaN", [](Options& o) { o.qk_norm_epsilon = kNaN; }, {"options->qk_norm_epsilon is nan"}},
      {"qk_norm_epsilon infinite",
       [](Options& o) { o.qk_norm_epsilon = kInfinity; },
       {"options->qk_norm_epsilon is inf"}},
      {"qk_norm without epsilon",
       [](Options& o) { o.qk_norm = HEED_QK_NORM_LAYER; },
       {"options->qk_norm is HEED_QK_NORM_LAYER", "options->qk_norm_epsilon is 0"}},
      {"qk_norm 2", [](Options& o) { o.qk_norm = 2; }, {"options->qk_norm is 2", "HEED_QK_NORM_RMS (0)"}},
      {"qk_norm -1", [](Options& o) { o.qk_norm = -1; }, {"options->qk_norm is -1"}},
      {"sinks 2", [](Options& o) { o.sinks = 2; }, {"options->sinks is 2, expected 0 or 1"}},
      {"sinks -1", [](Options& o) { o.sinks = -1; }, {"options->sinks is -1"}},
      {"alibi 3", [](Options& o) { o.alibi = 3; }, {"options->alibi is 3", "HEED_ALIBI_SCALED (2)"}},
      {"alibi -1", [](Options& o) { o.alibi = -1; }, {"options->alibi is -1"}},
      {"relative_bias 3", [](Options& o) { o.relative_bias = 3; }, {"options->relative_bias is 3"}},
      {"relative_bias -1", [](Options& o) { o.relative_bias = -1; }, {"options->relative_bias is -1"}},
      {"buckets without a relative bias",
       [](Options& o) { o.relative_bias_buckets = 32; },
       {"options->relative_bias_buckets is 32", "HEED_RELATIVE_BIAS_NONE", "expected 0"}},
      {"a distance without a relative bias",
       [](Options& o) { o.relative_bias_max_distance = 128; },
       {"options->relative_bias_max_distance is 128", "HEED_RELATIVE_BIAS_NONE"}},
      {"odd buckets both ways",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
         o.relative_bias_buckets = 31;
       },
       {"options->relative_bias_buckets is 31", "an even number"}},
      {"two buckets both ways",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
         o.relative_bias_buckets = 2;
       },
       {"options->relative_bias_buckets is 2", "from 4"}},
      {"one bucket",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
         o.relative_bias_buckets = 1;
       },
       {"options->relative_bias_buckets is 1", "from 2"}},
      {"more buckets than distances",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
         o.relative_bias_buckets = INT64_MAX;
       },
       {"options->relative_bias_buckets is 9223372036854775807", "to 1048576"}},
      {"a distance within the exact buckets",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
         o.relative_bias_max_distance = 16;
       },
       {"options->relative_bias_max_distance is 16", "above 16"}},
      {"a negative distance",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
         o.relative_bias_max_distance = -1;
       },
       {"options->relative_bias_max_distance is -1", "above 8"}},
      {"a distance that is too large",
       [](Options& o) {
         o.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
         o.relative_bias_max_distance = (int64_t{1} << 20) + 1;
       },
       {"options->relative_bias_max_distance is 1048577", "at most 1048576"}},
      {"reserved_2", [](Options& o) { o.reserved_2 = 1; }, {"options->reserved_2 is 1, expected 0"}},
  };
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const Row& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       Options options = two_heads();
                       row.change(options);
                       return heed_multi_head_attention_create(context.get(), &options, &out.layer);
                     },
                     invalid(row.words)});
  }
  expect_refused(calls);
}

TEST(OptionErrors, OfPositionalEncoding) {
  using Options = heed_positional_encoding_options;
  struct Row {
    const char* what;
    std::function<void(Options&)> change;
    std::vector<std::string> words;
  };
  const auto of_kind = [](int32_t kind, int64_t size) {
    return [kind, size](Options& o) {
      o.kind = kind;
      o.size = size;
    };
  };
  const Row table[] = {
      {"no positions",
       [](Options& o) { o.max_positions = 0; },
       {"options->max_positions is 0, expected 1 to 2147483647"}},
      {"negative positions", [](Options& o) { o.max_positions = -1; }, {"options->max_positions is -1"}},
      {"too many positions",
       [](Options& o) { o.max_positions = int64_t{1} << 31; },
       {"options->max_positions is 2147483648"}},
      {"no size", [](Options& o) { o.size = 0; }, {"options->size is 0, expected at least 1"}},
      {"a negative size", [](Options& o) { o.size = -6; }, {"options->size is -6"}},
      {"odd halves", of_kind(HEED_POSITIONS_SINUSOIDAL_HALVES, 7), {"options->size is 7", "an even number from 4 on"}},
      {"halves of one",
       of_kind(HEED_POSITIONS_SINUSOIDAL_HALVES, 2),
       {"options->size is 2", "an even number from 4 on"}},
      {"odd halves, Marian's",
       of_kind(HEED_POSITIONS_SINUSOIDAL_HALVES_2I, 7),
       {"options->size is 7", "an even number from 2 on"}},
      {"first_row negative",
       [](Options& o) { o.first_row = -1; },
       {"options->first_row is -1, expected 0 to 2147483647"}},
      {"first_row too large",
       [](Options& o) { o.first_row = INT64_MAX; },
       {"options->first_row is 9223372036854775807"}},
      {"first_row of sinusoids",
       [](Options& o) {
         o.kind = HEED_POSITIONS_SINUSOIDAL;
         o.first_row = 2;
       },
       {"options->first_row is 2, expected 0", "only a learned table"}},
      {"dropout 1", [](Options& o) { o.dropout = 1; }, {"options->dropout is 1", "below 1"}},
      {"dropout NaN", [](Options& o) { o.dropout = kNaN; }, {"options->dropout is nan"}},
      {"kind -1", [](Options& o) { o.kind = -1; }, {"options->kind is -1"}},
      {"kind 4", [](Options& o) { o.kind = 4; }, {"options->kind is 4", "HEED_POSITIONS_SINUSOIDAL (0)"}},
  };
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const Row& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       Options options = ten_positions();
                       row.change(options);
                       return heed_positional_encoding_create(context.get(), &options, &out.layer);
                     },
                     invalid(row.words)});
  }
  expect_refused(calls);
  expect_refused(
      {{"no options",
        [&](OutParameters& out) { return heed_positional_encoding_create(context.get(), nullptr, &out.layer); },
        invalid({"options->max_positions is 0"})},
       {"no context",
        [&](OutParameters& out) {
          const Options options = ten_positions();
          return heed_positional_encoding_create(nullptr, &options, &out.layer);
        },
        invalid({"context is NULL"})},
       {"sinusoids that no memory holds",
        [&](OutParameters& out) {
          Options options = ten_positions();
          options.kind = HEED_POSITIONS_SINUSOIDAL;
          options.max_positions = INT32_MAX;
          options.size = int64_t{1} << 40;
          return heed_positional_encoding_create(context.get(), &options, &out.layer);
        },
        {HEED_ERROR_INVALID_ARGUMENT, {"overflow"}}}});
  const Options options = ten_positions();
  EXPECT_TRUE(
      is_refused(heed_positional_encoding_create(context.get(), &options, nullptr), invalid({"layer is NULL"})));
}

TEST(Options, LimitsOfPositionsAreAccepted) {
  const Context context = make_context();
  heed_rope_options rope = whole_heads();
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  rope.rotary_offset = 2;
  EXPECT_NO_THROW(make_multi_head(context.get(), options)) << "one pair at the end of a head";
  rope.rotary_offset = 1;
  rope.rotary_size = 2;
  rope.layout = HEED_ROPE_INTERLEAVED;
  EXPECT_NO_THROW(make_multi_head(context.get(), options)) << "one pair in the middle of a head";
  // Factors below 1 compress. With an attention_factor, FACTORS needs no other number.
  rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_LINEAR;
  rope.factor = 0.5f;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = 2;
  rope.factors = kFactors;
  rope.attention_factor = 1;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  options.rope = nullptr;
  options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  options.relative_bias_buckets = 4;
  options.relative_bias_max_distance = 2;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
  options.relative_bias_buckets = 2;
  options.relative_bias_max_distance = int64_t{1} << 20;
  EXPECT_NO_THROW(make_multi_head(context.get(), options));
  heed_positional_encoding_options positions = ten_positions();
  positions.max_positions = INT32_MAX;
  positions.first_row = INT32_MAX;
  EXPECT_NO_THROW(make_positional_encoding(context.get(), positions)) << "a table is allocated when it is set";
  positions = ten_positions();
  positions.kind = HEED_POSITIONS_SINUSOIDAL;
  positions.size = 7;
  EXPECT_NO_THROW(make_positional_encoding(context.get(), positions)) << "an odd number of elements in turn";
}

// The caller's list is needed only during the call.
TEST(Options, FactorsAreCopied) {
  AttentionCall call(Kind::MultiHead);
  std::vector<float> factors = {1.5f, 4.0f};
  heed_rope_options rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = 2;
  rope.factors = factors.data();
  rope.attention_factor = 1;
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  call.replace_layer(options);
  factors = {9.0f, 9.0f};
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  size_t num_bytes = 0;
  check(heed_layer_save_memory(call.layer.get(), nullptr, 0, &num_bytes));
  std::string file(num_bytes, '\0');
  check(heed_layer_save_memory(call.layer.get(), file.data(), file.size(), nullptr));
  EXPECT_NE(file.find("\\\"factors\\\":[1.5,4]"), std::string::npos) << file.substr(0, 2000);
}

}  // namespace
}  // namespace heed::capi_test
