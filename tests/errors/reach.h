// SPDX-License-Identifier: Apache-2.0
// Which functions of a layer check what.
#pragma once

#include <heed/heed.h>

#include "capi/support/refusal.h"

namespace heed::errors_test {

// The functions that check the faulty part of a call. The others must accept the call.
enum class Reach {
  Inputs,      // all: initialize, create_outputs, workspace_size, explain, forward
  Parameters,  // all but initialize: does not fit the layer's parameters
  Call,        // workspace_size, explain, forward: wrong outputs, or the layer is not initialized
  Lengths,     // explain, forward: wrong contents of the lengths
  Memory,      // forward: wrong addresses of the tensors, or ids
};

// Makes the call with every function but forward, which has refused it.
void ask_every_other_function(heed_layer* layer, const heed_layer_inputs& inputs, const heed_layer_outputs& outputs,
                              Reach reach, const capi_test::Refusal& expected);

}  // namespace heed::errors_test
