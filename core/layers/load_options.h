// SPDX-License-Identifier: Apache-2.0
// Options for loading a layer's parameters.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/model_config.h"

namespace heed {

struct LoadOptions {
  // What the caller accepts although the file says it and the layer does not compute it: names separated by commas, see
  // load_accept.h.
  std::string_view accept;
  // The configuration beside the file, if it has been read already: by a layer for its children.
  const std::optional<ModelConfig>* config = nullptr;
  // The name of the called C function, for log messages.
  const char* function = "heed_layer_load";
};

}  // namespace heed
