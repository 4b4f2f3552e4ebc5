// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cached_elements.h"

#include <algorithm>

#include "backends/cpu/attention_arguments.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// Keys are cut if a task would otherwise be more than this part of what a worker has to do, into runs of as many chunks as
// fit into that part: the blocks of a run after the first one are prefetched.
constexpr double kTasksPerWorker = 8;

double to_double(int64_t value) { return static_cast<double>(value); }

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

// Whether an element has few rows, which see keys of the first chunk.
bool may_share_chunks(const CachedElementWork& element) {
  return element.num_rows > 0 && element.num_rows <= kMaxRowsOfCutElement && element.first_chunk == 0;
}

}  // namespace

size_t CachedElements::num_bytes(int64_t batch) {
  const auto count = static_cast<size_t>(batch);
  return round_up_to_alignment(count * sizeof(CachedElementWork)) + round_up_to_alignment(count * sizeof(int64_t));
}

CachedElements::CachedElements(const KernelTable& kernels, const AttentionProblem& problem, Limits limits,
                               std::byte* memory)
    : kernels_(kernels),
      problem_(problem),
      limits_(limits),
      elements_(reinterpret_cast<CachedElementWork*>(memory)),
      order_(reinterpret_cast<int64_t*>(
          memory + round_up_to_alignment(static_cast<size_t>(problem.batch) * sizeof(CachedElementWork)))) {}

int64_t CachedElements::find_tasks(int64_t first, int64_t end) {
  find_elements(first, end);
  find_leaders();
  cut();
  return arrange_tasks();
}

bool CachedElements::is_any_cut() const {
  return std::any_of(elements_, elements_ + problem_.batch,
                     [](const CachedElementWork& element) { return element.is_cut(); });
}

// From the first key that a query of an element sees to the last one.
KeyRange CachedElements::keys_of_element(int64_t b) const {
  // The distance of positions decides which keys a query sees, so that any of them may.
  if (problem_.cached.has_window != 0) return {0, sequence_of(problem_.limits, b).key_count};
  // Later queries see no earlier keys, and earlier ones no later keys: only the first and the last query count.
  const CachedElementWork& element = elements_[b];
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

void CachedElements::find_elements(int64_t first, int64_t end) {
  for (int64_t b = 0; b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b] = CachedElementWork();
    const Sequence& sequence = sequence_of(problem_.limits, b);
    element.first_query = std::min(first, sequence.query_count);
    element.num_queries = std::min(end, sequence.query_count) - element.first_query;
    element.num_rows = element.num_queries * group_size(problem_);
    if (element.num_queries == 0) continue;
    const KeyRange keys = keys_of_element(b);
    element.first_chunk = chunk_of(keys.first);
    element.end_chunk = std::max(element.first_chunk, chunk_of(keys.end + kernels_.cached_chunk_keys - 1));
    const double num_keys = to_double(std::max<int64_t>(1, keys.end - keys.first));
    element.cost = num_keys * static_cast<double>(std::min(element.num_rows, limits_.task_rows));
  }
}

// The chunks from 0 on for which both sequences have the same pages.
int64_t CachedElements::common_chunks(int64_t a, int64_t b) const {
  const CachedKeys& cached = problem_.cached;
  const int64_t page_rows = cached.page_tiles * kCacheTileRows;
  const int64_t rows = std::min(sequence_of(problem_.limits, a).key_count, sequence_of(problem_.limits, b).key_count);
  int64_t page = 0;
  while ((page + 1) * page_rows <= rows && cached.elements[a].pages[page] == cached.elements[b].pages[page]) ++page;
  return chunk_of(page * page_rows);
}

void CachedElements::find_leaders() {
  const bool is_possible = problem_.batch > 1 && problem_.cached.ring_tiles == 0 &&
                           problem_.cached.rotations.given == 0 && limits_.num_results > 0;
  for (int64_t b = 1; is_possible && b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b];
    if (!may_share_chunks(element)) continue;
    for (int64_t other = 0; other < b; ++other) {
      const CachedElementWork& earlier = elements_[other];
      if (!may_share_chunks(earlier)) continue;
      const int64_t chunks = std::min({common_chunks(b, other), element.end_chunk, earlier.end_chunk});
      if (chunks <= element.shared_chunks) continue;
      element.leader = other;
      element.shared_chunks = chunks;
    }
  }
}

