// SPDX-License-Identifier: Apache-2.0
// Dropout of single elements, and the two numbers that every dropout needs. Whether an element is kept
// is a pure function of its row-major index and the seed (docs/semantics.md, "Random numbers"), so that the result is the
// same in any order of computation and can be repeated.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/parallel.h"
#include "ops/dropout.h"

namespace heed::cpu {

// What is kept has a random word that is not below this.
uint32_t dropout_threshold(float dropout);
// And is multiplied by this: 1 / (1 - dropout).
float dropout_scale(float dropout);

Plan plan_dropout(const KernelTable& kernels, const DropoutProblem& problem, int32_t num_workers);
// `plan` is plan_dropout's for this problem or one that differs in addresses alone.
void run_dropout(const KernelTable& kernels, const DropoutProblem& problem, const Plan& plan, const Workers& workers);

}  // namespace heed::cpu
