// SPDX-License-Identifier: Apache-2.0
// Attention for few queries and many keys, as in text generation: there is so little computation per key and value that
// the time goes into reading them. docs/kernels.md has a drawing.
//
// A task is all rows that share a key head. It reads each key and value once, as stored. If a vector has fewer lanes
// than there are rows, they become several tasks, and each reads the keys and values. Lanes are the elements of a head:
// a key's product is summed over the lanes (row_scores-inl.h); a value is multiplied by its probability and added to
// the row's sums. In the softmax between them, lanes are keys.
//
// The keys of a task are cut into chunks, so that one long task can keep several threads busy. The results of
// chunks are merged in the order of the chunks. How chunks are cut depends on the number of keys alone, and blocks begin at
// multiples of kRowBlockKeys. Keys that are hidden before or behind the visible ones move neither, and add exactly 0.
//
// Work on single pairs of query and key (hiding, biases, dropout, weights) is done on query tiles: a block of scores is
// transposed to a query tile and back. Scores of keys that all rows see are not transposed, unless there is dropout or
// something that finish_scores adds.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/constant_keys-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/query_tile_results-inl.h"
#include "backends/cpu/kernels/attention/row_results-inl.h"
#include "backends/cpu/kernels/attention/row_scores-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Larger heads use the flash kernel, so that scratch sizes cannot overflow.
constexpr int64_t kDecodeMaxSize = 4096;

// A task of this kernel, in scratch.
struct DecodeTask {
  TileTask task;
  QueryTile query_tile;
  float* results;  // [num_rows][row_result_floats], of the current chunk
  float* totals;   // [num_rows][kLanes], of the current chunk
};

