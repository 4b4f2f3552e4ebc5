// SPDX-License-Identifier: Apache-2.0
// Dropout of single elements.
#pragma once

#include "backends/backend.h"

namespace heed::cpu {

Plan plan_dropout(const DropoutProblem& problem);
void run_dropout(const DropoutProblem& problem);

}  // namespace heed::cpu
