// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: blocks of keys, the online softmax (Milakov and Gimelshein, arXiv 1805.02867; Dao et al.,
// "FlashAttention", arXiv 2205.14135) and transposed scores. docs/kernels.md draws it.
//
// A panel is kPanelRows queries, which are the lanes of two vectors; whatever belongs to a query is a lane, and a block
// of scores is [key][lane]. So the softmax is vertical, keys and values are read where they lie, one scalar at a time,
// and neither head sizes nor the number of keys have to be multiples of anything. Only queries and outputs are
// transposed, once each.
//
// What keeps a row's bits apart from the rows beside it: every lane does its own arithmetic; blocks of keys begin at
// multiples of kBlockKeys whatever is visible; and what a block adds to a lane that sees none of its keys is exactly 0,
// with a factor of exactly 1 for what the lane had.
#pragma once

#include <math.h>

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/block-inl.h"
#include "backends/cpu/kernels/panel-inl.h"
#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// How the blocks of a panel are gone through.
enum class Pass {
  Online,   // as fast as can be; a hidden value that is not finite makes the sums NaN
  Careful,  // the same arithmetic, leaving hidden values out
};

template <int vectors>
static void attend_block(const FlashItem& item, Panel& panel, Rows keys, Rows values, int64_t k0, int64_t k1,
                         Pass pass) {
  Vec maximum[vectors];
  find_scores<vectors>(item, panel, keys, k0, k1, pass == Pass::Careful, maximum);
  exponentiate<vectors>(item, panel, k1 - k0, maximum);
  if (item.problem->output.data != nullptr) {
    if (item.arguments->drops != 0) drop<vectors>(item, panel, k0, k1);
    if (pass == Pass::Careful) {
      add_seen_values<vectors>(item, panel, values, k1 - k0);
    } else {
      const int64_t num_shared = end_of_shared_keys<vectors>(panel, k0, k1) - k0;
      add_values<vectors>(panel, values, num_shared, item.problem->value_head_size, item.scores);
      if (num_shared < k1 - k0) {
        Panel second = second_vector_of(panel);
        second.started = true;
        add_values<1>(second, from_row(values, num_shared), k1 - k0 - num_shared, item.problem->value_head_size,
                      item.scores + num_shared * kPanelRows + kLanes);
      }
    }
  }
  panel.started = true;
}

// Calls visit(panel keys, panel values, k0, k1) for the part of the block begin .. end - 1 that rows of the panel see.
template <typename Visit>
HEED_INLINE void visit_visible(const FlashItem& item, const Panel& panel, Rows keys, Rows values, int64_t begin,
                               int64_t end, const Visit& visit) {
  int64_t k0 = larger(begin, panel.any_first);
  int64_t k1 = smaller(end, panel.any_end);
  if (k0 < k1 && item.problem->mask.data != nullptr) trim_by_mask(item, panel, k0, k1);
  if (k0 < k1) visit(from_row(keys, k0 - begin), from_row(values, k0 - begin), k0, k1);
}

// Calls visit(keys, values, begin, end) for each block that holds any of the keys first .. last - 1.
template <typename Visit>
HEED_INLINE void visit_blocks(const FlashItem& item, int64_t first, int64_t last, const Visit& visit) {
  const AttentionProblem& problem = *item.problem;
  for (int64_t block = first / kBlockKeys * kBlockKeys; block < last; block += kBlockKeys) {
    const int64_t begin = larger(block, first);
    const int64_t end = smaller(block + kBlockKeys, last);
    const Rows keys = rows_of(item, problem.keys, begin, end, problem.head_size, item.key_block);
    const Rows values = problem.output.data == nullptr
                            ? Rows{nullptr, 0}
                            : rows_of(item, problem.values, begin, end, problem.value_head_size, item.value_block);
    visit(keys, values, begin, end);
  }
}

static void attend(const FlashItem& item, Panel& panel, Rows keys, Rows values, int64_t k0, int64_t k1, Pass pass) {
  if (panel.num_rows > kLanes)
    attend_block<kTileVectors>(item, panel, keys, values, k0, k1, pass);
  else
    attend_block<1>(item, panel, keys, values, k0, k1, pass);
}

// ---- rows whose sums are not finite ---------------------------------------------------------------------------------

