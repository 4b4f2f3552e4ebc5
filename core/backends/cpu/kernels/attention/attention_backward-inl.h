// SPDX-License-Identifier: Apache-2.0
// Attention backward (the recomputation of Dao et al., "FlashAttention", arXiv 2205.14135), with keys as lanes: keys are outside,
// and all queries that share a key head inside. docs/kernels.md has a drawing.
//
// The keys of a panel are the lanes of two vectors. The gradients of its keys and values are sums over queries, in panels
// [d][key] that stay in the cache; that of the queries is a sum over keys, in rows. Scores, dP and all sums are chains of products
// and additions in an order that only the element's own numbers of queries and keys decide: d ascending for scores and dP; head,
// then query ascending for keys and values; keys ascending for queries, of chunks of kChunkKeys keys. A hidden pair adds exactly 0,
// or, where a number is not finite, nothing.
#pragma once

#include "backends/cpu/kernels/attention/backward.h"
#include "backends/cpu/kernels/attention/backward_additive-inl.h"
#include "backends/cpu/kernels/attention/backward_memory-inl.h"
#include "backends/cpu/kernels/attention/backward_pairs-inl.h"
#include "backends/cpu/kernels/attention/backward_products-inl.h"
#include "backends/cpu/kernels/attention/backward_rows-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- panels ---------------------------------------------------------------------------------------------------------

// panel[d][lane] = factor * rows[lane][d].
static void rows_to_panel(const float* rows, int64_t width, int64_t size, float factor, float* panel) {
  for (int64_t lane = 0; lane < kPanelKeys; lane += kLanes) {
    for (int64_t d = 0; d < size; d += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) tile[i] = load(rows + (lane + i) * width + d);
      transpose(tile);
      float* to = panel + d * kPanelKeys + lane;
      if (d + kLanes <= size) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(to + i * kPanelKeys, tile[i] * broadcast(factor));
      } else {
        for (int64_t i = 0; i < size - d; ++i) store(to + i * kPanelKeys, tile[i] * broadcast(factor));
      }
    }
  }
}

// rows[lane][d] = factor * panel[d][lane]. Adding +0 turns -0 into +0: whether hidden pairs added +0 makes no difference.
static void panel_to_rows(const float* panel, int64_t width, int64_t size, float factor, float* rows) {
  for (int64_t lane = 0; lane < kPanelKeys; lane += kLanes) {
    for (int64_t d = 0; d < size; d += kLanes) {
      const float* from = panel + d * kPanelKeys + lane;
      Vec tile[kLanes];
      if (d + kLanes <= size) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(from + i * kPanelKeys) * broadcast(factor) + Vec{};
      } else {
        for (int64_t i = 0; i < kLanes; ++i)
          tile[i] = i < size - d ? load(from + i * kPanelKeys) * broadcast(factor) + Vec{} : Vec{};
      }
      transpose(tile);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(rows + (lane + i) * width + d, tile[i]);
    }
  }
}

// Copies keys k .. k + count - 1 to rows; those that no row sees are 0, and not read.
static void copy_keys(const BackwardState& state, const Operand& operand, int64_t k, int64_t count, int64_t size,
                      int64_t width, float* rows) {
  const int64_t first = smaller(larger(k, state.memory.visible->first), k + count);
  const int64_t end = larger(smaller(k + count, state.memory.visible->end), first);
  for (int64_t i = 0; i < (first - k) * width; i += kLanes) store(rows + i, Vec{});
  if (first < end) {
    widen_rows(row_address(state.tile_task, operand, first), operand.dtype, operand.strides[2], operand.strides[3],
               end - first, size, rows + (first - k) * width);
  }
  for (int64_t i = (end - k) * width; i < count * width; i += kLanes) store(rows + i, Vec{});
}

