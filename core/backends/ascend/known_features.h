// SPDX-License-Identifier: Apache-2.0
// Which features of attention run on an NPU. A problem with any other is computed by the CPU.
#pragma once

#include "backends/plan.h"
#include "ops/attention_features.h"

namespace heed::ascend {

inline constexpr AttentionFeatures kKnownFeatures = {
    AttentionFeature::Lengths,        AttentionFeature::Band,
    AttentionFeature::Mask,           AttentionFeature::Bias,
    AttentionFeature::AlibiSlopes,    AttentionFeature::MeanOfEmptyRows,
    AttentionFeature::SharedKeyHeads, AttentionFeature::OtherValueHeadSize,
    AttentionFeature::Weights,        AttentionFeature::LogSumExp,
};

inline constexpr MissingFeatureTexts kMissingFeatureTexts("ATB's attention");

// Adds a reason to the plan for each feature of the problem that is not among the known ones.
inline void add_unknown_features(Plan& plan, const AttentionProblem& problem, AttentionFeatures known = kKnownFeatures,
                                 const MissingFeatureTexts& texts = kMissingFeatureTexts) {
  features_of(problem).without(known).for_each([&](AttentionFeature feature) { plan.add_reason(texts.of(feature)); });
}

}  // namespace heed::ascend
