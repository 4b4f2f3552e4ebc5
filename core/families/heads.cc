// SPDX-License-Identifier: Apache-2.0
// The numbers and the size of heads.
#include "families/rules.h"

namespace heed {
namespace {

// Without the new decoder's packing num_kv_heads is not read.
std::optional<int64_t> key_heads_of_falcon(const ModelSettings& settings) {
  if (settings.is_set(Setting::NewDecoderArchitecture))
    return settings.count({Setting::NumKvHeads, Setting::NHeadKv, Setting::NumAttentionHeads, Setting::NHead});
  if (!settings.is_cleared(Setting::MultiQuery)) return 1;
  return settings.count({Setting::NumAttentionHeads, Setting::NHead});
}

}  // namespace

// The names mean the same in all families.
void read_heads(const AttentionPlace& place, ModelAttention& attention) {
  const ModelSettings& settings = place.settings;
  // The settings of the whole model describe its text decoder, not its vision tower.
  if (place.is_in_vision_tower() && settings.is_whole_model()) return;
  const StackKind stack = place.path.stack_kind();
  if (stack == StackKind::Encoder) attention.num_heads = settings.count({Setting::EncoderAttentionHeads});
  if (stack == StackKind::Decoder) attention.num_heads = settings.count({Setting::DecoderAttentionHeads});
  if (!attention.num_heads)
    attention.num_heads = settings.count(
        {Setting::NumAttentionHeads, Setting::NHead, Setting::NHeads, Setting::NumHeads, Setting::AttentionHeads});
  attention.num_kv_heads = place.family.attention.key_heads == KeyHeads::Falcons
                               ? key_heads_of_falcon(settings)
                               : settings.count({Setting::NumKeyValueHeads});
  attention.head_size = settings.count({Setting::HeadDim, Setting::DKv});
}

}  // namespace heed
