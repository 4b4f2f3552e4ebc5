// SPDX-License-Identifier: Apache-2.0
// The rotations of rotary positions: cosines and sines of the angles of each row.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/rotations.h"

namespace heed::cpu {

Plan plan_rotations(const KernelTable& kernels, const RotationsProblem& problem, int32_t num_workers);
// `plan`: from plan_rotations, for this problem or one that differs only in addresses.
void run_rotations(const RotationsProblem& problem, const Plan& plan, const Workers& workers);

}  // namespace heed::cpu
