// SPDX-License-Identifier: Apache-2.0
// The keys of an item, which is all rows that share a head of keys and values or as many as a vector has lanes, are cut
// into chunks, always in the same way. Where there are many items, a worker goes through the chunks of one and combines
// them; where there are few, a chunk is what workers take, and what they leave is combined after the last one.
#include "backends/cpu/decode_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "base/rounding.h"
#include "ops/cost.h"

namespace heed::cpu {
namespace {

// Rows that share a head of keys and values, for this kernel to be chosen. Each multiplies and adds once with every
// element: 16 rows make 8 operations of a byte in f32, at 40 GB/s more than the 250 GFLOP/s that a core has. Beyond,
// computing takes longer than reading, and panels compute faster. The same on every ISA, and more than one item where a
// vector has fewer.
constexpr int64_t kMaxRows = 16;
// Fewer keys are read in no time: there the panels' smaller preparations decide.
constexpr int64_t kMinKeys = 32;
// Keys of a chunk at least. With heads of 128 these are 1 MiB in f32, some 25 microseconds of reading: long beside what
// it takes to hand out a chunk and to combine it, short beside the whole where it is cut. The kernel reads as many at a
// time (kRowBlockKeys): chunks cut none of its blocks.
constexpr int64_t kMinChunkKeys = 1024;
// Of one item; more would be needed by no number of threads that can still read faster together.
constexpr int64_t kMaxChunks = 64;
// With so many items for each worker, whoever is late has only a small part to finish, and nothing is cut.
constexpr int64_t kItemsPerWorker = 8;

int64_t group_size(const AttentionProblem& problem) { return problem.num_heads / problem.num_kv_heads; }

bool is_possible(const KernelTable& kernels, const AttentionProblem& problem) {
  return problem.scoring == Scoring::DotProduct && problem.head_size <= kernels.decode_max_size &&
         problem.value_head_size <= kernels.decode_max_size && group_size(problem) <= kMaxRows;
}

// How the work on a problem is cut.
struct Chunks {
  int64_t keys;   // of a chunk
  int64_t count;  // of an item

