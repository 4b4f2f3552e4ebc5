// SPDX-License-Identifier: Apache-2.0
// The positions of queries and keys of an attention without a cache, where the call gives those of both (rule 6 of
// docs/semantics.md): in self-attention by `positions`, else by `positions` and `key_positions`.
#pragma once

#include "attention/options.h"
#include "attention/sequences.h"
#include "attention/validate.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "ops/attention.h"

namespace heed {

// What of a layer depends on positions, besides causal mask and window.
struct PositionUse {
  bool rotates = false;
  bool reads_distances = false;  // ALiBi, or a relative bias
};

// Whether keys are the queries of the call, row by row.
inline bool is_self_attention(const InputValues& inputs) {
  return keys_are_queries(inputs) && inputs.sequences->key_offsets == nullptr;
}

// Whether the call gives the positions of queries and keys.
inline bool places_keys(const InputValues& inputs) {
  const SequenceInputs& sequences = *inputs.sequences;
  if (sequences.positions == nullptr || inputs.cache != nullptr) return false;
  return is_self_attention(inputs) || sequences.key_positions != nullptr;
}

// Throws InvalidArgument unless key_positions go with the other inputs.
void check_key_positions(const InputValues& inputs);

// After set_visibility with places_keys: moves the positions from the limits to the sequences or, where they do not continue
// from row to row, to the elements. `visibility` and `sequences`: with lengths, positions and offsets in host memory if `reads`.
// Throws InvalidArgument if positions of self-attention fall among rows that no mask separates.
void set_row_positions(Schedule& schedule, const InputValues& inputs, const Visibility& visibility,
                       const CallSequences& sequences, const AttentionOptions& options, PositionUse use, bool reads,
                       AttentionProblem& problem);

}  // namespace heed
