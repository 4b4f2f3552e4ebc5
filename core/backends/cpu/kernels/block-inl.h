// SPDX-License-Identifier: Apache-2.0
// What attention over panels does with one block of keys: scores, the step of the online softmax, dropout, and the sums
// of weighted values.
#pragma once

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/exp2-inl.h"
#include "backends/cpu/kernels/kv_source-inl.h"
#include "backends/cpu/kernels/micro_kernel-inl.h"
#include "backends/cpu/kernels/panel-inl.h"
#include "backends/cpu/kernels/philox-inl.h"
#include "backends/cpu/kernels/row_scores-inl.h"
#include "backends/cpu/kernels/simd.h"
#include "backends/cpu/kernels/visibility-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Keys or values of a block as f32 rows, in place where they are that already.
struct Rows {
  const float* data;
  int64_t stride;
};

HEED_INLINE Rows from_row(Rows rows, int64_t k) { return {rows.data + k * rows.stride, rows.stride}; }

// Whether rows of keys or values can be read where they lie: f32, elements side by side, and rows that do not all fall
// into the same sets of the caches, as those do that are a multiple of 4 KiB apart.
HEED_INLINE bool in_place(const Operand& operand) {
  return operand.dtype == DType::F32 && operand.strides[3] == 1 && operand.strides[2] % 1024 != 0;
}

// Rows k0 .. k1 - 1 of keys or values.
static Rows rows_of(const FlashItem& item, const KvSource& source, int64_t k0, int64_t k1, int64_t width,
                    float* block) {
  const Operand& rows = source.rows;
  RowRun run = run_of(source, *item.sequence, item.batch_index, item.kv_head, k0, k1);
  if (in_place(rows) && run.count == k1 - k0) return {reinterpret_cast<const float*>(run.data), run.stride};
  widen_rows(run.data, rows.dtype, run.stride, rows.strides[3], run.count, width, block);
  for (int64_t done = run.count; done < k1 - k0; done += run.count) {
    run = run_of(source, *item.sequence, item.batch_index, item.kv_head, k0 + done, k1);
    widen_rows(run.data, rows.dtype, run.stride, rows.strides[3], run.count, width, block + done * row_stride(width));
  }
  return {block, row_stride(width)};
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// `scores` of a panel from item.row_scores, of which key k0 of the block is the first, for `count` keys; rows beyond
// the last are 0.
static void rows_to_panel(const FlashItem& item, const Panel& panel, int64_t k0, int64_t count, float* scores) {
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    for (int64_t k = 0; k < count; k += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t row = group + lane;
        tile[lane] = row < panel.num_rows ? load(item.row_scores + row * kRowScoresStride + k0 + k) : Vec{};
      }
      transpose(tile);
      for (int64_t i = 0; i < smaller(kLanes, count - k); ++i) store(scores + (k + i) * kPanelRows + group, tile[i]);
    }
  }
}

// And back.
static void panel_to_rows(const FlashItem& item, const Panel& panel, int64_t k0, int64_t count) {
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    for (int64_t k = 0; k < count; k += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) tile[i] = load(item.scores + (k + i) * kPanelRows + group);
      transpose(tile);
      for (int64_t lane = 0; lane < kLanes && group + lane < panel.num_rows; ++lane)
        store_first(item.row_scores + (group + lane) * kRowScoresStride + k0 + k, tile[lane],
                    smaller(kLanes, count - k));
    }
  }
}

// Scores of `rows` keys, and their maximum with what `maximum` has.
template <int rows, int vectors>
HEED_INLINE void score_tile(const float* queries, const float* keys, int64_t key_stride, int64_t head_size,
                            float* scores, Vec (&maximum)[vectors]) {
  Vec sums[rows][vectors] = {};
  multiply_tile<rows, vectors>(keys, key_stride, 1, queries, kPanelRows, head_size, sums);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(scores + i * kPanelRows + v * kLanes, sums[i][v]);
      // A NaN is never greater; it reaches the sums through its exponential.
      maximum[v] = max(sums[i][v], maximum[v]);
    }
  }
}

template <int vectors>
HEED_APART void score_block(const Panel& panel, Rows keys, int64_t count, int64_t head_size, float* scores,
                            Vec (&maximum)[vectors]) {
  // Of its own, since for all the compiler knows the stores of scores could change what is behind a reference.
  Vec largest[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) largest[v] = maximum[v];
  int64_t k = 0;
  for (; k + kTileRows <= count; k += kTileRows) {
    score_tile<kTileRows, vectors>(panel.queries, keys.data + k * keys.stride, keys.stride, head_size,
                                   scores + k * kPanelRows, largest);
  }
  for (; k + 4 <= count; k += 4) {
    score_tile<4, vectors>(panel.queries, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                           largest);
  }
  for (; k + 2 <= count; k += 2) {
    score_tile<2, vectors>(panel.queries, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                           largest);
  }
  if (k < count) {
    score_tile<1, vectors>(panel.queries, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                           largest);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) maximum[v] = largest[v];
}

