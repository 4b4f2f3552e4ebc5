// SPDX-License-Identifier: Apache-2.0
// Rotary positions: the options, and what follows from them for a layer. Meanings and formulas: docs/positions.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json_writer.h"
#include "ops/head_transform.h"

namespace heed {

// How rotary positions are stretched. The numbers are those of HEED_ROPE_SCALING_; capi/src asserts it.
enum class RopeScaling : int32_t { None = 0, Linear = 1, Ntk = 2, Yarn = 3, Llama3 = 4, Factors = 5 };

// The members of heed_rope_options; 0 means the default.
struct RopeOptions {
  int64_t rotary_size = 0;
  int64_t rotary_offset = 0;
  int64_t original_length = 0;
  std::span<const float> factors;        // in memory of the caller or the layer
  std::span<const float> short_factors;  // the same; as many, or none
  float base = 0;
  float factor = 0;
  float beta_fast = 0;
  float beta_slow = 0;
  float low_freq_factor = 0;
  float high_freq_factor = 0;
  float attention_factor = 0;
  RotaryLayout layout = RotaryLayout::None;
  RopeScaling scaling = RopeScaling::None;
  bool no_rounding = false;
};

// The word for it in saved options.
const char* name_of(RopeScaling scaling);
// The enumerator's name in heed.h.
const char* c_name_of(RopeScaling scaling);

// Fills in the defaults for heads of that size. Throws InvalidArgument that names the member of `options->rope`.
RopeOptions with_defaults(const RopeOptions& given, int64_t head_size);

// The angles of a position p are p times these, one for each pair. `options`: from with_defaults.
std::vector<double> rotary_frequencies(const RopeOptions& options);

// The table from which RotationsProblem computes the rotation of any position: for each digit of the position in base
// kRotaryRadix, the lowest digit first, and for each of its values, the cosines of all pairs and then their sines.
std::vector<double> rotary_digits(std::span<const double> frequencies);

// Adds each option to the JSON object by its name in heed.h, enumerators in words.
void write_options(const RopeOptions& options, JsonWriter& json);

}  // namespace heed
