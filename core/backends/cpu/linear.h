// SPDX-License-Identifier: Apache-2.0
// Projections on the CPU.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/parallel.h"

namespace heed::cpu {

Plan plan_linear(const LinearProblem& problem, int32_t num_workers);
void run_linear(const LinearProblem& problem, const Workers& workers, void* scratch);

}  // namespace heed::cpu
