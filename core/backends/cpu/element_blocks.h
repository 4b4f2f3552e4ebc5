// SPDX-License-Identifier: Apache-2.0
// Functions of single elements (ops/elementwise_functions.h) on blocks of adjacent elements.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernel_table.h"
#include "ops/elementwise_functions.h"
#include "tensor/dtype.h"

namespace heed::cpu {

// Elements that are in the first-level cache together, with up to three inputs of 8 bytes each.
inline constexpr int64_t kBlockBytes = 2048;

// Computes `count` elements of that dtype, or of BOOL where an input or the output is. The output may be an input.
void compute_block(const KernelTable& kernels, ElementFunction function, DType dtype, const void* const* inputs,
                   void* output, int64_t count);

}  // namespace heed::cpu
