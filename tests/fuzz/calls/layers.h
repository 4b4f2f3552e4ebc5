// SPDX-License-Identifier: Apache-2.0
// The parameters of a layer.
#pragma once

#include <heed/heed.h>

#include <map>
#include <string>

#include "property/support/host_tensor.h"

namespace heed::fuzz {

// The parameters that are set, by name.
std::map<std::string, property::Input> parameters_of(const heed_layer* layer);

}  // namespace heed::fuzz
