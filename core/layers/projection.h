// SPDX-License-Identifier: Apache-2.0
// What layers that project their inputs have in common: the check of queries, keys and values of rank 3, and
// y = x W^T + b from one of them into an intermediate.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "layers/layer_call.h"
#include "layers/parameter.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/linear.h"
#include "ops/sequence.h"

namespace heed {

// An input of a call and what messages call it.
struct SourceValue {
  const char* name;
  Value value;
};

SourceValue source_of(const InputValues& inputs, Source source);

// Throws InvalidArgument unless queries are (B, Q, E), keys (B, K, E) and values (B, K, E), each with its own E.
void check_sequences(const InputValues& inputs);

// The parameters of one projection; bias is null where there is none.
struct ProjectionParameters {
  const Parameter& weight;
  const Parameter* bias = nullptr;
};

// Sets the part's sizes, as one head, and its parameters.
void set_parameters(Schedule& schedule, LinearPart& part, const ProjectionParameters& parameters);

// An intermediate (batch, heads, rows, head size) whose rows are whole: the heads of a row are neighbours in memory.
Value reserve_rows(Schedule& schedule, int64_t batch, int64_t rows, int64_t num_heads, int64_t head_size);

// A projection of one input of a call, (B, S, E), into heads of this size, and which of its rows are wanted.
struct Projected {
  Source source;
  ProjectionParameters parameters;
  int64_t head_size;
  WantedRows wanted_rows = WantedRows::All;
};

// Adds the projections, as one phase of the schedule. Those of the same input are one operation, which reads it once.
// Rows that are not wanted for these limits are not computed, and the intermediate holds the same rows of each batch
// element, those that some element wants; where the device reads all rows, all are wanted. Returns the intermediates
// (batch, heads, rows, head size) in the order of `all`, in which a source occurs at most once.
std::array<Value, kMaxLinearParts> project(Schedule& schedule, const InputValues& inputs, const KeyLimits& limits,
                                           std::span<const Projected> all);

}  // namespace heed
