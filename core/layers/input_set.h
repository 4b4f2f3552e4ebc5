// SPDX-License-Identifier: Apache-2.0
// The inputs that a call may have, as sets: a kind of layer says by them what it reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/enum_set.h"

namespace heed {

// Every member of LayerInputs and its structs that is a tensor or a cache, in the order in which GivenInputs lists them.
enum class Input : uint8_t {
  Cache,
  CacheSequences,
  Queries,
  Keys,
  Values,
  Positions,
  QueryLens,
  QueryOffsets,
  KeyOffsets,
  KeyPositions,
  ValidLens,
  Mask,
  Bias,
  AlibiSlopes,
  Sinks,
  AttentionMask,
  SelfValidLens,
  SelfMask,
  SelfBias,
  SelfAttentionMask,
  Memory,
  MemoryCache,
  MemoryCacheSequences,
  TokenTypes,
  OutputRows,
};
inline constexpr size_t kNumInputs = static_cast<size_t>(Input::OutputRows) + 1;
static_assert(kNumInputs <= 64);

using InputSet = EnumSet<Input>;

// Those of each struct of inputs.
inline constexpr InputSet kRowInputs = {Input::Queries, Input::Keys, Input::Values};
inline constexpr InputSet kSequenceInputs = {Input::Positions, Input::QueryLens, Input::QueryOffsets, Input::KeyOffsets,
                                             Input::KeyPositions};
inline constexpr InputSet kVisibilityInputs = {Input::ValidLens,   Input::Mask,  Input::Bias,
                                               Input::AlibiSlopes, Input::Sinks, Input::AttentionMask};
inline constexpr InputSet kCacheInputs = {Input::Cache, Input::CacheSequences};
inline constexpr InputSet kMemoryCacheInputs = {Input::MemoryCache, Input::MemoryCacheSequences};
inline constexpr InputSet kSelfVisibilityInputs = {Input::SelfValidLens, Input::SelfMask, Input::SelfBias,
                                                   Input::SelfAttentionMask};
inline constexpr InputSet kDecoderInputs = kSelfVisibilityInputs.with({Input::Memory}).with(kMemoryCacheInputs);

inline constexpr InputSet kAllInputs = [] {
  InputSet all;
  for (size_t i = 0; i < kNumInputs; ++i) all.add(static_cast<Input>(i));
  return all;
}();
static_assert(kAllInputs == kRowInputs.with(kSequenceInputs)
                                .with(kVisibilityInputs)
                                .with(kCacheInputs)
                                .with(kDecoderInputs)
                                .with({Input::TokenTypes, Input::OutputRows}),
              "an input belongs to none of the sets");

}  // namespace heed