// Writes the gradient of keys k .. k + count - 1 from rows, or 0 if `rows` is null.
static void store_rows(const BackwardState& state, const Operand& operand, int64_t k, int64_t count, int64_t size,
                       int64_t width, const float* rows) {
  const int64_t first = state.task.batch_index * operand.strides[0] + state.task.kv_head * operand.strides[1] +
                        (state.task.sequence->key_begin + k) * operand.strides[2];
  for (int64_t i = 0; i < count; ++i) {
    float* to = static_cast<float*>(operand.data) + first + i * operand.strides[2];
    if (rows != nullptr) {
      narrow_row(rows + i * width, size, reinterpret_cast<char*>(to), DType::F32, operand.strides[3]);
    } else {
      for (int64_t d = 0; d < size; ++d) to[d * operand.strides[3]] = 0.0f;
    }
  }
}

// The keys whose panels are packed, from key `first` on.
struct PackedKeys {
  int64_t first;
  int64_t end;
  bool begun[kPackedKeys / kPanelKeys];       // whether the panel's sums have been written
  bool not_finite[kPackedKeys / kGroupKeys];  // whether a key of the group is not finite

  HEED_INLINE_MEMBER int64_t num_panels() const { return divide_up(end - first, kPanelKeys); }
};

static void pack_keys(const BackwardState& state, PackedKeys& keys) {
  const BackwardMemory& memory = state.memory;
  const int64_t head_size = state.problem.head_size;
  const int64_t value_size = state.problem.value_head_size;
  // Whole groups, so that the products with keys read whole groups.
  const int64_t count = round_up(keys.end - keys.first, kGroupKeys);
  copy_keys(state, state.problem.keys, keys.first, count, head_size, state.width, memory.key_rows);
  for (int64_t p = 0; p < count / kPanelKeys; ++p) {
    keys.begun[p] = false;
    rows_to_panel(memory.key_rows + p * kPanelKeys * state.width, state.width, head_size, state.key_scale,
                  memory.key_panels + p * kPanelKeys * head_size);
    copy_keys(state, state.problem.values, keys.first + p * kPanelKeys, kPanelKeys, value_size, state.value_width,
              memory.panel_rows);
    rows_to_panel(memory.panel_rows, state.value_width, value_size, 1.0f,
                  memory.value_panels + p * kPanelKeys * value_size);
  }
  for (int64_t n = 0; n < count / kGroupKeys; ++n)
    keys.not_finite[n] = !is_finite_row(memory.key_rows + n * kGroupKeys * state.width, kGroupKeys * state.width);
}

static void store_keys(const BackwardState& state, const PackedKeys& keys) {
  const auto store_panels = [&](const Operand& operand, const float* sums, int64_t size, int64_t width, float factor) {
    if (operand.data == nullptr) return;
    for (int64_t p = 0; p < keys.num_panels(); ++p) {
      const int64_t k = keys.first + p * kPanelKeys;
      if (keys.begun[p]) panel_to_rows(sums + p * kPanelKeys * size, width, size, factor, state.memory.panel_rows);
      store_rows(state, operand, k, smaller(kPanelKeys, keys.end - k), size, width,
                 keys.begun[p] ? state.memory.panel_rows : nullptr);
    }
  };
  store_panels(state.backward.keys_gradient, state.memory.key_sums, state.problem.head_size, state.width,
               state.problem.scale);
  store_panels(state.backward.values_gradient, state.memory.value_sums, state.problem.value_head_size,
               state.value_width, state.arguments.forward.dropout_scale);
}

// ---- a block of queries and a group of keys --------------------------------------------------------------------------

// Queries of one head, and their rows.
struct QueryBlock {
  int64_t g;            // the number of the head in its group
  int64_t first_query;  // of row 0 of the block
  int64_t first_row;
  int64_t count;
  KeyRange all;    // the keys that all rows see, if all rows are plain; else none
  bool is_finite;  // whether all queries and output gradients are
};

static QueryBlock find_block(const BackwardState& state, int64_t g, int64_t first_query) {
  const BackwardMemory& memory = state.memory;
  QueryBlock block = {.g = g,
                      .first_query = first_query,
                      .first_row = g * state.num_queries + first_query,
                      .count = smaller(kBlockQueries, state.num_queries - first_query),
                      .all = {0, state.num_keys},
                      .is_finite = true};
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t r = block.first_row + i;
    block.is_finite &= memory.not_finite[r] == 0;
    block.all.first = larger(block.all.first, memory.ranges[r].first);
    block.all.end = smaller(block.all.end, memory.kinds[r] == RowKind::Plain ? memory.ranges[r].end : 0);
    find_row(state, g, first_query + i, memory.rows[i]);
  }
  return block;
}

