// SPDX-License-Identifier: Apache-2.0
// Where the rows of a batch are: positions of queries, lengths of queries, and offsets of packed batch elements. All
// checks throw InvalidArgument with the argument's name, its value and what was expected.
#pragma once

#include <cstdint>

#include "ops/cached_keys.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

class Tensor;

// The largest position of a query.
inline constexpr int64_t kMaxPosition = INT32_MAX;

// The sequences of a call with a cache, in place of those that the shapes of keys say: tables, bands and positions.
struct CachedSequences {
  KeyLimits limits;
  CachedKeys keys;
};

// heed_sequence_inputs as tensors; null if not given.
struct SequenceInputs {
  const Tensor* positions = nullptr;
  const Tensor* query_lens = nullptr;
  const Tensor* query_offsets = nullptr;
  const Tensor* key_offsets = nullptr;
  // Of keys that are an array of their own.
  const Tensor* key_positions = nullptr;

  bool is_packed() const { return query_offsets != nullptr; }
  // Whether each batch element has a Sequence of its own.
  bool has_table() const { return query_offsets != nullptr || query_lens != nullptr; }
};

// What says where the queries are, without the keys: for self-attention, and for rows without attention.
inline SequenceInputs of_queries(const SequenceInputs& sequences) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = sequences;
  return {positions, query_lens, query_offsets, nullptr, nullptr};
}

// The sequences of a call, and what the host computes of them.
struct CallSequences : SequenceInputs {
  // Room for a Sequence for each batch element; null unless has_table and the tensors have data.
  Sequence* table = nullptr;
  // Of a call with a cache; else null.
  const CachedSequences* cached = nullptr;
  // The largest position that is accepted.
  int64_t last_position = kMaxPosition;
};

// The number of batch elements that offsets (B + 1) describe. Checks the dtype and the rank of offsets and, if there are
// keys of their own, that key_offsets has as many elements; otherwise key_offsets may be NULL. Checks that query_lens and
// offsets are not given together.
int64_t packed_batch(const SequenceInputs& sequences, bool keys_are_queries);

// The operand of key_positions, which is (B, K), or packed (total). Without `reads` it has no data and elements are not checked.
Operand key_positions_operand(const SequenceInputs& sequences, int64_t batch, int64_t num_rows, bool reads);

// Sets rows and positions of `limits`, which come from unlimited() with the rows of queries and keys that the tensors
// have: in a packed batch those of all elements together. The bands stay unlimited. Without `reads` only shapes and dtypes
// are checked, and there is no table. `keys_are_queries`: in self-attention rows beyond query_lens are no keys either.
void set_sequences(KeyLimits& limits, const CallSequences& sequences, int64_t batch, bool keys_are_queries, bool reads);

}  // namespace heed