// scale * sum over d of score_weights[d] * tanh(query[d] + key[d]), d ascending, for each key and row, and their
// maximum.
template <int vectors>
static void add_score_block(const Panel& panel, Rows keys, int64_t count, int64_t head_size, float scale, float* scores,
                            Vec (&maximum)[vectors]) {
  const auto begin = [&](const float* key, int64_t d, int v) {
    return begin_tanh(load(panel.queries + d * kPanelRows + v * kLanes) + broadcast(key[d]));
  };
  const auto add = [&](const BegunTanh& begun, int64_t d, int v, Vec& sum) {
    sum = fma(load(panel.score_weights + d * kPanelRows + v * kLanes), finish_tanh(begun), sum);
  };
  const int64_t last = head_size - 1;
  for (int64_t k = 0; k < count; ++k) {
    const float* key = keys.data + k * keys.stride;
    Vec sums[vectors] = {};
    BegunTanh begun[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors && last >= 0; ++v) begun[v] = begin(key, 0, v);
    for (int64_t d = 0; d < last; ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const BegunTanh next = begin(key, d + 1, v);
        add(begun[v], d, v, sums[v]);
        begun[v] = next;
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      if (last >= 0) add(begun[v], last, v, sums[v]);
      const Vec score = sums[v] * broadcast(scale);
      store(scores + k * kPanelRows + v * kLanes, score);
      maximum[v] = max(score, maximum[v]);
    }
  }
}

// Scores that were found row by row are found like that again: so they have the bits that its sums were made from.
template <int vectors>
static void score_panel_rows(const FlashItem& item, const Panel& panel, Rows keys, int64_t count, float* scores,
                             Vec (&maximum)[vectors]) {
  const int64_t head_size = item.problem->head_size;
  const StoredRows stored = {reinterpret_cast<const char*>(keys.data),
                             keys.stride * static_cast<int64_t>(sizeof(float)), head_size};
  score_rows<DType::F32>(stored, count, item.row_queries, row_stride(head_size), panel.num_rows, item.row_scores,
                         kRowScoresStride);
  rows_to_panel(item, panel, 0, count, scores);
  for (int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) maximum[v] = max(load(scores + k * kPanelRows + v * kLanes), maximum[v]);
  }
}

template <int vectors>
static void multiply_keys(const FlashItem& item, const Panel& panel, Rows keys, int64_t count, float* scores,
                          Vec (&maximum)[vectors]) {
  if (item.arguments->is_additive != 0)
    add_score_block<vectors>(panel, keys, count, item.problem->head_size, item.arguments->score_scale, scores, maximum);
  else if (item.row_queries != nullptr)
    score_panel_rows<vectors>(item, panel, keys, count, scores, maximum);
  else
    score_block<vectors>(panel, keys, count, item.problem->head_size, scores, maximum);
}

// Scores of the keys k0 .. k1 - 1, of a block whose first key is `begin`, where some may be hidden.
template <int vectors>
static void find_hidden_scores(const FlashItem& item, const Panel& panel, Rows keys, int64_t begin, int64_t k0,
                               int64_t k1, Vec (&maximum)[vectors]) {
  if (k0 >= k1) return;
  Vec of_products[vectors] = {};
  multiply_keys<vectors>(item, panel, from_row(keys, k0 - begin), k1 - k0, item.scores + (k0 - begin) * kPanelRows,
                         of_products);
  finish_scores<vectors>(item, panel, begin, k0, k1, maximum);
}