// Rows, as a mask, whose sums are not finite although their total is, which may be wrong: a hidden value was not
// finite, or values near the largest float overflowed a sum that the division would have brought back.
static bool find_doubtful(const FlashItem& item, const Panel& panel, IntVec (&doubtful)[kTileVectors]) {
  bool found = false;
  for (int v = 0; v < kTileVectors; ++v) {
    doubtful[v] = IntVec{};
    if (panel.num_rows <= v * kLanes) continue;
    // 0 times what is not finite is NaN. Four chains, as each FMA waits for the one before.
    const int64_t size = item.problem->value_head_size;
    const float* sums = panel.sums + v * kLanes;
    Vec zeros[4] = {};
    int64_t d = 0;
    for (; d + 4 <= size; d += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) zeros[i] = fma(load(sums + (d + i) * kPanelRows), Vec{}, zeros[i]);
    }
    for (; d < size; ++d) zeros[0] = fma(load(sums + d * kPanelRows), Vec{}, zeros[0]);
    const Vec zero = (zeros[0] + zeros[1]) + (zeros[2] + zeros[3]);
    const Vec total = load(panel.total + v * kLanes);
    const IntVec is_row = lane_numbers() + v * kLanes < broadcast(static_cast<int32_t>(panel.num_rows));
    doubtful[v] = (zero != zero) & (total - total == Vec{}) & is_row;
    found |= any(doubtful[v]);
  }
  return found;
}

// Scores of the keys k0 .. k1 - 1 become weights that add up to one; hidden ones 0. item.seen has who sees which.
static void normalize(const FlashItem& item, const Panel& panel, Rows keys, int64_t k0, int64_t k1) {
  Vec maximum[kTileVectors];
  find_scores<kTileVectors>(item, panel, keys, k0, k1, true, maximum);
  for (int v = 0; v < kTileVectors; ++v) {
    const Vec pivot[1] = {pivot_of(load(panel.maximum + v * kLanes))};
    const Vec shift = shift_of(load(panel.maximum + v * kLanes));
    const Vec total = load(panel.total + v * kLanes);
    for (int64_t k = 0; k < k1 - k0; ++k) {
      float* place = item.scores + k * kPanelRows + v * kLanes;
      Vec weight[1] = {load(place) - shift};
      find_probabilities(weight, pivot);
      store(place, select(load(item.seen + k * kPanelRows + v * kLanes), weight[0] / total, Vec{}));
    }
  }
}

// Sums the values of the doubtful rows again with weights that add up to one, so that no sum passes the largest value.
static void sum_normalized(const FlashItem& item, Panel& panel, const IntVec (&again)[kTileVectors]) {
  for (int v = 0; v < kTileVectors; ++v) {
    for (int64_t d = 0; d < item.problem->value_head_size; ++d) {
      float* place = panel.sums + d * kPanelRows + v * kLanes;
      store(place, select(again[v], Vec{}, load(place)));
    }
  }
  visit_blocks(item, panel.any_first, panel.any_end, [&](Rows keys, Rows values, int64_t begin, int64_t end) {
    visit_visible(item, panel, keys, values, begin, end, [&](Rows own_keys, Rows own_values, int64_t k0, int64_t k1) {
      normalize(item, panel, own_keys, k0, k1);
      if (item.arguments->drops != 0) drop<kTileVectors>(item, panel, k0, k1);
      for (int64_t k = 0; k < k1 - k0; ++k) {
        for (int v = 0; v < kTileVectors; ++v) {
          int32_t* place = item.seen + k * kPanelRows + v * kLanes;
          store(place, load(place) & again[v]);
        }
      }
      add_seen_values<kTileVectors>(item, panel, own_values, k1 - k0);
    });
  });
}

// Makes the sums of all rows what they should be; `normalized` gets the rows whose sums are divided by the total
// already.
static void settle_sums(const FlashItem& item, Panel& panel, IntVec (&normalized)[kTileVectors]) {
  for (IntVec& rows : normalized) rows = IntVec{};
  IntVec doubtful[kTileVectors];
  if (!find_doubtful(item, panel, doubtful)) return;
  panel.started = false;
  for (int64_t i = 0; i < item.problem->value_head_size * kPanelRows; i += kLanes) store(panel.sums + i, Vec{});
  visit_blocks(item, panel.any_first, panel.any_end, [&](Rows keys, Rows values, int64_t begin, int64_t end) {
    visit_visible(item, panel, keys, values, begin, end, [&](Rows own_keys, Rows own_values, int64_t k0, int64_t k1) {
      attend(item, panel, own_keys, own_values, k0, k1, Pass::Careful);
    });
  });
  if (find_doubtful(item, panel, normalized)) sum_normalized(item, panel, normalized);
}

