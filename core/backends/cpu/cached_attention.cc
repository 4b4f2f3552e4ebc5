// SPDX-License-Identifier: Apache-2.0
// The results of chunks of keys are merged in order (kernels/attention/row_results-inl.h), so it does not matter for the bits who
// computes which chunk. An element with many rows is cut into tasks of rows, each of which computes all chunks. One with
// few rows is one task for each key head, or one for each run of its chunks, if otherwise threads would be idle, or if other
// elements share the pages of the chunks: then one task computes the rows of all of them and reads the keys once.
#include "backends/cpu/cached_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "backends/cpu/cached_elements.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// The most memory for results of chunks. Elements beyond it are not cut.
constexpr size_t kMaxResultBytes = size_t{32} << 20;
// Rings store and attend to at most so many rows at a time: as many as they keep beside the rows that a query sees.
constexpr int64_t kRingRows = 64;

// What run_cached_attention follows.
struct CachedChoice {
  int64_t task_rows = 0;    // the most rows of a task
  int64_t num_results = 0;  // of chunks, for which there is room
  // Of a worker: WorkerMemory. The workers share the results of chunks and the tables of elements.
  ScratchLayout scratch;
  double work = 0;
};

double to_double(int64_t value) { return static_cast<double>(value); }

// The rows of all elements that may be cut.
double most_cut_rows(const AttentionProblem& problem) {
  return to_double(problem.batch) * to_double(problem.num_kv_heads) *
         to_double(std::min(rows_of_group(problem), kMaxRowsOfCutElement));
}

// The work of a call whose sequences are as long as they can be.
double most_work(const AttentionProblem& problem) {
  AttentionProblem longest = problem;
  longest.limits.num_keys = std::max(problem.limits.num_keys, problem.cached.max_rows);
  Cost cost = most_work_of(longest);
  // The rows of the call, which are stored, and the rotations of all rows.
  const double rows =
      to_double(problem.batch) * to_double(problem.num_kv_heads) * to_double(problem.limits.num_queries);
  cost.bytes += sizeof(float) *
                (rows * to_double(problem.head_size + problem.value_head_size) +
                 to_double(problem.batch) * to_double(longest.limits.num_keys) * to_double(problem.cached.rotary_size));
  return work_of(cost);
}

// The memory of a worker, in this order.
struct WorkerMemory {
  std::byte* kernel;
  float* results;    // [task_rows], over all keys
  float* chunk;      // [task_rows], of a chunk
  float** pointers;  // [2 * task_rows], to results and to those of a chunk
  CachedRow* rows;   // [task_rows]
  size_t num_bytes;

  // `memory`: null if only the bytes are wanted.
  WorkerMemory(const KernelTable& kernels, const AttentionProblem& problem, int64_t task_rows, std::byte* memory) {
    const auto count = static_cast<size_t>(task_rows);
    const size_t result_bytes = kernels.cached_result_bytes(&problem) * count;
    size_t bytes = 0;
    const auto take = [&](size_t size) {
      std::byte* part = memory != nullptr ? memory + bytes : nullptr;
      bytes += round_up_to_alignment(size);
      return part;
    };
    kernel = take(std::max(kernels.cached_scratch_bytes(&problem, task_rows), store_bytes(problem)));
    results = reinterpret_cast<float*>(take(result_bytes));
    chunk = reinterpret_cast<float*>(take(result_bytes));
    pointers = reinterpret_cast<float**>(take(2 * count * sizeof(float*)));
    rows = reinterpret_cast<CachedRow*>(take(count * sizeof(CachedRow)));
    num_bytes = bytes;
  }

  static size_t store_bytes(const AttentionProblem& problem) {
    return round_up_to_alignment(static_cast<size_t>(std::max(problem.head_size, problem.value_head_size)) *
                                 sizeof(float));
  }
};

