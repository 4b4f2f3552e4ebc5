// SPDX-License-Identifier: Apache-2.0
// A task is a range of the rows that share a key head, so that a key block is loaded into the caches, and widened or
// copied if needed, once for all of them. The rows are computed independently, so the result does not depend on how
// they are cut into tasks.
#include "backends/cpu/flash_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "backends/cpu/decode_attention.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// The largest number of rows in a task. Widening a key block costs about as much as 7 rows, 3 % of 256. If every block
// is widened, twice as many rows share it.
constexpr int64_t kMaxTaskRows = 256;
constexpr int64_t kMaxWidenedTaskRows = 512;
// The memory of a task's query tiles: half of a second-level cache; the other half is for a block of keys and values.
constexpr int64_t kMaxTileBytes = int64_t{512} << 10;
// Load balance: with at least 4 tasks for each worker, the last one to finish is late by a quarter of its share at
// most.
constexpr int64_t kTasksPerWorker = 4;
// With more tasks than this, each is so small that their order does not matter.
constexpr int64_t kMaxOrdered = 2048;

struct OrderedTask {
  double cost;
  int64_t position;  // before sorting by cost
};

// The index of the task at a position of the unsorted order. Adjacent tasks, which may share a key head, go to the same
// worker one after another, far from those of other workers. Measured with two workers: saves 2 % of the time at 512
// queries and 5 % at 128.
int64_t spread(int64_t position, int64_t count, int32_t num_workers) {
  if (num_workers == 1) return position;
  const int64_t share = count / num_workers;
  return position < share * num_workers ? position % num_workers * share + position / num_workers : position;
}

int64_t max_task_rows(const KernelTable& kernels, const AttentionProblem& problem) {
  const int64_t tile = kernels.flash_tile_rows;
  const int64_t row_bytes = (problem.head_size + problem.value_head_size) * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = std::max(tile, kMaxTileBytes / std::max<int64_t>(1, row_bytes) / tile * tile);
  const bool is_widened = problem.keys.dtype != DType::F32 || problem.values.dtype != DType::F32;
  const int64_t most = is_widened ? kMaxWidenedTaskRows : kMaxTaskRows;
  return std::min({most, fitting, round_up(rows_of_group(problem), tile)});
}

TaskGrid cut(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  const int64_t num_rows = rows_of_group(problem);
  const int64_t tile = kernels.flash_tile_rows;
  TaskGrid tasks(problem, num_rows, std::max(tile, max_task_rows(kernels, problem)));
  if (num_workers == 1) return tasks;
  while (tasks.rows > tile && tasks.count < static_cast<double>(kTasksPerWorker * num_workers))
    tasks = TaskGrid(problem, num_rows, round_up(tasks.rows / 2, tile));
  return tasks;
}

// Sorts the largest tasks first, by the key counts of their first and last rows, so that the last tasks are small.
// Tasks of equal cost keep the order of `spread`.
void order(const AttentionProblem& problem, const TaskGrid& tasks, int64_t count, int32_t num_workers,
           OrderedTask* ordered) {
  for (int64_t position = 0; position < count; ++position) {
    const AttentionTask task = tasks.at(problem, spread(position, count, num_workers));
    const auto keys_of_row = [&](int64_t row) {
      return keys_of_query(problem.limits, task.batch_index, row % task.sequence->query_count).size();
    };
    const int64_t num_rows = task.end_row - task.first_row;
    const int64_t keys = num_rows > 0 ? keys_of_row(task.first_row) + keys_of_row(task.end_row - 1) : 0;
    ordered[position] = {static_cast<double>(keys) * static_cast<double>(num_rows), position};
  }
  std::sort(ordered, ordered + count, [](const OrderedTask& a, const OrderedTask& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.position < b.position;
  });
}

}  // namespace

// The workers share the order of the tasks. The size of the scratch depends only on sizes and does not
// decrease when one of them grows, whatever the call's number of tasks and its work.
size_t choose_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                              AttentionChoice& choice) {
  const int64_t tile = kernels.flash_tile_rows;
  const auto tiles = static_cast<double>(divide_up(rows_of_group(problem), tile));
  // An upper bound of the number of tasks, however the rows are cut.
  const double num_tasks = static_cast<double>(problem.batch) * static_cast<double>(problem.num_kv_heads) * tiles;
  const int64_t most_rows = max_task_rows(kernels, problem);
  ScratchLayout& scratch = choice.flash_scratch;
  scratch.num_workers = Workers::num_with_scratch(num_tasks, most_work_of(problem).flops, num_workers);
  scratch.worker_bytes =
      round_up_to_alignment(kernels.flash_scratch_bytes(&problem, most_rows) + key_range_bytes(most_rows));
  scratch.shared_bytes = scratch.num_workers > 1 ? kMaxOrdered * sizeof(OrderedTask) : 0;
  choice.flash_rows = cut(kernels, problem, num_workers).rows;
  return scratch.num_bytes();
}

void plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                          AttentionChoice& choice, Plan& plan) {
  plan.kernel = problem.scoring == Scoring::Additive ? "flash_attention_additive" : "flash_attention";
  const TaskGrid tasks(problem, rows_of_group(problem), choice.flash_rows);
  choice.work = flops_of(problem);
  plan.num_tasks = static_cast<int64_t>(std::min(tasks.count, 0x1p62));
  plan.num_threads = choice.flash_scratch.limit(Workers::num_wanted(plan.num_tasks, choice.work, num_workers));
  plan.block_queries = kernels.flash_tile_rows;
  plan.block_keys = kernels.flash_block_keys;
}

void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                         int32_t num_threads, const Workers& workers, void* memory) {
  const TaskGrid tasks(problem, rows_of_group(problem), choice.flash_rows);
  const AttentionArguments arguments = arguments_of(problem);
  const Scratch scratch(choice.flash_scratch, memory);
  auto* ordered = reinterpret_cast<OrderedTask*>(scratch.shared());
  const auto count = static_cast<int64_t>(tasks.count);
  // One worker takes the tasks in the order of memory.
  const bool is_shared = choice.flash_scratch.limit(num_threads) > 1;
  const int32_t num_workers = is_shared ? workers.num_workers() : 1;
  const bool is_ordered = is_shared && count <= kMaxOrdered;
  if (is_ordered) order(problem, tasks, count, num_workers, ordered);
  const size_t range_bytes = key_range_bytes(choice.flash_rows);
  workers.for_each(scratch, count, num_threads, choice.work, [&](int64_t index, std::byte* own) {
    const int64_t position = is_ordered ? ordered[index].position : index;
    AttentionTask task = tasks.at(problem, spread(position, count, num_workers));
    if (!computes(AttentionKernels::Flash, kernels, problem, choice, task)) return;
    // The key ranges are at the end of the worker's scratch, after the memory of the kernel.
    auto* ranges = reinterpret_cast<KeyRange*>(own + choice.flash_scratch.worker_bytes - range_bytes);
    find_key_ranges(problem, task, ranges);
    kernels.flash_attention(&arguments, &task, own);
  });
}

}  // namespace heed::cpu
