// SPDX-License-Identifier: Apache-2.0
// Packed weights of projections and matrix products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "ops/linear.h"

namespace heed::cpu {

size_t packed_linear_bytes(const KernelTable& kernels, const LinearPart& part, int64_t input_size);
void pack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                 void* packed);
// Writes a block, whose first element is part.weight.data, from the packed weight.
void unpack_linear(const KernelTable& kernels, const LinearPart& part, int64_t input_size, const WeightBlock& block,
                   const void* packed);

}  // namespace heed::cpu
