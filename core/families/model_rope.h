// SPDX-License-Identifier: Apache-2.0
// The rotary positions of a model by its configuration, in the style of transformers 5 (rope_parameters) and of earlier
// versions (rope_theta, rope_scaling), and their comparison with a layer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/rope.h"
#include "families/unsupported.h"

namespace heed {

struct Positions;
class ModelSettings;

// The factors of HEED_ROPE_SCALING_FACTORS, and the factor on cosines and sines that goes with them.
struct ModelRopeFactors {
  std::string setting;  // "long_factor" or "short_factor"
  std::vector<float> factors;
  float attention_factor = 1;
};

struct ModelRope {
  // With all defaults filled in. A layout of None is not known. With FACTORS the list is in `factors`.
  RopeOptions options;
  // FACTORS: the layer must have one of these.
  std::vector<ModelRopeFactors> factors;
  // The whole head is rotated, and the attention factor follows from the other numbers: a layer need not set them.
  bool is_whole_head = true;
  bool has_usual_attention_factor = true;
};

// The rotary positions of a layer, or why heed cannot compute them; neither if the kind of layer is needed and unknown.
struct RopeReading {
  std::optional<ModelRope> rope;
  const UnsupportedFeature* unsupported = nullptr;
  // What is wrong with which number, if the settings are incomplete or out of range: a marked sentence.
  std::string fault = {};
};

// Reads the settings of one layer. `family`: what the family's record says of positions. `is_sliding`: whether the layer's
// attention has a window; empty if unknown. `head_size`: the layer's.
RopeReading read_rope(const ModelSettings& settings, const Positions& family, std::optional<bool> is_sliding,
                      int64_t head_size);

// The members in which a layer's options differ, each as a part of a sentence: "options->rope->base is 10000, expected
// 500000".
std::vector<std::string> differences(const RopeOptions& layer, const ModelRope& model);

// The members that a caller has to set, such as "options->rope->layout HEED_ROPE_HALF, options->rope->base 500000".
std::string members_text(const ModelRope& model);
// The same of a layer's options.
std::string members_text(const RopeOptions& options);

}  // namespace heed
