// SPDX-License-Identifier: Apache-2.0
// Options for loading a layer's parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_progress.h"
#include "families/model_config.h"

namespace heed {

struct LoadOptions {
  // What the caller accepts although the file says it and the layer does not compute it: names separated by commas, see
  // load_accept.h.
  std::string_view accept;
  bool offers_accept = true;  // whether the called function takes it
  // Whether parameters of 16 bits become F32.
  bool widens = false;
  // The configuration beside the file, if it has been read already: by a layer for its children.
  const std::optional<ModelConfig>* config = nullptr;
  // Gets the names of the tensors that parameters are read from, and of those that the layers know and do not read. Some of
  // the latter may not be in the file. Null: not wanted.
  std::vector<std::string>* read = nullptr;
  // Reports the bytes that are read; its name in messages.
  Progress progress = {};
  const char* progress_name = OPTION("progress");
  // The name of the called C function, for log messages.
  const char* function = "heed_layer_load";
};

}  // namespace heed
