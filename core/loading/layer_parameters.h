// SPDX-License-Identifier: Apache-2.0
// Gives a layer's parameters their values, and writes them to files. The functions of heed_layer_*, with the same names,
// rules and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layers/inputs.h"
#include "layers/layer.h"
#include "loading/load_options.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace heed {

void initialize(Layer& layer, const LayerInputs& inputs, uint64_t seed);
void set_parameter(Layer& layer, std::string_view name, const Tensor& value);
// Returns the name of the layout that the file's names have; static.
const char* load(Layer& layer, const SafetensorsFile& file, std::string_view prefix, const LoadOptions& options = {});
void save(const Layer& layer, const char* path);
size_t save_to_memory(const Layer& layer, void* destination, size_t capacity);

}  // namespace heed
