// SPDX-License-Identifier: Apache-2.0
// What a layer is for in the layer whose child it is, and the name that it has there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

enum class ChildRole : int32_t {
  Other,  // a name that only its parent knows
  // Of encoder and decoder layers.
  SelfAttention,
  CrossAttention,
  FeedForward,
  Norm1,
  Norm2,
  Norm3,
  OutputNorm1,
  OutputNorm2,
  OutputNorm3,
  // Of stacks, before the first layer.
  Embedding,
  Patches,
  Audio,
  TokenTypes,
  Positions,
  EmbeddingNorm,
  EmbeddingProjection,
  EmbeddingDropout,
  // Of stacks: the layers, and what follows the last one.
  Layers,
  Norm,
  OutputProjection,
  Output,
  // Of Transformers.
  DecoderEmbedding,
  Encoder,
  Decoder,
};

// The child's name; '*' stands for the number of a layer. Null for Other.
constexpr const char* name_of(ChildRole role) {
  switch (role) {
    case ChildRole::Other: break;
    case ChildRole::SelfAttention: return "self_attention";
    case ChildRole::CrossAttention: return "cross_attention";
    case ChildRole::FeedForward: return "feed_forward";
    case ChildRole::Norm1: return "norm_1";
    case ChildRole::Norm2: return "norm_2";
    case ChildRole::Norm3: return "norm_3";
    case ChildRole::OutputNorm1: return "output_norm_1";
    case ChildRole::OutputNorm2: return "output_norm_2";
    case ChildRole::OutputNorm3: return "output_norm_3";
    case ChildRole::Embedding: return "embedding";
    case ChildRole::Patches: return "patches";
    case ChildRole::Audio: return "audio";
    case ChildRole::TokenTypes: return "token_type_embedding";
    case ChildRole::Positions: return "positions";
    case ChildRole::EmbeddingNorm: return "embedding_norm";
    case ChildRole::EmbeddingProjection: return "embedding_projection";
    case ChildRole::EmbeddingDropout: return "embedding_dropout";
    case ChildRole::Layers: return "layers.*";
    case ChildRole::Norm: return "norm";
    case ChildRole::OutputProjection: return "output_projection";
    case ChildRole::Output: return "output";
    case ChildRole::DecoderEmbedding: return "decoder_embedding";
    case ChildRole::Encoder: return "encoder";
    case ChildRole::Decoder: return "decoder";
  }
  return nullptr;
}

// The text with the number in place of a '*' at its end.
inline std::string numbered(std::string_view text, size_t number) {
  if (!text.ends_with('*')) return std::string(text);
  return std::string(text.substr(0, text.size() - 1)) + std::to_string(number);
}

// Whether the child turns what the caller has into rows: ids, images or features.
constexpr bool makes_rows(ChildRole role) {
  return role == ChildRole::Embedding || role == ChildRole::Patches || role == ChildRole::Audio;
}

// Whether the child belongs to rows that were looked up by ids.
constexpr bool follows_embedding(ChildRole role) {
  return role == ChildRole::TokenTypes || role == ChildRole::Positions || role == ChildRole::EmbeddingNorm ||
         role == ChildRole::EmbeddingProjection;
}

}  // namespace heed
