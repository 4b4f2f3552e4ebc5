// SPDX-License-Identifier: Apache-2.0
// Attention over the keys and values of a cache, for any number of rows. A task is some rows that share a key head, and
// reads each tile once for up to kCachedTileRows of them (cached_tiles-inl.h); what happens to one row is in
// cached_rows-inl.h. docs/kernels.md has a drawing.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/cached_rows-inl.h"
#include "backends/cpu/kernels/attention/cached_tiles-inl.h"
#include "backends/cpu/kernels/attention/constant_keys-inl.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/row_results-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "ops/cached_keys.h"
#include "ops/head_transform.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The results of whole blocks are merged within chunks of this many keys, then those of chunks. Several threads may
// compute different chunks of one row.
constexpr int64_t kCachedChunkKeys = 512;
static_assert(kCachedChunkKeys % kCachedBlockKeys == 0);

// Rows that are computed together on a block. Their scores take 16 KiB, half of a first-level cache.
constexpr int64_t kCachedTileRows = 16;
// With more rows than this in a task, keys and values of 16 or 8 bits are widened once for all of them.
constexpr int64_t kMostRowsThatWiden = kReadsNarrow ? 8 : 0;
// The rows of a task: with more, their queries and results no longer fit into a second-level cache beside a block.
constexpr int64_t kCachedMaxRows = 256;

// The scratch memory of a task with num_rows rows, in this order.
struct CachedScratch {
  float* queries;        // [num_rows][row_stride(head_size)], times the scale
  float* relative_bias;  // expand_relative_bias
  float* scores;         // [kCachedTileRows][kCachedScoresStride], then probabilities
  float* results;        // [kCachedTileRows][row_result_floats], of one block
  int32_t* seen;         // [kCachedBlockKeys], of one row
  float* keys;           // [kBlockTiles][head_size][kCacheTileRows], if keys are widened
  float* values;         // [kCachedBlockKeys][row_stride(value_head_size)] and kLanes more, if values are
  int64_t num_floats;
};

static CachedScratch cached_scratch(const AttentionProblem& problem, int64_t num_rows, float* memory) {
  CachedScratch scratch;
  int64_t floats = 0;
  const auto take = [&](int64_t count) {
    float* part = memory + floats;
    floats += round_up(count, kLanes);
    return part;
  };
  scratch.queries = take(num_rows * row_stride(problem.head_size));
  scratch.relative_bias = take(all_relative_bias_floats(problem));
  scratch.scores = take(kCachedTileRows * kCachedScoresStride);
  scratch.results = take(kCachedTileRows * row_result_floats(problem));
  scratch.seen = reinterpret_cast<int32_t*>(take(kCachedBlockKeys));
  const bool is_widened = problem.cached.dtype != DType::F32 || problem.cached.rotations.given != 0;
  scratch.keys = take(is_widened ? kBlockTiles * kCacheTileRows * problem.head_size + kLanes : 0);
  scratch.values = take(is_widened ? kCachedBlockKeys * row_stride(problem.value_head_size) + kLanes : 0);
  scratch.num_floats = floats;
  return scratch;
}

static size_t cached_scratch_bytes(const AttentionProblem* problem, int64_t num_rows) {
  return static_cast<size_t>(cached_scratch(*problem, num_rows, nullptr).num_floats) * sizeof(float);
}

// A task of this kernel, in scratch.
struct CachedWork {
  const AttentionArguments& arguments;
  const AttentionProblem& problem;
  const CachedTask& task;
  const CachedScratch scratch;
  const int64_t width;  // of the sums of a row

  CachedWork(const AttentionArguments* of_call, const CachedTask* of_task, void* memory)
      : arguments(*of_call),
        problem(*of_call->problem),
        task(*of_task),
        scratch(cached_scratch(problem, task.num_rows, static_cast<float*>(memory))),
        width(row_stride(problem.value_head_size)) {}

  RowTerms terms_of(const CachedRow& row) const { return find_terms(arguments, row, scratch.relative_bias); }
};

