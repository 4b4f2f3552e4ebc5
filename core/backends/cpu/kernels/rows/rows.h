// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels for softmax, dropout, merging, norms, embeddings and cross-entropy: one row.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/norm.h"
#include "tensor/dtype.h"

namespace heed::cpu {

// Elements of a row, `stride` elements apart; F32, F16 or BF16.
struct StridedRow {
  void* data;
  int64_t stride;
  DType dtype;
};

// Dropout of `count` elements. `first`: the index of the first one among all elements of the call.
struct DropoutArguments {
  StridedRow input;
  StridedRow output;
  StridedRow addend;  // added to each element; null: nothing is
  int64_t count;
  int64_t first;
  uint64_t seed;
  uint32_t threshold;  // an element is kept iff its random word is at least this
  float scale;         // factor of kept elements
};

// output[i] = sum over parts of weight * part[i], in the order of the parts; 0 without parts.
struct MergeArguments {
  const StridedRow* parts;
  const float* weights;  // one for each part
  int64_t num_parts;
  StridedRow output;
  int64_t count;
};

// The norm of a row, plus a row.
struct NormArguments {
  StridedRow input;
  StridedRow addend;    // null: nothing is added
  StridedRow output;    // may be the input
  const float* weight;  // for whole vectors
  const float* bias;    // the same; null: none
  int64_t size;
  NormKind kind;
  float epsilon;
  float* scratch;  // for whole vectors
};

// The logits of a row, and its sums.
struct CrossEntropyRow {
  const float* logits;
  float* powers;  // of e, to be written; may be the logits; null: none
  int64_t count;
  int32_t sums_logits;  // 1: sum_of_logits is wanted
  float maximum;
  double sum_of_powers;  // of e^(logit - maximum)
  double sum_of_logits;
};

}  // namespace heed::cpu
