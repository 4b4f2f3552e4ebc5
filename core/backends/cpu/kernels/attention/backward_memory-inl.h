// SPDX-License-Identifier: Apache-2.0
// The scratch memory of a task of attention backward, and its blocks. The memory is linear in the numbers of queries and keys.
#pragma once

#include "backends/cpu/kernels/attention/backward.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// A panel is as many keys as a tile has lanes. The panels of a group share the sums of the queries' gradient.
constexpr int64_t kPanelKeys = kTileVectors * kLanes;
constexpr int64_t kGroupPanels = 2;
constexpr int64_t kGroupKeys = kGroupPanels * kPanelKeys;
// The queries whose weights are in the caches at a time, whole tiles.
constexpr int64_t kBlockQueries = (128 + kTileRows - 1) / kTileRows * kTileRows;
// The keys whose panels are in the caches at a time.
constexpr int64_t kPackedKeys = 256;
// The gradient of a query is the sum over chunks of this many keys of the sums of each chunk. It is a constant, whatever is
// visible, so that the sum has the same bits however the batch is padded, packed or shared by threads.
constexpr int64_t kChunkKeys = 1024;
static_assert(kChunkKeys % kPackedKeys == 0 && kPackedKeys % kGroupKeys == 0);

// What a row, a query of one head, takes part in.
enum class RowKind : int32_t {
  Nothing,  // its output gradient is 0, or it sees no key
  Plain,    // its probabilities are 2^(score * log2(e) - pivot)
  Shifted,  // its scores are so large that their maximum is subtracted first
  Mean,     // it sees no key, and its output is the mean of all values
};

// The terms of the scores of a row, and the row's part of their gradients.
struct BackwardRow {
  const AttentionProblem* problem;
  PairRow<true> pairs;         // of mask and bias
  const float* relative_bias;  // element 0 of its head; null: none
  float* relative_sums;        // the same element of the gradient; null: not wanted
  float* bias_gradient;        // of key 0; null: not wanted
  const int32_t* positions;    // of the keys; null if key k has the distance first_distance + k
  int64_t first_distance;
  int32_t position;  // of the query, if the keys have positions
  float slope;       // of ALiBi, negated
  bool has_alibi;
  bool has_distances;
  bool has_window;
  bool sums_distances;  // whether a gradient of a term of distances is wanted
};

struct BackwardMemory {
  // For each row; row g * query_count + q is query q of the g-th of the heads that share a key head.
  float* queries;           // [rows][row_stride(head_size)]
  float* output_gradients;  // [rows][row_stride(value_head_size)]
  float* query_sums;        // [rows][row_stride(head_size)], the gradient of the queries, of one chunk
  float* pivots;            // [rows]
  float* shifts;            // [rows]
  float* deltas;            // [rows], D
  float* bias_key_terms;    // [rows], the factor of the bias key in the gradient of the query, if there is one
  RowKind* kinds;           // [rows]
  int32_t* not_finite;      // [rows], whether the query or its output gradient is not
  KeyRange* ranges;         // [rows]
  // For the keys whose panels are packed. Lanes without a key are 0.
  float* key_panels;    // [panels][head_size][kPanelKeys], times the scale of the keys
  float* value_panels;  // [panels][value_head_size][kPanelKeys]
  float* key_sums;      // [panels][head_size][kPanelKeys], the gradient of the keys without the scale
  float* value_sums;    // [panels][value_head_size][kPanelKeys]
  float* key_rows;      // [keys][row_stride(head_size)]
  float* panel_rows;    // [kPanelKeys][the larger row_stride]
  // For a block of queries and a group of keys.
  float* weights;     // [kBlockQueries][kPanelKeys], A, of one panel
  float* products;    // [kGroupPanels][kBlockQueries][kPanelKeys], dP, then dS
  int32_t* seen;      // [kGroupPanels][kBlockQueries][kPanelKeys], kSees or kAverages, else 0
  int32_t* kept;      // [kBlockQueries][kGroupKeys], -1 where the weight is kept, if any is dropped
  BackwardRow* rows;  // [kBlockQueries]
  // For each head.
  float* relative_bias;       // expand_relative_bias
  float* relative_sums;       // its gradient, in the same form
  float* score_weights;       // [heads][row_stride(head_size)]
  float* score_weights_sums;  // [heads][head_size][kLanes]
  float* bias_key;            // [row_stride(head_size)]
  float* bias_value;          // [row_stride(value_head_size)]
  KeyRange* visible;          // the keys that some row sees; no others are read
  KeyRange* wanted;           // the keys that some row takes part in
  float* tangents;            // [head_size][kPanelKeys], of a row with additive scores
  size_t num_bytes;
};

// Pairs in BackwardMemory::seen. Averages: the value takes part in the mean that a row without a visible key has.
constexpr int32_t kSees = -1;
constexpr int32_t kAverages = 1;

