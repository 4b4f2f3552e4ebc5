// SPDX-License-Identifier: Apache-2.0
// The softmax of rows of scores.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/softmax.h"

namespace heed::cpu {

Plan plan_softmax(const KernelTable& kernels, const SoftmaxProblem& problem, int32_t num_workers);
// `plan`: from plan_softmax, for this problem or one that differs only in addresses.
void run_softmax(const KernelTable& kernels, const SoftmaxProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch);

}  // namespace heed::cpu
