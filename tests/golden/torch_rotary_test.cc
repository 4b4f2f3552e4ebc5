// SPDX-License-Identifier: Apache-2.0
// Rotary positions against Hugging Face transformers' in float64: every case of data/torch_rotary.safetensors. The options
// of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/rotated.h"
#include "golden/support/torch_file.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

const TorchFile& torch_file() {
  static const TorchFile kFile("torch_rotary");
  return kFile;
}

int32_t scaling_of(const std::string& name) {
  if (name == "linear") return HEED_ROPE_SCALING_LINEAR;
  if (name == "ntk") return HEED_ROPE_SCALING_NTK;
  if (name == "yarn") return HEED_ROPE_SCALING_YARN;
  if (name == "llama3") return HEED_ROPE_SCALING_LLAMA3;
  return name == "longrope" ? HEED_ROPE_SCALING_FACTORS : HEED_ROPE_SCALING_NONE;
}

// `factors` gets the numbers to which the options point.
heed_rope_options rope_of(const Json& options, std::vector<float>& factors) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = options["pairing"] == "half" ? HEED_ROPE_HALF : HEED_ROPE_INTERLEAVED;
  rope.rotary_size = options["rotary_size"];
  rope.rotary_offset = options.value("rotary_offset", int64_t{0});
  rope.base = options["base"];
  rope.scaling = scaling_of(options.value("scaling", "none"));
  rope.factor = options.value("factor", 0.0F);
  rope.original_length = options.value("original_length", int64_t{0});
  rope.beta_fast = options.value("beta_fast", 0.0F);
  rope.beta_slow = options.value("beta_slow", 0.0F);
  rope.low_freq_factor = options.value("low_freq_factor", 0.0F);
  rope.high_freq_factor = options.value("high_freq_factor", 0.0F);
  rope.no_rounding = options.value("no_rounding", false) ? 1 : 0;
  // DeepSeek's two mscales make one factor.
  if (options.contains("attention_factor") || options.contains("mscale"))
    rope.attention_factor = options["attention_factor_applied"];
  if (rope.scaling == HEED_ROPE_SCALING_FACTORS) {
    factors = options["factors"].get<std::vector<float>>();
    rope.factors = factors.data();
    rope.num_factors = static_cast<int64_t>(factors.size());
    rope.factor = options["max_length"].get<float>() / static_cast<float>(rope.original_length);
  }
  return rope;
}

class TorchRotary : public testing::TestWithParam<std::string> {
 protected:
  const std::string& name() const { return GetParam(); }
  std::vector<double> numbers(const GoldenFile& file, const char* tensor) const {
    return numbers_of(file.load((name() + "." + tensor).c_str()).get());
  }
  std::vector<int64_t> positions(const GoldenFile& file) const {
    const std::vector<double> read = numbers(file, "input.positions");
    return {read.begin(), read.end()};
  }

  const Json options = torch_file().options_of(name());
  const double factor = options["attention_factor_applied"];
};

TEST_P(TorchRotary, TurnsQueriesAsTransformersDo) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), torch_file().name());
    std::vector<float> factors;
    const heed_rope_options rope = rope_of(options, factors);
    Rows rows;
    rows.num_heads = 2;
    rows.head_size = options["head_size"];
    rows.positions = positions(file);
    // The file has (1, H, Q, D), and rows are (Q, H * D).
    const auto in_rows = [&](const std::vector<double>& of_heads) {
      const size_t q = rows.positions.size();
      const auto d = static_cast<size_t>(rows.head_size);
      std::vector<double> result;
      for (size_t row = 0; row < q; ++row) {
        for (size_t head = 0; head < 2; ++head) {
          const auto begin = of_heads.begin() + static_cast<std::ptrdiff_t>((head * q + row) * d);
          result.insert(result.end(), begin, begin + rows.head_size);
        }
      }
      return result;
    };
    for (const double element : in_rows(numbers(file, "input.query")))
      rows.elements.push_back(static_cast<float>(element));
    const std::vector<double> is = rotated(context.get(), rope, rows);
    std::vector<double> should = in_rows(numbers(file, "output"));
    ASSERT_EQ(is.size(), should.size());
    // The factor of the key, of which only the rotated elements have one.
    for (size_t i = 0; i < should.size(); ++i) {
      const int64_t element = static_cast<int64_t>(i) % rows.head_size - rope.rotary_offset;
      if (element >= 0 && element < rope.rotary_size) should[i] *= factor;
    }
    // 4e-7 is the file's own figure for an engine in f32 with angles in f64.
    const double allowed = 4e-7 * property::coarseness(HEED_F32) * largest_finite(should);
    for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], should[i], allowed) << "element " << i;
  });
}

// Unit vectors show the cosines and sines themselves.
TEST_P(TorchRotary, HasTransformersCosinesAndSines) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), torch_file().name());
    std::vector<float> factors;
    const heed_rope_options rope = rope_of(options, factors);
    const int64_t num_pairs = rope.rotary_size / 2;
    const bool is_half = rope.layout == HEED_ROPE_HALF;
    const auto first = [&](int64_t pair) { return rope.rotary_offset + (is_half ? pair : 2 * pair); };
    const auto second = [&](int64_t pair) { return first(pair) + (is_half ? num_pairs : 1); };
    const std::vector<int64_t> positions = this->positions(file);
    Rows rows;
    rows.head_size = options["head_size"];
    for (const int64_t position : positions) {
      for (int64_t pair = 0; pair < num_pairs; ++pair) {
        rows.positions.push_back(position);
        std::vector<float> unit(static_cast<size_t>(rows.head_size));
        unit[static_cast<size_t>(first(pair))] = 1;
        rows.elements.insert(rows.elements.end(), unit.begin(), unit.end());
      }
    }
    const std::vector<double> is = rotated(context.get(), rope, rows);
    const std::vector<double> cosines = numbers(file, "cos");
    const std::vector<double> sines = numbers(file, "sin");
    ASSERT_EQ(cosines.size() * static_cast<size_t>(rows.head_size), is.size());
    // Each number is off by half a unit in its last place, at most 6e-8 times the factor. log_sum_exp, which is computed in
    // base 2, is rounded twice more; another factor than 1 is rounded itself, and so is its product with the number.
    const double roundings = factor == 1 ? 3 : 5;
    const double allowed = 6e-8 * roundings * factor * factor * property::coarseness(HEED_F32);
    for (size_t row = 0; row < cosines.size(); ++row) {
      const auto pair = static_cast<int64_t>(row) % num_pairs;
      const double* const turned = &is[row * static_cast<size_t>(rows.head_size)];
      EXPECT_NEAR(turned[first(pair)], cosines[row] * factor, allowed) << "row " << row;
      EXPECT_NEAR(turned[second(pair)], sines[row] * factor, allowed) << "row " << row;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchRotary, testing::ValuesIn(torch_file().cases()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchRotaryFile, HasEveryScalingInBothLayouts) {
  std::vector<std::string> seen;
  for (const std::string& name : torch_file().cases()) {
    const Json options = torch_file().options_of(name);
    seen.push_back(options.value("scaling", "none") + " " + options["pairing"].get<std::string>());
  }
  for (const char* each : {"none half", "none interleaved", "linear half", "ntk half", "llama3 half",
                           "llama3 interleaved", "yarn half", "yarn interleaved", "longrope half"})
    EXPECT_NE(std::count(seen.begin(), seen.end(), each), 0) << each;
}

}  // namespace
}  // namespace heed::golden
