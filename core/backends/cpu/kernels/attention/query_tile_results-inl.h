// SPDX-License-Identifier: Apache-2.0
// The results of a query tile, for both kernels of attention: output, log-sum-exp and weights, from its maxima, totals
// and sums. Rows whose sums are not finite, and rows without a visible key, are summed here in another way.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/constant_keys-inl.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/visibility-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- key blocks -----------------------------------------------------------------------------------------------------

// Calls visit(keys, values, k0, k1) for the part of the block begin .. end - 1 that rows of the query tile see.
template <typename Visit>
HEED_INLINE void visit_visible(const TileTask& task, const QueryTile& query_tile, F32Rows keys, F32Rows values,
                               int64_t begin, int64_t end, const Visit& visit) {
  int64_t k0 = larger(begin, query_tile.any_first);
  int64_t k1 = smaller(end, query_tile.any_end);
  if (k0 < k1 && task.problem->mask.data != nullptr) trim_by_mask(task, query_tile, k0, k1);
  if (k0 < k1) visit(from_row(keys, k0 - begin), from_row(values, k0 - begin), k0, k1);
}

// Calls visit(keys, values, begin, end) for each block that contains any of the keys first .. last - 1.
template <typename Visit>
HEED_INLINE void visit_blocks(const TileTask& task, int64_t first, int64_t last, const Visit& visit) {
  const AttentionProblem& problem = *task.problem;
  for (int64_t block = first / kBlockKeys * kBlockKeys; block < last; block += kBlockKeys) {
    const int64_t begin = larger(block, first);
    const int64_t end = smaller(block + kBlockKeys, last);
    const F32Rows keys = rows_of(task, problem.keys, begin, end, problem.head_size, task.key_block);
    const F32Rows values = problem.output.data == nullptr
                               ? F32Rows{nullptr, 0}
                               : rows_of(task, problem.values, begin, end, problem.value_head_size, task.value_block);
    visit(keys, values, begin, end);
  }
}

// ---- rows whose sums are not finite ---------------------------------------------------------------------------------

// The sums of a query tile.
struct QueryTileSums {
  const TileTask& task;
  const QueryTile& query_tile;
  IntVec doubtful[kTileVectors] = {};

  // Finds the rows whose sums are not finite although their total is. A row that sees keys and has a total of 0, since all
  // its scores are -inf, is not included: it is NaN whatever its sums are. A row that sees none is included whatever its
  // total is, which may be that of a sink.
  bool find_doubtful() {
    bool found = false;
    for (int v = 0; v < kTileVectors; ++v) {
      doubtful[v] = IntVec{};
      if (query_tile.num_rows <= v * kLanes) continue;
      const Vec zeros = zero_times(query_tile.sums + v * kLanes, task.problem->value_head_size, kQueryTileRows);
      const Vec total = load(query_tile.total + v * kLanes);
      const IntVec is_row = lane_numbers() + v * kLanes < broadcast(static_cast<int32_t>(query_tile.num_rows));
      const IntVec is_empty = load(query_tile.sees_any + v * kLanes) == IntVec{};
      doubtful[v] = is_nan(zeros) & ((is_finite(total) & (total > Vec{})) | is_empty) & is_row;
      found |= any(doubtful[v]);
    }
    return found;
  }
};

// Turns scores of keys k0 .. k1 - 1 into weights that add up to one; hidden ones become 0. Sets task.seen.
static void normalize(const TileTask& task, const QueryTile& query_tile, F32Rows keys, int64_t k0, int64_t k1) {
  Vec maximum[kTileVectors];
  find_scores<kTileVectors>(task, query_tile, keys, k0, k1, true, maximum);
  for (int v = 0; v < kTileVectors; ++v) {
    const Vec row_maximum = load(query_tile.maximum + v * kLanes);
    const Vec total = load(query_tile.total + v * kLanes);
    for (int64_t k = 0; k < k1 - k0; ++k) {
      float* address = task.scores + k * kQueryTileRows + v * kLanes;
      const Vec weight = weight_of(load(address), row_maximum, total);
      store(address, select(load(task.seen + k * kQueryTileRows + v * kLanes), weight, Vec{}));
    }
  }
}

// Sums the values of rows `again` with weights that add up to one.
static void sum_normalized(const TileTask& task, QueryTile& query_tile, const IntVec (&again)[kTileVectors]) {
  if (task.problem->bias_key.data != nullptr) {
    find_constant_weights(task, query_tile);
    if (task.arguments->drops != 0)
      drop<kTileVectors>(task, query_tile, task.sequence->key_count, task.sequence->key_count + 1);
  }
  begin_sums_with_bias_value(task, query_tile, again);
  visit_blocks(task, query_tile.any_first, query_tile.any_end,
               [&](F32Rows keys, F32Rows values, int64_t begin, int64_t end) {
                 visit_visible(task, query_tile, keys, values, begin, end,
                               [&](F32Rows own_keys, F32Rows own_values, int64_t k0, int64_t k1) {
                                 normalize(task, query_tile, own_keys, k0, k1);
                                 if (task.arguments->drops != 0) drop<kTileVectors>(task, query_tile, k0, k1);
                                 for (int64_t k = 0; k < k1 - k0; ++k) {
                                   for (int v = 0; v < kTileVectors; ++v) {
                                     int32_t* address = task.seen + k * kQueryTileRows + v * kLanes;
                                     store(address, load(address) & again[v]);
                                   }
                                 }
                                 add_seen_values<kTileVectors>(task, query_tile, own_values, k1 - k0);
                               });
               });
}