// One call on some of the queries of each element.
class CachedCall {
 public:
  CachedCall(const KernelTable& kernels, const AttentionProblem& problem, const CachedChoice& choice,
             int32_t num_threads, const Workers& workers, void* memory)
      : kernels_(kernels),
        problem_(problem),
        choice_(choice),
        num_threads_(num_threads),
        workers_(workers),
        scratch_(choice.scratch, memory),
        arguments_(arguments_of(problem)),
        results_(reinterpret_cast<float*>(scratch_.shared())),
        elements_(kernels, problem, {choice.task_rows, choice.num_results, num_threads},
                  scratch_.shared() + static_cast<size_t>(choice.num_results) * kernels.cached_result_bytes(&problem)) {
  }

  // What the workers share: the results of chunks, then the tables of elements.
  static size_t shared_bytes(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_results) {
    return static_cast<size_t>(num_results) * kernels.cached_result_bytes(&problem) +
           CachedElements::num_bytes(problem.batch);
  }

  // Stores the rows first .. end - 1 of the call of each element that has them.
  void store(int64_t first, int64_t end) const {
    const int64_t num_tasks = problem_.batch * problem_.num_kv_heads;
    const double bytes = static_cast<double>(end - first) * static_cast<double>(num_tasks) *
                         static_cast<double>(problem_.head_size + problem_.value_head_size) * 8;
    workers_.for_each(scratch_, num_tasks, Workers::num_wanted(num_tasks, bytes * 4, num_threads_), bytes * 4,
                      [&](int64_t task, std::byte* own) {
                        const int64_t b = task / problem_.num_kv_heads;
                        const Sequence& sequence = sequence_of(problem_.limits, b);
                        const int64_t last = std::min(end, sequence.query_count);
                        if (first >= last) return;
                        kernels_.cached_store(&problem_, &sequence, b, task % problem_.num_kv_heads, first, last,
                                              reinterpret_cast<float*>(parts_of(own).kernel));
                      });
  }

  // Computes the outputs of queries first .. end - 1 of each element that has them.
  void attend(int64_t first, int64_t end) {
    const int64_t num_tasks = elements_.find_tasks(first, end);
    workers_.for_each(scratch_, num_tasks, num_threads_, choice_.work, [&](int64_t task, std::byte* own) {
      const int64_t b = elements_.element_of(task);
      run_task(b, task - elements_[b].first_task, parts_of(own));
    });
    finish_cut_elements();
  }

 private:
  WorkerMemory parts_of(std::byte* own) const { return {kernels_, problem_, choice_.task_rows, own}; }

  void run_task(int64_t b, int64_t task, const WorkerMemory& memory) const {
    const CachedElementWork& element = elements_[b];
    if (!element.is_cut()) {
      const int64_t row_tasks = elements_.num_row_tasks(element);
      attend_rows(b, task / row_tasks, task % row_tasks * choice_.task_rows, memory);
      return;
    }
    const int64_t first = element.shared_chunks + task % element.num_runs() * element.run_chunks;
    const int64_t end = std::min(first + element.run_chunks, element.num_chunks());
    for (int64_t chunk = first; chunk < end; ++chunk) attend_chunk(b, task / element.num_runs(), chunk, memory);
  }

  // All chunks of some rows of an element.
  void attend_rows(int64_t b, int64_t kv_head, int64_t first_row, const WorkerMemory& memory) const {
    const CachedElementWork& element = elements_[b];
    const int64_t count = std::min(choice_.task_rows, element.num_rows - first_row);
    const int64_t result_floats = num_result_floats();
    float** chunk_results = memory.pointers + choice_.task_rows;
    for (int64_t r = 0; r < count; ++r) {
      memory.rows[r] = elements_.row_of(b, kv_head, first_row + r);
      memory.pointers[r] = memory.results + r * result_floats;
      chunk_results[r] = memory.chunk + r * result_floats;
    }
    const CachedTask task = {problem_.cached.elements[b].pages, b, kv_head, memory.rows, count};
    kernels_.cached_begin(&arguments_, &task, memory.kernel);
    kernels_.cached_begin_results(&arguments_, &task, memory.pointers, memory.kernel);
    for (int64_t chunk = element.first_chunk; chunk < element.end_chunk; ++chunk) {
      if (!see_chunk(memory.rows, count, chunk)) continue;
      kernels_.cached_chunk(&arguments_, &task, chunk * kernels_.cached_chunk_keys, chunk_results, memory.kernel);
      for (int64_t r = 0; r < count; ++r) kernels_.cached_merge(&problem_, memory.pointers[r], chunk_results[r]);
    }
    kernels_.cached_finish(&arguments_, &task, memory.pointers, memory.kernel);
  }

