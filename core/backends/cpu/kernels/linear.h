// SPDX-License-Identifier: Apache-2.0
// What the projection kernels are given: one call, and one item of its work. Only kernels and their planner see it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/operand.h"

namespace heed::cpu {

// Rows first .. end - 1 of a batch item, the only ones of it that are wanted.
struct RowRange {
  int64_t first;
  int64_t end;
  int64_t before;  // rows that are wanted of the batch items before
};

// The members of LinearPart that kernels read, with the same meanings.
struct LinearPartArguments {
  int64_t output_size;
  int64_t head_size;
  Operand weight;      // (-, -, n, e); its element type is also that of `packed`
  Operand bias;        // (-, -, -, n)
  Operand output;      // (h, s, r, d)
  const void* packed;  // as pack_linear wrote it; null: `weight` is read
  // [s]; null: all rows of each. Wanted rows are counted through the whole batch.
  const RowRange* ranges;
};

struct LinearArguments {
  int64_t rows;  // r
  int64_t input_size;
  Operand input;  // (-, s, r, e)
  LinearPartArguments parts[3];
};

// So many wanted rows from a place on, times panels first_panel .. end_panel - 1 of a part.
struct LinearItem {
  int32_t part;
  int64_t num_rows;
  // Where the first one is: row `first_row`, which is wanted, of batch item `first_batch`.
  int64_t first_batch;
  int64_t first_row;
  int64_t first_panel;
  int64_t end_panel;
};

// Rows first_row .. end_row - 1 of a weight, and of each the elements first_input .. end_input - 1, to where they lie in
// the packed weight. first_row and end_row are multiples of kLanes, but where end_row is output_size.
struct PackArguments {
  Operand block;        // (-, -, n, e), from the block's first element on
  int64_t output_size;  // of the whole weight
  int64_t input_size;
  int64_t first_row;
  int64_t end_row;
  int64_t first_input;
  int64_t end_input;
  void* packed;  // the whole
};

}  // namespace heed::cpu
