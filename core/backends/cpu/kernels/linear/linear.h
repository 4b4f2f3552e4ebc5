// SPDX-License-Identifier: Apache-2.0
// Arguments of the linear kernels: one call, and one task of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/activation.h"
#include "ops/head_transform.h"
#include "ops/operand.h"

namespace heed::cpu {

// The wanted rows of a batch element, first .. end - 1.
struct RowRange {
  int64_t first;
  int64_t end;
  int64_t before;  // number of wanted rows in all batch elements before
};

// The members of LinearPart that kernels read.
struct LinearPartArguments {
  int64_t output_size;
  int64_t head_size;
  Operand weight;  // (-, -, n, e); its element type is also that of `packed`
  Operand bias;    // (-, -, -, n)
  Operand output;  // (h, s, r, d)
  // What happens to each sum: activation(cap((sum + bias) * scale)) * factor + addend. Null data: no factor, no addend.
  Activation activation;
  float scale;
  float soft_cap;      // 0: no cap
  Operand factor;      // (h, s, r, d)
  Operand addend;      // (h, s, r, d)
  Operand sum;         // (h, s, r, d); gets the sums with their bias; null data: it is not wanted
  const void* packed;  // from pack_linear; null: the kernel reads `weight`
  // [s]; null: all rows of each batch element. Wanted rows are numbered through the whole batch.
  const RowRange* ranges;
  // Null, or what happens to each head of transform_head_size elements. Tasks then begin and end at heads, and the output
  // is F32 and contiguous in d.
  const HeadTransform* transform;
  int64_t transform_head_size;
};

struct LinearArguments {
  int64_t rows;  // r
  int64_t input_size;
  Operand input;  // (-, s, r, e)
  LinearPartArguments parts[3];
};

// Consecutive wanted rows times the panels first_panel .. end_panel - 1 of a part.
struct LinearTask {
  int32_t part;
  int64_t num_rows;
  // The first row is `first_row` of batch element `first_batch`.
  int64_t first_batch;
  int64_t first_row;
  int64_t first_panel;
  int64_t end_panel;
};

// Rows first_row .. end_row - 1 of a weight, elements first_input .. end_input - 1 of each, and their offsets in the
// packed weight. To be packed, first_row and end_row are multiples of kLanes, or end_row is output_size. To be unpacked,
// they are any rows, and the elements of each row of the block are contiguous.
struct PackArguments {
  Operand block;        // (-, -, n, e), beginning with the block's first element
  int64_t output_size;  // of the whole weight
  int64_t input_size;
  int64_t first_row;
  int64_t end_row;
  int64_t first_input;
  int64_t end_input;
  void* packed;  // the whole packed weight
};

// Where a row of a packed weight is: element e has the index first + e * stride.
struct PackedRow {
  int64_t first;
  int64_t stride;
};

}  // namespace heed::cpu