  bool see_chunk(const CachedRow* rows, int64_t count, int64_t chunk) const {
    const int64_t first = chunk * kernels_.cached_chunk_keys;
    const int64_t end = first + kernels_.cached_chunk_keys;
    return std::any_of(rows, rows + count, [&](const CachedRow& row) {
      return (row.keys.rows.first < end && row.keys.rows.end > first && row.keys.rows.size() > 0) ||
             (row.keys.sinks.first < end && row.keys.sinks.end > first);
    });
  }

  // One chunk, counted from the element's first, of all rows of an element and of those that share its pages.
  void attend_chunk(int64_t b, int64_t kv_head, int64_t chunk, const WorkerMemory& memory) const {
    const int64_t chunk_number = elements_[b].first_chunk + chunk;
    int64_t count = 0;
    const auto run = [&] {
      if (count == 0) return;
      const CachedTask task = {problem_.cached.elements[b].pages, b, kv_head, memory.rows, count};
      kernels_.cached_begin(&arguments_, &task, memory.kernel);
      kernels_.cached_chunk(&arguments_, &task, chunk_number * kernels_.cached_chunk_keys, memory.pointers,
                            memory.kernel);
      count = 0;
    };
    for (int64_t other = b; other < problem_.batch; ++other) {
      const CachedElementWork& element = elements_[other];
      // Only the first elements of a chunk that is shared begin with chunk 0.
      if (other != b && (element.shared_chunks <= chunk_number || elements_.root_of(other, chunk_number) != b))
        continue;
      for (int64_t r = 0; r < element.num_rows; ++r) {
        if (count == choice_.task_rows) run();
        memory.rows[count] = elements_.row_of(other, kv_head, r);
        memory.pointers[count] = result_at(element, kv_head, r, chunk_number - element.first_chunk);
        ++count;
      }
    }
    run();
  }

  int64_t num_result_floats() const {
    return static_cast<int64_t>(kernels_.cached_result_bytes(&problem_) / sizeof(float));
  }

  float* result_at(const CachedElementWork& element, int64_t kv_head, int64_t row, int64_t chunk) const {
    const int64_t index = element.first_result + (kv_head * element.num_rows + row) * element.num_chunks() + chunk;
    return results_ + index * num_result_floats();
  }

  // Merges the results of the chunks and writes the outputs.
  void finish_cut_elements() const {
    const bool has_weights = problem_.weights.given != 0;
    if (!elements_.is_any_cut()) return;
    const double work = has_weights ? choice_.work : choice_.work / static_cast<double>(kernels_.cached_chunk_keys);
    const int64_t num_tasks = problem_.batch * problem_.num_kv_heads;
    workers_.for_each(scratch_, num_tasks, Workers::num_wanted(num_tasks, work, num_threads_), work,
                      [&](int64_t index, std::byte* own) {
                        const int64_t b = index / problem_.num_kv_heads;
                        if (elements_[b].is_cut()) finish(b, index % problem_.num_kv_heads, parts_of(own));
                      });
  }

