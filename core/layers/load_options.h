// SPDX-License-Identifier: Apache-2.0
// What a caller may ask of loading a layer's parameters.
#pragma once

#include <string_view>

namespace heed {

struct LoadOptions {
  // Names, separated by commas, of what the file says and the layer does not compute, and the caller accepts all the
  // same: see load_accept.h.
  std::string_view accept;
  // The C function that is called, for messages to the logger.
  const char* function = "heed_layer_load";
};

}  // namespace heed
