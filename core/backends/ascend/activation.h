// SPDX-License-Identifier: Apache-2.0
// Activations of arrays on an NPU, by ATB's Activation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/activate.h"

namespace heed::ascend {

// output = activation(input), of one dtype: F16, BF16, or F32 if can_be_wide.
void activate_array(Npu& npu, Activation activation, const DeviceArray& input, const DeviceArray& output);

// Whether ATB computes the activation of F32.
bool can_be_wide(Activation activation);

// `narrows`: numbers of F32 may be rounded to `dtype`, the 16-bit dtype of the computation. Sets on_host, with the
// reasons, if ATB cannot compute the problem.
Plan plan_activate(const ActivateProblem& problem, bool narrows);

void run_activate(Npu& npu, const ActivateProblem& problem, DType dtype);

}  // namespace heed::ascend
