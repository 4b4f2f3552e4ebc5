// SPDX-License-Identifier: Apache-2.0
// What the model in a file computes besides its projections: by the model's config.json, or without it by the names of the
// tensors, which tell some of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/model_attention.h"
#include "families/model_block.h"
#include "families/model_config.h"
#include "tensor/safetensors.h"

namespace heed {

// Describes the attention whose tensors lie below the prefix, by the names of the file's tensors and, if present, the
// configuration. `layout_name`: the name of the layout that was found; static. `head_size`: the layer's, for the usual
// scale.
// Returns several if the configuration describes several models and the prefix does not say which of them contains the
// attention.
std::vector<ModelAttention> model_attentions(const SafetensorsFile& file, std::string_view prefix,
                                             std::string_view layout_name, const std::optional<ModelConfig>& config,
                                             int64_t head_size);

// The model_type of the configured model that the prefix may be in, if no record knows it; "" if all are known, or without a
// configuration.
std::string unknown_model_type(std::string_view prefix, const std::optional<ModelConfig>& config);

// Describes the attention by the configuration alone; empty without a configuration.
std::vector<ModelAttention> configured_attentions(std::string_view prefix, const std::optional<ModelConfig>& config,
                                                  int64_t head_size);

// Describes the layers of the configured models that the prefix may be in; empty without a configuration.
std::vector<ModelBlock> configured_blocks(std::string_view prefix, const std::optional<ModelConfig>& config);

// Whether the family is known to pack queries, keys and values in the module of that name, such as "Wqkv", as its layout
// says: by the configuration or, without one, by the prefix.
bool is_packing_known(std::string_view prefix, std::string_view module, const std::optional<ModelConfig>& config);

// The row of position 0 in a table of positions, by the configuration; nothing if it is not known.
std::optional<int64_t> first_row_of(std::string_view prefix, const std::optional<ModelConfig>& config);

// Whether the last module of the prefix has one of the names that GPT-2 gives to Conv1D modules, with weights (in,
// out).
bool is_named_conv1d(std::string_view prefix);
// Whether the configuration names a family whose linear modules keep weights as (out, in). False if it names none.
bool has_linear_modules(std::string_view prefix, const std::optional<ModelConfig>& config);

}  // namespace heed
