// SPDX-License-Identifier: Apache-2.0
// Dropout of single elements.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/parallel.h"

namespace heed::cpu {

Plan plan_dropout(const DropoutProblem& problem, int32_t num_workers);
void run_dropout(const DropoutProblem& problem, const Workers& workers);

}  // namespace heed::cpu
