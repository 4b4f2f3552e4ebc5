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
  const AttentionProblem& problem = *arguments->problem;
  const CachedScratch scratch = cached_scratch(problem, task->num_rows, static_cast<float*>(memory));
  load_cached_queries(*arguments, *task, scratch.queries);
  expand_relative_bias<LanesAre::Keys>(problem, task->kv_head, scratch.relative_bias);
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

// Finds the tiles of a block with the keys `range`, and widens them if that saves time or the keys have to be rotated.
static void prepare_block(const AttentionProblem& problem, const CachedTask& task, const CachedScratch& scratch,
                          int64_t block_key, KeyRange range, CachedBlock& block) {
  const CachedKeys& cached = problem.cached;
  const int64_t first = (range.first - block_key) / kCacheTileRows;
  const int64_t end = divide_up(range.end - block_key, kCacheTileRows);
  const CachedRange& last_row = task.rows[task.num_rows - 1].keys;
  find_tiles(cached, task.pages, task.kv_head, problem.head_size, problem.value_head_size, block_key / kCacheTileRows,
             first, end, last_row.rows.first <= block_key && block_key + kCachedBlockKeys < last_row.rows.end, block);
  const bool is_rotated = cached.rotations.data != nullptr;
  const bool is_widened = is_rotated || (cached.dtype != DType::F32 && task.num_rows > kMostRowsThatWiden);
  if (task.num_rows >= kManyRows) {
    // The values of this block are wanted by the first tile of rows, so later tiles can only prefetch the next block.
    const bool is_next_whole = is_widened || task.num_rows > kCachedTileRows;
    const int64_t next_keys =
        last_row.rows.first <= block_key ? larger(int64_t{0}, last_row.rows.end - block_key - kCachedBlockKeys) : 0;
    const int64_t num_next = smaller(kBlockTiles, divide_up(next_keys, kCacheTileRows));
    set_areas_ahead(cached, task.pages, task.kv_head, problem.head_size, problem.value_head_size,
                    block_key / kCacheTileRows, first, end, num_next, is_next_whole, block);
  }
  if (!is_widened) return;
  const int64_t width = row_stride(problem.value_head_size);
  const bool has_values = problem.output.data != nullptr;
  for (int64_t t = first; t < end; ++t) {
    float* keys = scratch.keys + t * kCacheTileRows * problem.head_size;
    widen_cached(block.keys[t], cached.dtype, kCacheTileRows * problem.head_size, keys);
    const int64_t k = block_key + t * kCacheTileRows;
    if (is_rotated) rotate_tile(cached, task.batch_index, k, smaller(kCacheTileRows, range.end - k), keys);
    block.keys[t] = reinterpret_cast<const char*>(keys);
    if (!has_values) continue;
    float* values = scratch.values + t * kCacheTileRows * width;
    for (int64_t i = 0; i < kCacheTileRows; ++i)
      widen_cached(block.values[t] + i * block.value_bytes, cached.dtype, problem.value_head_size, values + i * width);
    block.values[t] = reinterpret_cast<const char*>(values);
  }
  block.dtype = DType::F32;
  block.value_bytes = width * static_cast<int64_t>(sizeof(float));
}

// Computes the result of a row on a block again, without values that the row does not see.
static void sum_seen_values_of_row(const RowTerms& terms, const CachedBlock& block, const CachedScratch& scratch,
                                   const float* query, RowPart part, float* scores, float* result) {
  const AttentionProblem& problem = *terms.problem;
  const int64_t width = row_stride(problem.value_head_size);
  score_block_tiles(query, row_stride(problem.head_size), 1, block, part.first_vector() / kCacheTileRows,
                    divide_up(part.end_vector(), kCacheTileRows), problem.head_size, scores);
  finish_row(terms, block, part, scores, scratch.seen);
  exponentiate_row(block, problem.cached.dtype == DType::I8, part, scores, result + width);
  for (int64_t d = 0; d < width; d += kLanes) store(result + d, Vec{});
  add_seen_cached_values(block, part, scores, scratch.seen, problem.value_head_size, result);
}