// The rows of the block that take part in keys k .. end - 1, from the first to the last.
static KeyRange rows_of_keys(const BackwardState& state, const QueryBlock& block, int64_t k, int64_t end) {
  if (block.all.first <= k && block.all.end >= end) return {0, block.count};
  KeyRange rows;
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t r = block.first_row + i;
    const KeyRange range = state.memory.ranges[r];
    if (state.memory.kinds[r] == RowKind::Mean || (range.first < end && range.end > k)) {
      if (rows.end == 0) rows.first = i;
      rows.end = i + 1;
    }
  }
  return rows;
}

// What rows of a tile see of the keys of a panel.
enum class Sight { None, Some, All };

// Lanes from key `stored_end` on are 0 in the panels, and their sums are not stored.
static Sight sight_of(const BackwardState& state, int64_t first_row, int64_t count, int64_t k, int64_t stored_end) {
  const int64_t end = smaller(k + kPanelKeys, stored_end);
  bool is_none = true;
  bool is_all = true;
  for (int64_t r = first_row; r < first_row + count; ++r) {
    const RowKind kind = state.memory.kinds[r];
    const KeyRange range = state.memory.ranges[r];
    is_none &= kind != RowKind::Mean && (range.first >= end || range.end <= k);
    is_all &= kind == RowKind::Plain && range.first <= k && range.end >= end;
  }
  return is_none ? Sight::None : is_all ? Sight::All : Sight::Some;
}

// Exponents of `count` vectors become probabilities.
template <int count>
HEED_INLINE void exponentiate(float* exponents) {
  Vec values[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) values[i] = load(exponents + i * kLanes);
  exp2_without_tiny(values);
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) store(exponents + i * kLanes, values[i]);
}

// Weights and dS of a tile whose rows see all keys of a panel, where nothing else changes scores.
template <int rows>
HEED_INLINE void find_plain_tile(const float* queries, int64_t width, const float* gradients, int64_t value_width,
                                 const float* keys, const float* values, int64_t head_size, int64_t value_size,
                                 const float* pivots, const float* deltas, float* weights, float* products) {
  Vec tile[rows][kTileVectors] = {};
  multiply_tile<rows, kTileVectors>(queries, width, 1, keys, kPanelKeys, head_size, tile);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      store(weights + i * kPanelKeys + v * kLanes,
            min(Vec{}, fma(tile[i][v], broadcast(kLog2E), -broadcast(pivots[i]))));
    }
  }
  // Four vectors at a time where there are as many.
  constexpr int kCount = rows == 1 ? kTileVectors : 2 * kTileVectors;
#pragma GCC unroll 8
  for (int i = 0; i < rows * kTileVectors; i += kCount) exponentiate<kCount>(weights + i * kLanes);
  Vec of_values[rows][kTileVectors] = {};
  multiply_tile<rows, kTileVectors>(gradients, value_width, 1, values, kPanelKeys, value_size, of_values);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const Vec weight = load(weights + i * kPanelKeys + v * kLanes);
      store(products + i * kPanelKeys + v * kLanes, weight * (of_values[i][v] - broadcast(deltas[i])));
    }
  }
}

// Products of rows and a panel, as they are.
template <int rows>
HEED_INLINE void find_products(const float* a, int64_t width, const float* panel, int64_t size, float* products) {
  Vec tile[rows][kTileVectors] = {};
  multiply_tile<rows, kTileVectors>(a, width, 1, panel, kPanelKeys, size, tile);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) store(products + i * kPanelKeys + v * kLanes, tile[i][v]);
  }
}

// A block of queries and a panel.
struct BackwardPanel {
  const QueryBlock& queries;
  KeyRange rows;  // of the block
  int64_t k;
  int64_t stored_end;  // the end of the keys whose sums are stored
  const float* keys;
  const float* values;
  float* weights;
  float* products;
  int32_t* seen;        // null: not wanted
  const int32_t* kept;  // of the first key and row 0 of the block; null: nothing is dropped
  float* key_sums;
};

