// SPDX-License-Identifier: Apache-2.0
// ALiBi, rotary positions, a bias of relative positions: at most one of them.
#include <utility>

#include "families/load_accept.h"
#include "families/model_rope.h"
#include "families/rules.h"

namespace heed {
namespace {

bool has_rotary_settings(const ModelSettings& settings) {
  const std::string_view positions = settings.text(Setting::PositionEmbeddingType);
  if (positions == "rotary" || positions == "rope") return true;
  for (const Setting setting : {Setting::RopeParameters, Setting::RopeScaling}) {
    if (settings.is_object_at(name_of(setting))) return true;
  }
  return settings
      .number({Setting::RopeTheta, Setting::RotaryDim, Setting::RotaryPct, Setting::RotaryEmbBase,
               Setting::PartialRotaryFactor})
      .has_value();
}

bool has_relative_settings(const AttentionPlace& place) {
  const ModelSettings& settings = place.settings;
  if (settings.text(Setting::PositionEmbeddingType).starts_with("relative") ||
      settings.number(Setting::RelativeAttentionNumBuckets))
    return true;
  // SpeechT5 sets it for the encoder.
  if (settings.number(Setting::EncoderMaxRelativePosition) && place.path.stack_kind() != StackKind::Decoder)
    return true;
  for (const Setting setting :
       {Setting::UseRelativePositionBias, Setting::UseSharedRelativePositionBias, Setting::HasRelativeAttentionBias,
        Setting::HasSpatialAttentionBias, Setting::RelativeAttention}) {
    if (settings.is_set(setting)) return true;
  }
  return false;
}

// Whether the rule leaves open that the configuration alone says rotary positions.
bool is_by_settings(PositionRule rule) {
  return rule == PositionRule::Other || rule == PositionRule::Table || rule == PositionRule::Sinusoids;
}

// SmolLM 3 and Llama 4 list the layers with rotary positions; in other models only layers with a window have them.
bool is_layer_without_rotary(const AttentionPlace& place) {
  const std::optional<int64_t> layer = place.path.layer();
  if (!layer) return false;
  if (const auto is_rotary = place.settings.number(Setting::NoRopeLayers, *layer)) return *is_rotary == 0;
  return place.family.positions.only_with_window && uses_windows(place) && is_windowed(place) == false;
}

void read_rotary(const AttentionPlace& place, ModelAttention& attention) {
  // The settings describe the text decoder. Its vision tower has positions of patches.
  if (place.is_in_vision_tower()) {
    attention.is_rotary.reset();
    return attention.add(unsupported::kAxes);
  }
  attention.is_rotary = true;
  RopeReading reading = read_rope(place.settings, place.family.positions, is_windowed(place), place.head_size);
  if (reading.unsupported != nullptr) {
    attention.is_rotary.reset();
    attention.rope_fault = std::move(reading.fault);
    return attention.add(*reading.unsupported);
  }
  if (!reading.rope || place.family.positions.layout == RotaryLayout::None)
    attention.unknown.push_back(feature::kRotary);
  attention.rope = std::move(reading.rope);
}

void read_buckets(const AttentionPlace& place, ModelAttention& attention) {
  const StackKind stack = place.path.stack_kind();
  if (stack == StackKind::Unknown) {
    attention.relative_bias.reset();
    attention.has_relative_bias_of_a_side = true;
    return attention.unknown.push_back(feature::kRelativeBias);
  }
  const auto count = [&](const From& from) {
    return place.settings.count({from.name}).value_or(static_cast<int64_t>(from.otherwise));
  };
  attention.relative_bias = {stack == StackKind::Decoder ? RelativeBias::OneWay : RelativeBias::BothWays,
                             count(place.family.positions.buckets), count(place.family.positions.distance)};
}

}  // namespace

void read_positions(const AttentionPlace& place, ModelAttention& attention) {
  const Family& family = place.family;
  const PositionRule rule = family.positions.kind;
  const bool is_cross = place.path.is_cross();
  if (family.is_known && family.unsupported == nullptr) {
    attention.is_rotary = false;
    attention.alibi = AlibiUse::None;
    attention.relative_bias.emplace();
    attention.sinks = family.attention.sinks && !is_cross;
  }
  // They are positions within one sequence, so cross attention has none.
  if (is_cross) return;
  if (rule == PositionRule::Buckets) return read_buckets(place, attention);
  if (has_relative_settings(place)) attention.add(unsupported::kRelativeBias);
  const ModelSettings& settings = place.settings;
  const std::string_view stated = settings.text(Setting::PositionEmbeddingType);
  const bool sets_alibi = settings.is_set(Setting::Alibi);
  if (rule == PositionRule::AlibiIfSet && sets_alibi) {
    attention.alibi = AlibiUse::Scaled;
  } else if (rule == PositionRule::Alibi || sets_alibi || settings.is_set(Setting::AttnAlibi) || stated == "alibi") {
    attention.alibi = AlibiUse::Added;
  } else if (!is_by_settings(rule) || has_rotary_settings(settings)) {
    if (stated != "nope" && !is_layer_without_rotary(place)) read_rotary(place, attention);
  }
}

}  // namespace heed
