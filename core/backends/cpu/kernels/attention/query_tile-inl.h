// SPDX-License-Identifier: Apache-2.0
// A query tile: the queries in the lanes of a tile, their rows in the call, and the keys that they may see.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kQueryTileRows = kTileVectors * kLanes;

// A query tile's scores are kBlockKeys * kQueryTileRows floats, 32 KiB with 16 lanes. With fewer keys the sums of
// values are loaded and stored more often; more would evict queries and scores from a first-level cache of 48 KiB.
constexpr int64_t kBlockKeys = 256;

// Few rows are scored one by one, kRowBlockKeys keys at a time. Keys are read as four streams (row_scores-inl.h,
// decode_attention-inl.h), each a quarter of a block. When a stream starts, and when reading changes from keys to
// values and back, some KiB of bandwidth are lost. With heads of 128 in F16 a quarter of 128 keys is 32 KiB and reached
// 78 % of the read bandwidth, one of 256 keys 85 %; in f32 these are 64 and 128 KiB, 90 and 94 %. Twice as many keys
// would make the scores of 16 rows 128 KiB, too much for the fastest caches together with a part of the values.
constexpr int64_t kRowBlockKeys = 1024;
static_assert(kRowBlockKeys % kBlockKeys == 0);
// The row stride of scores is no multiple of 4 KiB, since such rows would map to the same sets of a first-level cache.
constexpr int64_t kRowScoresStride = kRowBlockKeys + kLanes;

// The keys for which scratch has room in a block of at most `most` keys: no more than the call has, in whole vectors, and
// at least the constant ones.
HEED_INLINE int64_t room_of_block(const AttentionProblem& problem, int64_t most) {
  const int64_t num_keys = larger(problem.limits.num_keys, num_constant_keys(problem));
  return num_keys < most ? round_up(num_keys, kLanes) : most;
}

// Floats of the bias key and its value.
HEED_INLINE int64_t bias_key_floats(const AttentionProblem& problem) {
  return problem.bias_key.given != 0 ? row_stride(problem.head_size) + row_stride(problem.value_head_size) : 0;
}

struct QueryTile {
  float* queries;              // [head_size][kQueryTileRows], times the scale
  float* score_weights;        // [head_size][kQueryTileRows], those of each row's head; only with additive scoring
  float* sums;                 // [value_head_size][kQueryTileRows], weighted values
  float* maximum;              // [kQueryTileRows], of the scores so far
  float* total;                // [kQueryTileRows], sums of e^(score - maximum)
  int32_t* sees_any;           // [kQueryTileRows], -1 if the row has seen a key, else 0
  float* bias_scores;          // [kQueryTileRows], of the bias key, if there is one
  const KeyRange* key_ranges;  // [num_rows], the keys that the row may see by valid lengths, causal mask and window
  int64_t first_row;
  int64_t num_rows;
  // Keys that some row sees: [any_first, any_end). Keys that all rows see: [all_first, all_end).
  int64_t any_first;
  int64_t any_end;
  int64_t all_first;
  int64_t all_end;
  int64_t first_vector_end;  // end of the keys that rows of the first vector see
  bool started;              // whether sums and total have been written
};

// One task of a call and its part of the scratch memory.
struct TileTask {
  const AttentionArguments* arguments;
  const AttentionProblem* problem;
  const Sequence* sequence;
  int64_t batch_index;
  int64_t kv_head;
  float* scores;  // [kBlockKeys][kQueryTileRows], then probabilities
  // [keys of a block][kQueryTileRows], -1 where the row sees the key; written by finish_scores, and for all keys of a
  // block in a Careful pass.
  int32_t* seen;
  // If keys and values are not read in place, [keys of a block][row_stride(head_size)] and
  // [keys of a block][row_stride(value_head_size)].
  float* key_block;
  float* value_block;
  const float* relative_bias;  // expand_relative_bias
  float* bias_key;             // [row_stride(head_size)], the bias key of the task's heads, if there is one
  float* bias_value;           // [row_stride(value_head_size)]
  // For the decode kernel, which scores few rows one by one (decode_attention-inl.h); otherwise null.
  float* row_queries;  // [num_rows][row_stride(head_size)], times the scale
  float* row_scores;   // [num_rows][kRowScoresStride] and kLanes more
};

// Floats of one query tile.
static int64_t query_tile_floats(const AttentionProblem& problem) {
  const int64_t score_weights = problem.scoring == Scoring::Additive ? problem.head_size : 0;
  const int64_t bias_scores = problem.bias_key.given != 0 ? 1 : 0;
  return (problem.head_size + score_weights + problem.value_head_size + 3 + bias_scores) * kQueryTileRows;
}

