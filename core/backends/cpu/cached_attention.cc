// SPDX-License-Identifier: Apache-2.0
// The results of chunks of keys are merged in order (kernels/attention/row_results-inl.h), so it does not matter for the bits who
// computes which chunk. An element with many rows is cut into tasks of rows, each of which computes all chunks. One with
// few rows is one task for each key head, or one for each run of its chunks, if otherwise threads would be idle, or if other
// elements share the pages of the chunks: then one task computes the rows of all of them and reads the keys once.
#include "backends/cpu/cached_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// An element with more rows than this for a key head computes so much for each key that reading takes little of the time,
// and has enough tasks without cutting its keys.
constexpr int64_t kFewRows = 64;
// Keys are cut if a task would otherwise be more than this part of what a worker has to do, into runs of as many chunks as
// fit into that part: the blocks of a run after the first one are prefetched.
constexpr double kTasksPerWorker = 8;
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

// The work on one batch element.
struct Element {
  int64_t first_query = 0;
  int64_t num_queries = 0;
  int64_t num_rows = 0;     // that share a key head
  int64_t first_chunk = 0;  // the first chunk that some row sees
  int64_t end_chunk = 0;
  int64_t leader = -1;        // an earlier element that has the same pages for its first chunks
  int64_t shared_chunks = 0;  // how many
  int64_t sharing_rows = 0;   // of the elements that leave chunks to this one
  int64_t first_result = -1;  // where the results of its chunks are; negative: it is not cut
  int64_t run_chunks = 1;     // the chunks of a task, if it is cut
  int64_t first_task = 0;
  int64_t num_tasks = 0;
  double cost = 0;  // of one task

  bool is_cut() const { return first_result >= 0; }
  int64_t num_chunks() const { return end_chunk - first_chunk; }
  int64_t num_own_chunks() const { return num_chunks() - shared_chunks; }
  int64_t num_runs() const { return divide_up(num_own_chunks(), run_chunks); }
};

double to_double(int64_t value) { return static_cast<double>(value); }