// The results of rows first .. first + count - 1 of the task, at most kCachedTileRows, on a block, in scratch.results.
static void attend_cached_block(const AttentionArguments& arguments, const CachedTask& task,
                                const CachedScratch& scratch, const CachedBlock& block, int64_t block_key,
                                KeyRange range, int64_t first, int64_t count) {
  const AttentionProblem& problem = *arguments.problem;
  const int64_t stride = row_stride(problem.head_size);
  const int64_t width = row_stride(problem.value_head_size);
  const int64_t result_floats = row_result_floats(problem);
  const RowPart part = {block_key, range.first, range.end};
  const float* queries = scratch.queries + first * stride;
  const bool is_scaled = problem.cached.dtype == DType::I8;
  score_block_tiles(queries, stride, count, block, (range.first - block_key) / kCacheTileRows,
                    divide_up(range.end - block_key, kCacheTileRows), problem.head_size, scratch.scores);
  for (int64_t r = 0; r < count; ++r) {
    const RowTerms terms = find_terms(arguments, task.rows[first + r], scratch.relative_bias);
    float* scores = scratch.scores + r * kCachedScoresStride;
    float* numbers = scratch.results + r * result_floats + width;
    numbers[kSeesAny] = finish_row(terms, block, part, scores, nullptr) ? 1.0f : 0.0f;
    exponentiate_row(block, is_scaled, part, scores, numbers);
  }
  if (problem.output.data == nullptr || problem.value_head_size == 0) return;
  sum_block_values(block, scratch.scores, count, range.first - block_key, range.end - block_key,
                   problem.value_head_size, scratch.results, result_floats);
  for (int64_t r = 0; r < count; ++r) {
    float* result = scratch.results + r * result_floats;
    CachedSums sums = {result, problem.value_head_size};
    leave_out_hidden_values(sums, [&] {
      const RowTerms terms = find_terms(arguments, task.rows[first + r], scratch.relative_bias);
      sum_seen_values_of_row(terms, block, scratch, queries + r * stride, part,
                             scratch.scores + r * kCachedScoresStride, result);
    });
  }
}

