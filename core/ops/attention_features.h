// SPDX-License-Identifier: Apache-2.0
// The set of features that an attention problem has beyond softmax(queries * keys^T * scale) * values with all keys
// visible. A backend states which features it supports. The CPU computes a problem with any other feature, and reports
// that feature as the reason. So a new feature needs no change in backends that do not support it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/enum_set.h"
#include "ops/attention.h"

namespace heed {

// To add a feature, add an enumerator here, its text below, and a line to features_of.
enum class AttentionFeature : int32_t {
  AdditiveScores,
  SoftCap,
  Dropout,
  Lengths,
  Band,
  Mask,
  Bias,
  AlibiSlopes,
  RelativeBias,
  Sinks,
  ConstantKeys,
  QueryPositions,
  KeyPositions,
  MeanOfEmptyRows,
  SharedKeyHeads,
  OtherValueHeadSize,
  RaggedBatch,
  KeysInACache,
  Weights,
  LogSumExp,
};

// The feature's words for the sentence "... has no ...". Null if the number is no feature.
constexpr const char* text_of(AttentionFeature feature) {
  switch (feature) {
    case AttentionFeature::AdditiveScores: return "additive scores";
    case AttentionFeature::SoftCap: return "soft cap";
    case AttentionFeature::Dropout: return "dropout";
    case AttentionFeature::Lengths: return "lengths";
    case AttentionFeature::Band: return "causal mask or window";
    case AttentionFeature::Mask: return "mask";
    case AttentionFeature::Bias: return "bias";
    case AttentionFeature::AlibiSlopes: return "ALiBi slopes";
    case AttentionFeature::RelativeBias: return "relative bias";
    case AttentionFeature::Sinks: return "sinks";
    case AttentionFeature::ConstantKeys: return "keys that every query sees";
    case AttentionFeature::QueryPositions: return "positions of queries";
    case AttentionFeature::KeyPositions: return "positions of keys that do not continue";
    case AttentionFeature::MeanOfEmptyRows: return "mean for queries without a key";
    case AttentionFeature::SharedKeyHeads: return "query heads that share a key head";
    case AttentionFeature::OtherValueHeadSize: return "values of another head size than the keys'";
    case AttentionFeature::RaggedBatch: return "ragged batch";
    case AttentionFeature::KeysInACache: return "keys in a cache";
    case AttentionFeature::Weights: return "weights";
    case AttentionFeature::LogSumExp: return "log-sum-exp";
  }
  return nullptr;
}

// The number of enumerators with a text. The compiler warns if an enumerator has none.
inline constexpr int32_t kNumAttentionFeatures = [] {
  int32_t count = 0;
  while (text_of(static_cast<AttentionFeature>(count)) != nullptr) ++count;
  return count;
}();

using AttentionFeatures = EnumSet<AttentionFeature>;
static_assert(kNumAttentionFeatures <= 64);

// The features of these limits. A ragged batch may have a band for each batch element; since a plan has no table, it
// counts as having one.
inline AttentionFeatures features_of(const KeyLimits& limits) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [num_queries, num_keys, sequence, table, has_table, valid_lens, positions] = limits;
  const auto& [query_begin, query_count, key_begin, key_count, query_position, key_position, band_first, band_last] =
      sequence;
  AttentionFeatures features;
  if (valid_lens.given != 0) features.add(AttentionFeature::Lengths);
  if (positions.given != 0) features.add(AttentionFeature::QueryPositions);
  if (has_table != 0) return features.with({AttentionFeature::RaggedBatch, AttentionFeature::Band});
  if (query_begin != 0 || key_begin != 0 || query_count != num_queries || key_count != num_keys)
    features.add(AttentionFeature::RaggedBatch);
  // A band that contains all keys is no feature.
  const bool is_limited = positions.given != 0 ? band_first != -kUnlimited || band_last != kUnlimited
                                               : band_first > 1 - num_queries || band_last < num_keys - 1;
  if (is_limited) features.add(AttentionFeature::Band);
  return features;
}

// The features of the problem. They depend neither on addresses nor on the values of lengths, masks and biases.
inline AttentionFeatures features_of(const AttentionProblem& problem) {
  // Names every member. A new one does not compile until it is named here. It either makes a feature below or, like a
  // size, is something that every backend supports.
  const auto& [op, batch, num_heads, num_kv_heads, head_size, value_head_size, limits, queries, keys, values, cached,
               score_weights, mask, bias, alibi_slopes, relative_bias, buckets, num_buckets, max_distance, sinks,
               bias_key, bias_value, output, weights, log_sum_exp, dropout_seed, scale, soft_cap, dropout, empty_rows,
               scoring, is_packed, has_zero_key] = problem;
  AttentionFeatures features = features_of(limits);
  if (cached.given != 0) features.add(AttentionFeature::KeysInACache);
  if (cached.has_positions != 0) features.add(AttentionFeature::KeyPositions);
  if (scoring == Scoring::Additive) features.add(AttentionFeature::AdditiveScores);
  if (soft_cap != 0) features.add(AttentionFeature::SoftCap);
  if (dropout != 0) features.add(AttentionFeature::Dropout);
  if (mask.given != 0) features.add(AttentionFeature::Mask);
  if (bias.given != 0) features.add(AttentionFeature::Bias);
  if (alibi_slopes.given != 0) features.add(AttentionFeature::AlibiSlopes);
  if (relative_bias.given != 0) features.add(AttentionFeature::RelativeBias);
  if (sinks.given != 0) features.add(AttentionFeature::Sinks);
  if (bias_key.given != 0 || has_zero_key != 0) features.add(AttentionFeature::ConstantKeys);
  if (empty_rows == EmptyRows::Mean) features.add(AttentionFeature::MeanOfEmptyRows);
  if (num_kv_heads != num_heads) features.add(AttentionFeature::SharedKeyHeads);
  if (value_head_size != head_size) features.add(AttentionFeature::OtherValueHeadSize);
  if (weights.given != 0) features.add(AttentionFeature::Weights);
  if (log_sum_exp.given != 0) features.add(AttentionFeature::LogSumExp);
  return features;
}

// The sentence "<subject> has no <feature>" for each feature, built at compile time, since a Plan refers to static
// texts.
class MissingFeatureTexts {
 public:
  explicit constexpr MissingFeatureTexts(std::string_view subject) {
    for (int32_t i = 0; i < kNumAttentionFeatures; ++i) {
      char* next = texts_[i];
      for (const std::string_view part :
           {subject, std::string_view(" has no "), std::string_view(text_of(static_cast<AttentionFeature>(i)))}) {
        for (const char letter : part) *next++ = letter;
      }
      *next = '\0';
    }
  }

  constexpr const char* of(AttentionFeature feature) const { return texts_[static_cast<int32_t>(feature)]; }

 private:
  // A sentence that does not fit is a compile error.
  char texts_[kNumAttentionFeatures][80] = {};
};

}  // namespace heed
