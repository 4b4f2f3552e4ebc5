// SPDX-License-Identifier: Apache-2.0
// The CPU's functions for each operation of ops/registry.h. The file of an operation defines both.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/registry.h"

namespace heed::cpu {

// plan_problem throws what Backend::plan reports. The plan of run_problem is from plan_problem with the same number of
// workers, for this problem or one that differs only in addresses.
#define HEED_CPU_FUNCTIONS(name)                                                                                       \
  Plan plan_problem(const KernelTable& kernels, const name##Problem& problem, int32_t num_workers);                    \
  void run_problem(const KernelTable& kernels, const name##Problem& problem, const Plan& plan, const Workers& workers, \
                   void* scratch);
HEED_OPERATIONS(HEED_CPU_FUNCTIONS)
#undef HEED_CPU_FUNCTIONS

}  // namespace heed::cpu