// ---- a panel's outputs ----------------------------------------------------------------------------------------------

// The mean of all values, hidden or not, in place of the sums of rows that see no key; dropout applies.
static void average_values(const FlashItem& item, const Panel& panel) {
  const AttentionProblem& problem = *item.problem;
  const float weight = 1.0f / static_cast<float>(item.sequence->key_count);
  visit_blocks(item, 0, item.sequence->key_count, [&](Rows, Rows values, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < (end - begin) * kPanelRows; i += kLanes) store(item.scores + i, broadcast(weight));
    if (item.arguments->drops != 0) drop<kTileVectors>(item, panel, begin, end);
    for (int64_t lane = 0; lane < panel.num_rows; ++lane) {
      if (panel.visible[lane] != 0) continue;
      for (int64_t d = 0; d < problem.value_head_size; ++d) {
        float sum = begin == 0 ? 0.0f : panel.sums[d * kPanelRows + lane];
        for (int64_t k = 0; k < end - begin; ++k)
          sum += item.scores[k * kPanelRows + lane] * values.data[k * values.stride + d];
        panel.sums[d * kPanelRows + lane] = sum;
      }
    }
  });
}

// Elements d .. d + count - 1 of the outputs of a vector of rows, from tile[i][lane].
static void store_tile(const Operand& operand, char* const (&rows)[kLanes], int64_t d, int64_t count,
                       Vec (&tile)[kLanes]) {
  const int64_t stride = operand.strides[3];
  transpose(tile);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (rows[lane] == nullptr) continue;
    char* to = rows[lane] + d * stride * size_of_element(operand.dtype);
    if (stride == 1)
      store_first_elements(to, operand.dtype, tile[lane], count);
    else
      scatter_first_elements(to, operand.dtype, stride, tile[lane], count);
  }
}

static void store_output(const FlashItem& item, const Panel& panel, const IntVec (&normalized)[kTileVectors]) {
  const AttentionProblem& problem = *item.problem;
  const Operand& output = problem.output;
  const DType type = output.dtype;
  const bool is_plain = output.strides[3] == 1;
  // Added, so that no result is -0: whether a sum that underflowed is, depends on the hidden keys beside it.
  const Vec zero{};
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    // The sums of rows that see no key are 0 or a mean.
    const IntVec is_total = load(panel.visible + group) & ~normalized[group / kLanes];
    const Vec factor =
        broadcast(item.arguments->dropout_scale) / select(is_total, load(panel.total + group), broadcast(1.0f));
    char* rows[kLanes];
    find_rows(item, panel, group, output, item.sequence->query_begin, size_of_element(type), rows);
    const int64_t num_rows = panel.num_rows - group;
    if (are_rows_side_by_side(item, panel, group, output)) {
      for (int64_t d = 0; d < problem.value_head_size; ++d) {
        char* to = rows[0] + d * output.strides[3] * size_of_element(type);
        store_first_elements(to, type, load(panel.sums + d * kPanelRows + group) * factor + zero, num_rows);
      }
      continue;
    }
    for (int64_t place = 0; place < problem.value_head_size; place += kLanes) {
      const int64_t d = is_plain ? begin_of_vector(place, problem.value_head_size) : place;
      const int64_t count = smaller(problem.value_head_size - d, kLanes);
      const float* sums = panel.sums + d * kPanelRows + group;
      Vec tile[kLanes];
      if (is_plain && num_rows <= kFewRows && count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(sums + i * kPanelRows) * factor + zero;
        Vec few[kFewRows];
        transpose_to_rows(tile, few);
#pragma GCC unroll 4
        for (int lane = 0; lane < kFewRows; ++lane) {
          if (lane < num_rows) store_elements(rows[lane] + d * size_of_element(type), type, few[lane]);
        }
      } else if (is_plain && num_rows >= kLanes && count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(sums + i * kPanelRows) * factor + zero;
        transpose(tile);
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane)
          store_elements(rows[lane] + d * size_of_element(type), type, tile[lane]);
      } else {
        for (int64_t i = 0; i < kLanes; ++i) tile[i] = i < count ? load(sums + i * kPanelRows) * factor + zero : Vec{};
        store_tile(output, rows, d, count, tile);
      }
    }
  }
}

