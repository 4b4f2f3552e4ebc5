// SPDX-License-Identifier: Apache-2.0
// Elementwise dropout, and two numbers that every dropout needs. Whether an element is kept is a pure function of its
// row-major index and the seed (docs/semantics.md, "Random numbers"). So the result is the same in any order of
// computation and can be repeated.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/dropout.h"

namespace heed::cpu {

// An element is kept if its random word is at least this.
uint32_t dropout_threshold(float dropout);
// The factor of kept elements, 1 / (1 - dropout).
float dropout_scale(float dropout);

Plan plan_dropout(const KernelTable& kernels, const DropoutProblem& problem, int32_t num_workers);
// `plan`: from plan_dropout, for this problem or one that differs only in addresses.
void run_dropout(const KernelTable& kernels, const DropoutProblem& problem, const Plan& plan, const Workers& workers);

}  // namespace heed::cpu
