// SPDX-License-Identifier: Apache-2.0
// Projections on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/parallel.h"

namespace heed::cpu {

Plan plan_linear(const LinearProblem& problem, int32_t num_workers);
void run_linear(const LinearProblem& problem, const Workers& workers, void* scratch);
size_t packed_linear_bytes(const LinearPart& part, int64_t input_size);
void pack_linear(const LinearPart& part, int64_t input_size, void* packed);

}  // namespace heed::cpu