// One of its rows.
struct CachedRowWork {
  const CachedWork& work;
  const CachedRow& row;
  const float* query;  // times the scale
  float* result;

  CachedRowWork(const CachedWork& of_task, int64_t r, float* result_of_row)
      : work(of_task),
        row(of_task.task.rows[r]),
        query(of_task.scratch.queries + r * row_stride(of_task.problem.head_size)),
        result(result_of_row) {}

  float* numbers() const { return result + work.width; }
};

static size_t cached_result_bytes(const AttentionProblem* problem) {
  return static_cast<size_t>(row_result_floats(*problem)) * sizeof(float);
}

// ---- a task ---------------------------------------------------------------------------------------------------------

static void load_cached_queries(const AttentionArguments& arguments, const CachedTask& task, float* to) {
  const AttentionProblem& problem = *arguments.problem;
  const Operand& queries = problem.queries;
  const int64_t stride = row_stride(problem.head_size);
  const Vec factor = broadcast(arguments.query_scale);
  for (int64_t r = 0; r < task.num_rows; ++r, to += stride) {
    const CachedRow& row = task.rows[r];
    const int64_t query = row.sequence->query_begin + row.query;
    const int64_t index =
        row.batch_index * queries.strides[0] + row.head * queries.strides[1] + query * queries.strides[2];
    widen_row(element_address(queries, index), queries.dtype, queries.strides[3], problem.head_size, to);
    for (int64_t d = 0; d < stride; d += kLanes) store(to + d, load(to + d) * factor);
  }
}

// Prepares the scratch memory of a task: queries and relative biases.
static void cached_begin(const AttentionArguments* arguments, const CachedTask* task, void* memory) {
  const CachedWork work(arguments, task, memory);
  load_cached_queries(*arguments, *task, work.scratch.queries);
  expand_relative_bias<LanesAre::Keys>(work.problem, task->kv_head, work.scratch.relative_bias);
}

// Rotates the keys of a widened tile whose first key is key k of the sequence (rule 16 of docs/semantics.md).
static void rotate_tile(const CachedKeys& cached, int64_t batch_index, int64_t k, int64_t count, float* tile) {
  const bool is_half = cached.rotary_layout == static_cast<int32_t>(RotaryLayout::Half);
  const int64_t num_pairs = cached.rotary_size / 2;
  for (int64_t i = 0; i < count; ++i) {
    const float* cosines = static_cast<const float*>(cached.rotations.data) +
                           batch_index * cached.rotations.strides[0] + (k + i) * cached.rotations.strides[2];
    for (int64_t p = 0; p < num_pairs; ++p) {
      const int64_t d = cached.rotary_offset + (is_half ? p : 2 * p);
      float* first = tile + d * kCacheTileRows + i;
      float* second = first + (is_half ? num_pairs : 1) * kCacheTileRows;
      const float a = *first;
      const float b = *second;
      *first = a * cosines[p] - b * cosines[num_pairs + p];
      *second = b * cosines[p] + a * cosines[num_pairs + p];
    }
  }
}

// The union of the parts of a block that rows see.
static KeyRange keys_of_rows(const CachedRow* rows, int64_t num_rows, int64_t first_key, int64_t end_key) {
  KeyRange all = {end_key, first_key};
  for (int64_t r = 0; r < num_rows; ++r) {
    const auto add = [&](KeyRange range) {
      const int64_t first = larger(range.first, first_key);
      const int64_t end = smaller(range.end, end_key);
      if (first >= end) return;
      all.first = smaller(all.first, first);
      all.end = larger(all.end, end);
    };
    add(rows[r].keys.sinks);
    add(rows[r].keys.rows);
  }
  return all;
}

