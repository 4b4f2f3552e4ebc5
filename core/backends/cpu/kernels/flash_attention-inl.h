// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: blocks of keys, the online softmax (Milakov and Gimelshein, arXiv 1805.02867; Dao et al.,
// "FlashAttention", arXiv 2205.14135) and transposed scores. docs/kernels.md draws it.
//
// A panel is kPanelRows queries, which are the lanes of two vectors; whatever belongs to a query is a lane, and a block
// of scores is [key][lane]. So the softmax is vertical, keys and values are read where they lie, one scalar at a time,
// and neither head sizes nor the number of keys have to be multiples of anything. Only queries and outputs are
// transposed, once each.
//
// Scores are kept times log2(e), a factor that the queries carry: the softmax is then one of powers of 2.
//
// What keeps a row's bits apart from the rows beside it: every lane does its own arithmetic; blocks of keys begin at
// multiples of kBlockKeys whatever is visible; and what a block adds to a lane that sees none of its keys is exactly 0,
// with a factor of exactly 1 for what the lane had.
#pragma once

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/exp2-inl.h"
#include "backends/cpu/kernels/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kPanelRows = kTileVectors * kLanes;

// Scores of a panel are kBlockKeys * kPanelRows floats, 24 KiB with 16 lanes: half of a first-level cache of 48 KiB,
// where the queries of the panel have to fit too. A multiple of 8 and of 6, the rows of a tile.
constexpr int64_t kBlockKeys = 256;

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

// One panel's part of an item's scratch, and where its rows come from.
struct Panel {
  float* queries;  // [head_size][kPanelRows], times scale * log2(e)
  float* sums;     // [value_head_size][kPanelRows], weighted values
  float* maximum;  // [kPanelRows]
  float* total;    // [kPanelRows], sums of 2^(score - maximum)
  int64_t* first;  // [kPanelRows], the keys that lengths, causal mask and window leave to the row
  int64_t* end;    // [kPanelRows]
  int64_t first_row;
  int64_t num_rows;
  // Keys that some row sees, and those that all rows see: [any_first, any_end), [all_first, all_end).
  int64_t any_first;
  int64_t any_end;
  int64_t all_first;
  int64_t all_end;
  bool started;  // whether sums and total have been written
};

// Keys or values first .. of a block as f32 rows, in place where they are that already.
struct Rows {
  const float* data;
  int64_t stride;
};

struct FlashItem {
  const AttentionArguments* arguments;
  int64_t batch_index;
  int64_t kv_head;
  float* scores;       // [kBlockKeys][kPanelRows], then probabilities
  float* key_block;    // [kBlockKeys][head_size], where keys are not read in place
  float* value_block;  // [kBlockKeys][value_head_size]
};

HEED_INLINE int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

HEED_INLINE int64_t group_size(const AttentionArguments& arguments) {
  return arguments.num_heads / arguments.num_kv_heads;
}

// Where rows come from: row r of an item's group.
HEED_INLINE int64_t head_of(const FlashItem& item, int64_t row) {
  return item.kv_head * group_size(*item.arguments) + row / item.arguments->num_queries;
}
HEED_INLINE int64_t query_of(const FlashItem& item, int64_t row) { return row % item.arguments->num_queries; }

// Whether rows of keys or values can be read where they lie: f32, elements side by side, and rows that do not all fall
// into the same sets of the caches, as those do that are a multiple of 4 KiB apart.
HEED_INLINE bool in_place(const KernelOperand& operand) {
  return operand.element_type == kF32 && operand.strides[3] == 1 && (operand.strides[2] % 1024 != 0);
}

static int64_t length_of(const KernelOperand& lens, int64_t b, int64_t q) {
  const int64_t index = b * lens.strides[0] + q * lens.strides[2];
  if (lens.element_type == kI32) return static_cast<const int32_t*>(lens.data)[index];
  if (lens.element_type == kI64) return static_cast<const int64_t*>(lens.data)[index];
  return static_cast<int64_t>(static_cast<const float*>(lens.data)[index]);
}

