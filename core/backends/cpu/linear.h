// SPDX-License-Identifier: Apache-2.0
// Projections on the CPU.
#pragma once

#include "backends/backend.h"

namespace heed::cpu {

Plan plan_linear(const LinearProblem& problem);
void run_linear(const LinearProblem& problem, void* scratch);

}  // namespace heed::cpu
