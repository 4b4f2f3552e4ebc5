// SPDX-License-Identifier: Apache-2.0
// Finds the parameters of a layer that is made of others in a file, child by child.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "loading/block_layout.h"
#include "loading/layer_weights.h"

namespace heed {

// The children that have parameters, and their indices in the layer.
struct ChildrenWithParameters {
  std::vector<ChildInFile> children;
  std::vector<size_t> indices;
};
ChildrenWithParameters children_with_parameters(const Layer& layer);

// As find_weights_of, of a layer that says `description` of itself. Throws also if the file has tensors in the children's
// modules that none of them reads.
FoundWeights find_in_children(const Layer& layer, const LayerDescription& description, const SafetensorsFile& file,
                              std::string_view given_prefix, const LoadOptions& options, const AroundLayer& around);

}  // namespace heed