// Floats of the results of a chunk.
HEED_INLINE int64_t partial_floats(const AttentionProblem& problem, int64_t num_rows) {
  return num_rows * row_result_floats(problem);
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Turns the scores at k0 .. k1 - 1 of each row into probabilities relative to the row's running maximum, and rescales
// total and sums to it. Other scores in the first and the last vector become 0.
static void exponentiate_rows(const DecodeTask& decode, int64_t k0, int64_t k1) {
  const AttentionProblem& problem = *decode.task.problem;
  const int64_t first = k0 / kLanes * kLanes;
  const int64_t end = round_up(k1, kLanes);
  const int64_t width = row_stride(problem.value_head_size);
  for (int64_t r = 0; r < decode.query_tile.num_rows; ++r) {
    float* scores = decode.task.row_scores + r * kRowScoresStride;
    float* sums = decode.results + r * row_result_floats(problem);
    for (int64_t k = first; k < k0; ++k) scores[k] = -kInfinity;
    for (int64_t k = k1; k < end; ++k) scores[k] = -kInfinity;
    Vec largest = broadcast(-kInfinity);
    // A NaN is never greater; it reaches the sums through its exponential.
    for (int64_t k = first; k < end; k += kLanes) largest = max(load(scores + k), largest);
    const Vec before = broadcast(sums[width + kMaximum]);
    const Vec maximum = max(broadcast(maximum_of_lanes(largest)), before);
    const Vec pivots[1] = {pivot_of(maximum)};
    Vec total[1] = {load(decode.totals + r * kLanes)};
    if (any(maximum > before)) {
      sums[width + kMaximum] = maximum[0];
      const Vec factor = factor_between(before, maximum);
      total[0] *= factor;
      for (int64_t d = 0; d < width; d += kLanes) store(sums + d, load(sums + d) * factor);
    }
    if (any(is_large(maximum))) {
      for (int64_t i = first; i < end; i += kLanes) store(scores + i, load(scores + i) - shift_of(maximum));
    }
    int64_t k = first;
    for (; k + 4 * kLanes <= end; k += 4 * kLanes) exponentiate_vectors<4>(scores + k, pivots, total[0]);
    for (; k < end; k += kLanes) exponentiate_vectors<1>(scores + k, pivots, total[0]);
    store(decode.totals + r * kLanes, total[0]);
  }
}

// ---- values ---------------------------------------------------------------------------------------------------------

// The number of keys of each quarter of a block whose values are added at a time. With heads of 128 in f32, the values of
// these keys of all four quarters take 32 KiB. They stay in a first-level cache of 48 KiB until all rows have used them.
// With fewer keys at a time, the sums of a row are loaded and stored more often.
constexpr int64_t kPartKeys = 16;
// The number of rows whose sums are in registers at the same time. A row is one query of one head; its sums are the weighted
// sums of values. They take 8 registers if the ISA has 32, and 4 if it has 16.
constexpr int kValueRows = 2;

// Within a block, values are added in a fixed order: key i of each of its four quarters, then key i + 1 (for the reason
// see row_scores-inl.h). Keys that the call does not have are skipped.
constexpr int64_t kQuarterKeys = kRowBlockKeys / 4;

// Keys first .. end - 1 of a block, as indices in the block.
struct BlockKeys {
  int64_t first;
  int64_t end;

  bool are_all() const { return first == 0 && end == kRowBlockKeys; }
  bool have(int64_t index) const { return index >= first && index < end; }
};

// Keys first .. end - 1 of each quarter of a block.
struct QuarterRange {
  int64_t first;
  int64_t end;
};

// Calls visit(index, row) for keys of a block in the block's order. `index` counts from the block's first key, `row`
// from keys_of_block.first.
template <typename Visit>
HEED_INLINE void visit_block_keys(BlockKeys keys_of_block, QuarterRange part, const Visit& visit) {
  if (keys_of_block.are_all()) {
    for (int64_t i = part.first; i < part.end; ++i) {
#pragma GCC unroll 4
      for (int64_t quarter = 0; quarter < 4; ++quarter) visit(quarter * kQuarterKeys + i, quarter * kQuarterKeys + i);
    }
    return;
  }
  for (int64_t i = part.first; i < part.end; ++i) {
    for (int64_t quarter = 0; quarter < 4; ++quarter) {
      const int64_t index = quarter * kQuarterKeys + i;
      if (keys_of_block.have(index)) visit(index, index - keys_of_block.first);
    }
  }
}

// sums[r][d] += probability[r][index] * value[index][d] for `vectors` vectors of d and one part of a block. `values`
// points to the value at keys_of_block.first. With `fetches` it prefetches the bytes at distance `ahead`.
template <DType type, int rows, int vectors, bool fetches>
HEED_INLINE void add_value_tile(const char* values, int64_t stride, int64_t ahead, const float* probabilities,
                                BlockKeys keys_of_block, QuarterRange part, float* sums, int64_t sums_stride) {
  Vec tile[rows][vectors];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) tile[r][v] = load(sums + r * sums_stride + v * kLanes);
  }
  visit_block_keys(
      keys_of_block, part, [&](int64_t index, int64_t row) __attribute__((always_inline)) {
        if (fetches) fetch(values + row * stride + ahead, vectors * kLanes * size_of_element(type));
        Vec elements[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
          elements[v] = load_elements(values + row * stride + v * kLanes * size_of_element(type), type);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
          const Vec probability = broadcast(probabilities[r * kRowScoresStride + index]);
#pragma GCC unroll 8
          for (int v = 0; v < vectors; ++v) tile[r][v] = fma(probability, elements[v], tile[r][v]);
        }
      });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) store(sums + r * sums_stride + v * kLanes, tile[r][v]);
  }
}

// Like add_value_tile for the elements that do not fill a vector, in the lanes of load_tail.
template <DType type>
HEED_INLINE void add_value_tail(StoredRows values, const float* probabilities, BlockKeys keys_of_block,
                                QuarterRange part, float* sums) {
  Vec sum = load(sums);
  visit_block_keys(
      keys_of_block, part, [&](int64_t index, int64_t row) __attribute__((always_inline)) {
        sum =
            fma(broadcast(probabilities[index]), load_tail<type>(values.data + row * values.stride, values.width), sum);
      });
  store(sums, sum);
}