HEED_INLINE PanelRow panel_row(const BackwardPanel& block, int64_t i) {
  const int64_t at = (i - block.rows.first) * kPanelKeys;
  return {block.weights + at, block.products + at, block.seen != nullptr ? block.seen + at : nullptr,
          block.kept != nullptr ? block.kept + i * kGroupKeys : nullptr, block.k};
}

// Whether the mask shows all keys of a panel to rows first .. first + count - 1 of the block. False for masks whose stride along the
// keys is not 1, which are not examined.
static bool mask_shows_panel(const BackwardState& state, const BackwardPanel& block, int64_t first, int64_t count) {
  if (state.problem.mask.data == nullptr) return true;
  if (state.problem.mask.strides[3] != 1) return false;
  constexpr uint64_t kOnes = 0x0101010101010101u;
  static_assert(kPanelKeys % 8 == 0);
  uint64_t zeros = 0;
  const char* before = nullptr;
  for (int64_t i = first; i < first + count; ++i) {
    const char* row = state.memory.rows[i].pairs.mask;
    if (row == before) continue;
    before = row;
    for (int64_t k = block.k; k < block.k + kPanelKeys; k += 8) {
      uint64_t bytes;
      __builtin_memcpy(&bytes, row + k, sizeof bytes);
      // Sets the top bit of a byte if that byte or a lower one is 0.
      zeros |= (bytes - kOnes) & ~bytes & (kOnes << 7);
    }
  }
  return zeros == 0;
}

// As finish_pairs, for rows first .. first + count - 1 of the block, which are plain and see all keys of the panel, but for those
// that a bias of -inf hides. All steps are loops over vectors.
HEED_NOINLINE void finish_simple_rows(const BackwardState& state, const BackwardPanel& block, int64_t first,
                                      int64_t count, Vec& alibi_sum) {
  const BackwardMemory& memory = state.memory;
  const bool has_bias = state.problem.bias.data != nullptr;
  const int64_t begin = first - block.rows.first;
  for (int64_t i = first; i < first + count; ++i) {
    const BackwardRow& row = memory.rows[i];
    const Vec pivot = broadcast(memory.pivots[block.queries.first_row + i]);
    for (int64_t v = 0; v < kPanelKeys; v += kLanes) {
      float* weight = block.weights + (i - block.rows.first) * kPanelKeys + v;
      Vec score = load(weight);
      if (row.has_distances) {
        const BackwardLanes lanes(row, block.k + v, kLanes);
        if (lanes.has_alibi()) score = lanes.with_alibi(score);
        if (lanes.has_relative_bias()) score += lanes.relative_bias();
      }
      if (has_bias) score += load(reinterpret_cast<const float*>(row.pairs.bias) + block.k + v);
      store(weight, min(Vec{}, fma(score, broadcast(kLog2E), -pivot)));
    }
  }
  int64_t i = begin * kPanelKeys;
  const int64_t end = (begin + count) * kPanelKeys;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes) exponentiate<4>(block.weights + i);
  if (i < end) exponentiate<2>(block.weights + i);
  const Vec kept_scale = broadcast(state.arguments.forward.dropout_scale);
  for (int64_t row_index = first; row_index < first + count; ++row_index) {
    const BackwardRow& row = memory.rows[row_index];
    const PanelRow panel = panel_row(block, row_index);
    const Vec delta = broadcast(memory.deltas[block.queries.first_row + row_index]);
    for (int64_t v = 0; v < kPanelKeys; v += kLanes) {
      Vec probability = load(panel.weights + v);
      Vec product = load(panel.products + v);
      Vec weight = probability;
      if (panel.kept != nullptr) {
        const IntVec is_kept = load(panel.kept + v);
        weight = select(is_kept, weight, weight * Vec{});
        product = select(is_kept, product * kept_scale, Vec{});
      }
      Vec gradient = probability * (product - delta);
      if (has_bias) {
        const IntVec sees = load(reinterpret_cast<const float*>(row.pairs.bias) + block.k + v) != broadcast(-kInfinity);
        weight = select(sees, weight, Vec{});
        gradient = select(sees, gradient, Vec{});
      }
      store(panel.weights + v, weight);
      store(panel.products + v, gradient);
      if (row.bias_gradient != nullptr) {
        float* to = row.bias_gradient + block.k + v;
        store(to, load(to) + gradient);
      }
      if (row.sums_distances) add_distances(BackwardLanes(row, block.k + v, kLanes), gradient, alibi_sum);
    }
  }
}

