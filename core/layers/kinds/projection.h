// SPDX-License-Identifier: Apache-2.0
// Shared by layers that project their inputs: the check of queries, keys and values of rank 3, and the projection
// y = x W^T + b of an input into an intermediate.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "attention/options.h"
#include "layers/layer_call.h"
#include "layers/parameter.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/attention.h"
#include "ops/head_transform.h"
#include "ops/linear.h"
#include "ops/sequence.h"

namespace heed {

// Throws InvalidArgument unless queries are (B, Q, E), keys (B, K, E) and values (B, K, E), each with its own E; in a packed
// batch (total, E). Returns the number of batch elements.
int64_t check_sequences(const InputValues& inputs);

// The axis of the rows of inputs that have passed check_sequences.
inline int32_t row_axis(const InputValues& inputs) { return is_packed(inputs) ? 0 : 1; }
// Axis (b) of the operands of an attention, of an intermediate (batch, heads, rows, size): packed elements share it.
inline int32_t batch_axis(const InputValues& inputs) { return is_packed(inputs) ? -1 : 0; }

// For attention without heads, whose values are not projected: the shapes of the outputs; the sizes of the attention of
// queries and keys of head_size (AttentionLayer::set_attention); the operands of values and outputs.
OutputShapes shapes_without_heads(const InputValues& inputs);
void set_attention_without_heads(const InputValues& inputs, int64_t head_size, AttentionProblem& problem);
void set_values_and_results(Schedule& schedule, AttentionProblem& attention, const InputValues& inputs,
                            const OutputValues& outputs);

// The parameters of one projection; bias is null if there is none.
struct ProjectionParameters {
  const Parameter& weight;
  const Parameter* bias = nullptr;
};

// Sets the part's parameters, and its sizes with all outputs as one head.
void set_parameters(Schedule& schedule, LinearPart& part, const ProjectionParameters& parameters);

// Whether some key may be hidden from all queries. Only sizes and options decide: so the plan does not depend on
// whether lengths are read, and a larger call never takes less scratch than a smaller one.
bool may_leave_rows_out(const KeyLimits& limits);

// Reserves rows for the inputs of a call, (B, S, heads * head size) or packed (total, heads * head size), as many as `like` has.
Value reserve_rows(Schedule& schedule, const Value& like, int64_t num_heads, int64_t head_size);
// Makes such rows an operand with an axis of heads.
void set_heads(Schedule& schedule, Operand& operand, const Value& rows, int64_t num_heads, int64_t head_size);

// A projection of one input of a call, (B, S, E), into heads of head_size, and the rows that are needed of it.
struct Projected {
  ProjectedInput input;
  ProjectionParameters parameters;
  int64_t head_size;
  WantedRows wanted_rows = WantedRows::All;
  // Null, or what happens to each head, without its operands: a norm's weight, and the rotations of the rows, (batch or 1,
  // rows, rotary size).
  const HeadTransform* transform = nullptr;
  const Parameter* norm_weight = nullptr;
  Value rotations = {};
  // Null, or gets the array of what is transformed, like the projection's.
  Value* sum = nullptr;
};

// Sets what happens to each head of a projection, with its operands.
void set_transform(Schedule& schedule, HeadTransform& transform, const Projected& projected);

// Adds the projections as one phase of the schedule. Projections of the same input become one operation, which reads it
// once. Only the rows that wanted_rows selects for `limits` are computed. The intermediate stores one range of rows,
// the same for each batch element, that covers the selected rows of all of them; if the device needs all rows, it
// stores all. Returns the intermediates (batch, heads, rows, head size) in the order of `all`. Each source may occur at
// most once in `all`.
std::array<Value, kMaxLinearParts> project(Schedule& schedule, const InputValues& inputs, const KeyLimits& limits,
                                           std::span<const Projected> all);

}  // namespace heed