// ---- a panel's beginning --------------------------------------------------------------------------------------------

static void find_ranges(const FlashItem& item, Panel& panel) {
  const AttentionArguments& arguments = *item.arguments;
  panel.any_first = arguments.num_keys;
  panel.any_end = 0;
  panel.all_first = 0;
  panel.all_end = arguments.num_keys;
  for (int64_t lane = 0; lane < kPanelRows; ++lane) {
    // Lanes without a row see what the first row sees.
    const int64_t q = query_of(item, panel.first_row + (lane < panel.num_rows ? lane : 0));
    const int64_t length = arguments.valid_lens.data != nullptr ? length_of(arguments.valid_lens, item.batch_index, q)
                                                                : arguments.num_keys;
    const int64_t band_end = q + arguments.band_last + 1;
    const int64_t band_first = q + arguments.band_first;
    const int64_t first = band_first > 0 ? band_first : 0;
    const int64_t end = band_end < length ? band_end : length;
    panel.first[lane] = first;
    panel.end[lane] = end;
    panel.all_first = first > panel.all_first ? first : panel.all_first;
    panel.all_end = end < panel.all_end ? end : panel.all_end;
    if (first >= end) continue;
    panel.any_first = first < panel.any_first ? first : panel.any_first;
    panel.any_end = end > panel.any_end ? end : panel.any_end;
  }
}

// The addresses of element 0 of the rows of one vector of a panel, in an operand with axes (b, h, q, d); null for lanes
// without a row.
static void find_rows(const FlashItem& item, const Panel& panel, int64_t group, const KernelOperand& operand,
                      char* (&rows)[kLanes]) {
  const int64_t element_size = size_of_element(operand.element_type);
  const int64_t first = panel.first_row + group;
  int64_t head = head_of(item, first);
  int64_t query = query_of(item, first);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t index =
        item.batch_index * operand.strides[0] + head * operand.strides[1] + query * operand.strides[2];
    rows[lane] = group + lane < panel.num_rows ? static_cast<char*>(operand.data) + index * element_size : nullptr;
    if (++query == item.arguments->num_queries) {
      query = 0;
      ++head;
    }
  }
}

// Elements d .. d + count - 1 of a row of the queries, the other lanes 0.
static Vec load_query(const KernelOperand& queries, const char* row, int64_t d, int64_t count) {
  const int64_t element_size = size_of_element(queries.element_type);
  if (row == nullptr) return Vec{};
  if (queries.strides[3] == 1) return load_first_elements(row + d * element_size, queries.element_type, count);
  float elements[kLanes] = {};
  for (int64_t i = 0; i < count; ++i)
    elements[i] = load_element(row + (d + i) * queries.strides[3] * element_size, queries.element_type);
  return load(elements);
}

// The panel's queries, transposed and scaled; lanes without a row are 0.
static void load_queries(const FlashItem& item, const Panel& panel) {
  const AttentionArguments& arguments = *item.arguments;
  const KernelOperand& queries = arguments.queries;
  const Vec factor = broadcast(static_cast<float>(static_cast<double>(arguments.scale) * kLog2E));
  const bool is_plain = queries.element_type == kF32 && queries.strides[3] == 1;
  for (int64_t group = 0; group < kPanelRows; group += kLanes) {
    char* rows[kLanes];
    find_rows(item, panel, group, queries, rows);
    const bool is_full = group + kLanes <= panel.num_rows;
    for (int64_t d = 0; d < arguments.head_size; d += kLanes) {
      const int64_t count = arguments.head_size - d < kLanes ? arguments.head_size - d : kLanes;
      float* to = panel.queries + d * kPanelRows + group;
      Vec tile[kLanes];
      if (is_plain && is_full && count == kLanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) tile[lane] = load(reinterpret_cast<const float*>(rows[lane]) + d);
        transpose(tile);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(to + i * kPanelRows, tile[i] * factor);
      } else {
        for (int lane = 0; lane < kLanes; ++lane) tile[lane] = load_query(queries, rows[lane], d, count);
        transpose(tile);
        for (int64_t i = 0; i < count; ++i) store(to + i * kPanelRows, tile[i] * factor);
      }
    }
  }
}

