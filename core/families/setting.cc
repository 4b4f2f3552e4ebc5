// SPDX-License-Identifier: Apache-2.0
#include "families/setting.h"

#include <algorithm>
#include <iterator>

namespace heed {
namespace {

// The names are arrays, since a pointer to each would need a relocation.
struct SettingRow {
  Setting setting;
  Json json;
  Users users;
  char name[36];
};

using enum Json;
using enum Users;
constexpr SettingRow kRows[] = {
    {Setting::None, Object, NoWholeModels, ""},
    {Setting::Architectures, Words, Any, "architectures"},
    {Setting::AutoMap, Object, Any, "auto_map"},
    {Setting::ModelType, Word, Any, "model_type"},
    {Setting::AttentionHeads, Count, NoWholeModels, "attention_heads"},
    {Setting::DKv, Count, Any, "d_kv"},
    {Setting::DecoderAttentionHeads, Count, Any, "decoder_attention_heads"},
    {Setting::DecoderLayers, Count, Any, "decoder_layers"},
    {Setting::EncoderAttentionHeads, Count, Any, "encoder_attention_heads"},
    {Setting::EncoderLayers, Count, Any, "encoder_layers"},
    {Setting::HeadDim, Count, Any, "head_dim"},
    {Setting::ImageSize, Size, Any, "image_size"},
    {Setting::InnerGroupNum, Count, Any, "inner_group_num"},
    {Setting::MultiQuery, Flag, NoWholeModels, "multi_query"},
    {Setting::NHead, Count, Any, "n_head"},
    {Setting::NHeadKv, Count, NoWholeModels, "n_head_kv"},
    {Setting::NHeads, Count, Any, "n_heads"},
    {Setting::NLayer, Count, Any, "n_layer"},
    {Setting::NLayers, Count, Any, "n_layers"},
    {Setting::NewDecoderArchitecture, Flag, NoWholeModels, "new_decoder_architecture"},
    {Setting::NumAttentionHeads, Count, Any, "num_attention_heads"},
    {Setting::NumDecoderLayers, Count, Any, "num_decoder_layers"},
    {Setting::NumHeads, Count, Any, "num_heads"},
    {Setting::NumHiddenGroups, Count, Any, "num_hidden_groups"},
    {Setting::NumHiddenLayers, Count, Any, "num_hidden_layers"},
    {Setting::NumKeyValueHeads, Count, Any, "num_key_value_heads"},
    {Setting::NumKvHeads, Count, NoWholeModels, "num_kv_heads"},
    {Setting::NumLayers, Count, Any, "num_layers"},
    {Setting::Activation, Word, Any, "activation"},
    {Setting::ActivationFunction, Word, Any, "activation_function"},
    {Setting::DenseActFn, Word, Any, "dense_act_fn"},
    {Setting::DoLayerNormBefore, Flag, Any, "do_layer_norm_before"},
    {Setting::FeedForwardProj, Word, Any, "feed_forward_proj"},
    {Setting::HiddenAct, Word, Any, "hidden_act"},
    {Setting::HiddenActivation, Word, Any, "hidden_activation"},
    {Setting::LayerNormEps, Number, Any, "layer_norm_eps"},
    {Setting::LayerNormEpsilon, Number, Any, "layer_norm_epsilon"},
    {Setting::NormEps, Number, Any, "norm_eps"},
    {Setting::RemoveFinalLayerNorm, Flag, Any, "_remove_final_layer_norm"},
    {Setting::ResidualMultiplier, Number, Readers, "residual_multiplier"},
    {Setting::RmsNormEps, Number, Any, "rms_norm_eps"},
    {Setting::AttentionMultiplier, Number, Readers, "attention_multiplier"},
    {Setting::AttentionType, Word, NoWholeModels, "attention_type"},
    {Setting::AttnClipQkv, Number, NoWholeModels, "attn_config.clip_qkv"},
    {Setting::AttnLogitSoftcapping, Number, Readers, "attn_logit_softcapping"},
    {Setting::AttnQkLn, Flag, NoWholeModels, "attn_config.qk_ln"},
    {Setting::AttnSoftmaxScale, Number, NoWholeModels, "attn_config.softmax_scale"},
    {Setting::Causal, Flag, NoWholeModels, "causal"},
    {Setting::ClipQkv, Number, NoWholeModels, "clip_qkv"},
    {Setting::IsCausal, Flag, Any, "is_causal"},
    {Setting::IsDecoder, Flag, Any, "is_decoder"},
    {Setting::QkLayernorm, Flag, NoWholeModels, "qk_layernorm"},
    {Setting::QueryPreAttnScalar, Number, Readers, "query_pre_attn_scalar"},
    {Setting::ScaleAttnByInverseLayerIdx, Flag, Any, "scale_attn_by_inverse_layer_idx"},
    {Setting::ScaleAttnWeights, Flag, Any, "scale_attn_weights"},
    {Setting::UseBidirectionalAttention, Flag, Readers, "use_bidirectional_attention"},
    {Setting::UseQkNorm, Flag, NoWholeModels, "use_qk_norm"},
    {Setting::AttentionLayers, Words, NoWholeModels, "attention_layers"},
    {Setting::AttentionTypes, Lists, NoWholeModels, "attention_types"},
    {Setting::FullattBlockIndexes, Numbers, NoWholeModels, "fullatt_block_indexes"},
    {Setting::GlobalAttnEveryNLayers, Count, Any, "global_attn_every_n_layers"},
    {Setting::LayerTypes, Words, Readers, "layer_types"},
    {Setting::LocalAttention, Count, Readers, "local_attention"},
    {Setting::MaxWindowLayers, Integer, Any, "max_window_layers"},
    {Setting::SlidingWindow, Count, Readers, "sliding_window"},
    {Setting::SlidingWindowPattern, Pattern, Any, "sliding_window_pattern"},
    {Setting::SlidingWindowPatternNow, Count, Any, "_sliding_window_pattern"},
    {Setting::UseSlidingWindow, Flag, Any, "use_sliding_window"},
    {Setting::WindowSize, Count, NoWholeModels, "window_size"},
    {Setting::Alibi, Flag, NoWholeModels, "alibi"},
    {Setting::AttnAlibi, Flag, NoWholeModels, "attn_config.alibi"},
    {Setting::EncoderMaxRelativePosition, Count, NoWholeModels, "encoder_max_relative_position"},
    {Setting::GlobalRopeTheta, Number, Any, "global_rope_theta"},
    {Setting::HasRelativeAttentionBias, Flag, NoWholeModels, "has_relative_attention_bias"},
    {Setting::HasSpatialAttentionBias, Flag, NoWholeModels, "has_spatial_attention_bias"},
    {Setting::LocalRopeTheta, Number, Any, "local_rope_theta"},
    {Setting::MaxPositionEmbeddings, Count, Any, "max_position_embeddings"},
    {Setting::MaxSourcePositions, Count, Any, "max_source_positions"},
    {Setting::MaxTargetPositions, Count, Any, "max_target_positions"},
    {Setting::NPositions, Count, Any, "n_positions"},
    {Setting::NoRopeLayers, Numbers, NoWholeModels, "no_rope_layers"},
    {Setting::OriginalMaxPositionEmbeddings, Count, Any, "original_max_position_embeddings"},
    {Setting::PadTokenId, Integer, Any, "pad_token_id"},
    {Setting::PartialRotaryFactor, Number, Readers, "partial_rotary_factor"},
    {Setting::PositionEmbeddingType, Word, Any, "position_embedding_type"},
    {Setting::RelativeAttention, Flag, NoWholeModels, "relative_attention"},
    {Setting::RelativeAttentionMaxDistance, Count, Any, "relative_attention_max_distance"},
    {Setting::RelativeAttentionNumBuckets, Count, Any, "relative_attention_num_buckets"},
    {Setting::RopeLocalBaseFreq, Number, Any, "rope_local_base_freq"},
    {Setting::RopeParameters, Object, Readers, "rope_parameters"},
    {Setting::RopeScaling, Object, Readers, "rope_scaling"},
    {Setting::RopeTheta, Number, Readers, "rope_theta"},
    {Setting::RotaryDim, Count, NoWholeModels, "rotary_dim"},
    {Setting::RotaryEmbBase, Number, NoWholeModels, "rotary_emb_base"},
    {Setting::RotaryPct, Number, NoWholeModels, "rotary_pct"},
    {Setting::RotaryValue, Flag, NoWholeModels, "rotary_value"},
    {Setting::UseRelativePositionBias, Flag, NoWholeModels, "use_relative_position_bias"},
    {Setting::UseSharedRelativePositionBias, Flag, NoWholeModels, "use_shared_relative_position_bias"},
    {Setting::AttentionBias, Flag, Any, "attention_bias"},
    {Setting::EnableBias, Flag, Any, "enable_bias"},
    {Setting::IsGatedAct, Flag, Any, "is_gated_act"},
    {Setting::LayerNormElementwiseAffine, Flag, Any, "layer_norm_elementwise_affine"},
    {Setting::MlpBias, Flag, Any, "mlp_bias"},
    {Setting::NormBias, Flag, Any, "norm_bias"},
    {Setting::QkvBias, Flag, Any, "qkv_bias"},
    {Setting::EmbeddingMultiplier, Number, Readers, "embedding_multiplier"},
    {Setting::FinalLogitSoftcapping, Number, Readers, "final_logit_softcapping"},
    {Setting::LogitsScaling, Number, Readers, "logits_scaling"},
    {Setting::ScaleDecoderOutputs, Flag, Readers, "scale_decoder_outputs"},
    {Setting::ScaleEmbedding, Flag, Readers, "scale_embedding"},
    {Setting::TieWordEmbeddings, Flag, Any, "tie_word_embeddings"},
};

constexpr bool are_rows_of_their_settings() {
  for (size_t i = 0; i < kNumSettings; ++i) {
    if (kRows[i].setting != static_cast<Setting>(i)) return false;
  }
  return std::size(kRows) == kNumSettings;
}
static_assert(are_rows_of_their_settings());

constexpr const SettingRow& row_of(Setting setting) { return kRows[static_cast<size_t>(setting)]; }

}  // namespace

const char* name_of(Setting setting) { return row_of(setting).name; }
Json json_of(Setting setting) { return row_of(setting).json; }
Users users_of(Setting setting) { return row_of(setting).users; }

Setting setting_of(std::string_view name) {
  const auto* const row = std::ranges::find_if(kRows, [&](const SettingRow& one) { return one.name == name; });
  return row == std::end(kRows) ? Setting::None : row->setting;
}

}  // namespace heed