// The rows of all elements that may be cut.
double most_cut_rows(const AttentionProblem& problem) {
  return to_double(problem.batch) * to_double(problem.num_kv_heads) *
         to_double(std::min(rows_of_group(problem), kFewRows));
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

CachedRange range_of_query(const AttentionProblem& problem, int64_t b, int64_t query, int64_t position) {
  const CachedKeys& cached = problem.cached;
  const CachedElement& element = cached.elements[b];
  const Sequence& sequence = sequence_of(problem.limits, b);
  KeyRange band = keys_of_query(problem.limits, b, query);
  if (cached.has_window != 0 && element.positions == nullptr) {
    const int64_t index = position - sequence.key_position;
    band.first = std::max(band.first, index - cached.window_left);
    band.end = std::max(band.first, std::min(band.end, index + cached.window_right + 1));
  }
  const int64_t index =
      cached.appends != 0 ? sequence.key_count - sequence.query_count + query : sequence.key_count - 1;
  return kept_rows(cached, element, band, index);
}

int64_t position_of(const AttentionProblem& problem, int64_t b, int64_t query) {
  const CachedElement& element = problem.cached.elements[b];
  return element.query_positions != nullptr ? element.query_positions[query]
                                            : sequence_of(problem.limits, b).query_position + query;
}

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
        arguments_(arguments_of(problem)) {
    std::byte* next = scratch_.shared();
    results_ = reinterpret_cast<float*>(next);
    next += static_cast<size_t>(choice.num_results) * kernels.cached_result_bytes(&problem);
    elements_ = reinterpret_cast<Element*>(next);
    next += round_up_to_alignment(static_cast<size_t>(problem.batch) * sizeof(Element));
    order_ = reinterpret_cast<int64_t*>(next);
  }

  // What the workers share: the results of chunks, then the tables of elements.
  static size_t shared_bytes(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_results) {
    const auto count = static_cast<size_t>(problem.batch);
    return static_cast<size_t>(num_results) * kernels.cached_result_bytes(&problem) +
           round_up_to_alignment(count * sizeof(Element)) + round_up_to_alignment(count * sizeof(int64_t));
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
    find_elements(first, end);
    find_leaders();
    cut();
    const int64_t num_tasks = arrange_tasks();
    workers_.for_each(scratch_, num_tasks, num_threads_, choice_.work, [&](int64_t task, std::byte* own) {
      const int64_t b = element_of(task);
      run_task(b, task - elements_[b].first_task, parts_of(own));
    });
    finish_cut_elements();
  }

 private:
  WorkerMemory parts_of(std::byte* own) const { return {kernels_, problem_, choice_.task_rows, own}; }

  int64_t chunk_of(int64_t key) const { return key / kernels_.cached_chunk_keys; }

  CachedRow row_of(const Element& element, int64_t b, int64_t kv_head, int64_t r) const {
    CachedRow row;
    row.sequence = &sequence_of(problem_.limits, b);
    row.element = &problem_.cached.elements[b];
    row.batch_index = b;
    row.head = kv_head * group_size(problem_) + r / element.num_queries;
    row.query = element.first_query + r % element.num_queries;
    row.position = position_of(problem_, b, row.query);
    row.keys = range_of_query(problem_, b, row.query, row.position);
    return row;
  }

  // From the first key that a query of an element sees to the last one.
  KeyRange keys_of_element(int64_t b) const {
    // The distance of positions decides which keys a query sees, so that any of them may.
    if (problem_.cached.has_window != 0) return {0, sequence_of(problem_.limits, b).key_count};
    // Later queries see no earlier keys, and earlier ones no later keys: only the first and the last query count.
    const Element& element = elements_[b];
    const auto range_at = [&](int64_t query) {
      return range_of_query(problem_, b, query, position_of(problem_, b, query));
    };
    const CachedRange oldest = range_at(element.first_query);
    const CachedRange newest = range_at(element.first_query + element.num_queries - 1);
    KeyRange keys = {std::min(oldest.rows.first, newest.rows.first), std::max(oldest.rows.end, newest.rows.end)};
    if (oldest.sinks.size() > 0) keys.first = std::min(keys.first, oldest.sinks.first);
    if (newest.sinks.size() > 0) keys.first = std::min(keys.first, newest.sinks.first);
    return keys;
  }

  void find_elements(int64_t first, int64_t end) {
    for (int64_t b = 0; b < problem_.batch; ++b) {
      Element& element = elements_[b] = Element();
      const Sequence& sequence = sequence_of(problem_.limits, b);
      element.first_query = std::min(first, sequence.query_count);
      element.num_queries = std::min(end, sequence.query_count) - element.first_query;
      element.num_rows = element.num_queries * group_size(problem_);
      if (element.num_queries == 0) continue;
      const KeyRange keys = keys_of_element(b);
      element.first_chunk = chunk_of(keys.first);
      element.end_chunk = std::max(element.first_chunk, chunk_of(keys.end + kernels_.cached_chunk_keys - 1));
      const double num_keys = to_double(std::max<int64_t>(1, keys.end - keys.first));
      element.cost = num_keys * static_cast<double>(std::min(element.num_rows, choice_.task_rows));
    }
  }

  // The chunks from 0 on for which both sequences have the same pages.
  int64_t common_chunks(int64_t a, int64_t b) const {
    const CachedKeys& cached = problem_.cached;
    const int64_t page_rows = cached.page_tiles * kCacheTileRows;
    const int64_t rows = std::min(sequence_of(problem_.limits, a).key_count, sequence_of(problem_.limits, b).key_count);
    int64_t page = 0;
    while ((page + 1) * page_rows <= rows && cached.elements[a].pages[page] == cached.elements[b].pages[page]) ++page;
    return chunk_of(page * page_rows);
  }

  // Whether an element has few rows, which see keys of the first chunk.
  static bool may_share_chunks(const Element& element) {
    return element.num_rows > 0 && element.num_rows <= kFewRows && element.first_chunk == 0;
  }

  void find_leaders() const {
    const bool is_possible = problem_.batch > 1 && problem_.cached.ring_tiles == 0 &&
                             problem_.cached.rotations.given == 0 && choice_.num_results > 0;
    for (int64_t b = 1; is_possible && b < problem_.batch; ++b) {
      Element& element = elements_[b];
      if (!may_share_chunks(element)) continue;
      for (int64_t other = 0; other < b; ++other) {
        const Element& earlier = elements_[other];
        if (!may_share_chunks(earlier)) continue;
        const int64_t chunks = std::min({common_chunks(b, other), element.end_chunk, earlier.end_chunk});
        if (chunks <= element.shared_chunks) continue;
        element.leader = other;
        element.shared_chunks = chunks;
      }
    }
  }

  int64_t num_results_of(const Element& element) const {
    return problem_.num_kv_heads * element.num_rows * element.num_chunks();
  }

  // Decides which elements are cut into chunks.
  void cut() const {
    double total = 0;
    for (int64_t b = 0; b < problem_.batch; ++b)
      total += elements_[b].cost * static_cast<double>(num_row_tasks(elements_[b]) * problem_.num_kv_heads);
    const double limit = num_threads_ > 1 ? total / (kTasksPerWorker * num_threads_) : total;
    int64_t used = 0;
    const auto try_to_cut = [&](Element& element) {
      const int64_t needed = num_results_of(element);
      if (element.is_cut() || needed == 0 || used + needed > choice_.num_results) return;
      element.first_result = used;
      used += needed;
    };
    // A leader has a smaller index, so leaders are cut before their followers, whose chunks they compute.
    for (int64_t b = 0; b < problem_.batch; ++b) {
      Element& element = elements_[b];
      if (element.leader < 0) continue;
      try_to_cut(elements_[element.leader]);
      if (elements_[element.leader].is_cut()) try_to_cut(element);
      if (element.is_cut()) continue;
      element.leader = -1;
      element.shared_chunks = 0;
    }
    for (int64_t b = 0; b < problem_.batch; ++b) {
      Element& element = elements_[b];
      if (element.num_rows > 0 && element.num_rows <= kFewRows && element.num_chunks() > 1 && element.cost > limit)
        try_to_cut(element);
    }
    find_runs(limit);
  }

  // Decides how many chunks a task of a cut element has. `limit`: the most that a task should cost.
  void find_runs(double limit) const {
    for (int64_t b = 0; b < problem_.batch; ++b) {
      for (int64_t other = elements_[b].leader; other >= 0; other = elements_[other].leader)
        elements_[other].sharing_rows += elements_[b].num_rows;
    }
    for (int64_t b = 0; b < problem_.batch; ++b) {
      Element& element = elements_[b];
      if (!element.is_cut() || element.num_own_chunks() == 0) continue;
      const double num_rows = to_double(element.num_rows + element.sharing_rows);
      const double chunk_cost = to_double(kernels_.cached_chunk_keys) * num_rows;
      const double own_chunks = to_double(element.num_own_chunks());
      const auto most = static_cast<int64_t>(std::clamp(limit / chunk_cost, 1.0, own_chunks));
      // Runs of about equal lengths.
      element.run_chunks = divide_up(element.num_own_chunks(), divide_up(element.num_own_chunks(), most));
      element.cost =
          std::min(element.cost / to_double(element.num_rows) * num_rows, chunk_cost * to_double(element.run_chunks));
    }
  }

  int64_t num_row_tasks(const Element& element) const { return divide_up(element.num_rows, choice_.task_rows); }

  // Orders the elements by the cost of their tasks, the largest first, and numbers the tasks. Returns their number.
  int64_t arrange_tasks() {
    for (int64_t b = 0; b < problem_.batch; ++b) {
      Element& element = elements_[b];
      order_[b] = b;
      element.num_tasks = problem_.num_kv_heads * (element.is_cut() ? element.num_runs() : num_row_tasks(element));
    }
    if (num_threads_ > 1) {
      std::sort(order_, order_ + problem_.batch, [&](int64_t a, int64_t b) {
        return elements_[a].cost != elements_[b].cost ? elements_[a].cost > elements_[b].cost : a < b;
      });
    }
    int64_t count = 0;
    for (int64_t i = 0; i < problem_.batch; ++i) {
      Element& element = elements_[order_[i]];
      element.first_task = count;
      count += element.num_tasks;
    }
    return count;
  }

  // The element of a task.
  int64_t element_of(int64_t task) const {
    const int64_t* after = std::upper_bound(order_, order_ + problem_.batch, task,
                                            [&](int64_t value, int64_t b) { return value < elements_[b].first_task; });
    // Elements without tasks begin where the next one does; the last one that begins there has the task.
    return *(after - 1);
  }

  void run_task(int64_t b, int64_t task, const WorkerMemory& memory) const {
    const Element& element = elements_[b];
    if (!element.is_cut()) {
      const int64_t row_tasks = num_row_tasks(element);
      attend_rows(b, task / row_tasks, task % row_tasks * choice_.task_rows, memory);
      return;
    }
    const int64_t first = element.shared_chunks + task % element.num_runs() * element.run_chunks;
    const int64_t end = std::min(first + element.run_chunks, element.num_chunks());
    for (int64_t chunk = first; chunk < end; ++chunk) attend_chunk(b, task / element.num_runs(), chunk, memory);
  }

  // All chunks of some rows of an element.
  void attend_rows(int64_t b, int64_t kv_head, int64_t first_row, const WorkerMemory& memory) const {
    const Element& element = elements_[b];
    const int64_t count = std::min(choice_.task_rows, element.num_rows - first_row);
    const int64_t result_floats = num_result_floats();
    float** chunk_results = memory.pointers + choice_.task_rows;
    for (int64_t r = 0; r < count; ++r) {
      memory.rows[r] = row_of(element, b, kv_head, first_row + r);
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

  // The element that computes a chunk of element b.
  int64_t root_of(int64_t b, int64_t chunk) const {
    while (elements_[b].shared_chunks > chunk) b = elements_[b].leader;
    return b;
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
      const Element& element = elements_[other];
      // Only the first elements of a chunk that is shared begin with chunk 0.
      if (other != b && (element.shared_chunks <= chunk_number || root_of(other, chunk_number) != b)) continue;
      for (int64_t r = 0; r < element.num_rows; ++r) {
        if (count == choice_.task_rows) run();
        memory.rows[count] = row_of(element, other, kv_head, r);
        memory.pointers[count] = result_at(element, kv_head, r, chunk_number - element.first_chunk);
        ++count;
      }
    }
    run();
  }

  int64_t num_result_floats() const {
    return static_cast<int64_t>(kernels_.cached_result_bytes(&problem_) / sizeof(float));
  }

  float* result_at(const Element& element, int64_t kv_head, int64_t row, int64_t chunk) const {
    const int64_t index = element.first_result + (kv_head * element.num_rows + row) * element.num_chunks() + chunk;
    return results_ + index * num_result_floats();
  }

  // Merges the results of the chunks and writes the outputs.
  void finish_cut_elements() const {
    const bool has_weights = problem_.weights.given != 0;
    const bool any_cut =
        std::any_of(elements_, elements_ + problem_.batch, [](const Element& e) { return e.is_cut(); });
    if (!any_cut) return;
    const double work = has_weights ? choice_.work : choice_.work / static_cast<double>(kernels_.cached_chunk_keys);
    const int64_t num_tasks = problem_.batch * problem_.num_kv_heads;
    workers_.for_each(scratch_, num_tasks, Workers::num_wanted(num_tasks, work, num_threads_), work,
                      [&](int64_t index, std::byte* own) {
                        const int64_t b = index / problem_.num_kv_heads;
                        if (elements_[b].is_cut()) finish(b, index % problem_.num_kv_heads, parts_of(own));
                      });
  }

  void finish(int64_t b, int64_t kv_head, const WorkerMemory& memory) const {
    const Element& element = elements_[b];
    for (int64_t first = 0; first < element.num_rows; first += choice_.task_rows) {
      const int64_t count = std::min(choice_.task_rows, element.num_rows - first);
      for (int64_t r = 0; r < count; ++r) {
        memory.rows[r] = row_of(element, b, kv_head, first + r);
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
  Element* elements_;  // [batch]
  int64_t* order_;     // [batch], the elements in the order of their tasks
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
