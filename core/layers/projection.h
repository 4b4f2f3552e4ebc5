// SPDX-License-Identifier: Apache-2.0
// What layers that project their inputs have in common: queries, keys and values of rank 3, y = x W^T + b for one of
// them, and where in the workspace the result lies.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "layers/inputs.h"
#include "layers/parameter.h"
#include "layers/schedule.h"
#include "ops/linear.h"
#include "ops/sequence.h"

namespace heed {

// A tensor of a call and what messages call it.
struct SourceTensor {
  const char* name;
  const Tensor& tensor;
};

SourceTensor source_of(const LayerInputs& inputs, Source source);

// Throws InvalidArgument unless queries are (B, Q, E), keys (B, K, E) and values (B, K, E), each with its own E.
void check_sequences(const LayerInputs& inputs);

// The parameters of one projection; bias is null where there is none.
struct ProjectionParameters {
  const Parameter& weight;
  const Parameter* bias = nullptr;
};

// The part's sizes and parameters, as one head.
void set_parameters(LinearPart& part, const ProjectionParameters& parameters);

// An array (batch, rows, heads, head size) in the workspace, its axes in whatever order; the elements of a row's head
// lie side by side. Strides are in elements.
struct HeadArray {
  Intermediate array;
  // Of each batch element, the first row that the array holds. Those before have their places before the array.
  int64_t first_row = 0;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;
};

// One whose rows are whole: heads lie side by side.
HeadArray reserve_rows(Schedule& schedule, int64_t batch, int64_t rows, int64_t num_heads, int64_t head_size);

// The array as an operand of attention, axes (batch, head, rows, head size).
void place_heads(Schedule& schedule, Operand& operand, const HeadArray& heads);

// An array whose rows are whole as an operand of a linear operation, axes (-, batch, rows, size).
void place_rows(Schedule& schedule, Operand& operand, const HeadArray& heads);

// One of a call's tensors, (B, S, E), with what it is projected by, into heads of which size, and which of its rows.
struct Projected {
  Source source;
  ProjectionParameters parameters;
  int64_t head_size;
  WantedRows wanted_rows = WantedRows::All;
};

// Adds the projections, those of one tensor as one operation that reads it once. Rows that are not wanted for these
// limits are left out, and held only as far as other elements of the batch need their places; where the device reads
// all rows, all are wanted. Returns where each result lies; each source stands in `all` once at most.
std::array<HeadArray, kMaxLinearParts> project(Schedule& schedule, const LayerInputs& inputs, const KeyLimits& limits,
                                               std::span<const Projected> all);

}  // namespace heed
