// SPDX-License-Identifier: Apache-2.0
// The cosines and sines of rotary positions. The host computes them in f64, since no operation of ATB does, and uploads
// them. Those of consecutive positions are kept for later calls.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/plan.h"
#include "ops/rotations.h"

namespace heed::ascend {

// The plan has the reason, if the device cannot reach the output.
Plan plan_rotations(const RotationsProblem& problem);

void run_rotations(Npu& npu, const RotationsProblem& problem);

}  // namespace heed::ascend
