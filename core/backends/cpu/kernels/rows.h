// SPDX-License-Identifier: Apache-2.0
// What the kernels of softmax, dropout and merging are given: one row.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

namespace heed::cpu {

// The elements of a row, `stride` elements apart; F32, F16 or BF16.
struct StridedRow {
  void* data;
  int64_t stride;
  DType dtype;
};

// What becomes of the elements of a row, of which the first is number `first` among all of the call.
struct DropoutArguments {
  StridedRow input;
  StridedRow output;
  int64_t count;
  int64_t first;
  uint64_t seed;
  uint32_t threshold;  // kept iff the random word is not below it
  float scale;         // of what is kept
};

// output[i] = sum over parts of weight * part[i], parts in their order; 0 where there are none.
struct MergeArguments {
  const StridedRow* parts;
  const float* weights;  // of each part
  int64_t num_parts;
  StridedRow output;
  int64_t count;
};

}  // namespace heed::cpu
