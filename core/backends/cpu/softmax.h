// SPDX-License-Identifier: Apache-2.0
// The softmax of rows of scores.
#pragma once

#include "backends/backend.h"

namespace heed::cpu {

Plan plan_softmax(const SoftmaxProblem& problem);
void run_softmax(const SoftmaxProblem& problem, void* scratch);

}  // namespace heed::cpu