// ---- a block of keys ------------------------------------------------------------------------------------------------

// Rows k0 .. k1 - 1 of keys or values.
static Rows rows_of(const FlashItem& item, const KernelOperand& operand, int64_t k0, int64_t k1, int64_t width,
                    float* block) {
  const int64_t index = item.batch_index * operand.strides[0] + item.kv_head * operand.strides[1];
  if (in_place(operand))
    return {static_cast<const float*>(operand.data) + index + k0 * operand.strides[2], operand.strides[2]};
  const int64_t stride = round_up(width, kLanes);
  for (int64_t k = k0; k < k1; ++k) {
    widen_row(element_address(operand, index + k * operand.strides[2]), operand.element_type, operand.strides[3], width,
              block + (k - k0) * stride);
  }
  return {block, stride};
}

// Scores of `rows` keys, and their maximum with what `maximum` has.
template <int rows, int vectors>
HEED_INLINE void score_tile(const Panel& panel, const float* keys, int64_t key_stride, int64_t head_size, float* scores,
                            Vec (&maximum)[vectors]) {
  Vec sums[rows][vectors] = {};
  multiply_tile<rows, vectors>(keys, key_stride, 1, panel.queries, kPanelRows, head_size, sums);
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
static void score_block(const Panel& panel, Rows keys, int64_t count, int64_t head_size, float* scores,
                        Vec (&maximum)[vectors]) {
  int64_t k = 0;
  for (; k + kTileRows <= count; k += kTileRows) {
    score_tile<kTileRows, vectors>(panel, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                                   maximum);
  }
  for (; k + 2 <= count; k += 2) {
    score_tile<2, vectors>(panel, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                           maximum);
  }
  if (k < count)
    score_tile<1, vectors>(panel, keys.data + k * keys.stride, keys.stride, head_size, scores + k * kPanelRows,
                           maximum);
}

// Hides what ranges hide of keys k0 .. k1 - 1, and finds the maximum again.
template <int vectors>
static void hide(const Panel& panel, int64_t k0, int64_t k1, float* scores, Vec (&maximum)[vectors]) {
  for (int v = 0; v < vectors; ++v) {
    int32_t first[kLanes];
    int32_t end[kLanes];
    const int64_t count = k1 - k0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t lane_first = panel.first[v * kLanes + lane] - k0;
      const int64_t lane_end = panel.end[v * kLanes + lane] - k0;
      first[lane] = static_cast<int32_t>(lane_first < 0 ? 0 : (lane_first > count ? count : lane_first));
      end[lane] = static_cast<int32_t>(lane_end < 0 ? 0 : (lane_end > count ? count : lane_end));
    }
    const IntVec firsts = load(first);
    const IntVec ends = load(end);
    Vec largest = broadcast(-__builtin_inff());
    for (int64_t k = 0; k < count; ++k) {
      float* row = scores + k * kPanelRows + v * kLanes;
      const IntVec key = broadcast(static_cast<int32_t>(k));
      const Vec score = select((key >= firsts) & (key < ends), load(row), broadcast(-__builtin_inff()));
      store(row, score);
      largest = max(score, largest);
    }
    maximum[v] = largest;
  }
}

