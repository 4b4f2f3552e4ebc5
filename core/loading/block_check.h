// SPDX-License-Identifier: Apache-2.0
// Compares the norms and the activation of a layer with those of the model in a file.
#pragma once

#include <vector>

#include "families/load_accept.h"
#include "families/model_block.h"
#include "layers/description.h"
#include "tensor/safetensors.h"

namespace heed {

// Throws InvalidArgument if the layer computes something else than the models' layers, of which it has to fit one;
// Unsupported if the models' layers have something that heed has no option for.
void check_block(const SafetensorsFile& file, const LayerBlock& layer, const std::vector<ModelBlock>& models,
                 const LoadAccept& accept);

}  // namespace heed