template <DType type, int rows, bool fetches>
HEED_INLINE void add_values_to_rows(StoredRows values, const float* probabilities, BlockKeys keys_of_block,
                                    QuarterRange part, float* sums, int64_t sums_stride) {
  constexpr int kVectors = kRegisters >= 32 ? 8 : 4;
  const int64_t whole = values.width / kLanes * kLanes;
  const int64_t ahead = ahead_of<type>(values);
  int64_t d = 0;
  for (; d + kVectors * kLanes <= whole; d += kVectors * kLanes) {
    add_value_tile<type, rows, kVectors, fetches>(values.data + d * size_of_element(type), values.stride, ahead,
                                                  probabilities, keys_of_block, part, sums + d, sums_stride);
  }
  for (; d < whole; d += kLanes) {
    add_value_tile<type, rows, 1, fetches>(values.data + d * size_of_element(type), values.stride, ahead, probabilities,
                                           keys_of_block, part, sums + d, sums_stride);
  }
  if (d == values.width) return;
  for (int r = 0; r < rows; ++r)
    add_value_tail<type>(values, probabilities + r * kRowScoresStride, keys_of_block, part, sums + r * sums_stride + d);
}

template <DType type>
static void add_values_to_all_rows(StoredRows values, const float* probabilities, BlockKeys keys_of_block,
                                   int64_t num_rows, float* sums, int64_t sums_stride) {
  const bool is_one_quarter = keys_of_block.first / kQuarterKeys == (keys_of_block.end - 1) / kQuarterKeys;
  const int64_t first = is_one_quarter ? keys_of_block.first % kQuarterKeys : 0;
  const int64_t end = is_one_quarter ? (keys_of_block.end - 1) % kQuarterKeys + 1 : kQuarterKeys;
  const int64_t step = num_rows <= kValueRows ? kQuarterKeys : kPartKeys;
  for (int64_t i = first; i < end; i += step) {
    const QuarterRange part = {i, smaller(i + step, end)};
    int64_t r = 0;
    // The first rows read the part from memory, the others from the cache.
    if (num_rows >= kValueRows) {
      add_values_to_rows<type, kValueRows, true>(values, probabilities, keys_of_block, part, sums, sums_stride);
      r = kValueRows;
    }
    for (; r + kValueRows <= num_rows; r += kValueRows) {
      add_values_to_rows<type, kValueRows, false>(values, probabilities + r * kRowScoresStride, keys_of_block, part,
                                                  sums + r * sums_stride, sums_stride);
    }
    for (; r < num_rows; ++r) {
      add_values_to_rows<type, 1, true>(values, probabilities + r * kRowScoresStride, keys_of_block, part,
                                        sums + r * sums_stride, sums_stride);
    }
  }
}

// Like add_values_to_all_rows, but only for pairs in `seen`: 0 times a hidden value that is not finite would be NaN. If
// all values are finite, the result is bitwise the same.
template <DType type>
static void add_seen_values_to_rows(StoredRows values, const int32_t* seen, const float* probabilities,
                                    BlockKeys keys_of_block, int64_t num_rows, float* sums, int64_t sums_stride) {
  visit_block_keys(keys_of_block, QuarterRange{0, kQuarterKeys}, [&](int64_t index, int64_t row_of_run) {
    const char* value = values.data + row_of_run * values.stride;
    for (int64_t r = 0; r < num_rows; ++r) {
      if (seen[index * kQueryTileRows + r] == 0) continue;
      const Vec probability = broadcast(probabilities[r * kRowScoresStride + index]);
      float* row = sums + r * sums_stride;
      int64_t d = 0;
      for (; d + kLanes <= values.width; d += kLanes)
        store(row + d, fma(probability, load_elements(value + d * size_of_element(type), type), load(row + d)));
      if (d < values.width) store(row + d, fma(probability, load_tail<type>(value, values.width), load(row + d)));
    }
  });
}

// ---- a chunk --------------------------------------------------------------------------------------------------------