// Repairs the sums of a query tile. sum_seen_values() sums all its rows again, without hidden values. At the end
// sums.doubtful are the rows whose sums are divided by the total already.
template <typename SumSeenValues>
HEED_INLINE void repair_sums(QueryTileSums& sums, QueryTile& query_tile, const SumSeenValues& sum_seen_values) {
  if (!sums.find_doubtful()) return;
  sum_seen_values();
  if (sums.find_doubtful()) sum_normalized(sums.task, query_tile, sums.doubtful);
}

// ---- a query tile's outputs ----------------------------------------------------------------------------------------

// Sets the sums of rows that see no key to the mean of all values, hidden or not; dropout applies.
static void average_values(const TileTask& task, const QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  const float weight = 1.0f / static_cast<float>(task.sequence->key_count);
  visit_blocks(task, 0, task.sequence->key_count, [&](F32Rows, F32Rows values, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < (end - begin) * kQueryTileRows; i += kLanes) store(task.scores + i, broadcast(weight));
    if (task.arguments->drops != 0) drop<kTileVectors>(task, query_tile, begin, end);
    for (int64_t lane = 0; lane < query_tile.num_rows; ++lane) {
      if (query_tile.sees_any[lane] != 0) continue;
      for (int64_t d = 0; d < problem.value_head_size; ++d) {
        float sum = begin == 0 ? 0.0f : query_tile.sums[d * kQueryTileRows + lane];
        for (int64_t k = 0; k < end - begin; ++k)
          sum += task.scores[k * kQueryTileRows + lane] * values.data[k * values.stride + d];
        query_tile.sums[d * kQueryTileRows + lane] = sum;
      }
    }
  });
}

// Stores elements d .. d + count - 1 of the outputs of one vector of rows, from tile[i][lane].
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

static void store_output(const TileTask& task, const QueryTile& query_tile, const IntVec (&normalized)[kTileVectors]) {
  const AttentionProblem& problem = *task.problem;
  const Operand& output = problem.output;
  const DType type = output.dtype;
  const bool is_contiguous = output.strides[3] == 1;
  // Adding +0 turns -0 into +0. Otherwise the sign of a sum that underflowed to 0 would depend on whether hidden keys
  // added +0 to it.
  const Vec zero{};
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    // The sums of rows that see no key are 0 or the mean already.
    const IntVec is_total = load(query_tile.sees_any + first_lane) & ~normalized[first_lane / kLanes];
    const Vec factor = broadcast(task.arguments->dropout_scale) /
                       select(is_total, load(query_tile.total + first_lane), broadcast(1.0f));
    char* rows[kLanes];
    find_rows(task, query_tile, first_lane, output, task.sequence->query_begin, size_of_element(type), rows);
    const int64_t num_rows = query_tile.num_rows - first_lane;
    if (are_rows_contiguous(task, query_tile, first_lane, output)) {
      for (int64_t d = 0; d < problem.value_head_size; ++d) {
        char* to = rows[0] + d * output.strides[3] * size_of_element(type);
        store_first_elements(to, type, load(query_tile.sums + d * kQueryTileRows + first_lane) * factor + zero,
                             num_rows);
      }
      continue;
    }
    for (int64_t element = 0; element < problem.value_head_size; element += kLanes) {
      const int64_t d = is_contiguous ? begin_of_vector(element, problem.value_head_size) : element;
      const int64_t count = smaller(problem.value_head_size - d, kLanes);
      const float* sums = query_tile.sums + d * kQueryTileRows + first_lane;
      Vec tile[kLanes];
      if (is_contiguous && num_rows <= kFewRows && count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(sums + i * kQueryTileRows) * factor + zero;
        Vec few[kFewRows];
        transpose_to_rows(tile, few);
#pragma GCC unroll 4
        for (int lane = 0; lane < kFewRows; ++lane) {
          if (lane < num_rows) store_elements(rows[lane] + d * size_of_element(type), type, few[lane]);
        }
      } else if (is_contiguous && num_rows >= kLanes && count == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(sums + i * kQueryTileRows) * factor + zero;
        transpose(tile);
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane)
          store_elements(rows[lane] + d * size_of_element(type), type, tile[lane]);
      } else {
        for (int64_t i = 0; i < kLanes; ++i)
          tile[i] = i < count ? load(sums + i * kQueryTileRows) * factor + zero : Vec{};
        store_tile(output, rows, d, count, tile);
      }
    }
  }
}

