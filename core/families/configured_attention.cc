// SPDX-License-Identifier: Apache-2.0
#include "families/configured_attention.h"

#include "base/shown_text.h"
#include "families/families.h"
#include "families/model_settings.h"
#include "families/rules.h"

namespace heed {

ModelAttention configured_attention(const ModelConfig& config, const std::string& model, const ModulePath& path,
                                    int64_t head_size) {
  const std::string_view model_type = ModelSettings(config, model).text(Setting::ModelType);
  const Family& family = family_of(model_type);
  // Nobody knows where another family has its settings.
  const ModelSettings settings(config, model, family.is_known ? SettingLevels::One : SettingLevels::All);
  const AttentionPlace place = {settings, path, family, head_size};
  ModelAttention attention;
  attention.source = "model_type \"" + shown(model_type) + "\" in config.json";
  // What is unknown or unsupported is listed in this order.
  read_heads(place, attention);
  read_positions(place, attention);
  read_qk_norm(place, attention);
  read_unsupported(place, attention);
  read_causal(place, attention);
  read_scale(place, attention);
  read_soft_cap(place, attention);
  read_window(place, attention);
  return attention;
}

}  // namespace heed