// Widens the tiles of a block into scratch, and rotates the keys if they have to be. `end_key`: the end of the keys of the
// sequence in the block.
static void widen_block(const CachedWork& work, int64_t block_key, BlockRange tiles, int64_t end_key,
                        CachedBlock& block) {
  const CachedKeys& cached = work.problem.cached;
  const int64_t head_size = work.problem.head_size;
  for (int64_t t = tiles.first; t < tiles.end; ++t) {
    float* keys = work.scratch.keys + t * kCacheTileRows * head_size;
    widen_cached(block.keys[t], cached.dtype, kCacheTileRows * head_size, keys);
    const int64_t k = block_key + t * kCacheTileRows;
    if (cached.rotations.data != nullptr)
      rotate_tile(cached, work.task.batch_index, k, smaller(kCacheTileRows, end_key - k), keys);
    block.keys[t] = reinterpret_cast<const char*>(keys);
    if (work.problem.output.data == nullptr) continue;
    float* values = work.scratch.values + t * kCacheTileRows * work.width;
    for (int64_t i = 0; i < kCacheTileRows; ++i)
      widen_cached(block.values[t] + i * block.value_bytes, cached.dtype, block.value_head_size,
                   values + i * work.width);
    block.values[t] = reinterpret_cast<const char*>(values);
  }
  block.dtype = DType::F32;
  block.value_bytes = work.width * static_cast<int64_t>(sizeof(float));
}

// Finds the tiles of a block with the keys `range`, and widens them if that saves time or the keys have to be rotated.
static void prepare_block(const CachedWork& work, int64_t block_key, KeyRange range, CachedBlock& block) {
  const AttentionProblem& problem = work.problem;
  const CachedTask& task = work.task;
  const int64_t first_tile = block_key / kCacheTileRows;
  const BlockRange tiles = {(range.first - block_key) / kCacheTileRows,
                            divide_up(range.end - block_key, kCacheTileRows)};
  const KeyRange last_row = task.rows[task.num_rows - 1].keys.rows;
  const CachedHead head = {problem.cached, task.pages, task.kv_head, problem.head_size, problem.value_head_size};
  head.find_tiles(first_tile, tiles, last_row.first <= block_key && block_key + kCachedBlockKeys < last_row.end, block);
  const bool is_widened = problem.cached.rotations.data != nullptr ||
                          (problem.cached.dtype != DType::F32 && task.num_rows > kMostRowsThatWiden);
  if (task.num_rows >= kManyRows) {
    // The values of this block are wanted by the first tile of rows, so later tiles can only prefetch the next block.
    const bool is_next_whole = is_widened || task.num_rows > kCachedTileRows;
    const int64_t next_keys =
        last_row.first <= block_key ? larger(int64_t{0}, last_row.end - block_key - kCachedBlockKeys) : 0;
    const int64_t num_next = smaller(kBlockTiles, divide_up(next_keys, kCacheTileRows));
    head.find_areas_ahead(first_tile, tiles, num_next, is_next_whole, block);
  }
  if (is_widened) widen_block(work, block_key, tiles, range.end, block);
}

// Products of a row with the keys of a part, in scores.
static void score_part(const CachedRowWork& row, const CachedBlock& block, RowPart part, float* scores) {
  score_block_tiles(block, part.tiles(), {row.query, 0, scores, row.result, 0, 1});
}

// Computes the result of a row on a block again, without values that the row does not see.
static void sum_seen_values_of_row(const CachedRowWork& row, const RowTerms& terms, const CachedBlock& block,
                                   RowPart part, float* scores) {
  const CachedWork& work = row.work;
  score_part(row, block, part, scores);
  finish_row(terms, block, part, scores, work.scratch.seen);
  exponentiate_row(block, work.problem.cached.dtype == DType::I8, part, scores, row.numbers());
  for (int64_t d = 0; d < work.width; d += kLanes) store(row.result + d, Vec{});
  add_seen_cached_values(block, part, scores, work.scratch.seen, row.result);
}

