// SPDX-License-Identifier: Apache-2.0
// Derives one attention from the configuration of its model.
#pragma once

#include <cstdint>
#include <string>

#include "layers/model_attention.h"
#include "layers/module_path.h"
#include "tensor/model_config.h"

namespace heed {

// `model`: the path of the model in the configuration. `head_size`: the layer's.
ModelAttention configured_attention(const ModelConfig& config, const std::string& model, const ModulePath& path,
                                    int64_t head_size);

}  // namespace heed
