// SPDX-License-Identifier: Apache-2.0
// Which texts may be those of rotary positions.
#include "attention/rope_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "attention/rotary_table.h"

namespace heed {
namespace {

constexpr int64_t kHeadSize = 8;

std::string text_of(const RopeOptions& options) {
  return std::string(RotaryTable(options, kHeadSize, HostAllocator()).text());
}

// The longest digits, and numbers that are written as whole ones.
TEST(RopeText, IsThatOfEachTable) {
  static constexpr float kFactors[] = {1, 0.1F, 3.4028235e38F, 1.1754944e-38F};
  for (const float number : {1.0F, 0.1F, 1.1000001F, 16777216.0F, 1.0e10F, 3.4028235e38F, 1.0e-45F, 7.6999998F}) {
    RopeOptions options;
    options.layout = RotaryLayout::Half;
    options.base = number;
    EXPECT_TRUE(is_rope_text(text_of(options), kHeadSize)) << number;
    options.layout = RotaryLayout::Interleaved;
    options.rotary_size = 4;
    options.rotary_offset = 2;
    options.attention_factor = number;
    options.scaling = RopeScaling::Linear;
    options.factor = number;
    EXPECT_TRUE(is_rope_text(text_of(options), kHeadSize)) << number;
    options.rotary_size = 8;
    options.rotary_offset = 0;
    options.scaling = RopeScaling::Factors;
    options.original_length = 4096;
    options.factors = options.short_factors = kFactors;
    const std::string text = text_of(options);
    EXPECT_TRUE(is_rope_text(text, kHeadSize)) << text;
    EXPECT_FALSE(is_rope_text(text, kHeadSize - 2)) << text;
  }
}

TEST(RopeText, IsNoOtherText) {
  RopeOptions options;
  options.layout = RotaryLayout::Half;
  const std::string text = text_of(options);
  ASSERT_EQ(
      text,
      R"({"layout":"half","rotary_size":8,"rotary_offset":0,"base":10000,"attention_factor":1,"scaling":"none"})");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  for (const std::string& other : {std::string(),
                                   std::string("{}"),
                                   std::string("none"),
                                   std::string("[1]"),
                                   text + "}",
                                   text + " ",
                                   text.substr(0, text.size() - 1),
                                   changed("half", "whole"),
                                   changed("none", "spiral"),
                                   changed("10000", "null"),
                                   changed("10000", "1e4"),
                                   changed("10000", "10000.0"),
                                   changed("10000", "0.10000000000000001"),
                                   changed("10000", "-1"),
                                   changed("10000", "18446744073709551615"),
                                   changed("10000", "1e400"),
                                   changed("10000", "true"),
                                   changed("10000", "[[1]]"),
                                   changed("8", "7"),
                                   changed("8", "10"),
                                   changed("\"rotary_offset\":0,", ""),
                                   changed("}", ",\"more\":{}}")}) {
    EXPECT_FALSE(is_rope_text(other, kHeadSize)) << other;
  }
}

}  // namespace
}  // namespace heed
