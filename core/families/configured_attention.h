// SPDX-License-Identifier: Apache-2.0
// Derives one attention from the configuration of its model.
#pragma once

#include <cstdint>
#include <string>

#include "families/model_attention.h"
#include "families/model_config.h"
#include "families/module_path.h"

namespace heed {

// `model`: the path of the model in the configuration. `head_size`: the layer's.
ModelAttention configured_attention(const ModelConfig& config, const std::string& model, const ModulePath& path,
                                    int64_t head_size);

}  // namespace heed