// Stores the logarithm of the sum of exp(score); for rows that see no key -inf, or the sink.
static void store_log_sum_exp(const TileTask& task, const QueryTile& query_tile) {
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    char* rows[kLanes];
    find_rows(task, query_tile, first_lane, task.problem->log_sum_exp, task.sequence->query_begin, sizeof(float), rows);
    float pivots[kLanes];
    float shifts[kLanes];
    store(pivots, pivot_of(load(query_tile.maximum + first_lane)));
    store(shifts, shift_of(load(query_tile.maximum + first_lane)));
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      const bool is_empty = query_tile.sees_any[first_lane + lane] == 0 && task.problem->sinks.data == nullptr;
      *reinterpret_cast<float*>(rows[lane]) =
          is_empty ? -kInfinity : log_sum_exp_of(pivots[lane], shifts[lane], query_tile.total[first_lane + lane]);
    }
  }
}

// Stores weights of keys k0 .. k1 - 1 from task.scores.
static void store_weights(const TileTask& task, const QueryTile& query_tile, int64_t k0, int64_t k1) {
  const AttentionProblem& problem = *task.problem;
  const Vec mean =
      broadcast(task.arguments->mean_empty_rows != 0 ? 1.0f / static_cast<float>(task.sequence->key_count) : 0.0f);
  for (int64_t first_lane = 0; first_lane < query_tile.num_rows; first_lane += kLanes) {
    char* rows[kLanes];
    find_rows(task, query_tile, first_lane, problem.weights, 0, size_of_element(problem.weights.dtype), rows);
    const IntVec sees_any = load(query_tile.sees_any + first_lane);
    if (are_rows_contiguous(task, query_tile, first_lane, problem.weights)) {
      const DType type = problem.weights.dtype;
      const int64_t num_rows = query_tile.num_rows - first_lane;
      for (int64_t k = k0; k < k1; ++k) {
        const Vec weight = select(sees_any, load(task.scores + (k - k0) * kQueryTileRows + first_lane), mean);
        store_first_elements(rows[0] + k * problem.weights.strides[3] * size_of_element(type), type, weight, num_rows);
      }
      continue;
    }
    for (int64_t k = k0; k < k1; k += kLanes) {
      const int64_t count = smaller(k1 - k, kLanes);
      Vec tile[kLanes];
      for (int64_t i = 0; i < kLanes; ++i)
        tile[i] =
            i < count ? select(sees_any, load(task.scores + (k - k0 + i) * kQueryTileRows + first_lane), mean) : Vec{};
      store_tile(problem.weights, rows, k, count, tile);
    }
  }
}

// A second pass over the keys, after maximum and total are known.
static void write_weights(const TileTask& task, const QueryTile& query_tile) {
  const int64_t num_keys = task.sequence->key_count;
  for (int64_t block = 0; block < num_keys; block += kBlockKeys) {
    const int64_t end = smaller(block + kBlockKeys, num_keys);
    int64_t stored = block;
    const auto store_zeros_to = [&](int64_t k) {
      if (k <= stored) return;
      for (int64_t i = 0; i < (k - stored) * kQueryTileRows; i += kLanes) store(task.scores + i, Vec{});
      store_weights(task, query_tile, stored, k);
      stored = k;
    };
    int64_t k0 = larger(block, query_tile.any_first);
    int64_t k1 = smaller(end, query_tile.any_end);
    if (k0 < k1 && task.problem->mask.data != nullptr) trim_by_mask(task, query_tile, k0, k1);
    if (k0 < k1) {
      store_zeros_to(k0);
      const F32Rows keys = rows_of(task, task.problem->keys, k0, k1, task.problem->head_size, task.key_block);
      normalize(task, query_tile, keys, k0, k1);
      store_weights(task, query_tile, k0, k1);
      stored = k1;
    }
    store_zeros_to(end);
  }
  const int64_t num_constant = num_constant_keys(*task.problem);
  if (num_constant == 0) return;
  find_constant_weights(task, query_tile);
  store_weights(task, query_tile, task.problem->limits.num_keys, task.problem->limits.num_keys + num_constant);
}

// Writes all requested outputs from sums, totals and maxima.
static void store_results(const TileTask& task, QueryTile& query_tile, const IntVec (&normalized)[kTileVectors]) {
  const AttentionProblem& problem = *task.problem;
  bool some_empty = false;
  for (int64_t lane = 0; lane < query_tile.num_rows; ++lane) {
    const bool is_empty = query_tile.sees_any[lane] == 0;
    some_empty |= is_empty;
    // A row that sees keys whose scores are all -inf cannot be normalized: it is NaN. It is not a row without visible
    // keys.
    if (!is_empty && query_tile.maximum[lane] == -kInfinity) query_tile.total[lane] = __builtin_nanf("");
  }
  if (problem.output.data != nullptr) {
    if (some_empty && task.arguments->mean_empty_rows != 0) average_values(task, query_tile);
    store_output(task, query_tile, normalized);
  }
  if (problem.log_sum_exp.data != nullptr) store_log_sum_exp(task, query_tile);
  if (problem.weights.data != nullptr) write_weights(task, query_tile);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