// The parts of the memory that begins at `scratch`, which may be null to ask for their size.
static BackwardMemory divide_memory(const AttentionBackwardProblem& backward, void* scratch) {
  const AttentionProblem& problem = backward.forward;
  const int64_t group = group_size(problem);
  const int64_t rows = group * problem.limits.num_queries;
  const int64_t width = row_stride(problem.head_size);
  const int64_t value_width = row_stride(problem.value_head_size);
  const int64_t keys = smaller(kPackedKeys, round_up(problem.limits.num_keys, kGroupKeys));
  const int64_t pairs = kGroupKeys * smaller(kBlockQueries, round_up(problem.limits.num_queries, kTileRows));
  const bool is_additive = problem.scoring == Scoring::Additive;
  BackwardMemory memory;
  size_t used = 0;
  const auto take = [&](int64_t count, int64_t size) {
    char* part = scratch != nullptr ? static_cast<char*>(scratch) + used : nullptr;
    used += static_cast<size_t>(round_up(count * size, 64));
    return static_cast<void*>(part);
  };
  const auto floats = [&](int64_t count) { return static_cast<float*>(take(count, sizeof(float))); };
  memory.queries = floats(rows * width);
  memory.output_gradients = floats(rows * value_width);
  memory.query_sums = floats(rows * width);
  memory.pivots = floats(rows);
  memory.shifts = floats(rows);
  memory.deltas = floats(rows);
  memory.bias_key_terms = floats(problem.bias_key.given != 0 ? rows : 0);
  memory.kinds = static_cast<RowKind*>(take(rows, sizeof(RowKind)));
  memory.not_finite = static_cast<int32_t*>(take(rows, sizeof(int32_t)));
  memory.ranges = static_cast<KeyRange*>(take(rows, sizeof(KeyRange)));
  memory.key_panels = floats(keys * problem.head_size);
  memory.value_panels = floats(keys * problem.value_head_size);
  memory.key_sums = floats(keys * problem.head_size);
  memory.value_sums = floats(keys * problem.value_head_size);
  memory.key_rows = floats(keys * width);
  memory.panel_rows = floats(kPanelKeys * larger(width, value_width));
  memory.weights = floats(pairs / kGroupPanels);
  memory.products = floats(pairs);
  memory.seen = static_cast<int32_t*>(take(pairs, sizeof(int32_t)));
  memory.kept = static_cast<int32_t*>(take(problem.dropout != 0 ? pairs : 0, sizeof(int32_t)));
  memory.rows = static_cast<BackwardRow*>(take(kBlockQueries, sizeof(BackwardRow)));
  memory.relative_bias = floats(all_relative_bias_floats(problem));
  memory.relative_sums = floats(all_relative_bias_floats(problem));
  memory.score_weights = floats(is_additive ? group * width : 0);
  memory.score_weights_sums = floats(is_additive ? group * problem.head_size * kLanes : 0);
  memory.bias_key = floats(width);
  memory.bias_value = floats(value_width);
  memory.visible = static_cast<KeyRange*>(take(1, sizeof(KeyRange)));
  memory.wanted = static_cast<KeyRange*>(take(1, sizeof(KeyRange)));
  memory.tangents = floats(is_additive ? problem.head_size * kPanelKeys : 0);
  memory.num_bytes = used;
  return memory;
}

// What all functions of a task know.
struct BackwardState {
  const BackwardArguments& arguments;
  const AttentionBackwardProblem& backward;
  const AttentionProblem& problem;
  const BackwardTask& task;
  TileTask tile_task;  // for functions of forward: problem, sequence, batch element and key head
  BackwardMemory memory;
  int64_t width;        // row_stride(head_size)
  int64_t value_width;  // row_stride(value_head_size)
  int64_t group;
  int64_t num_queries;
  int64_t num_keys;
  float key_scale;  // of the packed keys; the other factor of the scale is forward's score_scale
  bool is_additive;
  // Whether a tile whose rows see all keys of a panel is plain: nothing is added to its scores, and nothing is dropped; or else
  // whether it is simple: what is added are vectors of numbers.
  bool is_plain;
  bool is_simple;

  HEED_INLINE_MEMBER int64_t head_of_group(int64_t g) const { return task.kv_head * group + g; }
};

// One compiled function for each number of rows of a tile.
template <int number>
struct Rows {
  static constexpr int kNumber = number;
};

// Calls visit(Rows<n>, first) for tiles of n rows, at most `most`, that together are `count` rows.
template <int most, typename Visit>
HEED_INLINE void visit_tiles(int64_t count, const Visit& visit) {
  int64_t i = 0;
  for (; i + most <= count; i += most) visit(Rows<most>{}, i);
  if constexpr (most > 4) {
    for (; i + 4 <= count; i += 4) visit(Rows<4>{}, i);
  }
  for (; i + 2 <= count; i += 2) visit(Rows<2>{}, i);
  if (i < count) visit(Rows<1>{}, i);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