// Built in place: copying a struct that was just written stalls on store forwarding.
static void make_query_tile(const AttentionProblem& problem, const AttentionTask& request, int64_t first_row,
                            float* memory, QueryTile& query_tile) {
  query_tile.queries = memory;
  query_tile.score_weights = query_tile.queries + problem.head_size * kQueryTileRows;
  query_tile.sums =
      query_tile.score_weights + (problem.scoring == Scoring::Additive ? problem.head_size * kQueryTileRows : 0);
  query_tile.maximum = query_tile.sums + problem.value_head_size * kQueryTileRows;
  query_tile.total = query_tile.maximum + kQueryTileRows;
  query_tile.sees_any = reinterpret_cast<int32_t*>(query_tile.total + kQueryTileRows);
  // The rows end with these, if there are any: after `total` and `sees_any`.
  query_tile.bias_scores = query_tile.total + int64_t{2} * kQueryTileRows;
  query_tile.key_ranges = request.key_ranges + (first_row - request.first_row);
  query_tile.first_row = first_row;
  query_tile.num_rows = smaller(request.end_row - first_row, kQueryTileRows);
  query_tile.started = false;
  for (int64_t i = 0; i < kQueryTileRows; i += kLanes) store(query_tile.sees_any + i, IntVec{});
}

// ---- which rows -----------------------------------------------------------------------------------------------------

HEED_INLINE int64_t head_of(const TileTask& task, int64_t row) {
  const AttentionProblem& problem = *task.problem;
  return task.kv_head * group_size(problem) + row / task.sequence->query_count;
}
HEED_INLINE int64_t query_of(const TileTask& task, int64_t row) { return row % task.sequence->query_count; }

// Calls visit(lane, head, query) for each row of one vector of a query tile.
template <typename Visit>
HEED_INLINE void visit_rows(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, const Visit& visit) {
  const int64_t num_rows = smaller(query_tile.num_rows - first_lane, kLanes);
  int64_t head = head_of(task, query_tile.first_row + first_lane);
  int64_t query = query_of(task, query_tile.first_row + first_lane);
  for (int64_t lane = 0; lane < num_rows; ++lane) {
    visit(lane, head, query);
    if (++query == task.sequence->query_count) {
      query = 0;
      ++head;
    }
  }
}

// The addresses of the rows of one vector in an operand with axes (b, h, q, .); null for lanes without a row.
// `query_begin`: the index of query 0 in the operand: that of the sequence for queries and outputs, 0 for operands with
// an element for each pair of query and key.
static void find_rows(const TileTask& task, const QueryTile& query_tile, int64_t first_lane, const Operand& operand,
                      int64_t query_begin, int64_t element_size, char* (&rows)[kLanes]) {
  for (char*& row : rows) row = nullptr;
  visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t query) {
    const int64_t index =
        task.batch_index * operand.strides[0] + head * operand.strides[1] + (query_begin + query) * operand.strides[2];
    rows[lane] = static_cast<char*>(operand.data) + index * element_size;
  });
}

// ---- what they can see ----------------------------------------------------------------------------------------------

// Sets the key ranges of the whole query tile from those of its rows.
static void summarize_key_ranges(const TileTask& task, QueryTile& query_tile) {
  const int64_t key_count = task.sequence->key_count;
  query_tile.any_first = key_count;
  query_tile.any_end = 0;
  query_tile.all_first = 0;
  query_tile.all_end = key_count;
  query_tile.first_vector_end = 0;
  for (int64_t lane = 0; lane < query_tile.num_rows; ++lane) {
    const int64_t first = query_tile.key_ranges[lane].first;
    const int64_t end = query_tile.key_ranges[lane].end;
    query_tile.all_first = larger(first, query_tile.all_first);
    query_tile.all_end = smaller(end, query_tile.all_end);
    if (first >= end) continue;
    query_tile.any_first = smaller(first, query_tile.any_first);
    query_tile.any_end = larger(end, query_tile.any_end);
    if (lane < kLanes) query_tile.first_vector_end = larger(end, query_tile.first_vector_end);
  }
}

// The end of the keys in k0 .. k1 - 1 that both vectors of rows process. The first vector sees no key beyond it, as
// below the diagonal of a causal mask, and the second continues alone.
template <int vectors>
HEED_INLINE int64_t end_of_shared_keys(const QueryTile& query_tile, int64_t k0, int64_t k1) {
  static_assert(vectors <= 2);
  return vectors == 1 ? k1 : smaller(larger(query_tile.first_vector_end, k0), k1);
}

// The second vector of rows as a query tile in the same memory.
static QueryTile second_vector_of(const QueryTile& query_tile) {
  QueryTile second = query_tile;
  second.queries += kLanes;
  second.score_weights += kLanes;
  second.sums += kLanes;
  second.maximum += kLanes;
  second.total += kLanes;
  second.sees_any += kLanes;
  second.key_ranges += kLanes;
  second.first_row += kLanes;
  second.num_rows -= kLanes;
  return second;
}
static TileTask second_vector_of(const TileTask& task) {
  TileTask second = task;
  second.scores += kLanes;
  second.seen += kLanes;
  if (task.row_queries != nullptr) second.row_queries += kLanes * row_stride(task.problem->head_size);
  return second;
}

