// SPDX-License-Identifier: Apache-2.0
// The gradients of a call of heed, in the form of the reference's.
#pragma once

#include <heed/heed.h>

#include <vector>

#include "reference/moved_steps.h"

namespace heed::golden {

// Those of all inputs and parameters, from that of the output.
reference::NamedRows backward(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs,
                              const std::vector<double>& of_output);

}  // namespace heed::golden
