// SPDX-License-Identifier: Apache-2.0
// Attention for many queries: key blocks, the online softmax (Milakov and Gimelshein, arXiv 1805.02867; Dao et al.,
// "FlashAttention", arXiv 2205.14135) and transposed scores. docs/kernels.md has a drawing.
//
// A query tile is kQueryTileRows queries, which are the lanes of two vectors. All data of a query is in its lane, and a
// block of scores is [key][lane]. So no step of the softmax works across lanes; keys and values are read as scalars,
// from memory or from an f32 copy (in_place in block-inl.h); and head sizes and numbers of keys need not be multiples
// of anything. Only queries and outputs are transposed, once each.
//
// A row's result does not depend bitwise on the rows beside it, because every lane has its own arithmetic, key blocks
// begin at multiples of kBlockKeys whatever is visible, and a block adds exactly 0 to a lane that sees none of its
// keys, after multiplying the lane's sums by exactly 1.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/constant_keys-inl.h"
#include "backends/cpu/kernels/attention/query_tile-inl.h"
#include "backends/cpu/kernels/attention/query_tile_results-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

template <int vectors>
static void attend_block(const TileTask& task, QueryTile& query_tile, F32Rows keys, F32Rows values, int64_t k0,
                         int64_t k1, Pass pass) {
  Vec maximum[vectors];
  find_scores<vectors>(task, query_tile, keys, k0, k1, pass == Pass::Careful, maximum);
  exponentiate<vectors>(task, query_tile, k1 - k0, maximum);
  if (task.problem->output.data != nullptr) {
    if (task.arguments->drops != 0) drop<vectors>(task, query_tile, k0, k1);
    if (pass == Pass::Careful) {
      add_seen_values<vectors>(task, query_tile, values, k1 - k0);
    } else {
      const int64_t num_shared = end_of_shared_keys<vectors>(query_tile, k0, k1) - k0;
      add_values<vectors>(query_tile, values, num_shared, task.problem->value_head_size, task.scores);
      if (num_shared < k1 - k0) {
        QueryTile second = second_vector_of(query_tile);
        second.started = true;
        add_values<1>(second, from_row(values, num_shared), k1 - k0 - num_shared, task.problem->value_head_size,
                      task.scores + num_shared * kQueryTileRows + kLanes);
      }
    }
  }
  query_tile.started = true;
}

static void attend(const TileTask& task, QueryTile& query_tile, F32Rows keys, F32Rows values, int64_t k0, int64_t k1,
                   Pass pass) {
  if (query_tile.num_rows > kLanes)
    attend_block<kTileVectors>(task, query_tile, keys, values, k0, k1, pass);
  else
    attend_block<1>(task, query_tile, keys, values, k0, k1, pass);
}

// Begins with the scores that every row has.
static void begin_query_tile(const TileTask& task, QueryTile& query_tile) {
  query_tile.started = has_constant_scores(*task.problem);
  if (!query_tile.started) return;
  begin_with_constant_scores(task, query_tile);
  const IntVec all[kTileVectors] = {~IntVec{}, ~IntVec{}};
  begin_sums_with_bias_value(task, query_tile, all);
}

// ---- a query tile at its end ----------------------------------------------------------------------------------------

// Computes maxima, totals and sums of a query tile again, without hidden values.
static void sum_seen_values(const TileTask& task, QueryTile& query_tile) {
  for (int64_t i = 0; i < task.problem->value_head_size * kQueryTileRows; i += kLanes)
    store(query_tile.sums + i, Vec{});
  begin_query_tile(task, query_tile);
  visit_blocks(task, query_tile.any_first, query_tile.any_end,
               [&](F32Rows keys, F32Rows values, int64_t begin, int64_t end) {
                 visit_visible(task, query_tile, keys, values, begin, end,
                               [&](F32Rows own_keys, F32Rows own_values, int64_t k0, int64_t k1) {
                                 attend(task, query_tile, own_keys, own_values, k0, k1, Pass::Careful);
                               });
               });
}

