// SPDX-License-Identifier: Apache-2.0
// What the projection kernels are given: one call, and one item of its work. Only kernels and their planner see it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/kernels/attention.h"

namespace heed::cpu {

// The members of LinearPart that kernels read, with the same meanings.
struct LinearPartArguments {
  int64_t output_size;
  int64_t head_size;
  KernelOperand weight;  // (-, -, n, e); its element type is also that of `packed`
  KernelOperand bias;    // (-, -, -, n)
  KernelOperand output;  // (h, s, r, d)
  const void* packed;    // as pack_linear wrote it; null: `weight` is read
};

struct LinearArguments {
  int64_t rows;  // r; row g of the whole is row g % rows of batch item g / rows
  int64_t input_size;
  KernelOperand input;  // (-, s, r, e)
  LinearPartArguments parts[3];
};

// Rows first_row .. end_row - 1 of the whole times panels first_panel .. end_panel - 1 of a part.
struct LinearItem {
  int32_t part;
  int64_t first_row;
  int64_t end_row;
  int64_t first_panel;
  int64_t end_panel;
};

}  // namespace heed::cpu