// The results of rows first .. first + count - 1 of the task, at most kCachedTileRows, on a part of a block, in
// scratch.results.
static void attend_cached_block(const CachedWork& work, const CachedBlock& block, RowPart part, int64_t first,
                                int64_t count) {
  const AttentionProblem& problem = work.problem;
  const CachedScratch& scratch = work.scratch;
  const int64_t stride = row_stride(problem.head_size);
  const int64_t result_floats = row_result_floats(problem);
  const bool is_scaled = problem.cached.dtype == DType::I8;
  const BlockRows rows = {
      scratch.queries + first * stride, stride, scratch.scores, scratch.results, result_floats, count};
  const BlockRange keys = part.keys();
  score_block_tiles(block, part.tiles(), rows);
  for (int64_t r = 0; r < count; ++r) {
    const RowTerms terms = work.terms_of(work.task.rows[first + r]);
    float* scores = scratch.scores + r * kCachedScoresStride;
    float* numbers = scratch.results + r * result_floats + work.width;
    numbers[kSeesAny] = finish_row(terms, block, part, scores, nullptr) ? 1.0f : 0.0f;
    exponentiate_row(block, is_scaled, part, scores, numbers);
  }
  if (problem.output.data == nullptr || problem.value_head_size == 0) return;
  sum_block_values(block, keys, rows);
  for (int64_t r = 0; r < count; ++r) {
    const CachedRowWork row(work, first + r, scratch.results + r * result_floats);
    if (CachedSums{row.result, problem.value_head_size}.find_doubtful())
      sum_seen_values_of_row(row, work.terms_of(row.row), block, part, scratch.scores + r * kCachedScoresStride);
  }
}

// The results of the task's rows on the chunk that begins with key first_key: results[r] of each row.
static void cached_chunk(const AttentionArguments* arguments, const CachedTask* task, int64_t first_key,
                         float* const* results, void* memory) {
  const CachedWork work(arguments, task, memory);
  const int64_t result_floats = row_result_floats(work.problem);
  const int64_t num_tiles = divide_up(task->num_rows, kCachedTileRows);
  for (int64_t r = 0; r < task->num_rows; ++r) clear_result(results[r], work.width);
  for (int64_t block_key = first_key; block_key < first_key + kCachedChunkKeys; block_key += kCachedBlockKeys) {
    const KeyRange range = keys_of_rows(task->rows, task->num_rows, block_key, block_key + kCachedBlockKeys);
    if (range.first >= range.end) continue;
    CachedBlock block;
    prepare_block(work, block_key, range, block);
    for (int64_t first = 0; first < task->num_rows; first += kCachedTileRows) {
      const int64_t count = smaller(kCachedTileRows, task->num_rows - first);
      const KeyRange of_tile = keys_of_rows(task->rows + first, count, block_key, block_key + kCachedBlockKeys);
      if (of_tile.first >= of_tile.end) continue;
      // Each tile of rows prefetches a part of what follows.
      block.during_scores.choose_part(first / kCachedTileRows, num_tiles);
      block.during_values.choose_part(first / kCachedTileRows, num_tiles);
      attend_cached_block(work, block, {block_key, of_tile.first, of_tile.end}, first, count);
      for (int64_t r = 0; r < count; ++r)
        merge_later_result(results[first + r], work.scratch.results + r * result_floats, work.width);
    }
  }
}

static void cached_merge(const AttentionProblem* problem, float* result, float* later) {
  merge_later_result(result, later, row_stride(problem->value_head_size));
}

// ---- keys that every row sees ---------------------------------------------------------------------------------------

// The score of a constant key, or of zeros if `key` is null.
static float constant_score(const AttentionArguments& arguments, const float* query, const float* key) {
  const AttentionProblem& problem = *arguments.problem;
  Vec sum{};
  for (int64_t d = 0; d < problem.head_size; ++d)
    accumulate(sum, broadcast(query[d]), broadcast(key != nullptr ? key[d] : 0.0f));
  float scores[kLanes];
  store(scores, sum);
  scale_and_cap<kLanes>(arguments.score_scale, problem.soft_cap, 1, scores);
  return scores[0];
}

