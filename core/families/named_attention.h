// SPDX-License-Identifier: Apache-2.0
// What the tensors' names tell about an attention without a configuration.
#pragma once

#include <string_view>

#include "families/model_attention.h"
#include "tensor/safetensors.h"

namespace heed {

// `layout_name`: the name of the layout that was found. The result's `source` is "" if the names tell nothing.
ModelAttention named_attention(const SafetensorsFile& file, std::string_view prefix, std::string_view layout_name);

}  // namespace heed