// Scores of the keys k0 .. k1 - 1 and their maximum; with `wants_seen`, item.seen says who sees which.
template <int vectors>
static void find_scores(const FlashItem& item, const Panel& panel, Rows keys, int64_t k0, int64_t k1, bool wants_seen,
                        Vec (&maximum)[vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) maximum[v] = broadcast(-kInfinity);
  int64_t plain_first = k0;
  int64_t plain_end = k1;
  find_plain_keys(item, panel, plain_first, plain_end);
  if (plain_first < plain_end) {
    float* scores = item.scores + (plain_first - k0) * kPanelRows;
    multiply_keys<vectors>(item, panel, from_row(keys, plain_first - k0), plain_end - plain_first, scores, maximum);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(panel.visible + v * kLanes, broadcast(int32_t{-1}));
    if (wants_seen) {
      int32_t* seen = item.seen + (plain_first - k0) * kPanelRows;
      for (int64_t i = 0; i < (plain_end - plain_first) * kPanelRows; i += kLanes)
        store(seen + i, broadcast(int32_t{-1}));
    }
  }
  const int64_t shared_end = end_of_shared_keys<vectors>(panel, k0, k1);
  find_hidden_scores<vectors>(item, panel, keys, k0, k0, plain_first, maximum);
  find_hidden_scores<vectors>(item, panel, keys, k0, plain_end, larger(plain_end, shared_end), maximum);
  if (shared_end < k1) {
    const int64_t first = larger(plain_end, shared_end);
    for (int64_t k = first - k0; k < k1 - k0; ++k) {
      store(item.scores + k * kPanelRows, broadcast(-kInfinity));
      store(item.seen + k * kPanelRows, IntVec{});
    }
    Vec of_second[1] = {maximum[vectors - 1]};
    find_hidden_scores<1>(second_vector_of(item), second_vector_of(panel), keys, k0, first, k1, of_second);
    maximum[vectors - 1] = of_second[0];
  }
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Whether a row's maximum is so large that rounding its product with log2(e) would be a factor that matters, in the end
// one beyond f32's range: rows whose keys a bias of -1e10 or of the lowest float hides, as they are from other hands.
HEED_INLINE IntVec is_far(Vec maximum) {
  constexpr float kFar = 0x1p20f;
  return (maximum > broadcast(kFar)) | ((maximum < broadcast(-kFar)) & (maximum != broadcast(-kInfinity)));
}

// What such a row's scores are lessened by first. Subtracting the maximum always would cost every score one instruction
// more, 1 % of the whole at head size 64.
HEED_INLINE Vec shift_of(Vec maximum) { return select(is_far(maximum), maximum, Vec{}); }

// What scores times log2(e), after the shift, are taken relative to: the maximum, or anything finite while that is
// -inf, because -inf - -inf would be NaN where 2^-inf = 0 is meant. Whatever it is rounded to cancels, as all of a
// row's scores have the same.
HEED_INLINE Vec pivot_of(Vec maximum) {
  return select(is_far(maximum) | (maximum == broadcast(-kInfinity)), Vec{}, maximum * broadcast(kLog2E));
}

// What sums relative to the maximum `before` are multiplied by to be relative to another: 0 where there have been no
// scores, and exactly 1 where the maximum is the same, since it is rounded as the pivot was.
HEED_INLINE Vec factor_between(Vec before, Vec maximum) {
  Vec factor[1] = {(before - shift_of(maximum)) * broadcast(kLog2E) - pivot_of(maximum)};
  exp2_of_nonpositive(factor);
  return factor[0];
}

// The shift of `count` keys' scores.
template <int vectors>
static void shift_scores(const Vec (&maximum)[vectors], int64_t count, float* scores) {
  for (int v = 0; v < vectors; ++v) {
    if (!any(is_far(maximum[v]))) continue;
    for (int64_t k = 0; k < count; ++k) {
      float* place = scores + k * kPanelRows + v * kLanes;
      store(place, load(place) - shift_of(maximum[v]));
    }
  }
}

// Scores, in place and after the shift, become e^(score - maximum); `pivots` repeats itself.
template <int count, int vectors>
HEED_INLINE void find_probabilities(Vec (&scores)[count], const Vec (&pivots)[vectors]) {
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) scores[i] = fma(scores[i], broadcast(kLog2E), -pivots[i % vectors]);
  exp2_of_nonpositive(scores);
}

template <int keys, int vectors>
HEED_INLINE void exponentiate_keys(float* scores, const Vec (&pivots)[vectors], Vec (&total)[vectors]) {
  Vec probabilities[keys * vectors];
#pragma GCC unroll 8
  for (int i = 0; i < keys * vectors; ++i)
    probabilities[i] = load(scores + i / vectors * kPanelRows + i % vectors * kLanes);
  find_probabilities(probabilities, pivots);
#pragma GCC unroll 8
  for (int i = 0; i < keys * vectors; ++i) {
    total[i % vectors] += probabilities[i];
    store(scores + i / vectors * kPanelRows + i % vectors * kLanes, probabilities[i]);
  }
}