// The constant scores of a row, in every lane. `bias_key`: room for a key.
static ConstantScores constant_scores_of(const CachedRowWork& row, float* bias_key) {
  const AttentionProblem& problem = row.work.problem;
  ConstantScores scores;
  if (problem.sinks.data != nullptr) scores.sink = broadcast(sink_of(problem, row.row.head));
  if (problem.bias_key.data != nullptr) {
    const int64_t kv_head = row.row.head / (problem.num_heads / problem.num_kv_heads);
    widen_row(element_address(problem.bias_key, kv_head * problem.bias_key.strides[1]), problem.bias_key.dtype,
              problem.bias_key.strides[3], problem.head_size, bias_key);
    scores.bias = broadcast(constant_score(row.work.arguments, row.query, bias_key));
  }
  if (problem.has_zero_key != 0) scores.zero = broadcast(constant_score(row.work.arguments, row.query, nullptr));
  return scores;
}

// Sets the sums of a row to the value of the bias key times a weight.
static void begin_with_bias_value(const CachedRowWork& row, Vec weight) {
  const Operand& values = row.work.problem.bias_value;
  widen_row(element_address(values, row.work.task.kv_head * values.strides[1]), values.dtype, values.strides[3],
            row.work.problem.value_head_size, row.result);
  for (int64_t d = 0; d < row.work.width; d += kLanes) store(row.result + d, load(row.result + d) * weight);
}

// Sets result[r] of each row to that of the keys that every row sees.
static void cached_begin_results(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                                 void* memory) {
  const CachedWork work(arguments, task, memory);
  for (int64_t r = 0; r < task->num_rows; ++r) {
    clear_result(results[r], work.width);
    if (!has_constant_scores(work.problem)) continue;
    const CachedRowWork row(work, r, results[r]);
    // A key is converted to F32 in the memory of a block's scores, of which there are none yet.
    const ConstantSums sums = sums_of(constant_scores_of(row, work.scratch.scores));
    row.numbers()[kMaximum] = sums.maximum[0];
    row.numbers()[kTotal] = sums.total[0];
    row.numbers()[kSeesAny] = num_constant_keys(work.problem) > 0 ? 1.0f : 0.0f;
    if (work.problem.bias_value.data != nullptr) begin_with_bias_value(row, sums.of_bias);
  }
}

// ---- results of a row -----------------------------------------------------------------------------------------------

// Calls visit(block, part) for each block with keys of the ranges.
template <typename Visit>
HEED_INLINE void visit_row_blocks(const CachedWork& work, const CachedRow& row, const Visit& visit) {
  const int64_t first_key = (row.keys.sinks.first < row.keys.sinks.end ? row.keys.sinks.first : row.keys.rows.first) /
                            kCachedBlockKeys * kCachedBlockKeys;
  for (int64_t block_key = first_key; block_key < row.keys.rows.end; block_key += kCachedBlockKeys) {
    const KeyRange range = keys_of_rows(&row, 1, block_key, block_key + kCachedBlockKeys);
    if (range.first >= range.end) continue;
    CachedBlock block;
    prepare_block(work, block_key, range, block);
    visit(block, RowPart{block_key, range.first, range.end});
  }
}

// Writes the weights of a part to scratch.scores: they add up to one over all keys, and hidden ones are 0. With times_scales
// those of I8 are multiplied by the scales of the values.
static void find_row_weights(const CachedRowWork& row, const RowTerms& terms, const CachedBlock& block, RowPart part,
                             bool times_scales) {
  const CachedScratch& scratch = row.work.scratch;
  float* scores = scratch.scores;
  score_part(row, block, part, scores);
  finish_row(terms, block, part, scores, scratch.seen);
  const Vec maximum = broadcast(row.numbers()[kMaximum]);
  const Vec total = broadcast(row.numbers()[kTotal]);
  for (int64_t i = part.first_vector(); i < part.end_vector(); i += kLanes) {
    Vec weight = weight_of(load(scores + i), maximum, total);
    if (times_scales) weight *= load(block.value_scales[i / kCacheTileRows] + i % kCacheTileRows);
    store(scores + i, select(load(scratch.seen + i), weight, Vec{}));
  }
}

