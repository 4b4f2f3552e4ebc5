// SPDX-License-Identifier: Apache-2.0
// A task is the rows that share a key head, at most as many as a vector has lanes. Its keys are cut into chunks, at the
// same keys for any number of workers. If there are many tasks, one worker computes all chunks of a task and merges
// them. If there are few, each worker computes single chunks, and the partial results are merged after all chunks.
#include "backends/cpu/decode_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// The largest number of rows that share a key head for which this kernel is chosen. Each row multiplies and adds once
// with every element: 16 rows make 8 FLOPs per byte in f32, at 40 GB/s more than the 250 GFLOP/s of a core. With more
// rows computing takes longer than reading, and the flash kernel computes faster. The limit is the same on every ISA;
// where a vector has fewer lanes, the rows become several tasks.
constexpr int64_t kMaxRows = 16;
// With fewer keys reading takes almost no time, and the flash kernel is faster, because it prepares less.
constexpr int64_t kMinKeys = 32;
// The smallest number of keys in a chunk. With heads of 128 these are 1 MiB in f32, about 25 microseconds of reading:
// much longer than distributing and combining a chunk, and short compared with a call that is cut into chunks. It is a
// multiple of the kernel's key block (kRowBlockKeys), so that chunks cut no block.
constexpr int64_t kMinChunkKeys = 1024;
// The largest number of chunks of a task. Beyond 64 chunks more threads add no bandwidth.
constexpr int64_t kMaxChunks = 64;
// With at least this many tasks for each worker, whole tasks balance the load and none is cut.
constexpr int64_t kTasksPerWorker = 8;

bool is_possible(const KernelTable& kernels, const AttentionProblem& problem) {
  return problem.scoring == Scoring::DotProduct && problem.head_size <= kernels.decode_max_size &&
         problem.value_head_size <= kernels.decode_max_size && group_size(problem) <= kMaxRows;
}

// How the keys of one batch element are cut into chunks.
struct Chunks {
  int64_t keys;   // of a chunk
  int64_t count;  // of a task

  explicit Chunks(int64_t num_keys) : keys(kMinChunkKeys) {
    while (divide_up(num_keys, keys) > kMaxChunks) keys *= 2;
    count = std::max<int64_t>(1, divide_up(num_keys, keys));
  }
};

// The chunks of a task. The longest valid length decides: so a batch element has the same chunks whether its other keys
// are hidden or missing.
Chunks chunks_of(const AttentionProblem& problem, const AttentionTask& task) {
  return Chunks(longest_length(problem.limits, task.batch_index));
}

// The largest number of chunks of any batch element with at most num_keys keys. Chunks double in size when there would
// be more than kMaxChunks of them, so fewer keys may make more chunks.
int64_t most_chunks(int64_t num_keys) { return std::clamp<int64_t>(divide_up(num_keys, kMinChunkKeys), 1, kMaxChunks); }

// The rows of the largest batch element that this kernel may compute.
int64_t most_rows(const AttentionProblem& problem) {
  const int64_t group = group_size(problem);
  return group * std::min(problem.limits.num_queries, kMaxRows / group);
}

size_t partial_bytes(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_rows) {
  return kernels.decode_partial_bytes(&problem, num_rows);
}

// The scratch of a worker: the memory of the kernel, the key ranges, and, if the keys are not cut, the partial results of
// its task. If they are cut, the workers share the partial results of all tasks.
size_t kernel_bytes(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice) {
  return round_up_to_alignment(kernels.decode_scratch_bytes(&problem, choice.decode_rows));
}

size_t range_bytes(const AttentionChoice& choice) { return round_up_to_alignment(key_range_bytes(choice.decode_rows)); }

// The partial results of a task with the most chunks.
size_t most_task_bytes(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice) {
  return round_up_to_alignment(partial_bytes(kernels, problem, choice.decode_rows) *
                               static_cast<size_t>(most_chunks(problem.limits.num_keys)));
}

}  // namespace

bool is_for_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_queries,
                             int64_t num_keys) {
  return is_possible(kernels, problem) && num_keys >= kMinKeys && num_queries <= kMaxRows / group_size(problem);
}

bool computes(AttentionKernels kernel, const KernelTable& kernels, const AttentionProblem& problem,
              const AttentionChoice& choice, const AttentionTask& task) {
  if (task.first_row >= task.end_row) return false;
  if (choice.kernels != AttentionKernels::Both) return true;
  const bool is_decode = is_for_decode_attention(kernels, problem, task.sequence->query_count,
                                                 longest_length(problem.limits, task.batch_index));
  return is_decode == (kernel == AttentionKernels::Decode);
}

