// SPDX-License-Identifier: Apache-2.0
// The batch elements of a call over a cache: which chunks of keys their rows see, which of them have the same pages for
// chunks, so that one of them computes these for all, and into which tasks each is cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/rounding.h"
#include "ops/attention.h"

namespace heed::cpu {

// An element with more rows than this for a key head computes so much for each key that reading takes little of the time,
// and has enough tasks without cutting its keys.
inline constexpr int64_t kMaxRowsOfCutElement = 64;

// The work on one batch element.
struct CachedElementWork {
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

class CachedElements {
 public:
  // What a call has room for.
  struct Limits {
    int64_t task_rows;    // of a task
    int64_t num_results;  // of chunks
    int32_t num_threads;
  };

  static size_t num_bytes(int64_t batch);

  // `memory`: num_bytes.
  CachedElements(const KernelTable& kernels, const AttentionProblem& problem, Limits limits, std::byte* memory);

  // Finds the tasks of queries first .. end - 1 of each element that has them, and returns their number.
  int64_t find_tasks(int64_t first, int64_t end);

  const CachedElementWork& operator[](int64_t b) const { return elements_[b]; }
  // The element of a task.
  int64_t element_of(int64_t task) const;
  int64_t num_row_tasks(const CachedElementWork& element) const;
  bool is_any_cut() const;
  // The element that computes a chunk of element b.
  int64_t root_of(int64_t b, int64_t chunk) const;
  // Row r of those of element b that share a key head.
  CachedRow row_of(int64_t b, int64_t kv_head, int64_t r) const;

 private:
  int64_t chunk_of(int64_t key) const { return key / kernels_.cached_chunk_keys; }
  KeyRange keys_of_element(int64_t b) const;
  void find_elements(int64_t first, int64_t end);
  int64_t common_chunks(int64_t a, int64_t b) const;
  void find_leaders();
  int64_t num_results_of(const CachedElementWork& element) const;
  void cut();
  void cut_leaders(int64_t& num_used);
  bool try_to_cut(CachedElementWork& element, int64_t& num_used) const;
  void find_runs(double limit);
  int64_t arrange_tasks();

  const KernelTable& kernels_;
  const AttentionProblem& problem_;
  Limits limits_;
  CachedElementWork* elements_;  // [batch]
  int64_t* order_;               // [batch], the elements in the order of their tasks
};

}  // namespace heed::cpu
