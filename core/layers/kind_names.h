// SPDX-License-Identifier: Apache-2.0
// The names of the kinds of layers (Layer::kind), which messages, files and the tables of frameworks' modules have.
#pragma once

namespace heed::kind_name {

inline constexpr const char* kAdditiveAttention = "additive_attention";
inline constexpr const char* kAudioEmbedding = "audio_embedding";
inline constexpr const char* kDecoder = "decoder";
inline constexpr const char* kDecoderLayer = "decoder_layer";
inline constexpr const char* kDotProductAttention = "dot_product_attention";
inline constexpr const char* kDropout = "dropout";
inline constexpr const char* kEmbedding = "embedding";
inline constexpr const char* kEncoder = "encoder";
inline constexpr const char* kEncoderLayer = "encoder_layer";
inline constexpr const char* kFeedForward = "feed_forward";
inline constexpr const char* kGeneralAttention = "general_attention";
inline constexpr const char* kLayerNorm = "layer_norm";
inline constexpr const char* kLinear = "linear";
inline constexpr const char* kMultiHeadAttention = "multi_head_attention";
inline constexpr const char* kPatchEmbedding = "patch_embedding";
inline constexpr const char* kPositionalEncoding = "positional_encoding";
inline constexpr const char* kTransformer = "transformer";

}  // namespace heed::kind_name
