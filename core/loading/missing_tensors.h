// SPDX-License-Identifier: Apache-2.0
// What a file lacks of a whole model.
#pragma once

#include <string_view>
#include <vector>

#include "families/family.h"
#include "layers/layer.h"
#include "loading/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

// The tensors that hold the layer's parameters and that the file lacks, each once, in the order of the parameters. `layouts`:
// by which they are called where the file has nothing of a module.
std::vector<MissingTensor> missing_tensors(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                                           const Layouts& layouts);

}  // namespace heed
