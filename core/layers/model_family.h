// SPDX-License-Identifier: Apache-2.0
// What the attention of each family of models computes beside its projections, where its config.json says the details,
// and what names alone tell of the family. To know another family is to add its model_type to a list in
// model_family.cc, and to docs/weights.md.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "layers/model_attention.h"
#include "tensor/model_config.h"
#include "tensor/safetensors.h"

namespace heed {

// Of the attention whose tensors lie below the prefix, by the file's names and, if there is one, the configuration.
// `title`: of the layout that the names are of; static. `head_size`: of the layer, which the usual scale depends on.
// Several where the configuration is of several models, and the prefix does not say which one the attention is of.
std::vector<ModelAttention> model_attentions(const SafetensorsFile& file, std::string_view prefix,
                                             std::string_view title, const std::optional<ModelConfig>& config,
                                             int64_t head_size);

// What the configuration alone says that heed has no option for.
std::vector<ModelAttention> configured_attentions(std::string_view prefix, const std::optional<ModelConfig>& config,
                                                  int64_t head_size);

// Whether the weight of a linear layer with this prefix is a Conv1D's, (in, out), by its family or its name; nothing
// where that cannot be told.
bool is_named_conv1d(std::string_view prefix);
// Whether the family keeps modules of such names as (out, in); false where the configuration does not say it.
bool has_linear_modules(std::string_view prefix, const std::optional<ModelConfig>& config);

}  // namespace heed
