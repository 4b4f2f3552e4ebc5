// SPDX-License-Identifier: Apache-2.0
// What attention over query tiles computes for one key block: scores, a step of the online softmax, dropout, and the
// sums of weighted values.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/row_scores-inl.h"
#include "backends/cpu/kernels/attention/score_terms-inl.h"
#include "backends/cpu/kernels/attention/visibility-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/philox-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// What happens to the values of hidden keys while the key blocks of a query tile are processed.
enum class Pass {
  Online,   // They are multiplied by 0, which is fastest; if one is not finite, the sums become NaN.
  Careful,  // They are left out, with otherwise the same arithmetic.
};

// Keys or values of a block as f32 rows: the stored rows if in_place() allows it, otherwise a copy.
struct F32Rows {
  const float* data;
  int64_t stride;
};

HEED_INLINE F32Rows from_row(F32Rows rows, int64_t k) { return {rows.data + k * rows.stride, rows.stride}; }

// Whether rows of keys or values can be read in place: f32, contiguous elements, and a row stride that is no multiple
// of 4 KiB, since such rows would map to the same cache sets.
HEED_INLINE bool in_place(const Operand& operand) {
  return operand.dtype == DType::F32 && operand.strides[3] == 1 && operand.strides[2] % 1024 != 0;
}

// The address of row k0 of a task's keys or values.
HEED_INLINE const char* row_address(const TileTask& task, const Operand& rows, int64_t k0) {
  return element_address(rows, task.batch_index * rows.strides[0] + task.kv_head * rows.strides[1] +
                                   (task.sequence->key_begin + k0) * rows.strides[2]);
}

// Keys or values k0 .. k1 - 1, in place or widened into `block`.
static F32Rows rows_of(const TileTask& task, const Operand& rows, int64_t k0, int64_t k1, int64_t width, float* block) {
  const char* first = row_address(task, rows, k0);
  if (in_place(rows)) return {reinterpret_cast<const float*>(first), rows.strides[2]};
  widen_rows(first, rows.dtype, rows.strides[2], rows.strides[3], k1 - k0, width, block);
  return {block, row_stride(width)};
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// Transposes scores of `count` keys from task.row_scores, beginning with the key at index k0 of the block, to a query
// tile's `scores`. Lanes without a row become 0.
static void rows_to_query_tile(const TileTask& task, const QueryTile& query_tile, int64_t k0, int64_t count,
                               float* scores) {
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    for (int64_t k = 0; k < count; k += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t row = first_lane + lane;
        tile[lane] = row < query_tile.num_rows ? load(task.row_scores + row * kRowScoresStride + k0 + k) : Vec{};
      }
      transpose(tile);
      for (int64_t i = 0; i < smaller(kLanes, count - k); ++i)
        store(scores + (k + i) * kQueryTileRows + first_lane, tile[i]);
    }
  }
}

// The inverse of rows_to_query_tile.
static void query_tile_to_rows(const TileTask& task, const QueryTile& query_tile, int64_t k0, int64_t count) {
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    for (int64_t k = 0; k < count; k += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) tile[i] = load(task.scores + (k + i) * kQueryTileRows + first_lane);
      transpose(tile);
      for (int64_t lane = 0; lane < kLanes && first_lane + lane < query_tile.num_rows; ++lane)
        store_first(task.row_scores + (first_lane + lane) * kRowScoresStride + k0 + k, tile[lane],
                    smaller(kLanes, count - k));
    }
  }
}

// Products that are scores as they are.
struct NoTerms {
  template <int rows, int vectors>
  HEED_INLINE_MEMBER void add_to(Vec (&)[rows][vectors], int64_t) const {}
};

// Computes scores of `rows` keys from key k on, and the maximum of `maximum` and these scores.
template <int rows, int vectors, typename Terms>
HEED_INLINE void score_tile(const float* queries, const float* keys, int64_t key_stride, int64_t head_size,
                            const Terms& terms, int64_t k, float* scores, Vec (&maximum)[vectors]) {
  Vec sums[rows][vectors] = {};
  multiply_tile<rows, vectors>(keys, key_stride, 1, queries, kQueryTileRows, head_size, sums);
  terms.add_to(sums, k);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(scores + i * kQueryTileRows + v * kLanes, sums[i][v]);
      // A NaN is never greater; it reaches the sums through its exponential.
      maximum[v] = max(sums[i][v], maximum[v]);
    }
  }
}

