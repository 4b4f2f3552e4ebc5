// SPDX-License-Identifier: Apache-2.0
// What a layer has learned.
#pragma once

#include <heed/heed.h>

#include <map>
#include <string>

#include "property/support/host_tensor.h"

namespace heed::fuzz {

// The parameters that are set, by name.
std::map<std::string, property::Input> parameters_of(const heed_layer* layer);

}  // namespace heed::fuzz