// The weights of the bias key and of the zero key.
static ConstantScores constant_weights_of(const CachedRowWork& row) {
  ConstantScores weights = constant_scores_of(row, row.work.scratch.scores);
  const Vec maximum = broadcast(row.numbers()[kMaximum]);
  const Vec total = broadcast(row.numbers()[kTotal]);
  weights.bias = weight_of(weights.bias, maximum, total);
  weights.zero = weight_of(weights.zero, maximum, total);
  return weights;
}

// Sums the values of a row with weights that add up to one.
static void sum_row_normalized(const CachedRowWork& row) {
  const CachedWork& work = row.work;
  const RowTerms terms = work.terms_of(row.row);
  if (work.problem.bias_value.data != nullptr) {
    begin_with_bias_value(row, constant_weights_of(row).bias);
  } else {
    for (int64_t d = 0; d < work.width; d += kLanes) store(row.result + d, Vec{});
  }
  visit_row_blocks(work, row.row, [&](const CachedBlock& block, RowPart part) {
    find_row_weights(row, terms, block, part, work.problem.cached.dtype == DType::I8);
    add_seen_cached_values(block, part, work.scratch.scores, work.scratch.seen, row.result);
  });
}

// Whether row k of a sequence is kept.
HEED_INLINE bool is_kept(const CachedElement& element, int64_t k) {
  return k < element.num_sinks || k >= element.first;
}

// The mean of all values that are kept, for a row that sees no key.
static void average_cached_values(const CachedRowWork& row) {
  const CachedScratch& scratch = row.work.scratch;
  const Sequence& sequence = *row.row.sequence;
  const CachedElement& element = *row.row.element;
  const int64_t num_sinks = smaller(element.num_sinks, element.first);
  CachedRow all = row.row;
  all.keys = {{0, num_sinks}, {element.first, sequence.key_count}};
  const float weight = 1.0f / static_cast<float>(num_sinks + sequence.key_count - element.first);
  visit_row_blocks(row.work, all, [&](const CachedBlock& block, RowPart part) {
    for (int64_t i = part.begin - part.block_key; i < part.end - part.block_key; ++i) {
      scratch.seen[i] = is_kept(element, part.block_key + i) ? -1 : 0;
      const bool is_scaled = row.work.problem.cached.dtype == DType::I8;
      scratch.scores[i] = is_scaled ? weight * block.value_scales[i / kCacheTileRows][i % kCacheTileRows] : weight;
    }
    add_seen_cached_values(block, part, scratch.scores, scratch.seen, row.result);
  });
}

// Stores the weights of a row: 0 for keys that it does not see. Those beyond the keys of the sequence are not written.
static void store_row_weights(const CachedRowWork& row) {
  const CachedWork& work = row.work;
  const AttentionProblem& problem = work.problem;
  const CachedScratch& scratch = work.scratch;
  const Sequence& sequence = *row.row.sequence;
  const Operand& weights = problem.weights;
  const int64_t size = size_of_element(weights.dtype);
  char* to =
      static_cast<char*>(weights.data) + (row.row.batch_index * weights.strides[0] + row.row.head * weights.strides[1] +
                                          row.row.query * weights.strides[2]) *
                                             size;
  const bool sees_any = row.numbers()[kSeesAny] != 0.0f;
  const bool is_mean = !sees_any && work.arguments.mean_empty_rows != 0;
  const CachedElement& element = *row.row.element;
  const int64_t num_kept =
      smaller(element.num_sinks, element.first) + sequence.key_count - smaller(element.first, sequence.key_count);
  const RowTerms terms = work.terms_of(row.row);
  for (int64_t block_key = 0; block_key < sequence.key_count; block_key += kCachedBlockKeys) {
    const int64_t count = smaller(kCachedBlockKeys, sequence.key_count - block_key);
    const KeyRange range = keys_of_rows(&row.row, 1, block_key, block_key + count);
    if (is_mean) {
      for (int64_t i = 0; i < count; ++i)
        scratch.scores[i] = is_kept(element, block_key + i) ? 1.0f / static_cast<float>(num_kept) : 0.0f;
    } else if (range.first < range.end && sees_any) {
      CachedBlock block;
      prepare_block(work, block_key, range, block);
      const RowPart part = {block_key, range.first, range.end};
      find_row_weights(row, terms, block, part, false);
      for (int64_t i = 0; i < part.first_vector(); ++i) scratch.scores[i] = 0.0f;
      for (int64_t i = part.end_vector(); i < count; ++i) scratch.scores[i] = 0.0f;
    } else {
      for (int64_t i = 0; i < count; ++i) scratch.scores[i] = 0.0f;
    }
    narrow_row(scratch.scores, count, to + block_key * weights.strides[3] * size, weights.dtype, weights.strides[3]);
  }
  if (num_constant_keys(problem) == 0) return;
  const ConstantScores constant = constant_weights_of(row);
  to += problem.limits.num_keys * weights.strides[3] * size;
  if (problem.bias_key.data != nullptr) {
    const float weight = constant.bias[0];
    narrow_row(&weight, 1, to, weights.dtype, 1);
    to += weights.strides[3] * size;
  }
  if (problem.has_zero_key == 0) return;
  const float weight = constant.zero[0];
  narrow_row(&weight, 1, to, weights.dtype, 1);
}