// Scores become probabilities relative to the running maximum; total and sums follow it.
template <int vectors>
HEED_APART void exponentiate(const FlashItem& item, const Panel& panel, int64_t count,
                             const Vec (&block_maximum)[vectors]) {
  Vec maximum[vectors];
  Vec before[vectors];
  Vec pivot[vectors];
  Vec total[vectors];
  IntVec grown{};
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    before[v] = panel.started ? load(panel.maximum + v * kLanes) : broadcast(-kInfinity);
    maximum[v] = max(block_maximum[v], before[v]);
    grown |= maximum[v] > before[v];
    pivot[v] = pivot_of(maximum[v]);
    total[v] = panel.started ? load(panel.total + v * kLanes) : Vec{};
    store(panel.maximum + v * kLanes, maximum[v]);
  }
  // After some blocks the maximum seldom grows; where it does not, the factor is 1.
  if (panel.started && any(grown)) {
    Vec factor[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) factor[v] = factor_between(before[v], maximum[v]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) total[v] *= factor[v];
    const int64_t size = item.problem->output.data != nullptr ? item.problem->value_head_size : 0;
    for (int64_t d = 0; d < size; ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        float* sum = panel.sums + d * kPanelRows + v * kLanes;
        store(sum, load(sum) * factor[v]);
      }
    }
  }
  shift_scores(maximum, count, item.scores);
  int64_t k = 0;
  for (; k + 2 <= count; k += 2) exponentiate_keys<2, vectors>(item.scores + k * kPanelRows, pivot, total);
  if (k < count) exponentiate_keys<1, vectors>(item.scores + k * kPanelRows, pivot, total);
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) store(panel.total + v * kLanes, total[v]);
}

// ---- dropout --------------------------------------------------------------------------------------------------------

// Sets the probabilities that dropout takes to 0; the total has them already.
template <int vectors>
static void drop(const FlashItem& item, const Panel& panel, int64_t k0, int64_t k1) {
  const AttentionProblem& problem = *item.problem;
  for (int64_t group = 0; group < vectors * kLanes; group += kLanes) {
    int32_t query_numbers[kLanes] = {};
    int32_t head_numbers[kLanes] = {};
    visit_rows(item, panel, group, [&](int64_t lane, int64_t head, int64_t query) {
      query_numbers[lane] = static_cast<int32_t>(query);
      head_numbers[lane] = static_cast<int32_t>(head);
    });
    const IntVec queries = load(query_numbers);
    const IntVec heads = load(head_numbers);
    for (int64_t quad = k0 / 4; quad * 4 < k1; ++quad) {
      IntVec words[4] = {broadcast(static_cast<int32_t>(quad)), queries, heads,
                         broadcast(static_cast<int32_t>(item.batch_index))};
      philox_rounds(words, problem.dropout_seed);
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t k = quad * 4 + i;
        if (k < k0 || k >= k1) continue;
        float* place = item.scores + (k - k0) * kPanelRows + group;
        store(place, select(is_kept(words[i], item.arguments->dropout_threshold), load(place), Vec{}));
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
      for (int v = 0; v < vectors; ++v) tile[i][v] = load(sums + i * kPanelRows + v * kLanes);
    }
  }
  multiply_tile<rows, vectors>(values, 1, value_stride, probabilities, kPanelRows, count, tile);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(sums + i * kPanelRows + v * kLanes, tile[i][v]);
  }
}

template <int vectors>
HEED_APART void add_values(const Panel& panel, Rows values, int64_t count, int64_t size, const float* probabilities) {
  int64_t d = 0;
  for (; d + kTileRows <= size; d += kTileRows) {
    value_tile<kTileRows, vectors>(panel.started, values.data + d, values.stride, probabilities, count,
                                   panel.sums + d * kPanelRows);
  }
  for (; d + 4 <= size; d += 4) {
    value_tile<4, vectors>(panel.started, values.data + d, values.stride, probabilities, count,
                           panel.sums + d * kPanelRows);
  }
  for (; d + 2 <= size; d += 2) {
    value_tile<2, vectors>(panel.started, values.data + d, values.stride, probabilities, count,
                           panel.sums + d * kPanelRows);
  }
  if (d < size)
    value_tile<1, vectors>(panel.started, values.data + d, values.stride, probabilities, count,
                           panel.sums + d * kPanelRows);
}

// The same one key at a time, leaving out pairs that item.seen does not have: 0 times a value that is hidden and not
// finite would be NaN. Where all are finite the bits are those of add_values.
template <int vectors>
static void add_seen_values(const FlashItem& item, const Panel& panel, Rows values, int64_t count) {
  for (int64_t d = 0; d < item.problem->value_head_size; ++d) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* place = panel.sums + d * kPanelRows + v * kLanes;
      Vec sum = load(place);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t pair = k * kPanelRows + v * kLanes;
        const Vec with_key = fma(broadcast(values.data[k * values.stride + d]), load(item.scores + pair), sum);
        sum = select(load(item.seen + pair), with_key, sum);
      }
      store(place, sum);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
