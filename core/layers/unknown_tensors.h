// SPDX-License-Identifier: Apache-2.0
// Finds tensors in an attention's module that no layout lists. Each may change what the attention computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layers/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

// The file's tensors below the prefix that are neither in found.known nor in found.changing. Known harmless tensors are
// left out: buffers of causal masks, norms of the enclosing layer, other modules, and, if the prefix is empty, inputs
// and outputs stored beside the parameters. Includes tables of relative positions in the enclosing modules.
std::vector<UnsupportedTensor> unknown_tensors(const SafetensorsFile& file, std::string_view prefix,
                                               const FoundWeights& found);

// The file's tensors below the prefix, which must not be empty, that no class of the model reads, or that only say what
// its configuration says: masks, position numbers, rotary frequencies, and a bias of T5's first files.
std::vector<std::string> unread_tensors(const SafetensorsFile& file, std::string_view prefix,
                                        const FoundWeights& found);

}  // namespace heed
