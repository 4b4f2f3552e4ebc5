// SPDX-License-Identifier: Apache-2.0
// Activations of the elements of an array.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/activate.h"

namespace heed::cpu {

Plan plan_activate(const KernelTable& kernels, const ActivateProblem& problem, int32_t num_workers);
// `plan`: from plan_activate, for this problem or one that differs only in addresses.
void run_activate(const KernelTable& kernels, const ActivateProblem& problem, const Plan& plan, const Workers& workers);

}  // namespace heed::cpu