// Weights and dS of row i of the block from its products, and with additive scores the scores too, and all gradients of them.
static void finish_row(const BackwardState& state, const BackwardPanel& block, int64_t i, Vec& alibi_sum) {
  const BackwardMemory& memory = state.memory;
  const int64_t r = block.queries.first_row + i;
  const int64_t g = block.queries.g;
  const PanelRow panel = panel_row(block, i);
  switch (memory.kinds[r]) {
    case RowKind::Nothing: return hide_pairs(panel);
    case RowKind::Mean: return average_pairs(state, panel);
    case RowKind::Plain:
    case RowKind::Shifted: break;
  }
  const float* weights = memory.score_weights + g * state.width;
  const int64_t head_size = state.problem.head_size;
  if (state.is_additive)
    add_scores(memory.queries + r * state.width, weights, block.keys, head_size, memory.tangents, panel.weights);
  finish_pairs(state, memory.rows[i], r, panel, alibi_sum);
  if (!state.is_additive) return;
  add_additive_gradients(
      memory.tangents, weights, panel.products, panel.seen, head_size,
      {state.backward.queries_gradient.data != nullptr ? memory.query_sums + r * state.width : nullptr, block.key_sums,
       memory.score_weights_sums + g * head_size * kLanes});
}

// Weights and dS of all rows of the block.
HEED_NOINLINE void find_pairs(const BackwardState& state, const BackwardPanel& block) {
  const BackwardMemory& memory = state.memory;
  const int64_t head_size = state.problem.head_size;
  const int64_t value_size = state.problem.value_head_size;
  // Whether no lane is beyond the keys that rows see.
  const bool is_whole = block.k + kPanelKeys <= block.stored_end;
  const bool are_all_seen =
      block.queries.all.first <= block.k && block.queries.all.end >= smaller(block.k + kPanelKeys, block.stored_end);
  Vec alibi_sum{};
  visit_tiles<kTileRows>(
      block.rows.end - block.rows.first, [&](auto tile_rows, int64_t first) __attribute__((always_inline)) {
        constexpr int kRows = decltype(tile_rows)::kNumber;
        const int64_t i = block.rows.first + first;
        const int64_t r = block.queries.first_row + i;
        const Sight sight = are_all_seen ? Sight::All : sight_of(state, r, kRows, block.k, block.stored_end);
        if (sight == Sight::None) {
          for (int row = 0; row < kRows; ++row) hide_pairs(panel_row(block, i + row));
          return;
        }
        float* weights = block.weights + first * kPanelKeys;
        float* products = block.products + first * kPanelKeys;
        const float* queries = memory.queries + r * state.width;
        const float* gradients = memory.output_gradients + r * state.value_width;
        if (sight == Sight::All && state.is_plain && block.seen == nullptr) {
          find_plain_tile<kRows>(queries, state.width, gradients, state.value_width, block.keys, block.values,
                                 head_size, value_size, memory.pivots + r, memory.deltas + r, weights, products);
          return;
        }
        if (!state.is_additive) find_products<kRows>(queries, state.width, block.keys, head_size, weights);
        find_products<kRows>(gradients, state.value_width, block.values, value_size, products);
        if (sight == Sight::All && state.is_simple && is_whole && block.seen == nullptr &&
            mask_shows_panel(state, block, i, kRows))
          return finish_simple_rows(state, block, i, kRows, alibi_sum);
        for (int row = 0; row < kRows; ++row) finish_row(state, block, i + row, alibi_sum);
      });
  if (state.backward.alibi_slopes_gradient.data != nullptr)
    state.task.sums[state.arguments.sums.alibi_slopes + block.queries.g] += sum_of_lanes(alibi_sum);
}