template <int vectors, typename Terms>
HEED_NOINLINE void score_block(const QueryTile& query_tile, F32Rows keys, int64_t count, int64_t head_size,
                               const Terms& terms, float* scores, Vec (&maximum)[vectors]) {
  // A local copy: through the reference the compiler would reload it after each store of scores.
  Vec largest[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) largest[v] = maximum[v];
  int64_t k = 0;
  for (; k + kTileRows <= count; k += kTileRows) {
    score_tile<kTileRows, vectors>(query_tile.queries, keys.data + k * keys.stride, keys.stride, head_size, terms, k,
                                   scores + k * kQueryTileRows, largest);
  }
  for (; k + 4 <= count; k += 4) {
    score_tile<4, vectors>(query_tile.queries, keys.data + k * keys.stride, keys.stride, head_size, terms, k,
                           scores + k * kQueryTileRows, largest);
  }
  for (; k + 2 <= count; k += 2) {
    score_tile<2, vectors>(query_tile.queries, keys.data + k * keys.stride, keys.stride, head_size, terms, k,
                           scores + k * kQueryTileRows, largest);
  }
  if (k < count) {
    score_tile<1, vectors>(query_tile.queries, keys.data + k * keys.stride, keys.stride, head_size, terms, k,
                           scores + k * kQueryTileRows, largest);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) maximum[v] = largest[v];
}

// Additive scores and their maximum: scale * sum over d of score_weights[d] * tanh(query[d] + key[d]), d ascending, for
// each key and row.
template <int vectors>
static void add_score_block(const QueryTile& query_tile, F32Rows keys, int64_t count, int64_t head_size, float scale,
                            float* scores, Vec (&maximum)[vectors]) {
  const auto begin = [&](const float* key, int64_t d, int v) {
    return begin_tanh(load(query_tile.queries + d * kQueryTileRows + v * kLanes) + broadcast(key[d]));
  };
  const auto add = [&](const PartialTanh& begun, int64_t d, int v, Vec& sum) {
    sum = fma(load(query_tile.score_weights + d * kQueryTileRows + v * kLanes), finish_tanh(begun), sum);
  };
  const int64_t last = head_size - 1;
  for (int64_t k = 0; k < count; ++k) {
    const float* key = keys.data + k * keys.stride;
    Vec sums[vectors] = {};
    PartialTanh begun[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors && last >= 0; ++v) begun[v] = begin(key, 0, v);
    for (int64_t d = 0; d < last; ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const PartialTanh next = begin(key, d + 1, v);
        add(begun[v], d, v, sums[v]);
        begun[v] = next;
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      if (last >= 0) add(begun[v], last, v, sums[v]);
      const Vec score = sums[v] * broadcast(scale);
      store(scores + k * kQueryTileRows + v * kLanes, score);
      maximum[v] = max(score, maximum[v]);
    }
  }
}

// Recomputes scores with the decode kernel's function, row by row, so that weights match the output bitwise.
template <int vectors>
static void score_query_tile_rows(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t count,
                                  float* scores, Vec (&maximum)[vectors]) {
  const int64_t head_size = task.problem->head_size;
  const StoredRows stored = {reinterpret_cast<const char*>(keys.data),
                             keys.stride * static_cast<int64_t>(sizeof(float)), head_size};
  score_rows<DType::F32>(
      stored, count, {task.row_queries, row_stride(head_size), task.row_scores, kRowScoresStride, query_tile.num_rows});
  rows_to_query_tile(task, query_tile, 0, count, scores);
  for (int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) maximum[v] = max(load(scores + k * kQueryTileRows + v * kLanes), maximum[v]);
  }
}

template <int vectors>
static void multiply_keys(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t count, float* scores,
                          Vec (&maximum)[vectors]) {
  if (task.arguments->is_additive != 0)
    add_score_block<vectors>(query_tile, keys, count, task.problem->head_size, task.arguments->score_scale, scores,
                             maximum);
  else if (task.row_queries != nullptr)
    score_query_tile_rows<vectors>(task, query_tile, keys, count, scores, maximum);
  else
    score_block<vectors>(query_tile, keys, count, task.problem->head_size, NoTerms{}, scores, maximum);
}

// Computes the scores of keys k0 .. k0 + count - 1: products of queries and keys, plus terms of their distance. Nothing
// else changes them (find_plain_keys).
template <int vectors>
static void score_plain_keys(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t k0, int64_t count,
                             float* scores, Vec (&maximum)[vectors]) {
  if (!has_distance_terms(*task.problem)) return multiply_keys<vectors>(task, query_tile, keys, count, scores, maximum);
  TileTerms<vectors> terms;
  for (int v = 0; v < vectors; ++v) terms.of_vectors[v] = find_distance_terms(task, query_tile, v * kLanes, k0);
  score_block<vectors>(query_tile, keys, count, task.problem->head_size, terms, scores, maximum);
}