// log of the sum of exp(score); -inf for rows that see no key. In double, with what probabilities were taken
// relative to: so nothing is lost but what total has lost, and one exact score comes out exact.
static void store_log_sum_exp(const FlashItem& item, const Panel& panel) {
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    char* rows[kLanes];
    find_rows(item, panel, group, item.problem->log_sum_exp, item.sequence->query_begin, sizeof(float), rows);
    float pivots[kLanes];
    float shifts[kLanes];
    store(pivots, pivot_of(load(panel.maximum + group)));
    store(shifts, shift_of(load(panel.maximum + group)));
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      const double maximum = static_cast<double>(pivots[lane]) / static_cast<double>(kLog2E) + shifts[lane];
      const auto total = static_cast<double>(panel.total[group + lane]);
      const double result = panel.visible[group + lane] == 0 ? -static_cast<double>(kInfinity) : maximum + log(total);
      *reinterpret_cast<float*>(rows[lane]) = static_cast<float>(result);
    }
  }
}

// Weights of the keys k0 .. k1 - 1, from item.scores.
static void store_weights(const FlashItem& item, const Panel& panel, int64_t k0, int64_t k1) {
  const AttentionProblem& problem = *item.problem;
  const Vec mean =
      broadcast(item.arguments->mean_empty_rows != 0 ? 1.0f / static_cast<float>(item.sequence->key_count) : 0.0f);
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    char* rows[kLanes];
    find_rows(item, panel, group, problem.weights, 0, size_of_element(problem.weights.dtype), rows);
    const IntVec visible = load(panel.visible + group);
    if (are_rows_side_by_side(item, panel, group, problem.weights)) {
      const DType type = problem.weights.dtype;
      const int64_t num_rows = panel.num_rows - group;
      for (int64_t k = k0; k < k1; ++k) {
        const Vec weight = select(visible, load(item.scores + (k - k0) * kPanelRows + group), mean);
        store_first_elements(rows[0] + k * problem.weights.strides[3] * size_of_element(type), type, weight, num_rows);
      }
      continue;
    }
    for (int64_t k = k0; k < k1; k += kLanes) {
      const int64_t count = smaller(k1 - k, kLanes);
      Vec tile[kLanes];
      for (int64_t i = 0; i < kLanes; ++i)
        tile[i] = i < count ? select(visible, load(item.scores + (k - k0 + i) * kPanelRows + group), mean) : Vec{};
      store_tile(problem.weights, rows, k, count, tile);
    }
  }
}

// A second walk over the keys, now that maximum and total are known.
static void write_weights(const FlashItem& item, const Panel& panel) {
  const int64_t num_keys = item.sequence->key_count;
  for (int64_t block = 0; block < num_keys; block += kBlockKeys) {
    const int64_t end = smaller(block + kBlockKeys, num_keys);
    int64_t stored = block;
    const auto store_zeros_to = [&](int64_t k) {
      if (k <= stored) return;
      for (int64_t i = 0; i < (k - stored) * kPanelRows; i += kLanes) store(item.scores + i, Vec{});
      store_weights(item, panel, stored, k);
      stored = k;
    };
    int64_t k0 = larger(block, panel.any_first);
    int64_t k1 = smaller(end, panel.any_end);
    if (k0 < k1 && item.problem->mask.data != nullptr) trim_by_mask(item, panel, k0, k1);
    if (k0 < k1) {
      store_zeros_to(k0);
      const Rows keys = rows_of(item, item.problem->keys, k0, k1, item.problem->head_size, item.key_block);
      normalize(item, panel, keys, k0, k1);
      store_weights(item, panel, k0, k1);
      stored = k1;
    }
    store_zeros_to(end);
  }
}

// All that a call asks for, from sums, totals and maxima.
static void store_results(const FlashItem& item, Panel& panel, const IntVec (&normalized)[kTileVectors]) {
  const AttentionProblem& problem = *item.problem;
  bool some_empty = false;
  for (int64_t lane = 0; lane < panel.num_rows; ++lane) {
    const bool is_empty = panel.visible[lane] == 0;
    some_empty |= is_empty;
    // Scores that are all -inf leave nothing to normalize by; this is not a row that sees no key.
    if (!is_empty && panel.maximum[lane] == -kInfinity) panel.total[lane] = __builtin_nanf("");
  }
  if (problem.output.data != nullptr) {
    if (some_empty && item.arguments->mean_empty_rows != 0) average_values(item, panel);
    store_output(item, panel, normalized);
  }
  if (problem.log_sum_exp.data != nullptr) store_log_sum_exp(item, panel);
  if (problem.weights.data != nullptr) write_weights(item, panel);
}

