// SPDX-License-Identifier: Apache-2.0
// Finds the parameters of a layer that is made of others in a file, child by child.
#pragma once

#include <string_view>

#include "loading/layer_weights.h"

namespace heed {

// As find_weights_of, of a layer that says `description` of itself. Throws also if the file has tensors in the children's
// modules that none of them reads.
FoundWeights find_in_children(const Layer& layer, const LayerDescription& description, const SafetensorsFile& file,
                              std::string_view given_prefix, const LoadOptions& options, const AroundLayer& around);

}  // namespace heed
