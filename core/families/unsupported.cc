// SPDX-License-Identifier: Apache-2.0
// What an attention computes that heed has no option for, beside positions and norms.
#include "families/unsupported.h"

#include "families/rules.h"

namespace heed {
namespace {

// Whether the list has the layer's index.
bool has_full_attention_in_tower(const AttentionPlace& place) {
  const std::optional<int64_t> layer = place.path.layer();
  for (int64_t i = 0; layer; ++i) {
    const std::optional<double> full = place.settings.number(Setting::FullattBlockIndexes, i);
    if (!full) break;
    if (*full == static_cast<double>(*layer)) return true;
  }
  return false;
}

bool is_layer_of_another_kind(const AttentionPlace& place) {
  const std::optional<int64_t> layer = place.path.layer();
  if (!layer) return false;
  const std::string_view type = place.settings.text(Setting::LayerTypes, *layer);
  return !type.empty() && type != "full_attention" && type != "sliding_attention" && type != "attention";
}

}  // namespace

void read_unsupported(const AttentionPlace& place, ModelAttention& attention) {
  const ModelSettings& settings = place.settings;
  const Family& family = place.family;
  if (family.unsupported != nullptr && !place.path.is_cross()) attention.add(*family.unsupported);
  for (const Setting setting : {Setting::ClipQkv, Setting::AttnClipQkv}) {
    if (settings.number(setting)) attention.add(unsupported::kClipQkv);
  }
  const bool has_tower_windows = family.attention.tower_has_windows && place.is_in_vision_tower();
  // RoFormer may rotate values, too.
  if (settings.is_set(Setting::RotaryValue) || settings.text(Setting::AttentionType) == "block_sparse" ||
      is_layer_of_another_kind(place) || (has_tower_windows && !has_full_attention_in_tower(place)))
    attention.add(unsupported::kAttention);
}

}  // namespace heed
