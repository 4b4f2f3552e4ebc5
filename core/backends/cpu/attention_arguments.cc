// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/cpu/dropout.h"
#include "backends/cpu/kernel_operand.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// Whether the elements are contiguous from row to row but not within a row. They are loaded and stored as vectors, and
// transposed if needed.
bool is_transposed(const Operand& operand, int64_t size) {
  return is_noncontiguous(operand, size) && std::abs(operand.strides[2]) == 1;
}

// Whether the elements are contiguous neither within a row nor from row to row.
bool is_scattered(const Operand& operand, int64_t size) {
  return is_noncontiguous(operand, size) && !is_transposed(operand, size);
}

// With at most this many rows, computing on a block of keys and values takes less than 3 times as long as transposing
// it. With heads of 64, transposed storage takes, relative to contiguous rows, 2 to 3 times the time with one row, 1.3
// to 1.4 times with 16 rows, 1.28 times with 32 and 1.15 times with 64.
constexpr int64_t kFewRowsLimit = 16;

bool transposes_for_few_rows(const AttentionProblem& problem) {
  return problem.scoring == Scoring::DotProduct && rows_of_group(problem) <= kFewRowsLimit &&
         (is_transposed(problem.keys, problem.head_size) || is_transposed(problem.values, problem.value_head_size));
}

// The bytes of keys and values of one batch element from which no second-level cache holds them. If the rows of a head
// are not adjacent or run backwards, the processor prefetches less. Measured with at most 16 rows: 1.1 to 1.3 times the
// time with 1 MiB, 1.3 to 1.5 times with 2 MiB, and up to twice the time with more.
constexpr double kBeyondCacheBytes = 2 << 20;

bool reads_distant_rows(const AttentionProblem& problem) {
  if (problem.scoring != Scoring::DotProduct || rows_of_group(problem) > kFewRowsLimit) return false;
  const auto row_bytes = [](const Operand& operand, int64_t size) {
    const bool lie_apart = operand.strides[2] < 0 || operand.strides[2] / 2 >= size;
    return operand.strides[3] == 1 && lie_apart
               ? static_cast<double>(size) * static_cast<double>(size_of(operand.dtype))
               : 0.0;
  };
  const double bytes = row_bytes(problem.keys, problem.head_size) + row_bytes(problem.values, problem.value_head_size);
  return bytes * static_cast<double>(problem.limits.num_keys) * static_cast<double>(problem.num_kv_heads) >=
         kBeyondCacheBytes;
}

}  // namespace

AttentionTask TaskGrid::at(const AttentionProblem& problem, int64_t index) const {
  const int64_t block = index % row_blocks;
  const int64_t head = index / row_blocks;
  const int64_t batch_index = head / problem.num_kv_heads;
  const Sequence& sequence = sequence_of(problem.limits, batch_index);
  const int64_t num_rows = group * sequence.query_count;
  return {.batch_index = batch_index,
          .kv_head = head % problem.num_kv_heads,
          .first_row = std::min(num_rows, block * rows),
          .end_row = std::min(num_rows, (block + 1) * rows),
          .sequence = &sequence,
          .key_ranges = nullptr};
}

void find_key_ranges(const AttentionProblem& problem, AttentionTask& task, KeyRange* ranges) {
  const int64_t num_queries = task.sequence->query_count;
  task.key_ranges = ranges;
  int64_t query = task.first_row % num_queries;
  for (int64_t row = task.first_row; row < task.end_row; query = 0) {
    const int64_t count = std::min(task.end_row - row, num_queries - query);
    find_keys_of_queries(problem.limits, task.batch_index, query, count, ranges);
    ranges += count;
    row += count;
  }
}

AttentionArguments arguments_of(const AttentionProblem& problem) {
  AttentionArguments arguments = {};
  arguments.problem = &problem;
  arguments.dropout_threshold = dropout_threshold(problem.dropout);
  arguments.dropout_scale = dropout_scale(problem.dropout);
  const bool fits_queries = problem.scoring == Scoring::DotProduct && std::fabs(problem.scale) <= 1.0F;
  arguments.query_scale = fits_queries ? problem.scale : 1.0F;
  arguments.score_scale = fits_queries ? 1.0F : problem.scale;
  arguments.drops = problem.dropout != 0 ? 1 : 0;
  arguments.mean_empty_rows = problem.empty_rows == EmptyRows::Mean ? 1 : 0;
  arguments.is_additive = problem.scoring == Scoring::Additive ? 1 : 0;
  return arguments;
}

Cost most_work_of(const AttentionProblem& problem) {
  const auto size = [](int64_t value) { return static_cast<double>(value); };
  const double queries = size(problem.batch) * size(problem.num_heads) * size(problem.limits.num_queries);
  const double keys = size(problem.batch) * size(problem.num_kv_heads) * size(problem.limits.num_keys);
  const double pairs = queries * size(problem.limits.num_keys);
  const double head_size = size(problem.head_size);
  const double value_head_size = size(problem.value_head_size);
  const double of_score = problem.scoring == Scoring::Additive ? 4 : 2;
  Cost cost;
  cost.flops = pairs * (of_score * head_size + 2 * value_head_size);
  // Bytes of queries, output and log-sum-exp; keys and values; mask, bias and weights; lengths.
  cost.bytes = sizeof(float) * (queries * (head_size + value_head_size + 1) + keys * (head_size + value_head_size)) +
               (1 + 2 * sizeof(float)) * pairs + sizeof(int64_t) * queries;
  return cost;
}

void add_attention_reasons(const AttentionProblem& problem, Plan& plan) {
  if (is_scattered(problem.queries, problem.head_size) || is_scattered(problem.keys, problem.head_size) ||
      is_scattered(problem.values, problem.value_head_size)) {
    plan.add_reason(
        "the elements of a head of queries, keys or values do not lie side by side (stride 1), so they are gathered");
  }
  const bool has_distances =
      problem.cached.has_window != 0 || problem.alibi_slopes.given != 0 || problem.relative_bias.given != 0;
  if (problem.cached.has_positions != 0 && has_distances) {
    plan.add_reason(
        "positions do not rise by one from row to row, so that each pair of a query's and a key's position is "
        "compared");
  }
  // A cache stores rows in its own way.
  const bool has_cache = problem.cached.given != 0;
  if (!has_cache && transposes_for_few_rows(problem)) {
    plan.add_reason(
        "the elements of keys or values lie side by side (stride 1) from key to key, not within a head, so they are "
        "transposed for few queries");
  }
  if (!has_cache && reads_distant_rows(problem)) {
    plan.add_reason(
        "the rows of a head of keys or values lie apart, as in (B, S, H, D), or backwards, so few queries wait for "
        "memory that is read in short pieces");
  }
  if (is_gathered(problem.mask, problem.limits.num_keys) || is_gathered(problem.bias, problem.limits.num_keys)) {
    plan.add_reason("the elements of a row of mask or bias do not lie side by side (stride 1), so they are gathered");
  }
  if (is_scattered(problem.output, problem.value_head_size) || is_scattered(problem.weights, problem.limits.num_keys))
    plan.add_reason(
        "the elements of a row of output or weights do not lie side by side (stride 1), so they are scattered");
}

}  // namespace heed::cpu