// Computes scores of keys k0 .. k1 - 1, whose products are not their final scores. `begin`: the first key of the block.
template <int vectors>
static void find_mixed_scores(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t begin,
                              int64_t k0, int64_t k1, Vec (&maximum)[vectors]) {
  if (k0 >= k1) return;
  Vec of_products[vectors] = {};
  multiply_keys<vectors>(task, query_tile, from_row(keys, k0 - begin), k1 - k0,
                         task.scores + (k0 - begin) * kQueryTileRows, of_products);
  finish_scores<vectors>(task, query_tile, begin, k0, k1, maximum);
}

// Computes scores of keys k0 .. k1 - 1 and their maximum. With wants_seen it also sets task.seen.
template <int vectors>
static void find_scores(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t k0, int64_t k1,
                        bool wants_seen, Vec (&maximum)[vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) maximum[v] = broadcast(-kInfinity);
  int64_t plain_first = k0;
  int64_t plain_end = k1;
  find_plain_keys(task, query_tile, plain_first, plain_end);
  if (plain_first < plain_end) {
    float* scores = task.scores + (plain_first - k0) * kQueryTileRows;
    score_plain_keys<vectors>(task, query_tile, from_row(keys, plain_first - k0), plain_first, plain_end - plain_first,
                              scores, maximum);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(query_tile.sees_any + v * kLanes, broadcast(int32_t{-1}));
    if (wants_seen) {
      int32_t* seen = task.seen + (plain_first - k0) * kQueryTileRows;
      for (int64_t i = 0; i < (plain_end - plain_first) * kQueryTileRows; i += kLanes)
        store(seen + i, broadcast(int32_t{-1}));
    }
  }
  const int64_t shared_end = end_of_shared_keys<vectors>(query_tile, k0, k1);
  find_mixed_scores<vectors>(task, query_tile, keys, k0, k0, plain_first, maximum);
  find_mixed_scores<vectors>(task, query_tile, keys, k0, plain_end, larger(plain_end, shared_end), maximum);
  if (shared_end < k1) {
    const int64_t first = larger(plain_end, shared_end);
    for (int64_t k = first - k0; k < k1 - k0; ++k) {
      store(task.scores + k * kQueryTileRows, broadcast(-kInfinity));
      store(task.seen + k * kQueryTileRows, IntVec{});
    }
    Vec of_second[1] = {maximum[vectors - 1]};
    find_mixed_scores<1>(second_vector_of(task), second_vector_of(query_tile), keys, k0, first, k1, of_second);
    maximum[vectors - 1] = of_second[0];
  }
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Subtracts the shift from the scores of `count` keys.
template <int vectors>
static void shift_scores(const Vec (&maximum)[vectors], int64_t count, float* scores) {
  for (int v = 0; v < vectors; ++v) {
    if (!any(is_large(maximum[v]))) continue;
    for (int64_t k = 0; k < count; ++k) {
      float* address = scores + k * kQueryTileRows + v * kLanes;
      store(address, load(address) - shift_of(maximum[v]));
    }
  }
}

template <int keys, int vectors>
HEED_INLINE void exponentiate_keys(float* scores, const Vec (&pivots)[vectors], Vec (&total)[vectors]) {
  Vec probabilities[keys * vectors];
#pragma GCC unroll 8
  for (int i = 0; i < keys * vectors; ++i)
    probabilities[i] = load(scores + i / vectors * kQueryTileRows + i % vectors * kLanes);
  find_probabilities<true>(probabilities, pivots);
#pragma GCC unroll 8
  for (int i = 0; i < keys * vectors; ++i) {
    total[i % vectors] += probabilities[i];
    store(scores + i / vectors * kQueryTileRows + i % vectors * kLanes, probabilities[i]);
  }
}

// Turns scores into probabilities relative to the running maximum, and rescales total and sums to it.
template <int vectors>
HEED_NOINLINE void exponentiate(const TileTask& task, const QueryTile& query_tile, int64_t count,
                                const Vec (&block_maximum)[vectors]) {
  Vec maximum[vectors];
  Vec before[vectors];
  Vec pivot[vectors];
  Vec total[vectors];
  IntVec grown{};
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    before[v] = query_tile.started ? load(query_tile.maximum + v * kLanes) : broadcast(-kInfinity);
    maximum[v] = max(block_maximum[v], before[v]);
    grown |= maximum[v] > before[v];
    pivot[v] = pivot_of(maximum[v]);
    total[v] = query_tile.started ? load(query_tile.total + v * kLanes) : Vec{};
    store(query_tile.maximum + v * kLanes, maximum[v]);
  }
  // After some blocks the maximum rarely grows, and without growth the factor is 1.
  if (query_tile.started && any(grown)) {
    Vec factor[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) factor[v] = factor_between(before[v], maximum[v]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) total[v] *= factor[v];
    const int64_t size = task.problem->output.data != nullptr ? task.problem->value_head_size : 0;
    for (int64_t d = 0; d < size; ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        float* sum = query_tile.sums + d * kQueryTileRows + v * kLanes;
        store(sum, load(sum) * factor[v]);
      }
    }
  }
  shift_scores(maximum, count, task.scores);
  int64_t k = 0;
  for (; k + 2 <= count; k += 2) exponentiate_keys<2, vectors>(task.scores + k * kQueryTileRows, pivot, total);
  if (k < count) exponentiate_keys<1, vectors>(task.scores + k * kQueryTileRows, pivot, total);
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) store(query_tile.total + v * kLanes, total[v]);
}