static void finish_panel(const FlashItem& item, Panel& panel) {
  const AttentionProblem& problem = *item.problem;
  if (!panel.started) {
    for (int64_t i = 0; i < problem.value_head_size * kPanelRows; i += kLanes) store(panel.sums + i, Vec{});
    for (int64_t i = 0; i < kPanelRows; i += kLanes) {
      store(panel.maximum + i, broadcast(-kInfinity));
      store(panel.total + i, Vec{});
    }
  }
  IntVec normalized[kTileVectors] = {};
  if (problem.output.data != nullptr) settle_sums(item, panel, normalized);
  store_results(item, panel, normalized);
}

// ---- an item --------------------------------------------------------------------------------------------------------

// Floats of one panel, and of what all panels of an item share.
static int64_t panel_floats(const AttentionProblem& problem) {
  const int64_t score_weights = problem.scoring == Scoring::Additive ? problem.head_size : 0;
  return (problem.head_size + score_weights + problem.value_head_size + 3) * kPanelRows;
}
static int64_t shared_floats(const AttentionProblem& problem) {
  return room_of_block(problem, kBlockKeys) *
         (2 * kPanelRows + row_stride(problem.head_size) + row_stride(problem.value_head_size));
}

static size_t flash_scratch_bytes(const AttentionProblem* problem, int64_t num_rows) {
  const int64_t num_panels = divide_up(num_rows, kPanelRows);
  return static_cast<size_t>(shared_floats(*problem) + num_panels * panel_floats(*problem)) * sizeof(float) +
         static_cast<size_t>(num_panels) * sizeof(Panel);
}

// Made where it lies: copying what has just been written waits for memory.
static void make_panel(const AttentionProblem& problem, const AttentionTask& task, int64_t first_row, float* memory,
                       Panel& panel) {
  panel.queries = memory;
  panel.score_weights = panel.queries + problem.head_size * kPanelRows;
  panel.sums = panel.score_weights + (problem.scoring == Scoring::Additive ? problem.head_size * kPanelRows : 0);
  panel.maximum = panel.sums + problem.value_head_size * kPanelRows;
  panel.total = panel.maximum + kPanelRows;
  panel.visible = reinterpret_cast<int32_t*>(panel.total + kPanelRows);
  panel.key_ranges = task.key_ranges + (first_row - task.first_row);
  panel.first_row = first_row;
  panel.num_rows = smaller(task.end_row - first_row, kPanelRows);
  panel.started = false;
  for (int64_t i = 0; i < kPanelRows; i += kLanes) store(panel.visible + i, IntVec{});
}

static void flash_attention(const AttentionArguments* arguments, const AttentionTask* task, void* scratch) {
  const AttentionProblem& problem = *arguments->problem;
  FlashItem item;
  item.arguments = arguments;
  item.problem = &problem;
  item.sequence = task->sequence;
  item.batch_index = task->batch_index;
  item.kv_head = task->kv_head;
  item.scores = static_cast<float*>(scratch);
  const int64_t room = room_of_block(problem, kBlockKeys);
  item.seen = reinterpret_cast<int32_t*>(item.scores + room * kPanelRows);
  item.key_block = item.scores + 2 * room * kPanelRows;
  item.value_block = item.key_block + room * row_stride(problem.head_size);
  item.row_queries = nullptr;
  item.row_scores = nullptr;
  float* next = item.scores + shared_floats(problem);

  const int64_t num_panels = divide_up(task->end_row - task->first_row, kPanelRows);
  auto* panels = reinterpret_cast<Panel*>(next + num_panels * panel_floats(problem));
  int64_t any_first = task->sequence->key_count;
  int64_t any_end = 0;
  for (int64_t p = 0; p < num_panels; ++p) {
    make_panel(problem, *task, task->first_row + p * kPanelRows, next + p * panel_floats(problem), panels[p]);
    summarize_key_ranges(item, panels[p]);
    load_queries(item, panels[p]);
    if (arguments->is_additive != 0) load_score_weights(item, panels[p]);
    any_first = smaller(any_first, panels[p].any_first);
    any_end = larger(any_end, panels[p].any_end);
  }
  visit_blocks(item, any_first, any_end, [&](Rows keys, Rows values, int64_t begin, int64_t end) {
    for (int64_t p = 0; p < num_panels; ++p) {
      visit_visible(item, panels[p], keys, values, begin, end,
                    [&](Rows own_keys, Rows own_values, int64_t k0, int64_t k1) {
                      attend(item, panels[p], own_keys, own_values, k0, k1, Pass::Online);
                    });
    }
  });
  for (int64_t p = 0; p < num_panels; ++p) finish_panel(item, panels[p]);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