// The results of the task's rows on the chunk that begins with key first_key: results[r] of each row.
static void cached_chunk(const AttentionArguments* arguments, const CachedTask* task, int64_t first_key,
                         float* const* results, void* memory) {
  const AttentionProblem& problem = *arguments->problem;
  const CachedScratch scratch = cached_scratch(problem, task->num_rows, static_cast<float*>(memory));
  const int64_t width = row_stride(problem.value_head_size);
  const int64_t result_floats = row_result_floats(problem);
  const int64_t num_tiles = divide_up(task->num_rows, kCachedTileRows);
  for (int64_t r = 0; r < task->num_rows; ++r) clear_result(results[r], width);
  for (int64_t block_key = first_key; block_key < first_key + kCachedChunkKeys; block_key += kCachedBlockKeys) {
    const KeyRange range = keys_of_rows(task->rows, task->num_rows, block_key, block_key + kCachedBlockKeys);
    if (range.first >= range.end) continue;
    CachedBlock block;
    prepare_block(problem, *task, scratch, block_key, range, block);
    for (int64_t first = 0; first < task->num_rows; first += kCachedTileRows) {
      const int64_t count = smaller(kCachedTileRows, task->num_rows - first);
      const KeyRange of_tile = keys_of_rows(task->rows + first, count, block_key, block_key + kCachedBlockKeys);
      if (of_tile.first >= of_tile.end) continue;
      // Each tile of rows prefetches a part of what follows.
      block.during_scores.choose_part(first / kCachedTileRows, num_tiles);
      block.during_values.choose_part(first / kCachedTileRows, num_tiles);
      attend_cached_block(*arguments, *task, scratch, block, block_key, of_tile, first, count);
      for (int64_t r = 0; r < count; ++r)
        merge_later_result(results[first + r], scratch.results + r * result_floats, width);
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

// The constant scores of a row, in every lane.
static ConstantScores constant_scores_of(const AttentionArguments& arguments, const CachedRow& row, const float* query,
                                         float* bias_key) {
  const AttentionProblem& problem = *arguments.problem;
  ConstantScores scores;
  if (problem.sinks.data != nullptr) scores.sink = broadcast(sink_of(problem, row.head));
  const int64_t kv_head = row.head / (problem.num_heads / problem.num_kv_heads);
  if (problem.bias_key.data != nullptr) {
    widen_row(element_address(problem.bias_key, kv_head * problem.bias_key.strides[1]), problem.bias_key.dtype,
              problem.bias_key.strides[3], problem.head_size, bias_key);
    scores.bias = broadcast(constant_score(arguments, query, bias_key));
  }
  if (problem.has_zero_key != 0) scores.zero = broadcast(constant_score(arguments, query, nullptr));
  return scores;
}

// Sets result[r] of each row to that of the keys that every row sees.
static void cached_begin_results(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                                 void* memory) {
  const AttentionProblem& problem = *arguments->problem;
  const CachedScratch scratch = cached_scratch(problem, task->num_rows, static_cast<float*>(memory));
  const int64_t width = row_stride(problem.value_head_size);
  for (int64_t r = 0; r < task->num_rows; ++r) {
    float* result = results[r];
    clear_result(result, width);
    if (!has_constant_scores(problem)) continue;
    const CachedRow& row = task->rows[r];
    // The block's results have room for a key: they are not in use.
    const ConstantScores scores =
        constant_scores_of(*arguments, row, scratch.queries + r * row_stride(problem.head_size), scratch.scores);
    const ConstantSums sums = sums_of(scores);
    result[width + kMaximum] = sums.maximum[0];
    result[width + kTotal] = sums.total[0];
    result[width + kSeesAny] = num_constant_keys(problem) > 0 ? 1.0f : 0.0f;
    if (problem.bias_value.data == nullptr) continue;
    const int64_t kv_head = task->kv_head;
    widen_row(element_address(problem.bias_value, kv_head * problem.bias_value.strides[1]), problem.bias_value.dtype,
              problem.bias_value.strides[3], problem.value_head_size, result);
    for (int64_t d = 0; d < width; d += kLanes) store(result + d, load(result + d) * sums.of_bias);
  }
}

// ---- results of a row -----------------------------------------------------------------------------------------------

// Calls visit(block, part) for each block with keys that the row may see.
template <typename Visit>
HEED_INLINE void visit_row_blocks(const AttentionProblem& problem, const CachedTask& task, const CachedScratch& scratch,
                                  const CachedRow& row, const Visit& visit) {
  const int64_t first_key = (row.keys.sinks.first < row.keys.sinks.end ? row.keys.sinks.first : row.keys.rows.first) /
                            kCachedBlockKeys * kCachedBlockKeys;
  for (int64_t block_key = first_key; block_key < row.keys.rows.end; block_key += kCachedBlockKeys) {
    const KeyRange range = keys_of_rows(&row, 1, block_key, block_key + kCachedBlockKeys);
    if (range.first >= range.end) continue;
    CachedBlock block;
    prepare_block(problem, task, scratch, block_key, range, block);
    visit(block, RowPart{block_key, range.first, range.end});
  }
}

// Turns the scores of a part into weights that add up to one over all keys; hidden ones become 0. With times_scales those
// of I8 are multiplied by the scales of the values.
static void find_row_weights(const RowTerms& terms, const CachedBlock& block, RowPart part, const float* query,
                             const float* numbers, bool times_scales, const CachedScratch& scratch) {
  const AttentionProblem& problem = *terms.problem;
  float* scores = scratch.scores;
  score_block_tiles(query, row_stride(problem.head_size), 1, block, part.first_vector() / kCacheTileRows,
                    divide_up(part.end_vector(), kCacheTileRows), problem.head_size, scores);
  finish_row(terms, block, part, scores, scratch.seen);
  const Vec maximum = broadcast(numbers[kMaximum]);
  const Vec total = broadcast(numbers[kTotal]);
  for (int64_t i = part.first_vector(); i < part.end_vector(); i += kLanes) {
    Vec weight = weight_of(load(scores + i), maximum, total);
    if (times_scales) weight *= load(block.value_scales[i / kCacheTileRows] + i % kCacheTileRows);
    store(scores + i, select(load(scratch.seen + i), weight, Vec{}));
  }
}

// The weights of the bias key and of the zero key.
static ConstantScores constant_weights_of(const AttentionArguments& arguments, const CachedRow& row, const float* query,
                                          const float* numbers, const CachedScratch& scratch) {
  ConstantScores weights = constant_scores_of(arguments, row, query, scratch.scores);
  weights.bias = weight_of(weights.bias, broadcast(numbers[kMaximum]), broadcast(numbers[kTotal]));
  weights.zero = weight_of(weights.zero, broadcast(numbers[kMaximum]), broadcast(numbers[kTotal]));
  return weights;
}

// Sums the values of a row with weights that add up to one.
static void sum_row_normalized(const AttentionArguments& arguments, const CachedTask& task,
                               const CachedScratch& scratch, const CachedRow& row, const float* query, float* result) {
  const AttentionProblem& problem = *arguments.problem;
  const int64_t width = row_stride(problem.value_head_size);
  const RowTerms terms = find_terms(arguments, row, scratch.relative_bias);
  for (int64_t d = 0; d < width; d += kLanes) store(result + d, Vec{});
  if (problem.bias_value.data != nullptr) {
    const Vec weight = constant_weights_of(arguments, row, query, result + width, scratch).bias;
    widen_row(element_address(problem.bias_value, task.kv_head * problem.bias_value.strides[1]),
              problem.bias_value.dtype, problem.bias_value.strides[3], problem.value_head_size, result);
    for (int64_t d = 0; d < width; d += kLanes) store(result + d, load(result + d) * weight);
  }
  visit_row_blocks(problem, task, scratch, row, [&](const CachedBlock& block, RowPart part) {
    find_row_weights(terms, block, part, query, result + width, problem.cached.dtype == DType::I8, scratch);
    add_seen_cached_values(block, part, scratch.scores, scratch.seen, problem.value_head_size, result);
  });
}

// Whether row k of a sequence is kept.
HEED_INLINE bool is_kept(const CachedElement& element, int64_t k) {
  return k < element.num_sinks || k >= element.first;
}

// The mean of all values that are kept, for a row that sees no key.
static void average_cached_values(const AttentionProblem& problem, const CachedTask& task, const CachedScratch& scratch,
                                  const CachedRow& row, float* result) {
  const Sequence& sequence = *row.sequence;
  const CachedElement& element = *row.element;
  const int64_t num_sinks = smaller(element.num_sinks, element.first);
  CachedRow all = row;
  all.keys = {{0, num_sinks}, {element.first, sequence.key_count}};
  const float weight = 1.0f / static_cast<float>(num_sinks + sequence.key_count - element.first);
  visit_row_blocks(problem, task, scratch, all, [&](const CachedBlock& block, RowPart part) {
    for (int64_t i = part.begin - part.block_key; i < part.end - part.block_key; ++i) {
      scratch.seen[i] = is_kept(element, part.block_key + i) ? -1 : 0;
      const bool is_scaled = problem.cached.dtype == DType::I8;
      scratch.scores[i] = is_scaled ? weight * block.value_scales[i / kCacheTileRows][i % kCacheTileRows] : weight;
    }
    add_seen_cached_values(block, part, scratch.scores, scratch.seen, problem.value_head_size, result);
  });
}

// Stores the weights of a row: 0 for keys that it does not see. Those beyond the keys of the sequence are not written.
static void store_row_weights(const AttentionArguments& arguments, const CachedTask& task, const CachedScratch& scratch,
                              const CachedRow& row, const float* query, const float* numbers) {
  const AttentionProblem& problem = *arguments.problem;
  const Sequence& sequence = *row.sequence;
  const Operand& weights = problem.weights;
  const int64_t size = size_of_element(weights.dtype);
  char* to =
      static_cast<char*>(weights.data) +
      (row.batch_index * weights.strides[0] + row.head * weights.strides[1] + row.query * weights.strides[2]) * size;
  const bool is_mean = numbers[kSeesAny] == 0.0f && arguments.mean_empty_rows != 0;
  const CachedElement& element = *row.element;
  const int64_t num_kept =
      smaller(element.num_sinks, element.first) + sequence.key_count - smaller(element.first, sequence.key_count);
  const RowTerms terms = find_terms(arguments, row, scratch.relative_bias);
  for (int64_t block_key = 0; block_key < sequence.key_count; block_key += kCachedBlockKeys) {
    const int64_t count = smaller(kCachedBlockKeys, sequence.key_count - block_key);
    const KeyRange range = keys_of_rows(&row, 1, block_key, block_key + count);
    if (is_mean) {
      for (int64_t i = 0; i < count; ++i)
        scratch.scores[i] = is_kept(element, block_key + i) ? 1.0f / static_cast<float>(num_kept) : 0.0f;
    } else if (range.first < range.end && numbers[kSeesAny] != 0.0f) {
      CachedBlock block;
      prepare_block(problem, task, scratch, block_key, range, block);
      const RowPart part = {block_key, range.first, range.end};
      find_row_weights(terms, block, part, query, numbers, false, scratch);
      for (int64_t i = 0; i < part.first_vector(); ++i) scratch.scores[i] = 0.0f;
      for (int64_t i = part.end_vector(); i < count; ++i) scratch.scores[i] = 0.0f;
    } else {
      for (int64_t i = 0; i < count; ++i) scratch.scores[i] = 0.0f;
    }
    narrow_row(scratch.scores, count, to + block_key * weights.strides[3] * size, weights.dtype, weights.strides[3]);
  }
  if (num_constant_keys(problem) == 0) return;
  const ConstantScores constant = constant_weights_of(arguments, row, query, numbers, scratch);
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

static void finish_cached_row(const AttentionArguments& arguments, const CachedTask& task, const CachedScratch& scratch,
                              const CachedRow& row, const float* query, float* result) {
  const AttentionProblem& problem = *arguments.problem;
  const int64_t width = row_stride(problem.value_head_size);
  float* numbers = result + width;
  const bool sees_any = numbers[kSeesAny] != 0.0f;
  // All scores are -inf: the row cannot be normalized.
  if (sees_any && numbers[kMaximum] == -kInfinity) numbers[kTotal] = __builtin_nanf("");
  const int64_t query_row = row.sequence->query_begin + row.query;
  if (problem.output.data != nullptr) {
    const float total = numbers[kTotal];
    CachedSums sums = {result, problem.value_head_size};
    // The hidden values of each block have been left out.
    const bool is_normalized =
        normalize_sums(sums, [&] { sum_row_normalized(arguments, task, scratch, row, query, result); }) || !sees_any;
    if (!sees_any && arguments.mean_empty_rows != 0) average_cached_values(problem, task, scratch, row, result);
    const Vec factor = is_normalized ? broadcast(1.0f) : broadcast(1.0f) / broadcast(total);
    // Adding +0 turns -0 into +0. Otherwise the sign of a sum that underflowed to 0 would depend on whether hidden keys
    // added +0 to it.
    for (int64_t d = 0; d < width; d += kLanes) store(result + d, load(result + d) * factor + Vec{});
    const Operand& output = problem.output;
    const int64_t index =
        row.batch_index * output.strides[0] + row.head * output.strides[1] + query_row * output.strides[2];
    narrow_row(result, problem.value_head_size, static_cast<char*>(output.data) + index * size_of_element(output.dtype),
               output.dtype, output.strides[3]);
  }
  if (problem.log_sum_exp.data != nullptr) {
    const Operand& to = problem.log_sum_exp;
    static_cast<float*>(
        to.data)[row.batch_index * to.strides[0] + row.head * to.strides[1] + query_row * to.strides[2]] =
        log_sum_exp_of_row(problem, numbers);
  }
  if (problem.weights.data != nullptr) store_row_weights(arguments, task, scratch, row, query, numbers);
}

// Writes the outputs of the task's rows from their results over all keys, which are overwritten.
static void cached_finish(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                          void* memory) {
  const AttentionProblem& problem = *arguments->problem;
  const CachedScratch scratch = cached_scratch(problem, task->num_rows, static_cast<float*>(memory));
  for (int64_t r = 0; r < task->num_rows; ++r) {
    finish_cached_row(*arguments, *task, scratch, task->rows[r], scratch.queries + r * row_stride(problem.head_size),
                      results[r]);
  }
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