  explicit Chunks(int64_t num_keys) : keys(kMinChunkKeys) {
    while (divide_up(num_keys, keys) > kMaxChunks) keys *= 2;
    count = std::max<int64_t>(1, divide_up(num_keys, keys));
  }
};

RowItems cut(const KernelTable& kernels, const AttentionProblem& problem, int64_t num_queries) {
  const int64_t num_rows = group_size(problem) * num_queries;
  return {problem, num_rows, std::clamp<int64_t>(num_rows, 1, std::min<int64_t>(kMaxRows, kernels.lanes))};
}

// Whether so few items are cut into their chunks.
bool are_cut(const RowItems& items, const Chunks& chunks, int32_t num_workers) {
  return chunks.count > 1 && num_workers > 1 && items.count < static_cast<double>(kItemsPerWorker * num_workers);
}

struct Bytes {
  int32_t num_workers;  // who have scratch
  size_t worker;        // scratch of one
  size_t partial;       // what a chunk leaves
};

Bytes bytes_of(const KernelTable& kernels, const AttentionProblem& problem, const RowItems& items,
               int32_t num_workers) {
  const AttentionArguments arguments = arguments_of(problem);
  const int64_t num_rows = items.rows;
  // Chunks are items too.
  const double num_items = problem.num_keys > kMinChunkKeys ? 2 : items.count;
  return {Workers::num_with_scratch(num_items, work_of(most_work_of(problem)), num_workers),
          round_up_to_alignment(kernels.decode_scratch_bytes(&arguments, num_rows)),
          kernels.decode_partial_bytes(&arguments, num_rows)};
}

}  // namespace

bool is_for_decode_attention(const KernelTable& kernels, const AttentionProblem& problem) {
  return is_possible(kernels, problem) && problem.num_keys >= kMinKeys &&
         problem.num_queries <= kMaxRows / group_size(problem);
}

size_t decode_attention_bytes(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  if (!is_possible(kernels, problem) || problem.num_keys < kMinKeys) return 0;
  const int64_t num_queries = std::min(problem.num_queries, kMaxRows / group_size(problem));
  const RowItems items = cut(kernels, problem, num_queries);
  const Bytes bytes = bytes_of(kernels, problem, items, num_workers);
  const int64_t chunks = std::clamp<int64_t>(divide_up(problem.num_keys, kMinChunkKeys), 1, kMaxChunks);
  const double most = std::min(items.count, static_cast<double>(kItemsPerWorker * num_workers));
  const auto with_partials = static_cast<size_t>(std::max(most, static_cast<double>(bytes.num_workers)));
  return bytes.worker * static_cast<size_t>(bytes.num_workers) +
         with_partials * static_cast<size_t>(chunks) * bytes.partial;
}

Plan plan_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  const Chunks chunks(problem.num_keys);
  Plan plan;
  plan.kernel = "decode_attention";
  plan.isa = kernels.isa;
  const RowItems items = cut(kernels, problem, problem.num_queries);
  const double pieces = are_cut(items, chunks, num_workers) ? static_cast<double>(chunks.count) : 1.0;
  plan.num_tasks = static_cast<int64_t>(std::min(items.count * pieces, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_tasks, work_of(cost_of(problem)), num_workers);
  plan.block_queries = static_cast<int32_t>(items.rows);
  plan.block_keys = kernels.decode_block_keys;
  add_attention_reasons(problem, plan);
  return plan;
}

void run_decode_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers,
                          void* scratch) {
  const AttentionArguments arguments = arguments_of(problem);
  const Chunks chunks(problem.num_keys);
  const RowItems items = cut(kernels, problem, problem.num_queries);
  const Bytes bytes = bytes_of(kernels, problem, items, workers.num_workers());
  const size_t item_bytes = bytes.partial * static_cast<size_t>(chunks.count);
  auto* memory = static_cast<std::byte*>(scratch);
  std::byte* partials = memory + bytes.worker * static_cast<size_t>(bytes.num_workers);
  const auto num_items = static_cast<int64_t>(items.count);
  const double work = work_of(cost_of(problem));

  const auto attend = [&](const AttentionItem& item, int64_t chunk, std::byte* of_item, std::byte* own) {
    const int64_t end = std::min(problem.num_keys, (chunk + 1) * chunks.keys);
    // The last item of a head may have fewer rows.
    const size_t partial_bytes = kernels.decode_partial_bytes(&arguments, item.end_row - item.first_row);
    std::byte* partial = of_item + partial_bytes * static_cast<size_t>(chunk);
    kernels.decode_chunk(&arguments, &item, chunk * chunks.keys, end, partial, own);
  };
  const auto finish = [&](const AttentionItem& item, std::byte* of_item, std::byte* own) {
    kernels.decode_finish(&arguments, &item, chunks.keys, chunks.count, of_item, own);
  };

  if (!are_cut(items, chunks, workers.num_workers())) {
    workers.for_each(num_items, work, [&](int64_t index, int32_t worker) {
      const AttentionItem item = items.at(index);
      std::byte* own = memory + bytes.worker * static_cast<size_t>(worker);
      std::byte* of_item = partials + item_bytes * static_cast<size_t>(worker);
      for (int64_t chunk = 0; chunk < chunks.count; ++chunk) attend(item, chunk, of_item, own);
      finish(item, of_item, own);
    });
    return;
  }
  workers.for_each(num_items * chunks.count, work, [&](int64_t index, int32_t worker) {
    std::byte* own = memory + bytes.worker * static_cast<size_t>(worker);
    const int64_t item = index / chunks.count;
    attend(items.at(item), index % chunks.count, partials + item_bytes * static_cast<size_t>(item), own);
  });
  // Weights are found by going through the keys once more.
  const double left = arguments.weights.data != nullptr ? work : 0;
  workers.for_each(num_items, left, [&](int64_t index, int32_t worker) {
    std::byte* own = memory + bytes.worker * static_cast<size_t>(worker);
    finish(items.at(index), partials + item_bytes * static_cast<size_t>(index), own);
  });
}

}  // namespace heed::cpu