// Scores become probabilities relative to the running maximum; total and sums follow it.
template <int vectors>
static void exponentiate(const FlashItem& item, Panel& panel, int64_t count, float* scores,
                         const Vec (&block_maximum)[vectors]) {
  Vec pivot[vectors];
  Vec total[vectors];
  IntVec grown{};
  Vec factor[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const Vec before = panel.started ? load(panel.maximum + v * kLanes) : broadcast(-__builtin_inff());
    const Vec maximum = max(block_maximum[v], before);
    grown |= maximum > before;
    // Anything finite does while the maximum is -inf: -inf - -inf would be NaN where 2^-inf = 0 is meant.
    pivot[v] = select(maximum == broadcast(-__builtin_inff()), Vec{}, maximum);
    factor[v] = exp2_of_nonpositive(before - pivot[v]);
    total[v] = panel.started ? load(panel.total + v * kLanes) * factor[v] : Vec{};
    store(panel.maximum + v * kLanes, maximum);
  }
  if (panel.started && any(grown)) {
    for (int64_t d = 0; d < item.arguments->value_head_size; ++d) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        float* sum = panel.sums + d * kPanelRows + v * kLanes;
        store(sum, load(sum) * factor[v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* score = scores + k * kPanelRows + v * kLanes;
      const Vec probability = exp2_of_nonpositive(load(score) - pivot[v]);
      total[v] += probability;
      store(score, probability);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) store(panel.total + v * kLanes, total[v]);
}

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
static void add_values(const FlashItem& item, const Panel& panel, Rows values, int64_t count,
                       const float* probabilities) {
  const int64_t size = item.arguments->value_head_size;
  int64_t d = 0;
  for (; d + kTileRows <= size; d += kTileRows) {
    value_tile<kTileRows, vectors>(panel.started, values.data + d, values.stride, probabilities, count,
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

template <int vectors>
static void attend_block(const FlashItem& item, Panel& panel, Rows keys, Rows values, int64_t k0, int64_t k1) {
  Vec maximum[vectors];
  for (int v = 0; v < vectors; ++v) maximum[v] = broadcast(-__builtin_inff());
  score_block<vectors>(panel, keys, k1 - k0, item.arguments->head_size, item.scores, maximum);
  if (k0 < panel.all_first || k1 > panel.all_end) hide<vectors>(panel, k0, k1, item.scores, maximum);
  exponentiate<vectors>(item, panel, k1 - k0, item.scores, maximum);
  add_values<vectors>(item, panel, values, k1 - k0, item.scores);
  panel.started = true;
}

// ---- a panel's end --------------------------------------------------------------------------------------------------

static void store_output(const FlashItem& item, const Panel& panel) {
  const AttentionArguments& arguments = *item.arguments;
  const KernelOperand& output = arguments.output;
  const bool is_plain = output.element_type == kF32 && output.strides[3] == 1;
  for (int64_t group = 0; group < panel.num_rows; group += kLanes) {
    const Vec total = load(panel.total + group);
    const Vec factor = select(total == Vec{}, Vec{}, broadcast(arguments.dropout_scale) / total);
    char* rows[kLanes];
    find_rows(item, panel, group, output, rows);
    const bool is_full = group + kLanes <= panel.num_rows;
    for (int64_t d = 0; d < arguments.value_head_size; d += kLanes) {
      const int64_t count = arguments.value_head_size - d < kLanes ? arguments.value_head_size - d : kLanes;
      const float* sums = panel.sums + d * kPanelRows + group;
      Vec tile[kLanes];
      if (is_plain && is_full && count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(sums + i * kPanelRows) * factor;
        transpose(tile);
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) store(reinterpret_cast<float*>(rows[lane]) + d, tile[lane]);
      } else {
        for (int64_t i = 0; i < kLanes; ++i) tile[i] = i < count ? load(sums + i * kPanelRows) * factor : Vec{};
        transpose(tile);
        for (int lane = 0; lane < kLanes; ++lane) {
          if (rows[lane] != nullptr) store_first(reinterpret_cast<float*>(rows[lane]) + d, tile[lane], count);
        }
      }
    }
  }
}

// ---- an item --------------------------------------------------------------------------------------------------------

// Floats of one panel and of an item besides.
static int64_t panel_floats(const AttentionArguments& arguments) {
  return (arguments.head_size + arguments.value_head_size + 2 + 4) * kPanelRows;
}
static int64_t item_floats(const AttentionArguments& arguments) {
  return kBlockKeys *
         (kPanelRows + round_up(arguments.head_size, kLanes) + round_up(arguments.value_head_size, kLanes));
}

static size_t flash_scratch_bytes(const AttentionArguments* arguments, int64_t num_rows) {
  const int64_t num_panels = (num_rows + kPanelRows - 1) / kPanelRows;
  const auto floats = static_cast<size_t>(item_floats(*arguments) + num_panels * panel_floats(*arguments));
  return floats * sizeof(float) + static_cast<size_t>(num_panels) * sizeof(Panel) + 64;
}

static void flash_attention(const AttentionArguments* arguments, const AttentionItem* rows, void* scratch) {
  FlashItem item = {arguments, rows->batch_index, rows->kv_head, static_cast<float*>(scratch), nullptr, nullptr};
  item.key_block = item.scores + kBlockKeys * kPanelRows;
  item.value_block = item.key_block + kBlockKeys * round_up(arguments->head_size, kLanes);
  float* next = item.value_block + kBlockKeys * round_up(arguments->value_head_size, kLanes);

  const int64_t num_panels = (rows->end_row - rows->first_row + kPanelRows - 1) / kPanelRows;
  auto* panels = reinterpret_cast<Panel*>(next + num_panels * panel_floats(*arguments));
  int64_t any_first = arguments->num_keys;
  int64_t any_end = 0;
  for (int64_t p = 0; p < num_panels; ++p) {
    Panel& panel = panels[p];
    panel.queries = next;
    panel.sums = panel.queries + arguments->head_size * kPanelRows;
    panel.maximum = panel.sums + arguments->value_head_size * kPanelRows;
    panel.total = panel.maximum + kPanelRows;
    panel.first = reinterpret_cast<int64_t*>(panel.total + kPanelRows);
    panel.end = panel.first + kPanelRows;
    next += panel_floats(*arguments);
    panel.first_row = rows->first_row + p * kPanelRows;
    panel.num_rows = rows->end_row - panel.first_row < kPanelRows ? rows->end_row - panel.first_row : kPanelRows;
    panel.started = false;
    find_ranges(item, panel);
    load_queries(item, panel);
    any_first = panel.any_first < any_first ? panel.any_first : any_first;
    any_end = panel.any_end > any_end ? panel.any_end : any_end;
  }

  for (int64_t block = any_first / kBlockKeys * kBlockKeys; block < any_end; block += kBlockKeys) {
    const int64_t begin = block > any_first ? block : any_first;
    const int64_t end = block + kBlockKeys < any_end ? block + kBlockKeys : any_end;
    const Rows keys = rows_of(item, arguments->keys, begin, end, arguments->head_size, item.key_block);
    const Rows values = rows_of(item, arguments->values, begin, end, arguments->value_head_size, item.value_block);
    for (int64_t p = 0; p < num_panels; ++p) {
      Panel& panel = panels[p];
      const int64_t k0 = begin > panel.any_first ? begin : panel.any_first;
      const int64_t k1 = end < panel.any_end ? end : panel.any_end;
      if (k0 >= k1) continue;
      const Rows panel_keys = {keys.data + (k0 - begin) * keys.stride, keys.stride};
      const Rows panel_values = {values.data + (k0 - begin) * values.stride, values.stride};
      if (panel.num_rows > kLanes)
        attend_block<2>(item, panel, panel_keys, panel_values, k0, k1);
      else
        attend_block<1>(item, panel, panel_keys, panel_values, k0, k1);
    }
  }
  for (int64_t p = 0; p < num_panels; ++p) store_output(item, panels[p]);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
