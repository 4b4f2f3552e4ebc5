// SPDX-License-Identifier: Apache-2.0
// Projections on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"

namespace heed::cpu {

Plan plan_linear(const LinearProblem& problem);
void run_linear(const LinearProblem& problem, void* scratch);
size_t packed_linear_bytes(const LinearPart& part, int64_t input_size);
void pack_linear(const LinearPart& part, int64_t input_size, void* packed);

}  // namespace heed::cpu
