// SPDX-License-Identifier: Apache-2.0
// Finds the parameters of any layer in a file, after checking that the file's model is the one that the layer computes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "layers/layer.h"
#include "loading/load_options.h"
#include "loading/weight_finder.h"
#include "loading/weight_layout.h"
#include "tensor/safetensors.h"

namespace heed {

// What the layers around one say of it.
struct AroundLayer {
  // Whether one of them looks up ids, so that its rows need the positions and norms that the file has for them.
  bool has_embedding = false;
  // The option that gives the layer a bias, if it is one of a layer around it; null: its own.
  const char* bias_option = nullptr;
};

// One weight for each parameter of the layer. Throws as find_weights and ModelCheck.
FoundWeights find_weights_of(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                             const LoadOptions& options, const AroundLayer& around = {});

// The rows of the parameters in the tensor `name`, which packs several of them.
PackedRows packed_rows(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                       const std::string& name);

}  // namespace heed