// A block of queries and the group of keys that begins with panel `first_panel`.
static void add_group(const BackwardState& state, const QueryBlock& block, PackedKeys& keys, int64_t first_panel) {
  const BackwardMemory& memory = state.memory;
  const AttentionBackwardProblem& backward = state.backward;
  const int64_t head_size = state.problem.head_size;
  const int64_t value_size = state.problem.value_head_size;
  const int64_t k = keys.first + first_panel * kPanelKeys;
  const int64_t num_panels = smaller(kGroupPanels, keys.num_panels() - first_panel);
  const KeyRange rows = rows_of_keys(state, block, k, smaller(k + kGroupKeys, keys.end));
  const int64_t num_rows = rows.end - rows.first;
  if (num_rows == 0) return;
  const int64_t first_row = block.first_row + rows.first;
  const bool rows_are_finite = block.is_finite;
  const bool keys_are_finite = !keys.not_finite[first_panel / kGroupPanels];
  const bool wants_seen = state.is_additive || !rows_are_finite || !keys_are_finite;
  const bool drops = state.arguments.forward.drops != 0;
  if (drops) {
    find_kept(state, state.head_of_group(block.g), block.first_query + rows.first, num_rows, k,
              memory.kept + rows.first * kGroupKeys);
  }
  const int64_t pairs = num_rows * kPanelKeys;
  for (int64_t p = 0; p < num_panels; ++p) {
    const int64_t panel = first_panel + p;
    float* key_sums = memory.key_sums + panel * kPanelKeys * head_size;
    float* value_sums = memory.value_sums + panel * kPanelKeys * value_size;
    const bool begun = keys.begun[panel];
    keys.begun[panel] = true;
    if (state.is_additive && !begun) {
      for (int64_t i = 0; i < head_size * kPanelKeys; i += kLanes) store(key_sums + i, Vec{});
    }
    const BackwardPanel panel_block = {.queries = block,
                                       .rows = rows,
                                       .k = k + p * kPanelKeys,
                                       .stored_end = keys.end,
                                       .keys = memory.key_panels + panel * kPanelKeys * head_size,
                                       .values = memory.value_panels + panel * kPanelKeys * value_size,
                                       .weights = memory.weights,
                                       .products = memory.products + p * pairs,
                                       .seen = wants_seen ? memory.seen + p * pairs : nullptr,
                                       .kept = drops ? memory.kept + p * kPanelKeys : nullptr,
                                       .key_sums = backward.keys_gradient.data != nullptr ? key_sums : nullptr};
    find_pairs(state, panel_block);
    const float* gradients = memory.output_gradients + first_row * state.value_width;
    const float* queries = memory.queries + first_row * state.width;
    if (backward.values_gradient.data != nullptr) {
      if (rows_are_finite)
        add_to_panel(gradients, state.value_width, panel_block.weights, num_rows, value_size, begun, value_sums);
      else
        add_seen_to_panel(gradients, state.value_width, panel_block.weights, panel_block.seen, kAverages, num_rows,
                          value_size, begun, value_sums);
    }
    if (backward.keys_gradient.data == nullptr || state.is_additive) continue;
    if (rows_are_finite)
      add_to_panel(queries, state.width, panel_block.products, num_rows, head_size, begun, key_sums);
    else
      add_seen_to_panel(queries, state.width, panel_block.products, panel_block.seen, kSees, num_rows, head_size, begun,
                        key_sums);
  }
  if (backward.queries_gradient.data == nullptr || state.is_additive) return;
  const float* key_rows = memory.key_rows + first_panel * kPanelKeys * state.width;
  float* query_sums = memory.query_sums + first_row * state.width;
  if (keys_are_finite)
    add_to_rows(memory.products, pairs, num_panels, key_rows, state.width, num_rows, query_sums);
  else
    add_seen_to_rows(memory.products, memory.seen, pairs, num_panels, key_rows, state.width, num_rows, query_sums);
}

// ---- a task ---------------------------------------------------------------------------------------------------------