int64_t CachedElements::num_results_of(const CachedElementWork& element) const {
  return problem_.num_kv_heads * element.num_rows * element.num_chunks();
}

bool CachedElements::try_to_cut(CachedElementWork& element, int64_t& num_used) const {
  const int64_t needed = num_results_of(element);
  if (element.is_cut() || needed == 0 || num_used + needed > limits_.num_results) return element.is_cut();
  element.first_result = num_used;
  num_used += needed;
  return true;
}

// Cuts the elements that share chunks. A leader has a smaller index, so leaders are cut before their followers, whose
// chunks they compute.
void CachedElements::cut_leaders(int64_t& num_used) {
  for (int64_t b = 0; b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b];
    if (element.leader < 0) continue;
    if (try_to_cut(elements_[element.leader], num_used) && try_to_cut(element, num_used)) continue;
    element.leader = -1;
    element.shared_chunks = 0;
  }
}

// Decides which elements are cut into chunks.
void CachedElements::cut() {
  double total = 0;
  for (int64_t b = 0; b < problem_.batch; ++b)
    total += elements_[b].cost * static_cast<double>(num_row_tasks(elements_[b]) * problem_.num_kv_heads);
  const double limit = limits_.num_threads > 1 ? total / (kTasksPerWorker * limits_.num_threads) : total;
  int64_t num_used = 0;
  cut_leaders(num_used);
  for (int64_t b = 0; b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b];
    if (element.num_rows > 0 && element.num_rows <= kMaxRowsOfCutElement && element.num_chunks() > 1 &&
        element.cost > limit)
      try_to_cut(element, num_used);
  }
  find_runs(limit);
}

// Decides how many chunks a task of a cut element has. `limit`: the most that a task should cost.
void CachedElements::find_runs(double limit) {
  for (int64_t b = 0; b < problem_.batch; ++b) {
    for (int64_t other = elements_[b].leader; other >= 0; other = elements_[other].leader)
      elements_[other].sharing_rows += elements_[b].num_rows;
  }
  for (int64_t b = 0; b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b];
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

int64_t CachedElements::num_row_tasks(const CachedElementWork& element) const {
  return divide_up(element.num_rows, limits_.task_rows);
}

// Orders the elements by the cost of their tasks, the largest first, and numbers the tasks. Returns their number.
int64_t CachedElements::arrange_tasks() {
  for (int64_t b = 0; b < problem_.batch; ++b) {
    CachedElementWork& element = elements_[b];
    order_[b] = b;
    element.num_tasks = problem_.num_kv_heads * (element.is_cut() ? element.num_runs() : num_row_tasks(element));
  }
  if (limits_.num_threads > 1) {
    std::sort(order_, order_ + problem_.batch, [&](int64_t a, int64_t b) {
      return elements_[a].cost != elements_[b].cost ? elements_[a].cost > elements_[b].cost : a < b;
    });
  }
  int64_t count = 0;
  for (int64_t i = 0; i < problem_.batch; ++i) {
    CachedElementWork& element = elements_[order_[i]];
    element.first_task = count;
    count += element.num_tasks;
  }
  return count;
}

// The element of a task.
int64_t CachedElements::element_of(int64_t task) const {
  const int64_t* after = std::upper_bound(order_, order_ + problem_.batch, task,
                                          [&](int64_t value, int64_t b) { return value < elements_[b].first_task; });
  // Elements without tasks begin where the next one does; the last one that begins there has the task.
  return *(after - 1);
}

// The element that computes a chunk of element b.
int64_t CachedElements::root_of(int64_t b, int64_t chunk) const {
  while (elements_[b].shared_chunks > chunk) b = elements_[b].leader;
  return b;
}

CachedRow CachedElements::row_of(int64_t b, int64_t kv_head, int64_t r) const {
  const CachedElementWork& element = elements_[b];
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

}  // namespace heed::cpu