static float log_sum_exp_of_row(const AttentionProblem& problem, const float* numbers) {
  if (numbers[kSeesAny] == 0.0f && problem.sinks.data == nullptr) return -kInfinity;
  const Vec maximum = broadcast(numbers[kMaximum]);
  return log_sum_exp_of(pivot_of(maximum)[0], shift_of(maximum)[0], numbers[kTotal]);
}

static void finish_cached_row(const CachedRowWork& row) {
  const CachedWork& work = row.work;
  const AttentionProblem& problem = work.problem;
  float* numbers = row.numbers();
  const bool sees_any = numbers[kSeesAny] != 0.0f;
  // All scores are -inf: the row cannot be normalized.
  if (sees_any && numbers[kMaximum] == -kInfinity) numbers[kTotal] = __builtin_nanf("");
  const int64_t query_row = row.row.sequence->query_begin + row.row.query;
  const auto index_in = [&](const Operand& operand) {
    return row.row.batch_index * operand.strides[0] + row.row.head * operand.strides[1] +
           query_row * operand.strides[2];
  };
  if (problem.output.data != nullptr) {
    // The hidden values of each block have been left out.
    const bool has_overflowed = CachedSums{row.result, problem.value_head_size}.find_doubtful();
    if (has_overflowed) sum_row_normalized(row);
    const bool is_normalized = has_overflowed || !sees_any;
    if (!sees_any && work.arguments.mean_empty_rows != 0) average_cached_values(row);
    const Vec factor = is_normalized ? broadcast(1.0f) : broadcast(1.0f) / broadcast(numbers[kTotal]);
    // Adding +0 turns -0 into +0. Otherwise the sign of a sum that underflowed to 0 would depend on whether hidden keys
    // added +0 to it.
    for (int64_t d = 0; d < work.width; d += kLanes) store(row.result + d, load(row.result + d) * factor + Vec{});
    const Operand& output = problem.output;
    narrow_row(row.result, problem.value_head_size,
               static_cast<char*>(output.data) + index_in(output) * size_of_element(output.dtype), output.dtype,
               output.strides[3]);
  }
  const Operand& log_sum_exp = problem.log_sum_exp;
  if (log_sum_exp.data != nullptr)
    static_cast<float*>(log_sum_exp.data)[index_in(log_sum_exp)] = log_sum_exp_of_row(problem, numbers);
  if (problem.weights.data != nullptr) store_row_weights(row);
}

// Writes the outputs of the task's rows from their results over all keys, which are overwritten.
static void cached_finish(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                          void* memory) {
  const CachedWork work(arguments, task, memory);
  for (int64_t r = 0; r < task->num_rows; ++r) finish_cached_row(CachedRowWork(work, r, results[r]));
}

