// SPDX-License-Identifier: Apache-2.0
// Activations of arrays on an NPU, by ATB's Activation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/activate.h"

namespace heed::ascend {

// output = activation(input), both F16 or both BF16; F32 for those activations of which ATB takes it.
void activate_array(Npu& npu, Activation activation, const DeviceArray& input, const DeviceArray& output);

// `allows_reduced_precision`: numbers of F32 may be rounded to 16 bits. The plan has the reasons why ATB cannot compute
// the problem, if there are any.
Plan plan_activate(const ActivateProblem& problem, bool allows_reduced_precision);

// `dtype`: the 16-bit dtype of the computation where it is not in F32.
void run_activate(Npu& npu, const ActivateProblem& problem, DType dtype);

}  // namespace heed::ascend