  void finish(int64_t b, int64_t kv_head, const WorkerMemory& memory) const {
    const CachedElementWork& element = elements_[b];
    for (int64_t first = 0; first < element.num_rows; first += choice_.task_rows) {
      const int64_t count = std::min(choice_.task_rows, element.num_rows - first);
      for (int64_t r = 0; r < count; ++r) {
        memory.rows[r] = elements_.row_of(b, kv_head, first + r);
        memory.pointers[r] = memory.results + r * num_result_floats();
      }
      const CachedTask task = {problem_.cached.elements[b].pages, b, kv_head, memory.rows, count};
      kernels_.cached_begin(&arguments_, &task, memory.kernel);
      kernels_.cached_begin_results(&arguments_, &task, memory.pointers, memory.kernel);
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t chunk = 0; chunk < element.num_chunks(); ++chunk)
          kernels_.cached_merge(&problem_, memory.pointers[r], result_at(element, kv_head, first + r, chunk));
      }
      kernels_.cached_finish(&arguments_, &task, memory.pointers, memory.kernel);
    }
  }

  const KernelTable& kernels_;
  const AttentionProblem& problem_;
  const CachedChoice& choice_;
  int32_t num_threads_;
  const Workers& workers_;
  Scratch scratch_;
  AttentionArguments arguments_;
  float* results_;
  CachedElements elements_;
};

}  // namespace

Plan plan_cached_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  CachedChoice choice;
  Plan plan;
  plan.isa = kernels.isa;
  plan.kernel = problem.queries.given != 0 ? "cached_attention" : "cached_store";
  const double most_rows = to_double(problem.batch) * to_double(rows_of_group(problem));
  choice.task_rows = static_cast<int64_t>(std::max(1.0, std::min(to_double(kernels.cached_max_rows), most_rows)));
  const double chunks = to_double(divide_up(std::max<int64_t>(1, problem.cached.max_rows), kernels.cached_chunk_keys));
  const double wanted = problem.batch > 1 || num_workers > 1 ? most_cut_rows(problem) * chunks : 0;
  const double most_results = to_double(static_cast<int64_t>(kMaxResultBytes / kernels.cached_result_bytes(&problem)));
  choice.num_results = static_cast<int64_t>(std::min(wanted, most_results));
  choice.work = work_of(cost_of(problem));
  const double row_tasks = to_double(std::max<int64_t>(1, divide_up(rows_of_group(problem), choice.task_rows)));
  const double num_tasks = to_double(problem.batch) * to_double(problem.num_kv_heads) * row_tasks;
  choice.scratch.worker_bytes = WorkerMemory(kernels, problem, choice.task_rows, nullptr).num_bytes;
  choice.scratch.shared_bytes = CachedCall::shared_bytes(kernels, problem, choice.num_results);
  choice.scratch.num_workers = Workers::num_with_scratch(std::max(num_tasks, chunks), most_work(problem), num_workers);
  plan.num_tasks = static_cast<int64_t>(std::min(num_tasks, 0x1p62));
  plan.num_threads = choice.scratch.limit(
      Workers::num_wanted(std::max<int64_t>(plan.num_tasks, num_workers), choice.work, num_workers));
  plan.block_queries = static_cast<int32_t>(choice.task_rows);
  plan.block_keys = kernels.cached_block_keys;
  plan.scratch_bytes = choice.scratch.num_bytes();
  if (problem.cached.rotations.given != 0)
    plan.add_reason("the cache keeps keys without rotary positions, so they are rotated whenever they are read");
  if (problem.cached.has_window != 0)
    plan.add_reason(
        "rows or queries have positions of their own, so that window or causal mask compare each pair of positions");
  set_choice(plan, choice);
  return plan;
}

void run_cached_attention(const KernelTable& kernels, const AttentionProblem& problem, const Plan& plan,
                          const Workers& workers, void* scratch) {
  const int64_t num_queries = problem.limits.num_queries;
  if (num_queries == 0 || problem.batch == 0) return;
  CachedCall call(kernels, problem, choice_of<CachedChoice>(plan), plan.num_threads, workers, scratch);
  const bool attends = problem.queries.given != 0;
  const int64_t step = problem.cached.ring_tiles > 0 && problem.cached.appends != 0 ? kRingRows : num_queries;
  for (int64_t first = 0; first < num_queries; first += step) {
    const int64_t end = std::min(first + step, num_queries);
    if (problem.cached.appends != 0) call.store(first, end);
    if (attends) call.attend(first, end);
  }
}

}  // namespace heed::cpu