// ---- storing rows ---------------------------------------------------------------------------------------------------

// Rounds a row to whole numbers from -127 to 127 times the scale that is returned, its largest magnitude / 127. A row that
// is not finite gets a scale of NaN, so that the outputs of all queries that see it are NaN.
static float quantize_row(const float* row, int64_t count, int8_t* to, int64_t stride) {
  Vec largest{};
  Vec zeros{};
  for (int64_t i = 0; i < count; i += kLanes) {
    const Vec value = load_first(row + i, count - i);
    largest = max(from_bits(bits_of(value) & broadcast(int32_t{0x7fffffff})), largest);
    zeros = fma(value, Vec{}, zeros);
  }
  const float magnitude = maximum_of_lanes(largest);
  const bool is_finite = !any(zeros != zeros);
  const float scale = is_finite ? magnitude / 127.0f : __builtin_nanf("");
  // A magnitude whose inverse overflows is subnormal; all elements round to 0 or are divided exactly.
  const float inverse = is_finite && magnitude > 0 ? 127.0f / magnitude : 0.0f;
  const Vec factor = broadcast(inverse < __FLT_MAX__ ? inverse : 0.0f);
  // Adding 1.5 * 2^23 leaves no bits for a fraction, and rounds to nearest even.
  const Vec magic = broadcast(0x1.8p23f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Vec value = is_finite ? load_first(row + i, count - i) : Vec{};
    const Vec whole = (value * factor + magic) - magic;
    const IntVec numbers = __builtin_convertvector(min(max(whole, broadcast(-127.0f)), broadcast(127.0f)), IntVec);
    for (int64_t lane = 0; lane < smaller(kLanes, count - i); ++lane)
      to[(i + lane) * stride] = static_cast<int8_t>(numbers[static_cast<int>(lane)]);
  }
  return inverse < __FLT_MAX__ ? scale : 0.0f;
}

// Stores rows first .. end - 1 of the call's keys and values of a batch element for one key head. `memory`: room for a row
// of each.
static void cached_store(const AttentionProblem* problem, const Sequence* sequence, int64_t batch_index,
                         int64_t kv_head, int64_t first, int64_t end, float* memory) {
  const CachedKeys& cached = problem->cached;
  const int32_t* pages = cached.elements[batch_index].pages;
  const int64_t size = size_of_cached(cached.dtype);
  const auto load_row = [&](const Operand& operand, int64_t row, int64_t count) {
    const int64_t index = batch_index * operand.strides[0] + kv_head * operand.strides[1] +
                          (sequence->query_begin + row) * operand.strides[2];
    widen_row(element_address(operand, index), operand.dtype, operand.strides[3], count, memory);
  };
  for (int64_t i = first; i < end; ++i) {
    const int64_t k = sequence->key_count - sequence->query_count + i;
    const TileAddress address = tile_address(cached, pages, kv_head, k / kCacheTileRows);
    char* head = reinterpret_cast<char*>(address.head);
    const int64_t row = address.tile * kCacheTileRows + k % kCacheTileRows;
    char* key = head + (address.tile * kCacheTileRows * problem->head_size + k % kCacheTileRows) * size;
    char* value = head + cached.values_offset + row * problem->value_head_size * size;
    load_row(problem->keys, i, problem->head_size);
    if (cached.dtype == DType::I8) {
      reinterpret_cast<float*>(head + cached.key_scales_offset)[row] =
          quantize_row(memory, problem->head_size, reinterpret_cast<int8_t*>(key), kCacheTileRows);
    } else {
      narrow_row(memory, problem->head_size, key, cached.dtype, kCacheTileRows);
    }
    load_row(problem->values, i, problem->value_head_size);
    if (cached.dtype == DType::I8) {
      reinterpret_cast<float*>(head + cached.value_scales_offset)[row] =
          quantize_row(memory, problem->value_head_size, reinterpret_cast<int8_t*>(value), 1);
    } else {
      narrow_row(memory, problem->value_head_size, value, cached.dtype, 1);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
