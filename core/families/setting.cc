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
  bool may_be_null;
  char name[36];
};

using enum Json;
using enum Users;
constexpr bool kOrNull = true;
constexpr bool kNoNull = false;
constexpr SettingRow kRows[] = {
    {Setting::None, Object, NoWholeModels, kOrNull, ""},
    {Setting::Architectures, Words, All, kOrNull, "architectures"},
    {Setting::AutoMap, Object, All, kOrNull, "auto_map"},
    {Setting::ModelType, Word, All, kOrNull, "model_type"},
    {Setting::AttentionHeads, Count, NoWholeModels, kOrNull, "attention_heads"},
    {Setting::DKv, Count, Any, kOrNull, "d_kv"},
    {Setting::DecoderAttentionHeads, Count, Any, kOrNull, "decoder_attention_heads"},
    {Setting::DecoderLayers, Count, Any, kOrNull, "decoder_layers"},
    {Setting::EncoderAttentionHeads, Count, Any, kOrNull, "encoder_attention_heads"},
    {Setting::EncoderLayers, Count, Any, kOrNull, "encoder_layers"},
    {Setting::HeadDim, Count, Any, kOrNull, "head_dim"},
    {Setting::ImageSize, Size, Any, kOrNull, "image_size"},
    {Setting::InnerGroupNum, Count, Any, kOrNull, "inner_group_num"},
    {Setting::MultiQuery, Flag, NoWholeModels, kOrNull, "multi_query"},
    {Setting::NHead, Count, Any, kOrNull, "n_head"},
    {Setting::NHeadKv, Count, NoWholeModels, kOrNull, "n_head_kv"},
    {Setting::NHeads, Count, Any, kOrNull, "n_heads"},
    {Setting::NLayer, Count, Any, kOrNull, "n_layer"},
    {Setting::NLayers, Count, Any, kOrNull, "n_layers"},
    {Setting::NewDecoderArchitecture, Flag, NoWholeModels, kOrNull, "new_decoder_architecture"},
    {Setting::NumAttentionHeads, Count, All, kOrNull, "num_attention_heads"},
    {Setting::NumDecoderLayers, Count, Any, kOrNull, "num_decoder_layers"},
    {Setting::NumHeads, Count, Any, kOrNull, "num_heads"},
    {Setting::NumHiddenGroups, Count, Any, kOrNull, "num_hidden_groups"},
    {Setting::NumHiddenLayers, Count, All, kOrNull, "num_hidden_layers"},
    {Setting::NumKeyValueHeads, Count, Any, kOrNull, "num_key_value_heads"},
    {Setting::NumKvHeads, Count, NoWholeModels, kOrNull, "num_kv_heads"},
    {Setting::NumLayers, Count, Any, kOrNull, "num_layers"},
    {Setting::Activation, Word, Any, kNoNull, "activation"},
    {Setting::ActivationFunction, Word, Any, kNoNull, "activation_function"},
    {Setting::DenseActFn, Word, Any, kNoNull, "dense_act_fn"},
    {Setting::DoLayerNormBefore, Flag, Any, kNoNull, "do_layer_norm_before"},
    {Setting::FeedForwardProj, Word, Any, kNoNull, "feed_forward_proj"},
    {Setting::HiddenAct, Word, Any, kNoNull, "hidden_act"},
    {Setting::HiddenActivation, Word, Any, kOrNull, "hidden_activation"},
    {Setting::LayerNormEps, Above0, Any, kNoNull, "layer_norm_eps"},
    {Setting::LayerNormEpsilon, Above0, Any, kNoNull, "layer_norm_epsilon"},
    {Setting::NormEps, Above0, Any, kNoNull, "norm_eps"},
    {Setting::RemoveFinalLayerNorm, Flag, Any, kOrNull, "_remove_final_layer_norm"},
    {Setting::ResidualMultiplier, Above0, Readers, kNoNull, "residual_multiplier"},
    {Setting::RmsNormEps, Above0, Any, kNoNull, "rms_norm_eps"},
    {Setting::AttentionMultiplier, Above0, Readers, kNoNull, "attention_multiplier"},
    {Setting::AttentionType, Word, NoWholeModels, kOrNull, "attention_type"},
    {Setting::AttnClipQkv, Number, NoWholeModels, kOrNull, "attn_config.clip_qkv"},
    {Setting::AttnLogitSoftcapping, Above0, Readers, kOrNull, "attn_logit_softcapping"},
    {Setting::AttnQkLn, Flag, NoWholeModels, kOrNull, "attn_config.qk_ln"},
    {Setting::AttnSoftmaxScale, Number, NoWholeModels, kOrNull, "attn_config.softmax_scale"},
    {Setting::Causal, Flag, NoWholeModels, kOrNull, "causal"},
    {Setting::ClipQkv, Number, NoWholeModels, kOrNull, "clip_qkv"},
    {Setting::IsCausal, Flag, Any, kNoNull, "is_causal"},
    {Setting::IsDecoder, Flag, Any, kOrNull, "is_decoder"},
    {Setting::QkLayernorm, Flag, NoWholeModels, kOrNull, "qk_layernorm"},
    {Setting::QueryPreAttnScalar, Above0, Readers, kNoNull, "query_pre_attn_scalar"},
    {Setting::ScaleAttnByInverseLayerIdx, Flag, Any, kOrNull, "scale_attn_by_inverse_layer_idx"},
    {Setting::ScaleAttnWeights, Flag, Any, kNoNull, "scale_attn_weights"},
    {Setting::UseBidirectionalAttention, Flag, Readers, kOrNull, "use_bidirectional_attention"},
    {Setting::UseQkNorm, Flag, NoWholeModels, kOrNull, "use_qk_norm"},
    {Setting::AttentionLayers, Words, NoWholeModels, kOrNull, "attention_layers"},
    {Setting::AttentionTypes, Lists, NoWholeModels, kOrNull, "attention_types"},
    {Setting::FullattBlockIndexes, Numbers, NoWholeModels, kOrNull, "fullatt_block_indexes"},
    {Setting::GlobalAttnEveryNLayers, Count, Any, kNoNull, "global_attn_every_n_layers"},
    {Setting::LayerTypes, Words, Readers, kOrNull, "layer_types"},
    {Setting::LocalAttention, Count, Readers, kNoNull, "local_attention"},
    {Setting::MaxWindowLayers, Integer, Any, kNoNull, "max_window_layers"},
    {Setting::SlidingWindow, Count, Readers, kOrNull, "sliding_window"},
    {Setting::SlidingWindowPattern, Pattern, Any, kOrNull, "sliding_window_pattern"},
    {Setting::SlidingWindowPatternNow, Count, Any, kOrNull, "_sliding_window_pattern"},
    {Setting::UseSlidingWindow, Flag, Any, kOrNull, "use_sliding_window"},
    {Setting::WindowSize, Count, NoWholeModels, kOrNull, "window_size"},
    {Setting::Alibi, Flag, NoWholeModels, kOrNull, "alibi"},
    {Setting::AttnAlibi, Flag, NoWholeModels, kOrNull, "attn_config.alibi"},
    {Setting::EncoderMaxRelativePosition, Count, NoWholeModels, kOrNull, "encoder_max_relative_position"},
    {Setting::GlobalRopeTheta, Above0, Any, kNoNull, "global_rope_theta"},
    {Setting::HasRelativeAttentionBias, Flag, NoWholeModels, kOrNull, "has_relative_attention_bias"},
    {Setting::HasSpatialAttentionBias, Flag, NoWholeModels, kOrNull, "has_spatial_attention_bias"},
    {Setting::LocalRopeTheta, Above0, Any, kNoNull, "local_rope_theta"},
    {Setting::MaxPositionEmbeddings, Count, All, kOrNull, "max_position_embeddings"},
    {Setting::MaxSourcePositions, Count, All, kOrNull, "max_source_positions"},
    {Setting::MaxTargetPositions, Count, All, kOrNull, "max_target_positions"},
    {Setting::NPositions, Count, All, kOrNull, "n_positions"},
    {Setting::NoRopeLayers, Numbers, NoWholeModels, kOrNull, "no_rope_layers"},
    {Setting::OriginalMaxPositionEmbeddings, Count, All, kOrNull, "original_max_position_embeddings"},
    {Setting::PadTokenId, Index, Any, kNoNull, "pad_token_id"},
    {Setting::PartialRotaryFactor, Above0, Readers, kNoNull, "partial_rotary_factor"},
    {Setting::PositionEmbeddingType, Word, Any, kNoNull, "position_embedding_type"},
    {Setting::RelativeAttention, Flag, NoWholeModels, kOrNull, "relative_attention"},
    {Setting::RelativeAttentionMaxDistance, Count, Any, kNoNull, "relative_attention_max_distance"},
    {Setting::RelativeAttentionNumBuckets, Count, Any, kNoNull, "relative_attention_num_buckets"},
    {Setting::RopeLocalBaseFreq, Above0, Any, kNoNull, "rope_local_base_freq"},
    {Setting::RopeParameters, Object, Readers, kOrNull, "rope_parameters"},
    {Setting::RopeScaling, Object, Readers, kOrNull, "rope_scaling"},
    {Setting::RopeTheta, Above0, Readers, kNoNull, "rope_theta"},
    {Setting::RotaryDim, Count, NoWholeModels, kOrNull, "rotary_dim"},
    {Setting::RotaryEmbBase, Above0, NoWholeModels, kOrNull, "rotary_emb_base"},
    {Setting::RotaryPct, Above0, NoWholeModels, kOrNull, "rotary_pct"},
    {Setting::RotaryValue, Flag, NoWholeModels, kOrNull, "rotary_value"},
    {Setting::UseRelativePositionBias, Flag, NoWholeModels, kOrNull, "use_relative_position_bias"},
    {Setting::UseSharedRelativePositionBias, Flag, NoWholeModels, kOrNull, "use_shared_relative_position_bias"},
    {Setting::AttentionBias, Flag, Any, kOrNull, "attention_bias"},
    {Setting::EnableBias, Flag, Any, kNoNull, "enable_bias"},
    {Setting::IsGatedAct, Flag, Any, kNoNull, "is_gated_act"},
    {Setting::LayerNormElementwiseAffine, Flag, Any, kNoNull, "layer_norm_elementwise_affine"},
    {Setting::MlpBias, Flag, Any, kOrNull, "mlp_bias"},
    {Setting::NormBias, Flag, Any, kOrNull, "norm_bias"},
    {Setting::QkvBias, Flag, Any, kNoNull, "qkv_bias"},
    {Setting::EmbeddingMultiplier, Above0, Readers, kNoNull, "embedding_multiplier"},
    {Setting::FinalLogitSoftcapping, Above0, Readers, kOrNull, "final_logit_softcapping"},
    {Setting::LogitsScaling, Above0, Readers, kNoNull, "logits_scaling"},
    {Setting::ScaleDecoderOutputs, Flag, Readers, kNoNull, "scale_decoder_outputs"},
    {Setting::ScaleEmbedding, Flag, Readers, kOrNull, "scale_embedding"},
    {Setting::ShareEncoderDecoderEmbeddings, Flag, Any, kNoNull, "share_encoder_decoder_embeddings"},
    {Setting::TieWordEmbeddings, Flag, All, kNoNull, "tie_word_embeddings"},
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
bool may_be_null(Setting setting) { return row_of(setting).may_be_null; }
Users users_of(Setting setting) { return row_of(setting).users; }

Setting setting_of(std::string_view name) {
  const auto* const row = std::ranges::find_if(kRows, [&](const SettingRow& one) { return one.name == name; });
  return row == std::end(kRows) ? Setting::None : row->setting;
}

}  // namespace heed