// Keys or values k0 .. k1 - 1 as stored, or widened into `block` if the elements of a row are not contiguous.
// stored_type returns the resulting dtype.
static StoredRows stored_rows(const TileTask& task, const Operand& rows, int64_t k0, int64_t k1, int64_t width,
                              float* block) {
  const char* first = row_address(task, rows, k0);
  if (rows.strides[3] == 1 || width <= 1) return {first, rows.strides[2] * size_of_element(rows.dtype), width};
  widen_rows(first, rows.dtype, rows.strides[2], rows.strides[3], k1 - k0, width, block);
  return {reinterpret_cast<const char*>(block), row_stride(width) * static_cast<int64_t>(sizeof(float)), width};
}

// The dtype of the rows that stored_rows returns.
HEED_INLINE DType stored_type(const Operand& operand, int64_t width) {
  return operand.strides[3] == 1 || width <= 1 ? operand.dtype : DType::F32;
}

static void score_stored_rows(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1) {
  const TileTask& task = decode.task;
  const AttentionProblem& problem = *task.problem;
  const int64_t head_size = problem.head_size;
  const StoredRows keys = stored_rows(task, problem.keys, k0, k1, head_size, task.key_block);
  const ScoredRows rows = {task.row_queries, row_stride(head_size), task.row_scores + (k0 - block), kRowScoresStride,
                           decode.query_tile.num_rows};
  switch (stored_type(problem.keys, head_size)) {
    case DType::F16: return score_rows<DType::F16>(keys, k1 - k0, rows);
    case DType::BF16: return score_rows<DType::BF16>(keys, k1 - k0, rows);
    case DType::F32: return score_rows<DType::F32>(keys, k1 - k0, rows);
    // No operation computes with these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

template <DType type>
static void add_stored_values_of(const DecodeTask& decode, StoredRows values, BlockKeys keys_of_block, bool only_seen) {
  const int64_t stride = row_result_floats(*decode.task.problem);
  const int64_t num_rows = decode.query_tile.num_rows;
  const float* probabilities = decode.task.row_scores;
  if (only_seen)
    add_seen_values_to_rows<type>(values, decode.task.seen, probabilities, keys_of_block, num_rows, decode.results,
                                  stride);
  else
    add_values_to_all_rows<type>(values, probabilities, keys_of_block, num_rows, decode.results, stride);
}

static void add_stored_values(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1, bool only_seen) {
  const TileTask& task = decode.task;
  const Operand& rows = task.problem->values;
  const int64_t width = task.problem->value_head_size;
  // The key block is no longer needed.
  const StoredRows values = stored_rows(task, rows, k0, k1, width, task.key_block);
  const BlockKeys keys_of_block = {k0 - block, k1 - block};
  switch (stored_type(rows, width)) {
    case DType::F16: return add_stored_values_of<DType::F16>(decode, values, keys_of_block, only_seen);
    case DType::BF16: return add_stored_values_of<DType::BF16>(decode, values, keys_of_block, only_seen);
    case DType::F32: return add_stored_values_of<DType::F32>(decode, values, keys_of_block, only_seen);
    // No operation computes with these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

// Calls visit(task, k0, k1) for parts of a block that fit into a query tile's scores; task.seen begins with the part. No
// part has keys of two key blocks, so that distances are rounded as load_alibi says.
template <typename Visit>
HEED_INLINE void visit_query_tile_blocks(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1,
                                         const Visit& visit) {
  for (int64_t k = k0, end; k < k1; k = end) {
    end = smaller((k / kBlockKeys + 1) * kBlockKeys, k1);
    TileTask task = decode.task;
    task.seen += (k - block) * kQueryTileRows;
    visit(task, k, end);
  }
}

// Finishes scores of keys that some row does not see, or that need more than the product, and sets task.seen.
static void finish_row_scores(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1) {
  const QueryTile& query_tile = decode.query_tile;
  visit_query_tile_blocks(decode, block, k0, k1, [&](const TileTask& task, int64_t begin, int64_t end) {
    Vec maximum[1] = {broadcast(-kInfinity)};
    rows_to_query_tile(task, query_tile, begin - block, end - begin, task.scores);
    finish_scores<1>(task, query_tile, begin, begin, end, maximum);
    query_tile_to_rows(task, query_tile, begin - block, end - begin);
  });
}

static void drop_from_rows(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1) {
  const QueryTile& query_tile = decode.query_tile;
  visit_query_tile_blocks(decode, block, k0, k1, [&](const TileTask& task, int64_t begin, int64_t end) {
    rows_to_query_tile(task, query_tile, begin - block, end - begin, task.scores);
    drop<1>(task, query_tile, begin, end);
    query_tile_to_rows(task, query_tile, begin - block, end - begin);
  });
}

// Processes keys k0 .. k1 - 1 of the block whose first key is `block`.
static void decode_block(const DecodeTask& decode, int64_t block, int64_t k0, int64_t k1, Pass pass) {
  const AttentionProblem& problem = *decode.task.problem;
  const QueryTile& query_tile = decode.query_tile;
  score_stored_rows(decode, block, k0, k1);
  int64_t plain_first = k0;
  int64_t plain_end = k1;
  find_plain_keys(decode.task, query_tile, plain_first, plain_end);
  finish_row_scores(decode, block, k0, plain_first);
  finish_row_scores(decode, block, plain_end, k1);
  if (plain_first < plain_end) {
    for (int64_t i = 0; i < kQueryTileRows; i += kLanes) store(query_tile.sees_any + i, broadcast(int32_t{-1}));
    int32_t* seen = decode.task.seen + (plain_first - block) * kQueryTileRows;
    for (int64_t i = 0; pass == Pass::Careful && i < (plain_end - plain_first) * kQueryTileRows; i += kLanes)
      store(seen + i, broadcast(int32_t{-1}));
  }
  exponentiate_rows(decode, k0 - block, k1 - block);
  if (problem.output.data == nullptr || problem.value_head_size == 0) return;
  if (decode.task.arguments->drops != 0) drop_from_rows(decode, block, k0, k1);
  add_stored_values(decode, block, k0, k1, pass == Pass::Careful);
}

// Writes decode.results.
static void decode_keys(const DecodeTask& decode, int64_t first_key, int64_t end_key, Pass pass) {
  const TileTask& task = decode.task;
  const QueryTile& query_tile = decode.query_tile;
  const int64_t num_rows = query_tile.num_rows;
  const int64_t width = row_stride(task.problem->value_head_size);
  for (int64_t i = 0; i < kQueryTileRows; i += kLanes) store(query_tile.sees_any + i, IntVec{});
  const int64_t result_floats = row_result_floats(*task.problem);
  for (int64_t r = 0; r < num_rows; ++r) {
    clear_result(decode.results + r * result_floats, width);
    store(decode.totals + r * kLanes, Vec{});
  }
  const int64_t first = larger(first_key, query_tile.any_first);
  const int64_t end = smaller(end_key, query_tile.any_end);
  for (int64_t block = first / kRowBlockKeys * kRowBlockKeys; block < end; block += kRowBlockKeys) {
    int64_t k0 = larger(block, first);
    int64_t k1 = smaller(block + kRowBlockKeys, end);
    if (task.problem->mask.data != nullptr) trim_by_mask(task, query_tile, k0, k1);
    if (k0 < k1) decode_block(decode, block, k0, k1, pass);
  }
  for (int64_t r = 0; r < num_rows; ++r) {
    float* numbers = decode.results + r * result_floats + width;
    numbers[kTotal] = sum_of_lanes(load(decode.totals + r * kLanes));
    numbers[kSeesAny] = query_tile.sees_any[r] != 0 ? 1.0f : 0.0f;
  }
}

// ---- a task --------------------------------------------------------------------------------------------------------

// Loads a task's queries times the scale. Elements that do not fill a vector are placed as in load_tail.
static void load_row_queries(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  const Operand& queries = problem.queries;
  const Vec factor = broadcast(task.arguments->query_scale);
  const int64_t stride = row_stride(problem.head_size);
  const int64_t whole = problem.head_size / kLanes * kLanes;
  for (int64_t r = 0; r < query_tile.num_rows; ++r) {
    const int64_t row = query_tile.first_row + r;
    const int64_t index = task.batch_index * queries.strides[0] + head_of(task, row) * queries.strides[1] +
                          (task.sequence->query_begin + query_of(task, row)) * queries.strides[2];
    float* to = task.row_queries + r * stride;
    widen_row(element_address(queries, index), queries.dtype, queries.strides[3], problem.head_size, to);
    if (whole < problem.head_size)
      store(to + whole, load_tail<DType::F32>(reinterpret_cast<const char*>(to), problem.head_size));
    for (int64_t d = 0; d < stride; d += kLanes) store(to + d, load(to + d) * factor);
  }
}

// Floats of: a query tile's scores, then `seen` of a block, then a block of widened keys or values. While query tiles
// process blocks, the last part holds a block of keys and one of values.
static int64_t decode_shared_floats(const AttentionProblem& problem) {
  const int64_t key_floats = row_stride(problem.head_size);
  const int64_t value_floats = row_stride(problem.value_head_size);
  const int64_t of_rows = room_of_block(problem, kRowBlockKeys);
  const int64_t of_query_tile = room_of_block(problem, kBlockKeys);
  return (of_query_tile + of_rows) * kQueryTileRows +
         larger(of_rows * larger(key_floats, value_floats), of_query_tile * (key_floats + value_floats));
}

static int64_t decode_floats(const AttentionProblem& problem, int64_t num_rows) {
  return decode_shared_floats(problem) + all_relative_bias_floats(problem) + bias_key_floats(problem) +
         query_tile_floats(problem) + num_rows * row_stride(problem.head_size) + num_rows * kRowScoresStride + kLanes +
         num_rows * kLanes;
}

static size_t decode_scratch_bytes(const AttentionProblem* problem, int64_t num_rows) {
  return static_cast<size_t>(decode_floats(*problem, num_rows)) * sizeof(float);
}

static size_t decode_partial_bytes(const AttentionProblem* problem, int64_t num_rows) {
  return static_cast<size_t>(partial_floats(*problem, num_rows)) * sizeof(float);
}

static DecodeTask make_decode_task(const AttentionArguments& of_call, const AttentionTask& request, float* scratch) {
  const AttentionProblem& problem = *of_call.problem;
  DecodeTask decode;
  TileTask& task = decode.task;
  const int64_t num_rows = request.end_row - request.first_row;
  task.arguments = &of_call;
  task.problem = &problem;
  task.sequence = request.sequence;
  task.batch_index = request.batch_index;
  task.kv_head = request.kv_head;
  task.scores = scratch;
  const int64_t of_query_tile = room_of_block(problem, kBlockKeys);
  task.seen = reinterpret_cast<int32_t*>(task.scores + of_query_tile * kQueryTileRows);
  task.key_block = task.scores + (of_query_tile + room_of_block(problem, kRowBlockKeys)) * kQueryTileRows;
  task.value_block = task.key_block + of_query_tile * row_stride(problem.head_size);
  float* next = task.scores + decode_shared_floats(problem);
  make_query_tile(problem, request, request.first_row, next, decode.query_tile);
  next += query_tile_floats(problem);
  task.row_queries = next;
  task.row_scores = task.row_queries + num_rows * row_stride(problem.head_size);
  decode.totals = task.row_scores + num_rows * kRowScoresStride + kLanes;
  float* relative_bias = decode.totals + num_rows * kLanes;
  expand_relative_bias<LanesAre::Queries>(problem, task.kv_head, relative_bias);
  task.relative_bias = relative_bias;
  task.bias_key = relative_bias + all_relative_bias_floats(problem);
  task.bias_value = task.bias_key + row_stride(problem.head_size);
  load_bias_key(task);
  summarize_key_ranges(task, decode.query_tile);
  load_row_queries(task, decode.query_tile);
  return decode;
}

static void decode_chunk(const AttentionArguments* arguments, const AttentionTask* request, int64_t first_key,
                         int64_t end_key, void* partial, void* scratch) {
  DecodeTask decode = make_decode_task(*arguments, *request, static_cast<float*>(scratch));
  decode.results = static_cast<float*>(partial);
  decode_keys(decode, first_key, end_key, Pass::Online);
}

// ---- from partial results to outputs --------------------------------------------------------------------------------

// Merges the results of all chunks, in their order, into the query tile, relative to the largest maximum.
static void merge_chunks(const DecodeTask& decode, float* results, int64_t num_chunks) {
  const AttentionProblem& problem = *decode.task.problem;
  const QueryTile& query_tile = decode.query_tile;
  const int64_t chunk_floats = partial_floats(problem, query_tile.num_rows);
  const int64_t width = row_stride(problem.value_head_size);
  const int64_t whole = problem.value_head_size / kLanes * kLanes;
  for (int64_t i = 0; i < kQueryTileRows; i += kLanes) {
    store(query_tile.maximum + i, broadcast(-kInfinity));
    store(query_tile.total + i, Vec{});
    store(query_tile.sees_any + i, IntVec{});
  }
  if (has_constant_scores(problem)) begin_with_constant_scores(decode.task, query_tile);
  const bool has_bias = problem.bias_value.data != nullptr;
  for (int64_t r = 0; r < query_tile.num_rows; ++r) {
    float* merged = results + r * row_result_floats(problem);
    const auto part = [&](int64_t chunk) { return merged + chunk * chunk_floats; };
    const float maximum = maximum_of_results(num_chunks, part, width, query_tile.maximum[r]);
    const Vec factor_before = factor_between(broadcast(query_tile.maximum[r]), broadcast(maximum));
    merge_results(num_chunks, part, width, maximum, broadcast(query_tile.total[r]) * factor_before);
    query_tile.maximum[r] = maximum;
    query_tile.total[r] = merged[width + kTotal];
    if (merged[width + kSeesAny] != 0.0f) query_tile.sees_any[r] = -1;
    for (int64_t d = 0; d < whole; ++d) query_tile.sums[d * kQueryTileRows + r] = merged[d];
    const float* tail = merged + whole + tail_lane(problem.value_head_size);
    for (int64_t d = whole; d < problem.value_head_size; ++d) query_tile.sums[d * kQueryTileRows + r] = tail[d - whole];
    if (!has_bias) continue;
    const float of_bias = decode.task.scores[r] * factor_before[0];
    for (int64_t d = 0; d < problem.value_head_size; ++d)
      query_tile.sums[d * kQueryTileRows + r] += of_bias * decode.task.bias_value[d];
  }
}

// Computes a task's outputs from the partial results of its chunks of chunk_keys keys. Overwrites the partial results.
static void decode_finish(const AttentionArguments* arguments, const AttentionTask* request, int64_t chunk_keys,
                          int64_t num_chunks, void* partials, void* scratch) {
  DecodeTask decode = make_decode_task(*arguments, *request, static_cast<float*>(scratch));
  const TileTask& task = decode.task;
  QueryTile& query_tile = decode.query_tile;
  auto* memory = static_cast<float*>(partials);
  const int64_t size = partial_floats(*arguments->problem, query_tile.num_rows);
  merge_chunks(decode, memory, num_chunks);
  const auto sum_seen_values = [&] {
    for (int64_t c = 0; c < num_chunks; ++c) {
      decode.results = memory + c * size;
      decode_keys(decode, c * chunk_keys, smaller((c + 1) * chunk_keys, task.sequence->key_count), Pass::Careful);
    }
    merge_chunks(decode, memory, num_chunks);
  };
  QueryTileSums sums = {task, query_tile};
  if (arguments->problem->output.data != nullptr) repair_sums(sums, query_tile, sum_seen_values);
  store_results(task, query_tile, sums.doubtful);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