// ---- queries --------------------------------------------------------------------------------------------------------

// The first element of the vector that contains `element` of a row. The last vector begins earlier if it would end
// beyond the row, and then repeats elements of the vector before. In rows shorter than a vector it begins at `element`,
// and the caller uses only the first lanes.
HEED_INLINE int64_t begin_of_vector(int64_t element, int64_t size) {
  return size < kLanes ? element : smaller(element, size - kLanes);
}

// Loads elements d .. d + count - 1 of a row of the queries; the other lanes are 0.
static Vec load_query(const Operand& queries, const char* row, int64_t d, int64_t count) {
  if (row == nullptr) return Vec{};
  return gather_first_elements(row + d * queries.strides[3] * size_of_element(queries.dtype), queries.dtype,
                               queries.strides[3], count);
}

// Whether the rows of one vector of a query tile are contiguous in an operand with axes (b, h, q, .), but the elements
// of a row are not. Then a vector of rows is loaded or stored without a transpose.
static bool are_rows_contiguous(const TileTask& task, const QueryTile& query_tile, int64_t first_lane,
                                const Operand& operand) {
  const int64_t num_rows = smaller(query_tile.num_rows - first_lane, kLanes);
  return operand.strides[3] != 1 && operand.strides[2] == 1 &&
         query_of(task, query_tile.first_row + first_lane) + num_rows <= task.sequence->query_count;
}

// Loads the query tile's queries, transposed and scaled. In a vector with rows, lanes without a row are 0 or repeat a
// row; a second vector without rows is not written.
static void load_queries(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  const Operand& queries = problem.queries;
  const Vec factor = broadcast(task.arguments->query_scale);
  const DType type = queries.dtype;
  const bool is_contiguous = queries.strides[3] == 1;
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    char* rows[kLanes];
    find_rows(task, query_tile, first_lane, queries, task.sequence->query_begin, size_of_element(type), rows);
    const int64_t num_rows = query_tile.num_rows - first_lane;
    if (are_rows_contiguous(task, query_tile, first_lane, queries)) {
      for (int64_t d = 0; d < problem.head_size; ++d) {
        const char* from = rows[0] + d * queries.strides[3] * size_of_element(type);
        store(query_tile.queries + d * kQueryTileRows + first_lane, load_first_elements(from, type, num_rows) * factor);
      }
      continue;
    }
    for (int64_t element = 0; element < problem.head_size; element += kLanes) {
      const int64_t d = is_contiguous ? begin_of_vector(element, problem.head_size) : element;
      const int64_t count = smaller(problem.head_size - d, kLanes);
      float* to = query_tile.queries + d * kQueryTileRows + first_lane;
      Vec tile[kLanes];
      if (is_contiguous && num_rows <= kFewRows && count == kLanes) {
        Vec few[kFewRows];
#pragma GCC unroll 4
        for (int lane = 0; lane < kFewRows; ++lane)
          few[lane] = load_elements(rows[lane < num_rows ? lane : 0] + d * size_of_element(type), type) * factor;
        transpose_to_columns(few, tile);
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i) store(to + i * kQueryTileRows, tile[i]);
      } else if (is_contiguous && num_rows >= kLanes && count == kLanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane)
          tile[lane] = load_elements(rows[lane] + d * size_of_element(type), type);
        transpose(tile);
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i) store(to + i * kQueryTileRows, tile[i] * factor);
      } else {
        for (int lane = 0; lane < kLanes; ++lane) tile[lane] = load_query(queries, rows[lane], d, count);
        transpose(tile);
        for (int64_t i = 0; i < count; ++i) store(to + i * kQueryTileRows, tile[i] * factor);
      }
    }
  }
}

// Loads the bias key and its value of the task's heads.
static void load_bias_key(const TileTask& task) {
  const AttentionProblem& problem = *task.problem;
  if (problem.bias_key.data == nullptr) return;
  const auto load_row = [&](const Operand& operand, int64_t size, float* to) {
    widen_row(element_address(operand, task.kv_head * operand.strides[1]), operand.dtype, operand.strides[3], size, to);
  };
  load_row(problem.bias_key, problem.head_size, task.bias_key);
  load_row(problem.bias_value, problem.value_head_size, task.bias_value);
}

// With additive scoring: loads for each row the score weights of its head.
static void load_score_weights(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  const Operand& weights = problem.score_weights;
  const int64_t size = size_of_element(weights.dtype);
  for (int64_t i = 0; i < problem.head_size * kQueryTileRows; ++i) query_tile.score_weights[i] = 0.0f;
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t) {
      const char* row = static_cast<const char*>(weights.data) + head * weights.strides[1] * size;
      for (int64_t d = 0; d < problem.head_size; ++d) {
        query_tile.score_weights[d * kQueryTileRows + first_lane + lane] =
            load_element(row + d * weights.strides[3] * size, weights.dtype);
      }
    });
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
