// SPDX-License-Identifier: Apache-2.0
// Options of rotary positions that contradict each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr float kFactors[] = {1.0f, 2.0f};

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
      heed_rope_options wrong = used;
      member.set(wrong);
      options.rope = &wrong;
      expect_refused(
          {{member.name,
            [&](OutParameters& out) { return heed_multi_head_attention_create(context.get(), &options, &out.layer); },
            invalid({std::string("options->rope->") + member.name + " is set", "which does not use it"})}});
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
