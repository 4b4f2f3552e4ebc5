// SPDX-License-Identifier: Apache-2.0
// Projections and matrix products on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/linear.h"

namespace heed::cpu {

Plan plan_linear(const KernelTable& kernels, const LinearProblem& problem, int32_t num_workers);
// `plan`: from plan_linear with the same number of workers, for this problem or one that differs only in addresses.
void run_linear(const KernelTable& kernels, const LinearProblem& problem, const Plan& plan, const Workers& workers,
                void* memory);
size_t packed_linear_bytes(const KernelTable& kernels, const LinearPart& part, int64_t input_size);
void pack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                 void* packed);
// Writes a block, whose first element is part.weight.data, from the packed weight.
void unpack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                   const void* packed);

}  // namespace heed::cpu
