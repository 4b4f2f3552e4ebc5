// SPDX-License-Identifier: Apache-2.0
// The inputs of one layer in a call, and what `check` computes from them. The layer may be a child of the called one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "layers/backward/gradients_of_call.h"
#include "layers/inputs.h"
#include "layers/parameter.h"
#include "layers/value.h"
#include "ops/attention.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace heed {

// What a layer reads, of which queries, keys and values may be intermediates. A parent sets for each child exactly the
// members that the child reads; nothing is passed on by itself but what LayerCall says of all children.
struct InputValues {
  Value queries = {};  // not given if a cache is filled
  Value keys = {};     // keys and values: not given to a layer that reads one input, nor if they are read from a cache
  Value values = {};
  // Null: none. They outlive the call.
  const SequenceInputs* sequences = nullptr;
  const Visibility* visibility = nullptr;
  const CacheInputs* cache = nullptr;
  const DecoderInputs* decoder = nullptr;
  const Tensor* token_types = nullptr;
  // Added to the layer of caches, by a stack of layers.
  int64_t cache_layer_offset = 0;
  // DecoderInputs::memory, which may be moved. Only Transformers read it.
  Value memory = {};
  // Which rows of the output are wanted; null: all. Only stacks and Transformers read it.
  const WantedOutput* wanted_output = nullptr;
  // How many rows of its keys a Transformer's encoder reads of each batch element; null: all.
  const Tensor* encoder_lens = nullptr;
};

// What a layer gets that reads one array.
inline InputValues rows_alone(const Value& rows) { return {.queries = rows}; }

// An input of a call and its name in messages.
struct InputValue {
  const char* name;
  Value value;
};

inline InputValue value_of(const InputValues& inputs, ProjectedInput input) {
  switch (input) {
    case ProjectedInput::Queries: return {INPUT("queries"), inputs.queries};
    case ProjectedInput::Keys: return {INPUT("keys"), inputs.keys};
    case ProjectedInput::Values: break;
  }
  return {INPUT("values"), inputs.values};
}

// Whether the batch elements lie one after another along one axis of rows.
inline bool is_packed(const InputValues& inputs) { return inputs.sequences->is_packed(); }
// Whether keys and queries are the same rows.
inline bool keys_are_queries(const InputValues& inputs) { return same_source(inputs.keys, inputs.queries); }

inline bool fills_cache(const InputValues& inputs) { return fills_cache(inputs.cache); }
// The rows of the call: the queries or, where a cache is filled, the keys.
inline const Value& rows_of(const InputValues& inputs) { return fills_cache(inputs) ? inputs.keys : inputs.queries; }

// The number of batch elements of inputs that have been checked.
inline int64_t batch_of(const InputValues& inputs) {
  return is_packed(inputs) ? inputs.sequences->query_offsets->dim(0) - 1 : rows_of(inputs).dim(0);
}

// What a layer writes: LayerOutputs, which may be intermediates.
struct OutputValues {
  Value output;
  Value weights;
  Value log_sum_exp;
  // Added to the output before it is rounded, with its shape: the residual of a layer whose child this is. Only for kinds
  // that say so.
  Value addend = {};
  // The output without the addend is multiplied by it. Only for kinds that say so.
  float scale = 1;
};

// The shapes of all outputs for given inputs. `dtype` is that of the inputs; log_sum_exp is always F32. Layers without
// attention have no weights and no log_sum_exp.
struct OutputShapes {
  DType dtype = DType::F32;
  // A packed batch, whose rows have no weights of one size.
  bool is_packed = false;
  Shape output;
  std::optional<Shape> weights;
  std::optional<Shape> log_sum_exp;
};

// The words of messages for what an embedding reads: all of it, and an element.
struct IdWords {
  const char* all;
  const char* one;
};
inline constexpr IdWords kIdWords = {"the ids of an embedding", "an id of the embedding"};
inline constexpr IdWords kTokenTypeWords = {"the token types of the ids", "a token type"};

struct OutputRows;

// How many arrays a kind keeps from `compose` for `compose_backward`, beside its inputs.
inline constexpr size_t kMaxSavedValues = 10;

// Checked inputs, and what `check` computes for `compose`.
struct LayerCall {
  InputValues inputs;
  // With the seed of this layer. The base gives it to all children, and called_dtype.
  Training training;
  // The dtype the caller passed; children may use another.
  DType called_dtype = DType::F32;
  // Whether the call runs the layer: not every call needs all children.
  bool is_run = false;
  OutputShapes shapes;
  // For layers with attention: sizes and visible keys. `compose` adds the operands. Owned by the schedule.
  AttentionProblem* attention = nullptr;
  // For embeddings: the ids in row-major order. Null until the call is run. Owned by the schedule.
  const int32_t* ids = nullptr;
  // For embeddings: the name of the ids, images or features in messages, what ids are, and whether all of them are 0, so that
  // queries are read for their shape alone. The parent sets them.
  const char* ids_name = INPUT("queries");
  const IdWords* id_words = &kIdWords;
  bool has_zero_ids = false;
  // For embeddings of ids (B, S): how many ids of each batch element are read; null: all. The parent sets it.
  const Tensor* id_lens = nullptr;
  // One for each child, in order. Owned by the schedule.
  LayerCall* children = nullptr;
  // Arrays that `check` reserved and `compose` uses, if the kind needs them. Owned by the schedule.
  Value* arrays = nullptr;
  // Of a stack with a wanted output: its rows, and all rows of its last layer. Null: none. Owned by the schedule.
  const OutputRows* output_rows = nullptr;
  Value all_rows = {};
  // Null for the called layer.
  LayerPath* path = nullptr;
  // Outputs of an attention that a caller taps, if they are requested.
  Value tapped_weights = {};
  Value tapped_log_sum_exp = {};
  // In a call with a backward: what `compose` keeps for `compose_backward`, kMaxSavedValues of them, each with the meaning that
  // the kind gives it. Otherwise null. Owned by the schedule.
  Value* saved = nullptr;
  // In a backward: the gradients by Layer::parameters() of this layer, in order. Otherwise null. Owned by the schedule.
  GradientSum* gradients = nullptr;
  // Of a linear layer that projects by the table of an embedding: the gradient by that table. The parent sets it in its own
  // compose_backward.
  GradientSum* table_gradient = nullptr;
  // Null, or the limits of the attention whose queries are the rows of this layer, (B, S, ...): rows that are no queries
  // need not be computed, and their outputs are 0.
  const KeyLimits* row_limits = nullptr;
  // The seed that the called layer got, and the number of this layer's first child in the tree of the call, by which the
  // seed of that child's dropout is derived (docs/semantics.md, "Random numbers").
  uint64_t called_seed = 0;
  uint32_t first_child_number = 0;
};

// Which rows of queries the call of an attention needs: with lengths of queries those below them.
inline WantedRows queries_wanted(const LayerCall& call) {
  return call.inputs.sequences->query_lens != nullptr ? WantedRows::Queries : WantedRows::All;
}

}  // namespace heed
