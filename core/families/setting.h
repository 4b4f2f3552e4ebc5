// SPDX-License-Identifier: Apache-2.0
// The settings of configurations that heed reads: each name once, with the JSON that it has and where it may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heed {

// In the order of the table in setting.cc.
enum class Setting : uint8_t {
  None,  // The class has no such setting.
  // Of whole models.
  Architectures,
  AutoMap,
  ModelType,
  // Sizes.
  AttentionHeads,
  DKv,
  DecoderAttentionHeads,
  DecoderLayers,
  EncoderAttentionHeads,
  EncoderLayers,
  HeadDim,
  ImageSize,
  InnerGroupNum,
  MultiQuery,
  NHead,
  NHeadKv,
  NHeads,
  NLayer,
  NLayers,
  NewDecoderArchitecture,
  NumAttentionHeads,
  NumDecoderLayers,
  NumHeads,
  NumHiddenGroups,
  NumHiddenLayers,
  NumKeyValueHeads,
  NumKvHeads,
  NumLayers,
  // Norms and feed-forward networks.
  Activation,
  ActivationFunction,
  DenseActFn,
  DoLayerNormBefore,
  FeedForwardProj,
  HiddenAct,
  HiddenActivation,
  LayerNormEps,
  LayerNormEpsilon,
  NormEps,
  RemoveFinalLayerNorm,
  ResidualMultiplier,
  RmsNormEps,
  // Scores.
  AttentionMultiplier,
  AttentionType,
  AttnClipQkv,
  AttnLogitSoftcapping,
  AttnQkLn,
  AttnSoftmaxScale,
  Causal,
  ClipQkv,
  IsCausal,
  IsDecoder,
  QkLayernorm,
  QueryPreAttnScalar,
  ScaleAttnByInverseLayerIdx,
  ScaleAttnWeights,
  UseBidirectionalAttention,
  UseQkNorm,
  // Windows.
  AttentionLayers,
  AttentionTypes,
  FullattBlockIndexes,
  GlobalAttnEveryNLayers,
  LayerTypes,
  LocalAttention,
  MaxWindowLayers,
  SlidingWindow,
  SlidingWindowPattern,
  SlidingWindowPatternNow,
  UseSlidingWindow,
  WindowSize,
  // Positions.
  Alibi,
  AttnAlibi,
  EncoderMaxRelativePosition,
  GlobalRopeTheta,
  HasRelativeAttentionBias,
  HasSpatialAttentionBias,
  LocalRopeTheta,
  MaxPositionEmbeddings,
  MaxSourcePositions,
  MaxTargetPositions,
  NPositions,
  NoRopeLayers,
  OriginalMaxPositionEmbeddings,
  PadTokenId,
  PartialRotaryFactor,
  PositionEmbeddingType,
  RelativeAttention,
  RelativeAttentionMaxDistance,
  RelativeAttentionNumBuckets,
  RopeLocalBaseFreq,
  RopeParameters,
  RopeScaling,
  RopeTheta,
  RotaryDim,
  RotaryEmbBase,
  RotaryPct,
  RotaryValue,
  UseRelativePositionBias,
  UseSharedRelativePositionBias,
  // Parts that layers have or lack.
  AttentionBias,
  EnableBias,
  IsGatedAct,
  LayerNormElementwiseAffine,
  MlpBias,
  NormBias,
  QkvBias,
  // Embeddings and heads.
  EmbeddingMultiplier,
  FinalLogitSoftcapping,
  LogitsScaling,
  ScaleDecoderOutputs,
  ScaleEmbedding,
  ShareEncoderDecoderEmbeddings,
  TieWordEmbeddings,
};
inline constexpr size_t kNumSettings = static_cast<size_t>(Setting::TieWordEmbeddings) + 1;

// The JSON of a setting that has a value.
enum class Json : uint8_t {
  Count,  // an integer above 0
  Index,  // an integer of at least 0
  Integer,
  Number,  // that a float holds
  Above0,  // the same above 0, also as a float
  Flag,
  Word,
  Words,    // a list
  Numbers,  // a list
  Lists,    // a list of lists
  Size,     // a number, or the height and the width
  Pattern,  // a number, or a word with a letter for each layer
  Object,
};

// Which configurations of whole models may have a setting.
enum class Users : uint8_t {
  // Every class of transformers reads it, some by another name.
  All,
  // Of any family: only those whose records have it read it.
  Any,
  // Only of families whose records have it: the classes of the others ignore it, and heed's layers would not.
  Readers,
  // No class of whole models that heed makes has it.
  NoWholeModels,
};

// The name in configurations; of a setting within an object with a dot between the names. Static.
const char* name_of(Setting setting);
Json json_of(Setting setting);
// Whether null is a value of the classes that have the setting: none, or that of a file without it.
bool may_be_null(Setting setting);
Users users_of(Setting setting);

// None for other names.
Setting setting_of(std::string_view name);

}  // namespace heed
