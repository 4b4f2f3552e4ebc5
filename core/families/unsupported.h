// SPDX-License-Identifier: Apache-2.0
// Features of the attention of models that heed has no option for, in words for messages.
#pragma once

#include <string_view>

#include "families/load_accept.h"

namespace heed {

struct UnsupportedFeature {
  // The name in `accept`: one of namespace feature.
  std::string_view feature;
  // The words for messages, such as "norms of queries and keys".
  const char* text = nullptr;
};

namespace unsupported {
inline constexpr UnsupportedFeature kAxes = {feature::kRotary, "rotary positions on several axes"};
inline constexpr UnsupportedFeature kRelativeBias = {feature::kRelativeBias,
                                                     "a bias of relative positions of another kind"};
inline constexpr UnsupportedFeature kQkNorm = {feature::kQkNorm, "norms of queries and keys of another kind"};
inline constexpr UnsupportedFeature kClipQkv = {feature::kClipQkv, "clipped queries, keys and values"};
inline constexpr UnsupportedFeature kNormBefore = {feature::kAttention, "a norm before its projections"};
inline constexpr UnsupportedFeature kAttention = {feature::kAttention, "scores or visible keys of another kind"};
}  // namespace unsupported

}  // namespace heed