// ---- dropout --------------------------------------------------------------------------------------------------------

// Sets dropped probabilities to 0. The total already contains them.
template <int vectors>
static void drop(const TileTask& task, const QueryTile& query_tile, int64_t k0, int64_t k1) {
  const AttentionProblem& problem = *task.problem;
  for (int64_t first_lane = 0; first_lane < vectors * kLanes; first_lane += kLanes) {
    int32_t query_numbers[kLanes] = {};
    int32_t head_numbers[kLanes] = {};
    visit_rows(task, query_tile, first_lane, [&](int64_t lane, int64_t head, int64_t query) {
      query_numbers[lane] = static_cast<int32_t>(query);
      head_numbers[lane] = static_cast<int32_t>(head);
    });
    const IntVec queries = load(query_numbers);
    const IntVec heads = load(head_numbers);
    for (int64_t quad = k0 / 4; quad * 4 < k1; ++quad) {
      IntVec words[4] = {broadcast(static_cast<int32_t>(quad)), queries, heads,
                         broadcast(static_cast<int32_t>(task.batch_index))};
      philox_rounds(words, problem.dropout_seed);
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t k = quad * 4 + i;
        if (k < k0 || k >= k1) continue;
        float* address = task.scores + (k - k0) * kQueryTileRows + first_lane;
        store(address, select(is_kept(words[i], task.arguments->dropout_threshold), load(address), Vec{}));
      }
    }
  }
}

// ---- values ---------------------------------------------------------------------------------------------------------

// sums[d][lane] += value[k][d] * probability[k][lane] for `rows` elements of the values.
template <int rows, int vectors>
HEED_INLINE void value_tile(bool started, const float* values, int64_t value_stride, const float* probabilities,
                            int64_t count, float* sums) {
  Vec tile[rows][vectors] = {};
  if (started) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) tile[i][v] = load(sums + i * kQueryTileRows + v * kLanes);
    }
  }
  multiply_tile<rows, vectors>(values, 1, value_stride, probabilities, kQueryTileRows, count, tile);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(sums + i * kQueryTileRows + v * kLanes, tile[i][v]);
  }
}

template <int vectors>
HEED_NOINLINE void add_values(const QueryTile& query_tile, F32Rows values, int64_t count, int64_t size,
                              const float* probabilities) {
  int64_t d = 0;
  for (; d + kTileRows <= size; d += kTileRows) {
    value_tile<kTileRows, vectors>(query_tile.started, values.data + d, values.stride, probabilities, count,
                                   query_tile.sums + d * kQueryTileRows);
  }
  for (; d + 4 <= size; d += 4) {
    value_tile<4, vectors>(query_tile.started, values.data + d, values.stride, probabilities, count,
                           query_tile.sums + d * kQueryTileRows);
  }
  for (; d + 2 <= size; d += 2) {
    value_tile<2, vectors>(query_tile.started, values.data + d, values.stride, probabilities, count,
                           query_tile.sums + d * kQueryTileRows);
  }
  if (d < size)
    value_tile<1, vectors>(query_tile.started, values.data + d, values.stride, probabilities, count,
                           query_tile.sums + d * kQueryTileRows);
}

// Like add_values, but one key at a time and only for pairs in task.seen: 0 times a hidden value that is not finite
// would be NaN. If all values are finite, the result equals that of add_values bitwise.
template <int vectors>
static void add_seen_values(const TileTask& task, const QueryTile& query_tile, F32Rows values, int64_t count) {
  for (int64_t d = 0; d < task.problem->value_head_size; ++d) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* address = query_tile.sums + d * kQueryTileRows + v * kLanes;
      Vec sum = load(address);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t pair = k * kQueryTileRows + v * kLanes;
        const Vec with_key = fma(broadcast(values.data[k * values.stride + d]), load(task.scores + pair), sum);
        sum = select(load(task.seen + pair), with_key, sum);
      }
      store(address, sum);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
