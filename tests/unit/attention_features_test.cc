// SPDX-License-Identifier: Apache-2.0
// Tests that each feature of attention is found in a problem, and that the CPU computes problems with features that a
// backend does not know.
#include "ops/attention_features.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backends/ascend/known_features.h"
#include "backends/plan.h"

namespace heed {
namespace {

// Without any feature.
AttentionProblem plain_problem() {
  AttentionProblem problem;
  problem.batch = 2;
  problem.num_heads = problem.num_kv_heads = 4;
  problem.head_size = problem.value_head_size = 16;
  problem.limits = unlimited(5, 7);
  problem.scale = 0.25f;
  for (Operand* operand : {&problem.queries, &problem.keys, &problem.values, &problem.output}) operand->given = 1;
  return problem;
}

// A change of the plain problem, and the features that it makes.
struct Change {
  AttentionFeatures features;
  void (*make)(AttentionProblem& problem);
};

const std::vector<Change>& changes() {
  using Feature = AttentionFeature;
  static const std::vector<Change> all = {
      {{Feature::AdditiveScores}, [](AttentionProblem& p) { p.scoring = Scoring::Additive; }},
      {{Feature::SoftCap}, [](AttentionProblem& p) { p.soft_cap = 20; }},
      {{Feature::Dropout}, [](AttentionProblem& p) { p.dropout = 0.1f; }},
      {{Feature::Lengths}, [](AttentionProblem& p) { p.limits.valid_lens.given = 1; }},
      {{Feature::Band}, [](AttentionProblem& p) { p.limits.sequence.band_first = -3; }},
      {{Feature::Band}, [](AttentionProblem& p) { p.limits.sequence.band_last = 5; }},
      {{Feature::Mask}, [](AttentionProblem& p) { p.mask.given = 1; }},
      {{Feature::Bias}, [](AttentionProblem& p) { p.bias.given = 1; }},
      {{Feature::AlibiSlopes}, [](AttentionProblem& p) { p.alibi_slopes.given = 1; }},
      {{Feature::RelativeBias}, [](AttentionProblem& p) { p.relative_bias.given = 1; }},
      {{Feature::Sinks}, [](AttentionProblem& p) { p.sinks.given = 1; }},
      {{Feature::KeyPositions}, [](AttentionProblem& problem) { problem.cached.has_positions = 1; }},
      {{Feature::QueryPositions},
       [](AttentionProblem& p) {
         p.limits.positions.given = 1;
         p.limits.sequence.band_first = -kUnlimited;
         p.limits.sequence.band_last = kUnlimited;
       }},
      {{Feature::QueryPositions, Feature::Band},
       [](AttentionProblem& p) {
         p.limits.positions.given = 1;
         p.limits.sequence.band_first = -kUnlimited;
         p.limits.sequence.band_last = 0;
       }},
      {{Feature::ConstantKeys}, [](AttentionProblem& p) { p.bias_key.given = p.bias_value.given = 1; }},
      {{Feature::ConstantKeys}, [](AttentionProblem& p) { p.has_zero_key = 1; }},
      {{Feature::MeanOfEmptyRows}, [](AttentionProblem& p) { p.empty_rows = EmptyRows::Mean; }},
      {{Feature::SharedKeyHeads}, [](AttentionProblem& p) { p.num_kv_heads = 2; }},
      {{Feature::OtherValueHeadSize}, [](AttentionProblem& p) { p.value_head_size = 8; }},
      {{Feature::RaggedBatch}, [](AttentionProblem& p) { p.limits.sequence.query_begin = 1; }},
      {{Feature::RaggedBatch}, [](AttentionProblem& p) { p.limits.sequence.query_count = 4; }},
      {{Feature::RaggedBatch}, [](AttentionProblem& p) { p.limits.sequence.key_begin = 1; }},
      {{Feature::RaggedBatch}, [](AttentionProblem& p) { p.limits.sequence.key_count = 6; }},
      {{Feature::KeysInACache}, [](AttentionProblem& p) { p.cached.given = 1; }},
      {{Feature::Weights}, [](AttentionProblem& p) { p.weights.given = 1; }},
      {{Feature::LogSumExp}, [](AttentionProblem& p) { p.log_sum_exp.given = 1; }},
      // Its batch elements may have bands.
      {{Feature::RaggedBatch, Feature::Band}, [](AttentionProblem& p) { p.limits.has_table = 1; }},
  };
  return all;
}

AttentionFeatures all_features() {
  AttentionFeatures all;
  for (int32_t i = 0; i < kNumAttentionFeatures; ++i) all.add(static_cast<AttentionFeature>(i));
  return all;
}

AttentionProblem changed(const Change& change) {
  AttentionProblem problem = plain_problem();
  change.make(problem);
  return problem;
}

std::string text_of(AttentionFeatures features) {
  std::string text;
  features.for_each([&text](AttentionFeature feature) { text += std::string(text_of(feature)) + ", "; });
  return text;
}

// What a backend without these features answers, in the order of the enumerators.
std::vector<std::string> reasons_for(AttentionFeatures features) {
  std::vector<std::string> reasons;
  features.for_each([&reasons](AttentionFeature feature) {
    reasons.push_back(std::string("ATB's attention has no ") + text_of(feature));
  });
  return reasons;
}

// The reasons of a backend that knows these features.
std::vector<std::string> reasons_of(const AttentionProblem& problem, AttentionFeatures known) {
  Plan plan;
  ascend::add_unknown_features(plan, problem, known);
  std::vector<std::string> reasons;
  for (const char* reason : plan.not_fastest) {
    if (reason != nullptr) reasons.emplace_back(reason);
  }
  return reasons;
}

TEST(AttentionFeatures, HaveDifferentTexts) {
  std::set<std::string> texts;
  all_features().for_each([&](AttentionFeature feature) { texts.insert(text_of(feature)); });
  EXPECT_EQ(texts.size(), static_cast<size_t>(kNumAttentionFeatures));
}

TEST(AttentionFeatures, NoneInAPlainProblem) {
  AttentionProblem problem = plain_problem();
  EXPECT_EQ(features_of(problem), AttentionFeatures());
  // The narrowest band that hides no key.
  problem.limits.sequence.band_first = -4;
  problem.limits.sequence.band_last = 6;
  EXPECT_EQ(features_of(problem), AttentionFeatures());
}

TEST(AttentionFeatures, EachIsFoundByItself) {
  AttentionFeatures found;
  for (const Change& change : changes()) {
    EXPECT_EQ(text_of(features_of(changed(change))), text_of(change.features));
    found = found.with(change.features);
  }
  EXPECT_EQ(found, all_features()) << "expected a change above for each feature";
}

// The feature is made unknown by removing it from the features that the backend knows.
TEST(AttentionFeatures, AnUnknownOneIsAReasonThatNamesIt) {
  for (const Change& change : changes()) {
    EXPECT_EQ(reasons_of(changed(change), all_features().without(change.features)), reasons_for(change.features));
    EXPECT_EQ(reasons_of(changed(change), all_features()), std::vector<std::string>());
  }
}

TEST(AttentionFeatures, EachUnknownOneIsAReasonOfItsOwn) {
  AttentionProblem problem = plain_problem();
  problem.soft_cap = 20;
  problem.dropout = 0.1f;
  problem.bias.given = 1;
  EXPECT_EQ(reasons_of(problem, {AttentionFeature::Bias}),
            (std::vector<std::string>{"ATB's attention has no soft cap", "ATB's attention has no dropout"}));
}

TEST(AttentionFeatures, AnNpuGivesAReasonForEachThatItDoesNotKnow) {
  for (const Change& change : changes()) {
    EXPECT_EQ(reasons_of(changed(change), ascend::kKnownFeatures),
              reasons_for(change.features.without(ascend::kKnownFeatures)));
  }
  for (const AttentionFeature feature :
       {AttentionFeature::RaggedBatch, AttentionFeature::KeysInACache, AttentionFeature::SoftCap})
    EXPECT_FALSE(ascend::kKnownFeatures.has(feature)) << text_of(feature);
}

}  // namespace
}  // namespace heed