// The gradient of the queries, of the chunk's keys: 0, and of the first chunk what the constant keys add.
static void begin_query_sums(const BackwardState& state, bool is_first) {
  const BackwardMemory& memory = state.memory;
  const int64_t num_rows = state.group * state.num_queries;
  for (int64_t i = 0; i < num_rows * state.width; i += kLanes) store(memory.query_sums + i, Vec{});
  if (!is_first || num_constant_keys(state.problem) == 0) return;
  for (int64_t r = 0; r < num_rows; ++r) {
    // A row that takes part in nothing has no such terms, whatever the keys hold.
    if (memory.kinds[r] == RowKind::Nothing) continue;
    // That of the zero key is 0, or NaN if the row is.
    const Vec of_zero = broadcast((memory.deltas[r] + memory.pivots[r]) * 0.0f);
    const bool has_bias_key = state.problem.bias_key.data != nullptr;
    for (int64_t d = 0; d < state.width; d += kLanes) {
      const Vec of_bias = has_bias_key ? broadcast(memory.bias_key_terms[r]) * load(memory.bias_key + d) : Vec{};
      store(memory.query_sums + r * state.width + d, of_zero + of_bias);
    }
  }
}

// Writes the chunk's sums to the gradient of the queries, or adds them to those of the chunks before.
static void store_query_sums(const BackwardState& state, bool is_first) {
  const Operand& gradient = state.backward.queries_gradient;
  const int64_t size = state.problem.head_size;
  float* before = state.memory.panel_rows;
  for (int64_t g = 0; g < state.group; ++g) {
    for (int64_t query = 0; query < state.num_queries; ++query) {
      float* sums = state.memory.query_sums + (g * state.num_queries + query) * state.width;
      const int64_t index = state.task.batch_index * gradient.strides[0] +
                            state.head_of_group(g) * gradient.strides[1] +
                            (state.task.sequence->query_begin + query) * gradient.strides[2];
      char* to = static_cast<char*>(gradient.data) + index * static_cast<int64_t>(sizeof(float));
      if (!is_first) widen_row(to, DType::F32, gradient.strides[3], size, before);
      for (int64_t d = 0; d < state.width; d += kLanes) {
        const Vec scaled = load(sums + d) * broadcast(state.problem.scale);
        store(sums + d, (is_first ? Vec{} : load(before + d)) + scaled);
      }
      narrow_row(sums, size, to, DType::F32, gradient.strides[3]);
    }
  }
}

// Adds the gradients by distance to those of their buckets.
static void finish_relative_bias(const BackwardState& state) {
  if (state.backward.relative_bias_gradient.data == nullptr) return;
  const AttentionProblem& problem = state.problem;
  const int64_t last = 2 * problem.max_distance;
  for (int64_t g = 0; g < state.group; ++g) {
    const float* of_distances = relative_biases_of(problem, state.memory.relative_sums, g);
    float* to = state.task.sums + state.arguments.sums.relative_bias + g * problem.num_buckets;
    for (int64_t i = -kRepeatedEnds; i <= last + kRepeatedEnds; ++i)
      to[problem.buckets[smaller(larger(i, 0), last)]] += of_distances[i];
  }
}

// Writes 0 as the gradients of keys first .. end - 1.
static void clear_keys(const BackwardState& state, int64_t first, int64_t end) {
  if (first >= end) return;
  if (state.backward.keys_gradient.data != nullptr)
    store_rows(state, state.backward.keys_gradient, first, end - first, state.problem.head_size, 0, nullptr);
  if (state.backward.values_gradient.data != nullptr)
    store_rows(state, state.backward.values_gradient, first, end - first, state.problem.value_head_size, 0, nullptr);
}

static size_t backward_scratch_bytes(const AttentionBackwardProblem* problem) {
  return divide_memory(*problem, nullptr).num_bytes;
}

