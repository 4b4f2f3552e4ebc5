// SPDX-License-Identifier: Apache-2.0
// The families whose whole models heed makes, as far as their configurations and files do not say it. What their layers
// compute is in families/family_table.h and families/model_block.h. To support another family, add a row here, its modules to
// loading/block_layout.cc, and a row to docs/models.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace heed {

enum class ModelKind { Encoder, Decoder, Transformer };

// What the model, or its encoder, reads.
enum class ModelInput { Ids, Images, Audio };

// What rows of the embedding are multiplied by.
enum class EmbeddingScale {
  One,
  Root,        // the square root of the hidden size
  RootIfSet,   // the same if scale_embedding is set
  Multiplier,  // embedding_multiplier
};

// How the models of a family differ, as a set of bits.
enum ModelTraits : int32_t {
  kPlain = 0,
  kPositions = 1,  // a learned table
  kTokenTypes = 2,
  kNorm = 4,       // behind the embedding
  kSinusoids = 8,  // of HEED_POSITIONS_SINUSOIDAL_HALVES_2I, which the file need not have
  // Rows of the embedding may have another size than those of the layers, and are projected then.
  kProjection = 16,
  kProjectionWithoutBias = 32,
  kNoFirstNorm = 64,  // of the first layer
  kUntied = 128,      // The head has its own table if tie_word_embeddings is left out.
  // A head multiplies by 1 / sqrt(hidden size): by scale_decoder_outputs or, without it, if it is tied.
  kScaledHead = 256,
  kSharedLayers = 512,  // All layers are one.
};

struct ModelFamily {
  std::string_view model_type;
  ModelKind kind;
  int32_t traits;  // ModelTraits
  // The titles of layouts in loading/block_layout.cc: of the model around its layers, and of the layers.
  const char* model_layout;
  const char* layer_layout;
  // The module of the model in the file of one with a head.
  const char* base;
  EmbeddingScale scale = EmbeddingScale::One;
  ModelInput input = ModelInput::Ids;
  // Of a Transformer: the layout of its encoder alone, which has the embedding. Null: there are no such models.
  const char* encoder_layout = nullptr;

  constexpr bool has(int32_t any_of) const { return (traits & any_of) != 0; }
};

// Null: heed makes no whole models of that family.
const ModelFamily* model_family_of(std::string_view model_type);

}  // namespace heed
