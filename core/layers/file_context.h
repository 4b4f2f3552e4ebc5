// SPDX-License-Identifier: Apache-2.0
// What a layer reads of a file besides its parameters: the configuration beside it, and the form of a prefix.
#pragma once

#include <optional>
#include <string_view>

#include "layers/load_accept.h"
#include "tensor/model_config.h"
#include "tensor/safetensors.h"

namespace heed {

// Reads the config.json in the file's folder, if there is one and `accept` does not say otherwise.
std::optional<ModelConfig> config_beside(const SafetensorsFile& file, const LoadAccept& accept);

// Removes a trailing separator: "encoder." becomes "encoder". The separator stays if the file's names continue with
// another one: in "key_.W_q.weight" the "_" belongs to the module's name "key_".
std::string_view without_separator(const SafetensorsFile& file, std::string_view prefix);

}  // namespace heed
