// SPDX-License-Identifier: Apache-2.0
// What the kernels of linear operations are given: one call, and one task of its work.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/operand.h"

namespace heed::cpu {

// Rows first .. end - 1 of a batch element, the only ones of it that are wanted.
struct RowRange {
  int64_t first;
  int64_t end;
  int64_t before;  // rows that are wanted of the batch elements before
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

// Consecutive wanted rows, times panels first_panel .. end_panel - 1 of a part.
struct LinearTask {
  int32_t part;
  int64_t num_rows;
  // The first of them is row `first_row` of batch element `first_batch`.
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
