// SPDX-License-Identifier: Apache-2.0
// The norm of queries and keys.
#include "families/load_accept.h"
#include "families/rules.h"

namespace heed {

void read_qk_norm(const AttentionPlace& place, ModelAttention& attention) {
  const ModelSettings& settings = place.settings;
  const QkNormRule rule = place.family.attention.qk_norm;
  const bool is_layer_norm = rule == QkNormRule::LayerIfSet;
  if (rule != QkNormRule::Unknown && (!is_layer_norm || settings.is_set(Setting::UseQkNorm))) {
    const Epsilon& epsilon = place.family.norms.epsilon;
    attention.qk_norm = ModelQkNorm{.kind = is_layer_norm ? QkNorm::Layer : QkNorm::Rms,
                                    .epsilon = settings.number(epsilon.name).value_or(epsilon.otherwise),
                                    .adds_one = rule == QkNormRule::RmsPlusOne};
    return;
  }
  for (const Setting setting : {Setting::UseQkNorm, Setting::QkLayernorm, Setting::AttnQkLn}) {
    if (settings.is_set(setting)) attention.add(unsupported::kQkNorm);
  }
  attention.unknown.push_back(feature::kQkNorm);
}

}  // namespace heed
