// SPDX-License-Identifier: Apache-2.0
// What a file lacks of a whole model.
#pragma once

#include <string_view>

#include "families/family.h"
#include "layers/layer.h"
#include "loading/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

// The tensors that hold the layer's parameters and that the file lacks, in the order of the parameters. Where the file has
// nothing of a module they have the names of the family's files.
MissingTensors missing_tensors(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                               const Family& family);

}  // namespace heed