static BackwardState state_of(const BackwardArguments& arguments, const BackwardTask& task, void* scratch) {
  const AttentionBackwardProblem& backward = *arguments.problem;
  const AttentionProblem& problem = backward.forward;
  const AttentionArguments& forward = arguments.forward;
  const bool is_additive = forward.is_additive != 0;
  const Operand& bias = problem.bias;
  const Operand& bias_gradient = backward.bias_gradient;
  BackwardState state = {.arguments = arguments,
                         .backward = backward,
                         .problem = problem,
                         .task = task,
                         .tile_task = {},
                         .memory = divide_memory(backward, scratch),
                         .width = row_stride(problem.head_size),
                         .value_width = row_stride(problem.value_head_size),
                         .group = group_size(problem),
                         .num_queries = task.sequence->query_count,
                         .num_keys = task.sequence->key_count,
                         .key_scale = is_additive ? 1.0f : forward.query_scale,
                         .is_additive = is_additive,
                         .is_plain = false,
                         .is_simple = false};
  state.is_simple = !is_additive && forward.score_scale == 1 && problem.soft_cap == 0 &&
                    problem.cached.has_positions == 0 &&
                    (bias.data == nullptr || (bias.dtype == DType::F32 && bias.strides[3] == 1)) &&
                    (bias_gradient.data == nullptr || bias_gradient.strides[3] == 1);
  state.is_plain = state.is_simple && forward.drops == 0 && problem.mask.data == nullptr && bias.data == nullptr &&
                   bias_gradient.data == nullptr && !has_distance_terms(problem);
  if (task.query_sums != nullptr) state.memory.query_sums = task.query_sums;
  state.tile_task.arguments = &forward;
  state.tile_task.problem = &problem;
  state.tile_task.sequence = task.sequence;
  state.tile_task.batch_index = task.batch_index;
  state.tile_task.kv_head = task.kv_head;
  state.tile_task.bias_key = state.memory.bias_key;
  state.tile_task.bias_value = state.memory.bias_value;
  return state;
}

static void attention_backward(const BackwardArguments* arguments, const BackwardTask* task, void* scratch) {
  const BackwardState state = state_of(*arguments, *task, scratch);
  const AttentionProblem& problem = state.problem;
  const bool is_first = task->chunk == 0;
  for (int64_t i = 0; i < arguments->sums.num_floats; ++i) task->sums[i] = 0.0f;
  for (int64_t i = 0; i < all_relative_bias_floats(problem); ++i) state.memory.relative_sums[i] = 0.0f;
  if (state.is_additive) begin_score_weights(state);
  if (task->goes_on == 0) {
    load_bias_key(state.tile_task);
    expand_relative_bias<LanesAre::Keys>(problem, task->kv_head, state.memory.relative_bias);
    prepare_rows(state);
  }
  begin_query_sums(state, is_first);
  const int64_t chunk_first = task->chunk * kChunkKeys;
  const int64_t chunk_end = smaller(chunk_first + kChunkKeys, state.num_keys);
  const KeyRange wanted = *state.memory.wanted;
  const int64_t first = smaller(larger(wanted.first / kPackedKeys * kPackedKeys, chunk_first), chunk_end);
  const int64_t end = larger(smaller(wanted.end, chunk_end), first);
  clear_keys(state, chunk_first, first);
  for (int64_t k = first; k < end; k += kPackedKeys) {
    PackedKeys keys;
    keys.first = k;
    keys.end = smaller(k + kPackedKeys, end);
    pack_keys(state, keys);
    for (int64_t g = 0; g < state.group; ++g) {
      for (int64_t query = 0; query < state.num_queries; query += kBlockQueries) {
        const QueryBlock block = find_block(state, g, query);
        for (int64_t p = 0; p < keys.num_panels(); p += kGroupPanels) add_group(state, block, keys, p);
      }
    }
    store_keys(state, keys);
  }
  clear_keys(state, end, chunk_end);
  finish_relative_bias(state);
  if (state.is_additive) finish_score_weights(state);
  if (state.backward.queries_gradient.data != nullptr && task->query_sums == nullptr) store_query_sums(state, is_first);
}

// Adds task->query_sums, which it overwrites, to the gradient of the queries.
static void backward_add_queries(const BackwardArguments* arguments, const BackwardTask* task, void* scratch) {
  const BackwardState state = state_of(*arguments, *task, scratch);
  if (state.backward.queries_gradient.data != nullptr) store_query_sums(state, task->chunk == 0);
}

// Floats of BackwardTask::query_sums.
static int64_t backward_query_floats(const AttentionProblem* problem) {
  return group_size(*problem) * problem->limits.num_queries * row_stride(problem->head_size);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