size_t choose_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                               AttentionChoice& choice) {
  const int64_t num_keys = problem.limits.num_keys;
  if (!is_possible(kernels, problem) || num_keys < kMinKeys) return 0;
  const int64_t num_rows = most_rows(problem);
  choice.decode_rows = std::clamp<int64_t>(num_rows, 1, std::min<int64_t>(kMaxRows, kernels.lanes));
  const TaskGrid tasks(problem, num_rows, choice.decode_rows);
  // With more keys than one chunk, a worker may take a single chunk. num_with_scratch asks only whether there are at
  // least two tasks.
  const double num_pieces = num_keys > kMinChunkKeys ? 2 : tasks.count;
  const auto limit = static_cast<double>(kTasksPerWorker * num_workers);
  choice.is_cut = Chunks(num_keys).count > 1 && num_workers > 1 && tasks.count < limit;
  ScratchLayout& scratch = choice.decode_scratch;
  scratch.num_workers = Workers::num_with_scratch(num_pieces, work_of(most_work_of(problem)), num_workers);
  scratch.worker_bytes = kernel_bytes(kernels, problem, choice) + range_bytes(choice);
  const size_t task_bytes = most_task_bytes(kernels, problem, choice);
  // As many tasks have partial results at a time as a call of any of these sizes may have.
  ScratchLayout most = scratch;
  most.shared_bytes =
      task_bytes * static_cast<size_t>(std::max<double>(scratch.num_workers, std::min(tasks.count, limit)));
  if (choice.is_cut != 0)
    scratch.shared_bytes = task_bytes * static_cast<size_t>(tasks.count);
  else
    scratch.worker_bytes += task_bytes;
  return most.num_bytes();
}

void plan_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers,
                           AttentionChoice& choice, Plan& plan) {
  plan.kernel = "decode_attention";
  const TaskGrid tasks(problem, most_rows(problem), choice.decode_rows);
  const double pieces = choice.is_cut != 0 ? static_cast<double>(Chunks(problem.limits.num_keys).count) : 1.0;
  choice.work = work_of(cost_of(problem));
  plan.num_tasks = static_cast<int64_t>(std::min(tasks.count * pieces, 0x1p62));
  plan.num_threads = choice.decode_scratch.limit(Workers::num_wanted(plan.num_tasks, choice.work, num_workers));
  plan.block_queries = static_cast<int32_t>(choice.decode_rows);
  plan.block_keys = kernels.decode_block_keys;
}

void run_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, const AttentionChoice& choice,
                          int32_t num_threads, const Workers& workers, void* memory) {
  const AttentionArguments arguments = arguments_of(problem);
  const TaskGrid tasks(problem, most_rows(problem), choice.decode_rows);
  const int64_t task_chunks = differ_by_element(problem.limits)
                                  ? most_chunks(problem.limits.num_keys)
                                  : Chunks(problem.batch > 0 ? longest_length(problem.limits, 0) : 0).count;
  const size_t task_bytes = most_task_bytes(kernels, problem, choice);
  const Scratch scratch(choice.decode_scratch, memory);
  const auto num_tasks = static_cast<int64_t>(tasks.count);
  const size_t ranges_offset = kernel_bytes(kernels, problem, choice);
  const size_t partials_offset = ranges_offset + range_bytes(choice);
  const auto find_ranges = [&](AttentionTask& task, std::byte* own) {
    find_key_ranges(problem, task, reinterpret_cast<KeyRange*>(own + ranges_offset));
  };
  const auto partials_of = [&](int64_t task) { return scratch.shared() + task_bytes * static_cast<size_t>(task); };
  const auto attend = [&](const AttentionTask& task, const Chunks& chunks, int64_t chunk, std::byte* of_task,
                          std::byte* own) {
    const int64_t end = std::min(task.sequence->key_count, (chunk + 1) * chunks.keys);
    // The last task of a head may have fewer rows.
    std::byte* partial =
        of_task + partial_bytes(kernels, problem, task.end_row - task.first_row) * static_cast<size_t>(chunk);
    kernels.decode_chunk(&arguments, &task, chunk * chunks.keys, end, partial, own);
  };
  const auto finish = [&](const AttentionTask& task, const Chunks& chunks, std::byte* of_task, std::byte* own) {
    kernels.decode_finish(&arguments, &task, chunks.keys, chunks.count, of_task, own);
  };

  if (choice.is_cut == 0) {
    workers.for_each(scratch, num_tasks, num_threads, choice.work, [&](int64_t index, std::byte* own) {
      AttentionTask task = tasks.at(problem, index);
      if (!computes(AttentionKernels::Decode, kernels, problem, choice, task)) return;
      const Chunks chunks = chunks_of(problem, task);
      std::byte* of_task = own + partials_offset;
      find_ranges(task, own);
      for (int64_t chunk = 0; chunk < chunks.count; ++chunk) attend(task, chunks, chunk, of_task, own);
      finish(task, chunks, of_task, own);
    });
    return;
  }
  workers.for_each(scratch, num_tasks * task_chunks, num_threads, choice.work, [&](int64_t index, std::byte* own) {
    AttentionTask task = tasks.at(problem, index / task_chunks);
    const Chunks chunks = chunks_of(problem, task);
    if (!computes(AttentionKernels::Decode, kernels, problem, choice, task) || index % task_chunks >= chunks.count)
      return;
    find_ranges(task, own);
    attend(task, chunks, index % task_chunks, partials_of(index / task_chunks), own);
  });
  // Weights need another pass over the keys, so they use all threads. Otherwise finishing takes little time.
  const bool has_weights = problem.weights.given != 0;
  workers.for_each(scratch, num_tasks, has_weights ? num_threads : 1, has_weights ? choice.work : 0,
                   [&](int64_t index, std::byte* own) {
                     AttentionTask task = tasks.at(problem, index);
                     if (!computes(AttentionKernels::Decode, kernels, problem, choice, task)) return;
                     find_ranges(task, own);
                     finish(task, chunks_of(problem, task), partials_of(index), own);
                   });
}

}  // namespace heed::cpu
