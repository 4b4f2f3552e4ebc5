// SPDX-License-Identifier: Apache-2.0
// Linear operations over the last axis of arrays of any rank.
#pragma once

#include "layers/kinds/projection.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/linear.h"

namespace heed {

// Adds a product over the last axis of `input`, of any rank, whose weight the caller sets. `output` has the input's other axes.
// An addend, with the output's shape, is the output itself, or the arrays are (B, S, E) or (S, E).
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                           const Value& addend);

// Adds y = x W^T + b over the last axis of `input`, of any rank. `output` has the input's other axes.
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output);

// The rows that an operation computes.
struct ComputedRows {
  const KeyLimits* limits = nullptr;  // null: all
  WantedRows wanted = WantedRows::Queries;
  bool zeroes_others = true;  // otherwise the others stay as they are in the output
};

// The first of them for arrays (B, S, E) or (S, E), of which only some rows are computed.
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const Value& input, const Value& output,
                           const Value& addend, const ComputedRows& rows);

// The second of them plus the addend, for such arrays. With row_limits only rows of queries are computed, and the others become 0.
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output, const Value& addend, const KeyLimits* row_limits);

}  // namespace heed
