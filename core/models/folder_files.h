// SPDX-License-Identifier: Apache-2.0
// The files in a model's folder.
#pragma once

#include <string>

#include "families/model_config.h"

namespace heed {

// Reads config.json. Throws Io if there is no such file, saying what the path is instead: nothing, a file, or perhaps a
// model's name on a hub.
ModelConfig config_in(const std::string& folder);

// The path of the weights: of a single file, or of the index of several. Throws Io if there is none.
std::string weights_in(const std::string& folder);

}  // namespace heed
