// SPDX-License-Identifier: Apache-2.0
// Options for loading a layer's parameters.
#pragma once

#include <string_view>

namespace heed {

struct LoadOptions {
  // What the caller accepts although the file says it and the layer does not compute it: names separated by commas, see
  // load_accept.h.
  std::string_view accept;
  // The name of the called C function, for log messages.
  const char* function = "heed_layer_load";
};

}  // namespace heed
