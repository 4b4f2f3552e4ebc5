// SPDX-License-Identifier: Apache-2.0
// The factor on scores, and the cap on them.
#include <cmath>

#include "families/load_accept.h"
#include "families/rules.h"

namespace heed {
namespace {

// The families that have one of these settings compute the same with it.
std::optional<double> stated_scale(const ModelSettings& settings) {
  if (const auto multiplier = settings.number(Setting::AttentionMultiplier)) return *multiplier;
  if (const auto scalar = settings.number(Setting::QueryPreAttnScalar); scalar && *scalar > 0)
    return 1 / std::sqrt(*scalar);
  return settings.number(Setting::AttnSoftmaxScale);
}

// Nothing if it depends on the layer and the path has no index.
std::optional<double> scale_of_gpt2(const AttentionPlace& place, double root) {
  const double scale = place.settings.is_cleared(Setting::ScaleAttnWeights) ? 1 : root;
  if (!place.settings.is_set(Setting::ScaleAttnByInverseLayerIdx)) return scale;
  const std::optional<int64_t> layer = place.path.layer();
  return layer ? std::optional(scale / static_cast<double>(*layer + 1)) : std::nullopt;
}

std::optional<double> usual_scale(const AttentionPlace& place) {
  const double root = 1 / std::sqrt(static_cast<double>(place.head_size));
  const auto by_default = static_cast<double>(place.family.attention.scale_by.otherwise);
  switch (place.family.attention.scale) {
    case ScaleRule::Root: return root;
    case ScaleRule::One: return 1;
    case ScaleRule::Factor: return by_default;
    case ScaleRule::Scalar: return 1 / std::sqrt(by_default);
    case ScaleRule::Gpt2: return scale_of_gpt2(place, root);
    case ScaleRule::IfSaid: break;
  }
  return std::nullopt;
}

}  // namespace

void read_scale(const AttentionPlace& place, ModelAttention& attention) {
  attention.scale = stated_scale(place.settings);
  if (!attention.scale) attention.scale = usual_scale(place);
  if (!attention.scale) attention.unknown.push_back(feature::kScale);
}

void read_soft_cap(const AttentionPlace& place, ModelAttention& attention) {
  if (place.family.is_known || place.settings.number(Setting::AttnLogitSoftcapping))
    attention.soft_cap = soft_cap(place.settings, Setting::AttnLogitSoftcapping, place.family.attention.soft_cap);
}

double soft_cap(const ModelSettings& settings, Setting name, const From& by_record) {
  // Null says that there is none.
  const double by_default = settings.is_left_out(name) ? static_cast<double>(by_record.otherwise) : 0;
  return settings.number(name).value_or(by_default);
}

}  // namespace heed
