// SPDX-License-Identifier: Apache-2.0
// Whether a query sees the keys after it.
#include "families/load_accept.h"
#include "families/rules.h"

namespace heed {
namespace {

bool is_bidirectional(const ModelSettings& settings) {
  return settings.is_set(Setting::UseBidirectionalAttention) || settings.is_cleared(Setting::IsCausal);
}

bool is_decoder(const ModelSettings& settings) {
  return settings.is_set(Setting::IsDecoder) || settings.is_set(Setting::Causal);
}

std::optional<bool> causal_of_text(const ModulePath& path) {
  if (path.has("vision_model")) return false;
  return path.has("text_model") ? std::optional(true) : std::nullopt;
}

std::optional<bool> causal_of_stack(StackKind stack) {
  return stack == StackKind::Unknown ? std::nullopt : std::optional(stack == StackKind::Decoder);
}

std::optional<bool> causal(const AttentionPlace& place) {
  if (place.path.is_cross() || place.is_in_vision_tower() || is_bidirectional(place.settings)) return false;
  switch (place.family.attention.causal) {
    case CausalRule::Never: return false;
    case CausalRule::Always: return true;
    case CausalRule::InText: return causal_of_text(place.path);
    case CausalRule::InDecoder: return causal_of_stack(place.path.stack_kind());
    case CausalRule::IfDecoder: return is_decoder(place.settings);
    // Few families have the setting, and it means the same in all of them.
    case CausalRule::IfSaid: break;
  }
  return is_decoder(place.settings) ? std::optional(true) : std::nullopt;
}

}  // namespace

void read_causal(const AttentionPlace& place, ModelAttention& attention) {
  attention.causal = causal(place);
  if (!attention.causal) attention.unknown.push_back(feature::kCausal);
}

}  // namespace heed