static void finish_query_tile(const TileTask& task, QueryTile& query_tile) {
  const AttentionProblem& problem = *task.problem;
  if (!query_tile.started) {
    for (int64_t i = 0; i < problem.value_head_size * kQueryTileRows; i += kLanes) store(query_tile.sums + i, Vec{});
    for (int64_t i = 0; i < kQueryTileRows; i += kLanes) {
      store(query_tile.maximum + i, broadcast(-kInfinity));
      store(query_tile.total + i, Vec{});
    }
  }
  QueryTileSums sums = {task, query_tile};
  if (problem.output.data != nullptr) repair_sums(sums, query_tile, [&] { sum_seen_values(task, query_tile); });
  store_results(task, query_tile, sums.doubtful);
}

// ---- a task --------------------------------------------------------------------------------------------------------

// Floats that all query tiles of a task share.
static int64_t shared_floats(const AttentionProblem& problem) {
  return room_of_block(problem, kBlockKeys) *
             (2 * kQueryTileRows + row_stride(problem.head_size) + row_stride(problem.value_head_size)) +
         all_relative_bias_floats(problem) + bias_key_floats(problem);
}

static size_t flash_scratch_bytes(const AttentionProblem* problem, int64_t num_rows) {
  const int64_t num_query_tiles = divide_up(num_rows, kQueryTileRows);
  return static_cast<size_t>(shared_floats(*problem) + num_query_tiles * query_tile_floats(*problem)) * sizeof(float) +
         static_cast<size_t>(num_query_tiles) * sizeof(QueryTile);
}

static void flash_attention(const AttentionArguments* arguments, const AttentionTask* request, void* scratch) {
  const AttentionProblem& problem = *arguments->problem;
  TileTask task;
  task.arguments = arguments;
  task.problem = &problem;
  task.sequence = request->sequence;
  task.batch_index = request->batch_index;
  task.kv_head = request->kv_head;
  task.scores = static_cast<float*>(scratch);
  const int64_t room = room_of_block(problem, kBlockKeys);
  task.seen = reinterpret_cast<int32_t*>(task.scores + room * kQueryTileRows);
  task.key_block = task.scores + 2 * room * kQueryTileRows;
  task.value_block = task.key_block + room * row_stride(problem.head_size);
  task.row_queries = nullptr;
  task.row_scores = nullptr;
  float* next = task.scores + shared_floats(problem);
  task.bias_key = next - bias_key_floats(problem);
  task.bias_value = task.bias_key + row_stride(problem.head_size);
  load_bias_key(task);
  float* relative_bias = task.bias_key - all_relative_bias_floats(problem);
  expand_relative_bias<LanesAre::Queries>(problem, task.kv_head, relative_bias);
  task.relative_bias = relative_bias;

  const int64_t num_query_tiles = divide_up(request->end_row - request->first_row, kQueryTileRows);
  auto* query_tiles = reinterpret_cast<QueryTile*>(next + num_query_tiles * query_tile_floats(problem));
  int64_t any_first = request->sequence->key_count;
  int64_t any_end = 0;
  for (int64_t p = 0; p < num_query_tiles; ++p) {
    make_query_tile(problem, *request, request->first_row + p * kQueryTileRows, next + p * query_tile_floats(problem),
                    query_tiles[p]);
    summarize_key_ranges(task, query_tiles[p]);
    load_queries(task, query_tiles[p]);
    begin_query_tile(task, query_tiles[p]);
    if (arguments->is_additive != 0) load_score_weights(task, query_tiles[p]);
    any_first = smaller(any_first, query_tiles[p].any_first);
    any_end = larger(any_end, query_tiles[p].any_end);
  }
  visit_blocks(task, any_first, any_end, [&](F32Rows keys, F32Rows values, int64_t begin, int64_t end) {
    for (int64_t p = 0; p < num_query_tiles; ++p) {
      visit_visible(task, query_tiles[p], keys, values, begin, end,
                    [&](F32Rows own_keys, F32Rows own_values, int64_t k0, int64_t k1) {
                      attend(task, query_tiles[p], own_keys, own_values, k0, k1, Pass::Online);
                    });
    }
  });
  for (int64_t p = 0; p < num_query_tiles; ++p) finish_query_tile(task, query_tiles[p]);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
