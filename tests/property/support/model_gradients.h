// SPDX-License-Identifier: Apache-2.0
// The gradients of one call of a model by the f64 reference.
#pragma once

#include "reference/moved_steps.h"
#include "support/model_call.h"

namespace heed::property {

// Of all inputs and parameters, with their bounds. Those of what the call does not use are 0.
reference::NamedBounds solve_gradients(const ModelCall& call, const Array& of_output);

}  // namespace heed::property
